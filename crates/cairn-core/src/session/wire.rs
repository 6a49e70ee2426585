//! How operations are read back: one flat shape for all of them.
//!
//! A long session has a hundred thousand operations, and each fold reads them all. Serde reads a tagged enum by way of
//! a copy of everything in it; this reads it in one go.

use serde::Deserialize;

use super::op::{Body, Detail, EntityOp, Row, Stored, UserAction};

/// Every field that an operation can have.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FlatOp {
    op: Name,
    #[serde(rename = "type")]
    kind: Option<String>,
    id: Option<String>,
    #[serde(rename = "ref")]
    entity_ref: Option<String>,
    label: Option<String>,
    detail: Option<Detail>,
    body: Option<Body>,
    links: Vec<Row>,
    nested: Vec<Row>,
    from: Option<String>,
    action: Option<UserAction>,
    text: Option<String>,
    reason: Option<String>,
}

/// What an operation is called.
#[derive(Debug, Default, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Name {
    #[default]
    Missing,
    Read,
    Update,
    Generate,
    Create,
    User,
    Delete,
    Touch,
    TouchText,
    Retain,
    Demote,
    Edit,
    Label,
    Drop,
    Clear,
}

impl FlatOp {
    fn stored(&mut self) -> Result<Stored, String> {
        Ok(Stored {
            row: Row { kind: self.kind()?, id: self.id()?, label: self.label.take() },
            detail: self.detail.take(),
            body: self.body.take(),
            links: std::mem::take(&mut self.links),
            nested: std::mem::take(&mut self.nested),
        })
    }

    fn kind(&mut self) -> Result<String, String> {
        self.kind.take().ok_or_else(|| missing("type"))
    }

    fn id(&mut self) -> Result<String, String> {
        self.id.take().ok_or_else(|| missing("id"))
    }

    fn entity_ref(&mut self) -> Result<String, String> {
        self.entity_ref.take().ok_or_else(|| missing("ref"))
    }
}

fn missing(field: &str) -> String {
    format!("missing field `{field}`")
}

impl TryFrom<FlatOp> for EntityOp {
    type Error = String;

    fn try_from(mut flat: FlatOp) -> Result<EntityOp, String> {
        let name = std::mem::take(&mut flat.op);
        let op = match name {
            Name::Read => EntityOp::Read(flat.stored()?),
            Name::Update => EntityOp::Update(flat.stored()?),
            Name::Generate => {
                EntityOp::Generate { kind: flat.kind()?, label: flat.label.take(), body: flat.body.take() }
            }
            Name::Create => EntityOp::Create {
                kind: flat.kind()?,
                id: flat.id()?,
                label: flat.label.take(),
                from: flat.from.take(),
            },
            Name::User => EntityOp::User {
                kind: flat.kind()?,
                id: flat.id()?,
                label: flat.label.take(),
                action: flat.action.take().ok_or_else(|| missing("action"))?,
            },
            Name::Delete => EntityOp::Delete { entity_ref: flat.entity_ref()? },
            Name::Touch => EntityOp::Touch { entity_ref: flat.entity_ref()? },
            Name::TouchText => EntityOp::TouchText { text: flat.text.take().ok_or_else(|| missing("text"))? },
            Name::Retain => EntityOp::Retain {
                entity_ref: flat.entity_ref()?,
                reason: flat.reason.take().ok_or_else(|| missing("reason"))?,
            },
            Name::Demote => EntityOp::Demote { entity_ref: flat.entity_ref()? },
            Name::Edit => EntityOp::Edit {
                entity_ref: flat.entity_ref()?,
                body: flat.body.take().ok_or_else(|| missing("body"))?,
                label: flat.label.take(),
            },
            Name::Label => EntityOp::Label {
                entity_ref: flat.entity_ref()?,
                label: flat.label.take().ok_or_else(|| missing("label"))?,
            },
            Name::Drop => EntityOp::Drop { entity_ref: flat.entity_ref()? },
            Name::Clear => EntityOp::Clear {},
            Name::Missing => return Err(missing("op")),
        };
        // What an operation does not take was not written by us.
        if flat == FlatOp::default() {
            Ok(op)
        } else {
            Err(format!("{name:?} has a field that it does not take"))
        }
    }
}
