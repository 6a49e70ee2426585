//! Drawing a session tree.
//!
//! Agents think in long lines: most thoughts have one successor. So a thought that follows from the one above
//! it stands directly below it, and only where the line forks are the branches indented. The session itself is
//! the invisible root: several thoughts without a parent are drawn as branches of it.

use cairn::Summary;
use cairn::core::tree::parents;

use super::thoughts::context_mark;
use super::{Palette, ShortIds, columns, cut, first_line, pad, said, visible, wrap};

/// Columns that each fork indents by.
const STEP: usize = 3;
/// Columns a text keeps however deep it is.
const ROOM_FOR_TEXT: usize = 24;

/// How a thought hangs on the one before it.
#[derive(Clone, Copy)]
enum Joint {
    /// Follows directly, being the only one.
    Line,
    /// One of several branches.
    Branch { last: bool },
}

/// Draws the thoughts of one session, given in the order of recording; `full` adds the whole text of each.
///
/// Works through a list instead of calling itself: a session may be a hundred thousand thoughts deep.
pub(crate) fn draw(thoughts: &[Summary], full: bool, width: usize, palette: Palette) -> String {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); thoughts.len()];
    let mut roots = Vec::new();
    for (index, parent) in parents(thoughts).into_iter().enumerate() {
        match parent {
            Some(parent) => below[parent].push(index),
            None => roots.push(index),
        }
    }
    let brush = Brush { ids: ShortIds::new(thoughts.iter().map(|t| t.id.as_str())), full, width, palette };
    let mut text = String::new();
    // For each fork above the current thought, whether more branches follow below.
    let mut open: Vec<bool> = Vec::new();
    let mut waiting = Vec::new();
    push_all(&mut waiting, &roots, 0);
    while let Some((index, forks, joint)) = waiting.pop() {
        open.truncate(forks);
        let margin = brush.margin(&open);
        let (head, body) = match joint {
            Joint::Line => (margin.clone(), margin),
            Joint::Branch { last } => {
                open.push(!last);
                let sign = if last { "└─ " } else { "├─ " };
                (format!("{margin}{sign}"), format!("{margin}{}", if last { "   " } else { "│  " }))
            }
        };
        brush.thought(&mut text, &thoughts[index], &head, &body);
        push_all(&mut waiting, &below[index], open.len());
    }
    text
}

/// Puts what follows from one thought on the list, so that the first is taken first.
fn push_all(waiting: &mut Vec<(usize, usize, Joint)>, indexes: &[usize], forks: usize) {
    for (place, &index) in indexes.iter().enumerate().rev() {
        let joint = match indexes.len() {
            1 => Joint::Line,
            _ => Joint::Branch { last: place + 1 == indexes.len() },
        };
        waiting.push((index, forks, joint));
    }
}

struct Brush<'a> {
    ids: ShortIds<'a>,
    full: bool,
    width: usize,
    palette: Palette,
}

