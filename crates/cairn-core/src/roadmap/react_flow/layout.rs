//! What the places of shapes say: which topic a subtopic stands beside, and which phase it is in.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::Map;

use super::NEAR;
use crate::roadmap::document::{Content, Document};
use crate::roadmap::{DeclaredConnection, Phase};

/// A node of the drawing, decoration or not.
pub(super) struct Shape {
    pub(super) line: u32,
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) label: Option<String>,
    pub(super) area: Option<Area>,
}

impl Shape {
    /// Whether it is a node of the plan.
    pub(super) fn planned(&self) -> bool {
        self.kind == "topic" || self.kind == "subtopic"
    }

    fn centre(&self) -> Option<(f64, f64)> {
        self.area.map(|area| area.centre())
    }
}

/// Where a shape is, from its upper left corner.
#[derive(Clone, Copy)]
pub(super) struct Area {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Area {
    fn centre(self) -> (f64, f64) {
        (self.x + self.width / 2.0, self.y + self.height / 2.0)
    }

    fn holds(self, (x, y): (f64, f64)) -> bool {
        (self.x..=self.x + self.width).contains(&x) && (self.y..=self.y + self.height).contains(&y)
    }
}

/// The place a node gives, if it gives one that can be reckoned with. A size that is not given is none.
pub(super) fn area(item: &Document) -> Option<Area> {
    let position = item.member("position")?;
    let size = |name| {
        let from = |place: &str| item.member(place).and_then(|place| place.member(name)).and_then(number);
        let given = item.member(name).and_then(number);
        given.or_else(|| from("measured")).or_else(|| from("style")).filter(|size| *size > 0.0).unwrap_or(0.0)
    };
    let (x, y) = (position.member("x").and_then(number)?, position.member("y").and_then(number)?);
    Some(Area { x, y, width: size("width"), height: size("height") })
}

/// A number, also one that is written as a text. Beyond any drawing it is taken for none.
fn number(value: &Document) -> Option<f64> {
    let number = match &value.value {
        Content::Number(number) => number.as_f64()?,
        Content::Text(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    (number.abs() < 1e9).then_some(number)
}

/// What is needed to tell where shapes are in relation to each other.
pub(super) struct Layout {
    /// The sections, the smallest first, so that the first that holds a point is the innermost.
    sections: Vec<Section>,
    topics: Vec<usize>,
}

struct Section {
    shape: usize,
    area: Area,
    heading: Option<String>,
}

impl Layout {
    pub(super) fn of(shapes: &[Shape]) -> Layout {
        let of_kind = |kind: &'static str| {
            shapes.iter().enumerate().filter(move |(_, shape)| shape.kind == kind && shape.area.is_some())
        };
        let section = |(index, shape): (usize, &Shape)| {
            Some(Section { shape: index, area: shape.area?, heading: shape.label.clone() })
        };
        let mut sections: Vec<Section> = of_kind("section").filter_map(section).collect();
        let size = |section: &Section| section.area.width * section.area.height;
        sections.sort_by(|one, other| size(one).total_cmp(&size(other)));
        let mut layout = Layout { sections, topics: of_kind("topic").map(|(index, _)| index).collect() };

        let mut labels: Vec<&Shape> = of_kind("label").map(|(_, shape)| shape).collect();
        labels.sort_by(|one, other| from_the_top(one, other));
        for label in labels {
            if let Some(section) = label.centre().and_then(|centre| layout.innermost(centre))
                && layout.sections[section].heading.is_none()
            {
                layout.sections[section].heading.clone_from(&label.label);
            }
        }
        layout
    }

    fn innermost(&self, point: (f64, f64)) -> Option<usize> {
        self.sections.iter().position(|section| section.area.holds(point))
    }

    /// The topic that a subtopic stands beside: the nearest in its section, or else the nearest that is near.
    pub(super) fn topic_near<'s>(&self, shapes: &'s [Shape], subtopic: &Shape) -> Option<&'s Shape> {
        let centre = subtopic.centre()?;
        let distance = |topic: &Shape| {
            let (x, y) = topic.centre().unwrap_or((f64::INFINITY, f64::INFINITY));
            (x - centre.0).hypot(y - centre.1)
        };
        let nearest = |inside: &dyn Fn(&Shape) -> bool| {
            self.topics
                .iter()
                .map(|&index| &shapes[index])
                .filter(|topic| topic.id != subtopic.id && inside(topic))
                .map(|topic| (distance(topic), topic))
                .min_by(|one, other| one.0.total_cmp(&other.0).then_with(|| one.1.id.cmp(&other.1.id)))
        };
        let section = self.innermost(centre).map(|index| self.sections[index].area);
        let beside = section
            .and_then(|area| nearest(&|topic| topic.centre().is_some_and(|centre| area.holds(centre))));
        beside
            .or_else(|| nearest(&|_| true).filter(|(distance, _)| *distance <= NEAR))
            .map(|(_, topic)| topic)
    }
}

