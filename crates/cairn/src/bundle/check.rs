//! Checking the entries of a bundle one after the other: their order, their bytes, what they record.

use cairn_core::Sha;
use cairn_core::entry::{Entry as Logged, Record};
use cairn_core::log::{Edge, leaf_hash, verify_inclusion};

use super::Selection;
use super::entry::Entry;
use super::links::{Earlier, Links};
use super::read::Header;
use super::redactions::Redactions;
use super::statements::Checkpoints;
use crate::check::{Wrong, check, other_texts, table, wrong};
use crate::verify::{Finding, Findings, Reason, missing_entries};

/// What was counted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// Lines with an entry.
    pub lines: u64,
    /// Thoughts.
    pub records: u64,
    /// Snapshots.
    pub contexts: u64,
    /// Events.
    pub events: u64,
    /// Briefs.
    pub briefs: u64,
}

/// Checks entries; remembers what later ones refer to.
pub struct Checker {
    /// The first line.
    pub header: Header,
    /// What entries refer to.
    pub links: Links,
    /// What is blanked.
    pub redactions: Redactions,
    /// What was counted.
    pub counts: Counts,
    /// The hash of each entry of a full bundle, for the checkpoints: 32 bytes an entry.
    pub leaves: Vec<Sha>,
    /// The position that is expected next.
    expected: u64,
    /// Whether every entry so far stood where it belongs.
    whole: bool,
    buffer: Vec<u8>,
}

impl Checker {
    /// Begins after the first line.
    pub fn new(header: Header) -> Checker {
        let links = Links::new(header.full, header.selection());
        Checker {
            header,
            links,
            redactions: Redactions::default(),
            counts: Counts::default(),
            leaves: Vec::new(),
            expected: 0,
            whole: true,
            buffer: Vec::new(),
        }
    }

    /// Checks one entry; returns where it stands, unless it was there before.
    pub fn check(
        &mut self,
        entry: &Entry,
        checkpoints: &mut Checkpoints<'_>,
        findings: &mut Findings,
    ) -> Option<u64> {
        self.counts.lines += 1;
        let seq = entry.seq().unwrap_or(self.expected);
        if seq < self.expected || seq >= self.header.size {
            let message = match seq < self.expected {
                true => format!("log entry {seq} stands after log entry {}", self.expected - 1),
                false => format!("log entry {seq} stands in a log of {} entries", self.header.size),
            };
            findings.add(Finding::new(Reason::Order, "entry", message).at(seq));
            self.whole = false;
            return None;
        }
        if self.header.full && seq > self.expected {
            findings.add(missing_entries(self.expected, seq));
            self.whole = false;
        }
        self.expected = seq + 1;
        let hash = leaf_hash(entry.bytes.as_bytes());
        if self.header.full {
            self.leaves.push(hash);
        }
        match self.recorded(seq, entry, checkpoints) {
            Some(finding) => findings.add(finding),
            None => self.prove(seq, entry, &hash).into_iter().for_each(|finding| findings.add(finding)),
        }
        Some(seq)
    }

    /// Checks what an entry records.
    fn recorded(&mut self, seq: u64, entry: &Entry, checkpoints: &mut Checkpoints<'_>) -> Option<Finding> {
        let Some(Record { entry: said, parts }) = &entry.record else {
            let message = format!("the bytes of log entry {seq} are not those of any entry");
            return Some(Finding::new(Reason::LeafMismatch, "entry", message).at(seq));
        };
        match said {
            Logged::Genesis(_) | Logged::Continuation(_) if !self.header.full => {
                let message = format!("log entry {seq} belongs to no session and no task");
                return Some(Finding::new(Reason::LeafMismatch, "entry", message).at(seq));
            }
            Logged::Genesis(genesis) if seq != 0 || genesis.origin != self.header.origin => {
                let message = "the first entry of the log does not name the log it stands in";
                let finding = Finding::new(Reason::LeafMismatch, "log", message).at(seq);
                return Some(finding.field("origin", &genesis.origin, &self.header.origin));
            }
            Logged::Thought(_) => self.counts.records += 1,
            Logged::Snapshot(_) => self.counts.contexts += 1,
            Logged::Event(_) => self.counts.events += 1,
            Logged::Brief(_) => self.counts.briefs += 1,
            Logged::Key(key) => checkpoints.change_of_keys(key.clone()),
            Logged::Genesis(_) | Logged::Continuation(_) | Logged::Redaction(_) | Logged::Review(_) => {}
        }
        let is_known = matches!(said, Logged::Thought(thought) if self.links.thought(&thought.id).is_some());
        self.redactions.see(said, parts, entry.seal_key.is_some());
        let mut earlier = Earlier {
            links: &mut self.links,
            redactions: &mut self.redactions,
            bodies: &entry.bodies,
            seal_key: entry.seal_key.as_deref(),
        };
        // A bundle answers from memory, so this cannot fail.
        let linked = check(&mut earlier, said, parts, &mut self.buffer).unwrap_or_default();
        let other = self
            .outside(said)
            .or_else(|| {
                is_known.then(|| {
                    wrong(
                        Reason::LeafMismatch,
                        "thought",
                        "id",
                        "an id of its own",
                        "one that was there before",
                    )
                })
            })
            .or_else(|| other_texts(said, parts));
        self.links.remember(said);
        let found = other.map(|other| other.finding(said)).or(linked);
        // One change may be several findings here: what explains one of them is not asked for.
        found.map(|finding| Finding { follows_from: Vec::new(), ..finding })
    }