impl Brush<'_> {
    /// The lines of the open forks. At most half of the width: further out only the innermost are drawn.
    fn margin(&self, open: &[bool]) -> String {
        let most = (self.width / 2 / STEP).max(2);
        let hidden = open.len().saturating_sub(most);
        let mut margin = String::from(if hidden > 0 { "⋯  " } else { "" });
        for more in &open[hidden + usize::from(hidden > 0)..] {
            margin.push_str(if *more { "│  " } else { "   " });
        }
        margin
    }

    fn thought(&self, text: &mut String, thought: &Summary, head: &str, body: &str) {
        let kind = self.palette.kind(thought.kind, &format!("{:<10}", thought.kind));
        let id = visible(self.ids.of(thought.id.as_str())).into_owned();
        let id = self.palette.faint(&pad(&id, self.ids.width()));
        let action = thought.action_id.as_ref().map(|action| format!(" → {}", visible(action.as_str())));
        let action = action.unwrap_or_default();
        let used = columns(head) + 10 + 1 + self.ids.width() + 2;
        let room = self.width.saturating_sub(used).max(ROOM_FOR_TEXT);
        // The action is why one reads the line: it stays, and the text makes room for it.
        let action = cut(&action, room / 2);
        let context = cut(&context_mark(thought), (room - columns(&action)) / 2);
        let content = said(&thought.content, thought.redacted.as_ref());
        let line = cut(&first_line(&content), room - columns(&action) - columns(&context));
        let links = self.palette.action(&action) + &self.palette.faint(&context);
        let row = match self.full {
            true => format!("{head}{kind} {id} {links}"),
            false => format!("{head}{kind} {id}  {line}{links}"),
        };
        text.push_str(row.trim_end());
        text.push('\n');
        if self.full {
            for line in
                wrap(&visible(&content), self.width.saturating_sub(columns(body) + 2).max(ROOM_FOR_TEXT))
            {
                text.push_str(format!("{body}  {line}").trim_end());
                text.push('\n');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use cairn::core::id::{ActionId, AgentId, TaskId, ThoughtId};
    use cairn::{ThoughtType, Timestamp};

    use super::*;

    fn thoughts(edges: &[Option<usize>]) -> Vec<Summary> {
        let id = |n: usize| ThoughtId::new(format!("t{n}")).unwrap();
        let one = |(n, parent): (usize, &Option<usize>)| Summary {
            id: id(n),
            kind: ThoughtType::Plan,
            content: format!("text {n}"),
            step_index: n as u64,
            task_id: TaskId::new("t").unwrap(),
            agent_id: AgentId::new("a").unwrap(),
            parent_id: parent.map(id),
            action_id: None,
            context_id: None,
            brief_id: None,
            timestamp: Timestamp::parse("2026-04-17T00:00:00Z").unwrap(),
            sealed: false,
            redacted: None,
        };
        edges.iter().enumerate().map(one).collect()
    }

    fn drawn(thoughts: &[Summary], width: usize) -> String {
        draw(thoughts, false, width, Palette::new(false))
    }

    #[test]
    fn only_forks_are_indented() {
        let tree = thoughts(&[None, Some(0), Some(1), Some(2), Some(1), Some(4)]);
        let expected = "plan       t0  text 0\n\
                        plan       t1  text 1\n\
                        ├─ plan       t2  text 2\n\
                        │  plan       t3  text 3\n\
                        └─ plan       t4  text 4\n   \
                           plan       t5  text 5\n";
        assert_eq!(drawn(&tree, 80), expected);
    }

    #[test]
    fn several_roots_are_branches_of_the_session() {
        let expected = "├─ plan       t0  text 0\n│  plan       t2  text 2\n└─ plan       t1  text 1\n";
        assert_eq!(drawn(&thoughts(&[None, None, Some(0)]), 80), expected);
    }

    #[test]
    fn a_line_of_a_hundred_thousand_thoughts_is_drawn() {
        let edges: Vec<Option<usize>> = (0..100_000usize).map(|n| n.checked_sub(1)).collect();
        assert_eq!(drawn(&thoughts(&edges), 80).lines().count(), 100_000);
    }

    #[test]
    fn ten_thousand_nested_forks_keep_to_the_width() {
        // Every thought on the trunk has a second branch.
        let edges: Vec<Option<usize>> = (0..20_000usize).map(|n| n.checked_sub(1).map(|n| n & !1)).collect();
        let text = drawn(&thoughts(&edges), 80);
        assert_eq!(text.lines().count(), 20_000);
        let widest = text.lines().map(columns).max().unwrap();
        assert!(widest <= 80, "{widest}");
    }

    #[test]
    fn the_action_stays_when_the_text_is_cut() {
        let mut tree = thoughts(&[None]);
        tree[0].content = "long ".repeat(40);
        tree[0].action_id = Some(ActionId::new("commit-4f2a").unwrap());
        let text = drawn(&tree, 60);
        assert!(text.ends_with("… → commit-4f2a\n"), "{text}");
        assert!(columns(text.trim_end()) <= 60);
        tree[0].context_id = Some(3);
        let text = drawn(&tree, 60);
        assert!(text.ends_with("… → commit-4f2a [context 3]\n"), "{text}");
        assert!(columns(text.trim_end()) <= 60);
    }
}
