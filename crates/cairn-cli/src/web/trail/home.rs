//! `/`: the sessions, newest first, and how the log stands.

use cairn::{SessionsPage, Status};
use maud::html;
use serde::Serialize;

use crate::error::CliError;
use crate::serve::{Asked, Badge, Live, Page, Shown};
use crate::web::link;
use crate::web::text::text;

const PAGE: u64 = 50;

pub(super) struct Home;

#[derive(Serialize)]
pub(super) struct Data {
    status: Status,
    integrity: Badge,
    #[serde(flatten)]
    sessions: SessionsPage,
}

impl Page for Home {
    type Data = Data;

    fn read(asked: &Asked) -> Result<Data, CliError> {
        let cairn = asked.cairn();
        let sessions = cairn.sessions_page(asked.query_number("before")?, PAGE)?;
        Ok(Data { status: cairn.status()?, integrity: asked.site.integrity.badge(), sessions })
    }

    fn show(data: &Data, _asked: &Asked) -> Shown {
        let main = html! {
            h1 { "Sessions" }
            ol.sessions {
                @for session in &data.sessions.sessions {
                    li { a href=(link::session(session.session_id.as_str())) { (text(session.session_id.as_str())) } }
                }
            }
        };
        Shown { title: "Sessions".to_string(), main, live: Live::Log }
    }
}
