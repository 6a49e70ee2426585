//! Roadmaps on disk.
//!
//! Finding and reading files is in `folder`; each form turns a text into a document (`yaml`, `json`, `toml`,
//! `markdown`), which the core turns into a roadmap. `register` puts roadmaps into the folder by way of `emit`
//! and `disk`.

mod disk;
mod emit;
mod folder;
mod json;
mod markdown;
mod parse;
mod register;
mod source;
mod toml;
mod yaml;

use std::path::{Path, PathBuf};

use cairn_core::id::RoadmapId;
use cairn_core::roadmap::Roadmap;
use cairn_core::roadmap::plan_form::MOST_ISSUES;
use serde::Serialize;
use serde_json::Value;

use crate::error::{Error, Result};
pub(crate) use source::Source;
use source::{Contents, RawFile};

/// A folder of roadmaps. Read when asked, never cached.
#[derive(Debug, Clone)]
pub struct Roadmaps {
    folder: PathBuf,
}

/// In which form a roadmap is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// `ID.yaml`
    Yaml,
    /// `ID.json`
    Json,
    /// `ID.toml`
    Toml,
    /// `ID.md` with front matter
    Markdown,
    /// `ID/ID.json` as roadmap.sh publishes it
    #[serde(rename = "roadmap.sh")]
    RoadmapSh,
}

/// A roadmap in a listing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ListedRoadmap {
    /// Its id.
    pub id: RoadmapId,
    /// What it is called; none if it cannot be read.
    pub title: Option<String>,
    /// Nodes in it.
    pub node_count: u64,
    /// Phases in it.
    pub phase_count: u64,
    /// In which form it is kept.
    pub form: Form,
    /// Why it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What is wrong with a roadmap's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileIssue {
    /// The file's name.
    pub file: String,
    /// The line, if it is known.
    pub line: Option<u32>,
    /// The field, such as `nodes[3].label`.
    pub field: String,
    /// What is wrong.
    pub message: String,
}

/// Whether a roadmap is sound.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Validation {
    /// Whether nothing is wrong.
    pub valid: bool,
    /// What is.
    pub issues: Vec<FileIssue>,
}

