//! From candidates to a brief.

use super::candidate::{Candidate, Part};
use super::layout::{Place, empty, places};
use super::select::choose;
use super::text::count;
use super::{Brief, BudgetTooSmall, FORMAT, Material, Omitted, Options, Report, Section};
use crate::canonical;
use crate::hash::Sha;

/// Between the context and the task.
const RULE: &str = "---";

/// Chooses what fits and writes it down.
pub fn render(
    material: &Material<'_>,
    options: &Options,
    candidates: Vec<Candidate>,
) -> Result<Brief, BudgetTooSmall> {
    let counter = options.counter;
    // A larger number has no canonical form, and no text has as many tokens.
    let budget = options.budget.map(|budget| budget.min(canonical::MAX_INTEGER));
    let places = places(options.layout);
    let candidates = in_text_order(candidates, places);
    let skeleton = Skeleton::of(places, &candidates, material, options);
    let choice =
        choose(&candidates, budget, counter, counter.weight(&skeleton.write(None, None)), |missing| {
            counter.weight(&left_out(missing))
        })?;

    let omitted: Vec<Omitted> = choice
        .omitted
        .iter()
        .map(|&(index, tokens)| Omitted {
            section: section_of(places, candidates[index].part),
            entity_ref: candidates[index].item.entity_ref.clone(),
            tokens,
            reason: "budget",
        })
        .collect();
    let mut sections: Vec<Section> =
        places.iter().map(|place| Section { id: place.id, items: Vec::new() }).collect();
    let mut chosen = choice.chosen.into_iter();
    for candidate in candidates {
        if chosen.next() == Some(true) {
            let place = place_of(places, candidate.part);
            sections[place].items.push(candidate.item);
        }
    }
    let missing = (!omitted.is_empty()).then(|| left_out(omitted.len()));
    let text = skeleton.write(Some(&sections), missing.as_deref());
    let report = Report {
        tokens: counter.count(&text),
        included: sections.iter().map(|section| section.items.len() as u64).sum(),
        omitted,
    };
    debug_assert!(budget.is_none_or(|budget| report.tokens <= budget), "{report:?}");
    let mut brief = Brief {
        format: FORMAT,
        node: options.node,
        session_id: material.session_id.to_string(),
        turn: material.state.turn,
        seq: material.seq,
        layout: options.layout,
        budget,
        counter: counter.name(),
        sections,
        report,
        text,
        hash: Sha::ZERO,
    };
    brief.hash = hash(&brief);
    Ok(brief)
}

/// The line that tells how much a budget left out, and the empty line after it.
fn left_out(missing: usize) -> String {
    format!("({} not shown: budget)\n\n", count(missing, "item", "items"))
}

fn place_of(places: &[Place], part: Part) -> usize {
    places.iter().position(|place| place.parts.contains(&part)).expect("a layout has a place for every part")
}

fn section_of(places: &[Place], part: Part) -> &'static str {
    places[place_of(places, part)].id
}

/// Parts in the order of the layout, each as it was built; without those that it does not have.
fn in_text_order(mut candidates: Vec<Candidate>, places: &[Place]) -> Vec<Candidate> {
    let order: Vec<Part> = places.iter().flat_map(|place| place.parts).copied().collect();
    let position = |part: Part| order.iter().position(|known| *known == part);
    candidates.retain(|candidate| position(candidate.part).is_some());
    candidates.sort_by_key(|candidate| position(candidate.part));
    candidates
}

/// What is there whatever the budget: headings, empty lines, the rule, and a sentence where there is nothing.
struct Skeleton {
    /// Heading, and what to say without items, section by section.
    sections: Vec<(Option<&'static str>, Option<&'static str>)>,
}

impl Skeleton {
    fn of(
        places: &[Place],
        candidates: &[Candidate],
        material: &Material<'_>,
        options: &Options,
    ) -> Skeleton {
        let is_empty = |place: &Place| !candidates.iter().any(|c| place.parts.contains(&c.part));
        let sections = places
            .iter()
            .map(|place| {
                let sentence = is_empty(place).then(|| empty(place, options.node, material.state));
                (place.heading, sentence)
            })
            .collect();
        Skeleton { sections }
    }

    /// The text with the items of `sections`, or without any.
    fn write(&self, sections: Option<&[Section]>, left_out: Option<&str>) -> String {
        let mut out = String::new();
        for (index, (heading, sentence)) in self.sections.iter().enumerate() {
            let is_task = index + 1 == self.sections.len();
            if is_task {
                out.push_str(left_out.unwrap_or_default());
                line(&mut out, RULE);
                line(&mut out, "");
            }
            if let Some(heading) = heading {
                line(&mut out, heading);
                line(&mut out, "");
            }
            if let Some(sentence) = sentence {
                line(&mut out, sentence);
            }
            for item in sections.iter().flat_map(|sections| &sections[index].items) {
                line(&mut out, &item.text);
            }
            if !is_task {
                line(&mut out, "");
            }
        }
        out
    }
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// See [`Brief::hash`]. The canonical bytes are written without building a value first: briefs can be long.
fn hash(brief: &Brief) -> Sha {
    let mut out = Vec::with_capacity(2 * brief.text.len() + 256);
    let budget = brief.budget.map_or("null".to_string(), |budget| budget.to_string());
    out.extend_from_slice(format!("{{\"budget\":{budget},\"counter\":").as_bytes());
    canonical::write_string(&brief.counter, &mut out);
    let (format, layout, node) = (brief.format, brief.layout.as_str(), brief.node.as_str());
    let fixed = format!(",\"format\":{format},\"layout\":\"{layout}\",\"node\":\"{node}\",\"sections\":");
    out.extend_from_slice(fixed.as_bytes());
    list(&mut out, &brief.sections, |out, section| {
        out.extend_from_slice(format!("{{\"id\":\"{}\",\"items\":", section.id).as_bytes());
        list(out, &section.items, |out, item| {
            out.extend_from_slice(b"{\"events\":");
            list(out, &item.events, |out, seq| out.extend_from_slice(seq.to_string().as_bytes()));
            if let Some(entity_ref) = &item.entity_ref {
                out.extend_from_slice(b",\"ref\":");
                canonical::write_string(entity_ref, out);
            }
            out.extend_from_slice(b",\"text\":");
            canonical::write_string(&item.text, out);
            out.push(b'}');
        });
        out.push(b'}');
    });
    out.extend_from_slice(format!(",\"seq\":{},\"session_id\":", brief.seq).as_bytes());
    canonical::write_string(&brief.session_id, &mut out);
    out.extend_from_slice(format!(",\"turn\":{}}}", brief.turn).as_bytes());
    Sha::of(&out)
}

fn list<T>(out: &mut Vec<u8>, values: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
    out.push(b'[');
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, value);
    }
    out.push(b']');
}