/// From top to bottom, then from left to right, then by id; what has no place comes last.
fn from_the_top(one: &Shape, other: &Shape) -> Ordering {
    let place = |shape: &Shape| shape.area.map_or((f64::INFINITY, f64::INFINITY), |area| (area.y, area.x));
    let ((y, x), (other_y, other_x)) = (place(one), place(other));
    y.total_cmp(&other_y).then(x.total_cmp(&other_x)).then_with(|| one.id.cmp(&other.id))
}

/// The phases with their lines, and the phase of each shape.
///
/// A section with a heading is the phase of what is in it. Any other topic is a phase of its own, and a
/// subtopic is in the phase of the topic that the fewest connections lead to.
pub(super) fn phases(
    shapes: &[Shape],
    layout: Option<&Layout>,
    connections: &[DeclaredConnection],
) -> (Vec<Phase>, Vec<u32>, Vec<Option<String>>) {
    // Which shape stands for the phase of each.
    let headed = |shape: &Shape| {
        let centre = shape.centre()?;
        let holds = |section: &&Section| section.heading.is_some() && section.area.holds(centre);
        layout?.sections.iter().find(holds).map(|section| section.shape)
    };
    let mut phase: Vec<Option<usize>> = vec![None; shapes.len()];
    for (index, shape) in shapes.iter().enumerate().filter(|(_, shape)| shape.planned()) {
        phase[index] = headed(shape).or((shape.kind == "topic").then_some(index));
    }
    spread(shapes, connections, &mut phase);

    let used: HashSet<usize> = phase.iter().copied().flatten().collect();
    let mut order: Vec<usize> = used.into_iter().collect();
    order.sort_by(|&one, &other| from_the_top(&shapes[one], &shapes[other]).then(one.cmp(&other)));
    let mut met = HashSet::new();
    // Of two topics with one id, the first stands for both.
    order.retain(|&index| met.insert(shapes[index].id.as_str()));

    let headings: HashMap<usize, &String> = layout
        .iter()
        .flat_map(|layout| &layout.sections)
        .filter_map(|section| Some((section.shape, section.heading.as_ref()?)))
        .collect();
    let one = |&index: &usize| Phase {
        id: shapes[index].id.clone(),
        title: headings.get(&index).copied().or(shapes[index].label.as_ref()).cloned(),
        extra: Map::new(),
    };
    let lines = order.iter().map(|&index| shapes[index].line).collect();
    let phase_of = phase.iter().map(|phase| phase.map(|index| shapes[index].id.clone())).collect();
    (order.iter().map(one).collect(), lines, phase_of)
}

/// Carries the phases of topics along the connections, in either direction, to subtopics that have none.
fn spread(shapes: &[Shape], connections: &[DeclaredConnection], phase: &mut [Option<usize>]) {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, shape) in shapes.iter().enumerate().filter(|(_, shape)| shape.planned()) {
        places.entry(&shape.id).or_default().push(index);
    }
    let mut beside: HashMap<&str, Vec<&str>> = HashMap::new();
    for link in connections {
        beside.entry(&link.from).or_default().push(&link.to);
        beside.entry(&link.to).or_default().push(&link.from);
    }
    let mut topics: Vec<usize> = (0..shapes.len()).filter(|&index| shapes[index].kind == "topic").collect();
    topics.sort_by(|&one, &other| from_the_top(&shapes[one], &shapes[other]).then(one.cmp(&other)));
    let mut reached: HashSet<&str> = topics.iter().map(|&index| shapes[index].id.as_str()).collect();
    let mut queue: VecDeque<(&str, Option<usize>)> =
        topics.iter().map(|&index| (shapes[index].id.as_str(), phase[index])).collect();
    while let Some((id, carried)) = queue.pop_front() {
        for &next in beside.get(id).into_iter().flatten() {
            if reached.insert(next) {
                for &place in &places[next] {
                    phase[place] = phase[place].or(carried);
                }
                queue.push_back((next, carried));
            }
        }
    }
}