    /// A record of another session or task than the one that the bundle is of.
    fn outside(&self, entry: &Logged<'_>) -> Option<Wrong> {
        let (session_id, task_id) = match entry {
            Logged::Thought(thought) => (&thought.session_id, Some(&*thought.task_id)),
            Logged::Event(event) => (&event.session_id, None),
            Logged::Brief(brief) => (&brief.session_id, None),
            _ => return None,
        };
        let (field, expected) = self.links.outside_selection(session_id, task_id)?;
        let actual = if field == "session_id" { Some(&**session_id) } else { task_id };
        Some(wrong(Reason::LeafMismatch, table(entry.kind()), field, expected, actual.unwrap_or("none")))
    }

    /// Checks the proof of an entry of a partial bundle.
    fn prove(&self, seq: u64, entry: &Entry, hash: &Sha) -> Option<Finding> {
        let proof = entry.proof.as_ref()?;
        let Header { size, root, .. } = &self.header;
        (!verify_inclusion(hash, seq, *size, proof, root)).then(|| {
            let message = format!("log entry {seq} is not in the tree under the root of the bundle");
            let id = match &entry.record {
                Some(Record { entry: Logged::Thought(thought), .. }) => Some(thought.id.to_string()),
                _ => None,
            };
            Finding { id, ..Finding::new(Reason::LeafMismatch, "node", message).at(seq) }
        })
    }

    /// The hashes of all entries of a full bundle, if every one stood where it belongs.
    pub fn all_leaves(&self) -> Option<&[Sha]> {
        (self.header.full && self.whole).then_some(&self.leaves)
    }

    /// The session or task of a partial bundle that has no record of it: `export` makes no such bundle.
    fn nothing_of(&self) -> Option<String> {
        let Counts { records, events, briefs, .. } = self.counts;
        match self.header.selection() {
            Selection::Session(name) if records + events + briefs == 0 => Some(format!("session `{name}`")),
            Selection::Task(name) if records == 0 => Some(format!("task `{name}`")),
            _ => None,
        }
    }

    /// Checks, after the last entry, that none is missing and that they make the root.
    pub fn close(&mut self, findings: &mut Findings) {
        if self.header.full && self.expected < self.header.size {
            findings.add(missing_entries(self.expected, self.header.size));
            self.whole = false;
        }
        if let Some(leaves) = self.all_leaves() {
            let mut edge = Edge::empty();
            leaves.iter().for_each(|leaf| edge.push(*leaf, &mut |_| {}));
            let (root, stated) = (edge.root(), self.header.root);
            if root != stated {
                let message = "the root that the bundle states is not the root of its entries";
                findings.add(Finding::new(Reason::LeafMismatch, "log", message).field("root", root, stated));
            }
        }
        if let Some(what) = self.nothing_of() {
            let message = format!("the bundle holds no record of {what}");
            findings.add(Finding::new(Reason::MissingRecord, "bundle", message));
        }
        for (id, seq) in self.links.unnamed() {
            let (what, expected) =
                (format!("context {id}"), "that of a snapshot that a thought of the bundle names");
            let finding =
                Finding::differs(Reason::LeafMismatch, "context", &what, "context_id", expected, id).at(seq);
            findings.add(Finding { id: Some(id.to_string()), ..finding });
        }
    }
}
