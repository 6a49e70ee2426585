//! What stands at an address.

use cairn::core::preview::preview;
use cairn::{BriefRequest, Cairn, Error};
use rmcp::model::ResourceContents;
use serde::Serialize;

use super::{JSON, MARKDOWN, Place, TEXT};
use crate::data::Tree;
use crate::data_plans::RoadmapData;
use crate::mcp::envelope::Failure;
use crate::mcp::prompts::node::provenance;

/// Reads what `place` names.
pub fn read(cairn: &Cairn, place: Place, uri: &str) -> Result<ResourceContents, Failure> {
    let not_found = |what, id| Failure::from(Error::NotFound { what, id });
    match place {
        Place::Thought(id) => json(uri, &cairn.get(&id)?.ok_or_else(|| not_found("thought", id))?),
        Place::Tree(session) => {
            let thoughts = cairn.tree(&session, false)?;
            if thoughts.is_empty() && thoughts.damaged.is_empty() {
                // A session may have a memory and no thoughts yet.
                cairn.session_events(&session, 0, Some(1)).map_err(|error| no_session(error, &session))?;
            }
            json(uri, &Tree::nested(session, thoughts))
        }
        Place::SessionBrief(session_id, node) => {
            let request = BriefRequest { session_id, node, ..BriefRequest::default() };
            let brief = cairn.brief_build(&request, false)?.brief;
            let meta = provenance(&brief);
            Ok(ResourceContents::text(brief.text, uri).with_mime_type(MARKDOWN).with_meta(meta))
        }
        Place::Brief(id) => json(uri, &cairn.brief(&id)?.ok_or_else(|| not_found("brief", id))?),
        Place::Roadmap(id) => {
            let roadmap = cairn.roadmaps().get(&id)?;
            json(uri, &RoadmapData::new(id, roadmap))
        }
        Place::Checkpoint(size) => {
            let stated = match size.as_str() {
                "latest" => cairn.newest_checkpoint()?,
                number => number.parse().ok().map(|size| cairn.checkpoint_at(size)).transpose()?.flatten(),
            };
            let stated = stated.ok_or_else(|| not_found("checkpoint", size))?;
            Ok(ResourceContents::text(stated.note, uri).with_mime_type(TEXT))
        }
        Place::Context(id) => {
            let context = id.parse().ok().map(|number| cairn.context(number)).transpose()?.flatten();
            json(uri, &context.ok_or_else(|| not_found("context", id))?)
        }
    }
}

/// Whoever asks for a tree may not be offered the tools that open sessions.
fn no_session(error: Error, session: &str) -> Failure {
    let name = preview(session, 80).escape_debug().to_string();
    match error {
        Error::NotFound { .. } => {
            Failure::new("NOT_FOUND", format!("no session `{name}`; resources/list names the newest"))
        }
        other => other.into(),
    }
}

fn json(uri: &str, data: &impl Serialize) -> Result<ResourceContents, Failure> {
    let unwritable = |_| Failure::new("HANDLER_ERROR", "the answer cannot be written as JSON");
    let text = serde_json::to_string(data).map_err(unwritable)?;
    Ok(ResourceContents::text(text, uri).with_mime_type(JSON))
}