/// A roadmap to be written.
#[derive(Debug, Clone, Default)]
pub struct NewRoadmap {
    /// Its id.
    pub roadmap_id: String,
    /// What it is called.
    pub title: String,
    /// What it is about.
    pub description: Option<String>,
    /// Nodes, as in a file.
    pub nodes: Vec<Value>,
    /// Connections, as in a file.
    pub connections: Vec<Value>,
    /// Phases, as in a file.
    pub phases: Vec<Value>,
    /// Whether one that is there is replaced.
    pub overwrite: bool,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Registered {
    /// Its id.
    pub id: RoadmapId,
    /// In which form.
    pub form: Form,
    /// The file's name, in the folder of roadmaps.
    pub file: String,
    /// Whether it replaced one.
    pub replaced: bool,
    /// The roadmap as it can now be read.
    #[serde(flatten)]
    pub roadmap: Roadmap,
}

impl Roadmaps {
    /// The roadmaps in `folder`, which need not exist yet.
    pub fn new(folder: impl Into<PathBuf>) -> Roadmaps {
        Roadmaps { folder: folder.into() }
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Lists them by id, those that cannot be read with the reason.
    pub fn list(&self) -> Result<Vec<ListedRoadmap>> {
        folder::ids(&self.folder)?.into_iter().filter_map(|id| self.listed(id).transpose()).collect()
    }

    /// Reads one.
    pub fn get(&self, id: &str) -> Result<Roadmap> {
        self.source(&roadmap_id(id)?)?.parse()
    }

    /// Says what is wrong with one.
    pub fn validate(&self, id: &str) -> Result<Validation> {
        let id = roadmap_id(id)?;
        let (file, mut issues) = match self.source(&id) {
            Err(error @ Error::NotFound { .. }) => return Err(error),
            // That it is refused is what is wrong with it, and must not hide what is wrong with others.
            Err(error) => {
                let file = folder::names(&self.folder, &id).unwrap_or_default().into_iter().next();
                let file = file.map_or_else(|| id.to_string(), |name| name.name);
                let (line, field, message) = (None, String::new(), refusal(error));
                (file.clone(), vec![FileIssue { file, line, field, message }])
            }
            Ok(source) => {
                let issues = match source.read() {
                    Err(issues) => issues,
                    Ok(contents) => [contents.flaws(&source.file.name), contents.remarks].concat(),
                };
                (source.file.name, issues)
            }
        };
        let left_out = issues.len().saturating_sub(MOST_ISSUES);
        if left_out > 1 {
            issues.truncate(MOST_ISSUES);
            let message = format!("and {left_out} more issues");
            issues.push(FileIssue { file, line: None, field: String::new(), message });
        }
        Ok(Validation { valid: issues.is_empty(), issues })
    }

    /// Writes one: whole or not at all.
    pub fn register(&self, roadmap: NewRoadmap) -> Result<Registered> {
        self.write_new(roadmap)
    }

    /// Takes a file over as it is, comments and all, if it is sound.
    pub fn add(&self, id: &str, file: &Path, overwrite: bool) -> Result<Registered> {
        self.take_over(id, file, overwrite)
    }

    /// The files of one, as they are now.
    pub(crate) fn source(&self, id: &RoadmapId) -> Result<Source> {
        let Some(found) = folder::name(&self.folder, id)? else {
            return Err(Error::NotFound { what: "roadmap", id: id.to_string() });
        };
        let read = |name: String| {
            let bytes = folder::read(&folder::resolve(&self.folder, &name)?, &name)?;
            Ok::<_, Error>(RawFile { name, bytes })
        };
        let beside = format!("{id}/{id}.md");
        let beside = if found.form == Form::RoadmapSh && folder::is_there(&self.folder, &beside)? {
            Some(read(beside)?)
        } else {
            None
        };
        Ok(Source { id: id.clone(), form: found.form, file: read(found.name)?, beside })
    }

    /// One line of the listing; none if its file has gone meanwhile, or is a page for people such as a README.
    fn listed(&self, id: RoadmapId) -> Result<Option<ListedRoadmap>> {
        let Some(first) = folder::names(&self.folder, &id).unwrap_or_default().into_iter().next() else {
            return Ok(None);
        };
        let source = self.source(&id);
        if source.as_ref().is_ok_and(Source::is_a_page) {
            return Ok(None);
        }
        let read = source.and_then(|source| {
            source.read().map_err(|issues| Error::Invalid(issues.iter().map(source::placed).collect()))
        });
        Ok(Some(match read {
            Ok(Contents { form, reading, .. }) => ListedRoadmap {
                id,
                title: Some(reading.roadmap.title),
                node_count: reading.roadmap.nodes.len() as u64,
                phase_count: reading.roadmap.phases.len() as u64,
                form,
                error: None,
            },
            Err(error) => ListedRoadmap {
                id,
                title: None,
                node_count: 0,
                phase_count: 0,
                form: first.form,
                error: Some(in_short(error)),
            },
        }))
    }
}

fn roadmap_id(text: &str) -> Result<RoadmapId> {
    RoadmapId::new(text).map_err(|error| Error::invalid("roadmap_id", error))
}

/// The first issue and how many there are: a listing is no report.
fn in_short(error: Error) -> String {
    match error {
        Error::Invalid(issues) if issues.len() > 1 => {
            format!("{}: {} (and {} more)", issues[0].path, issues[0].message, issues.len() - 1)
        }
        other => refusal(other),
    }
}

/// Why a file was not read. That it is the file of the id that was given goes without saying.
fn refusal(error: Error) -> String {
    match &error {
        Error::Invalid(issues) if issues.len() == 1 && issues[0].path == "roadmap_id" => {
            issues[0].message.clone()
        }
        _ => error.to_string(),
    }
}
