//! Resources: what is recorded, by its address.

mod read;
mod uri;
mod watch;

use cairn::Cairn;
use cairn::core::preview::preview;
use rmcp::model::{Resource, ResourceTemplate};

pub use read::read;
pub use uri::Place;
pub use watch::{AnsweredOnce, Change, MOST as MOST_WATCHED, Watchers};

use super::envelope::Failure;
use super::sets::Set;
use super::tools::Tool;

/// So many sessions and so many roadmaps are listed; the others are found by their address.
const LISTED: u64 = 50;

const JSON: &str = "application/json";
const MARKDOWN: &str = "text/markdown";
const TEXT: &str = "text/plain";

/// Addresses of one kind.
pub struct Template {
    /// As RFC 6570 writes it.
    pub uri: &'static str,
    name: &'static str,
    title: &'static str,
    description: &'static str,
    mime: &'static str,
    /// The tools it belongs to: without them it is not offered.
    pub set: Set,
}

/// All there are.
pub static TEMPLATES: [Template; 7] = [
    Template {
        uri: "cairn://thought/{id}",
        name: "thought",
        title: "Thought",
        description: "One thought, whole, with its links and hashes.",
        mime: JSON,
        set: Set::Trail,
    },
    Template {
        uri: "cairn://session/{id}/tree",
        name: "session-tree",
        title: "Tree of a session",
        description: "The thoughts of a session, each below the one it follows from. Can be watched.",
        mime: JSON,
        set: Set::Trail,
    },
    Template {
        uri: "cairn://session/{id}/brief/{node}",
        name: "session-brief",
        title: "Brief of a session",
        description: "What understand, think, act or reply should know now. Can be watched.",
        mime: MARKDOWN,
        set: Set::Memory,
    },
    Template {
        uri: "cairn://brief/{id}",
        name: "brief",
        title: "Stored brief",
        description: "A brief as it was stored.",
        mime: JSON,
        set: Set::Memory,
    },
    Template {
        uri: "cairn://roadmap/{id}",
        name: "roadmap",
        title: "Roadmap",
        description: "A plan as its file has it now.",
        mime: JSON,
        set: Set::Snapshot,
    },
    Template {
        uri: "cairn://context/{id}",
        name: "context",
        title: "Snapshot",
        description: "A plan as it was when the snapshot was made.",
        mime: JSON,
        set: Set::Snapshot,
    },
    Template {
        uri: "cairn://checkpoint/{size}",
        name: "checkpoint",
        title: "Checkpoint",
        description: "What was stated about the log: `latest`, or the newest of at most that size.",
        mime: TEXT,
        set: Set::Proof,
    },
];

impl Template {
    /// As it stands in the list.
    pub fn listed(&self) -> ResourceTemplate {
        ResourceTemplate::new(self.uri, self.name)
            .with_title(self.title)
            .with_description(self.description)
            .with_mime_type(self.mime)
    }
}

/// The templates for a client that is offered these tools.
pub fn offered(tools: &[&Tool]) -> Vec<&'static Template> {
    TEMPLATES.iter().filter(|template| template.set.is_among(tools)).collect()
}

/// The trees of the newest sessions, and the roadmaps.
pub fn list(cairn: &Cairn, offered: &[&'static Template]) -> Result<Vec<Resource>, Failure> {
    let mut resources = Vec::new();
    if offered.iter().any(|template| template.set == Set::Trail) {
        for session in cairn.session_list(Some(LISTED))?.into_iter().filter(|session| session.thoughts > 0) {
            let id = session.session_id.as_str();
            let thoughts = session.thoughts;
            resources.push(
                Resource::new(Place::Tree(id.to_string()).uri(), format!("session-tree {id}"))
                    .with_title(format!("Session {}", preview(id, 60)))
                    .with_description(format!("thoughts: {thoughts}; last record: {}", session.updated_at))
                    .with_mime_type(JSON),
            );
        }
    }
    if offered.iter().any(|template| template.set == Set::Snapshot) {
        for roadmap in cairn.roadmaps().list()?.into_iter().take(LISTED as usize) {
            let place = Place::Roadmap(roadmap.id.to_string());
            resources.push(
                Resource::new(place.uri(), format!("roadmap {}", roadmap.id))
                    .with_title(format!("Roadmap {}", roadmap.id))
                    .with_mime_type(JSON),
            );
        }
    }
    if offered.iter().any(|template| template.set == Set::Proof) && cairn.newest_checkpoint()?.is_some() {
        resources.push(
            Resource::new(Place::Checkpoint("latest".to_string()).uri(), "checkpoint latest")
                .with_title("Newest checkpoint")
                .with_description("the log's size and root, signed: keep it elsewhere")
                .with_mime_type(TEXT),
        );
    }
    Ok(resources)
}
