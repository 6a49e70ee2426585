//! Putting roadmaps into the folder: written from what a caller says, or taken over from a file.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use cairn_core::id::RoadmapId;
use cairn_core::roadmap::document::{Content, Document, DocumentIssue, Key};
use cairn_core::roadmap::plan_form;
use cairn_core::thought::Issue;

use super::folder::{self, Name};
use super::source::{RawFile, Source, placed};
use super::{Form, NewRoadmap, Registered, Roadmaps, disk, emit, markdown, parse, roadmap_id};
use crate::error::{Error, Result};

impl Roadmaps {
    pub(super) fn write_new(&self, new: NewRoadmap) -> Result<Registered> {
        let id = roadmap_id(&new.roadmap_id)?;
        let overwrite = new.overwrite;
        let document = document(new);
        let reading = plan_form::read(document.clone()).map_err(|issues| argument_issues(&issues))?;
        let flaws = reading.flaws();
        if !flaws.is_empty() {
            return Err(Error::Invalid(
                flaws
                    .iter()
                    .take(plan_form::MOST_ISSUES)
                    .map(|flaw| Issue::new(flaw.path(), &flaw.message))
                    .collect(),
            ));
        }
        let old = folder::name(&self.folder, &id)?;
        let name = match &old {
            None => Name { form: Form::Yaml, name: format!("{id}.yaml") },
            Some(old) if !overwrite => return Err(disk::taken(&old.name)),
            Some(old) => {
                self.refuse_drawing(&id, old)?;
                old.clone()
            }
        };
        let text = match name.form {
            Form::Yaml => emit::to_yaml(&document),
            Form::Json | Form::RoadmapSh => emit::to_json(&document),
            Form::Toml => emit::to_toml(&document).map_err(|issue| argument_issues(&[issue]))?,
            Form::Markdown => self.with_front_matter(&name.name, &emit::to_yaml(&document))?,
        };
        self.store(id, name, text.into_bytes(), old.is_some())
    }

    pub(super) fn take_over(&self, id: &str, file: &Path, overwrite: bool) -> Result<Registered> {
        let id = roadmap_id(id)?;
        let given = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let Some((_, form)) = folder::form_of(&given) else {
            return Err(Error::invalid("file", "must end in .yaml, .yml, .json, .toml or .md"));
        };
        match fs::metadata(file) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(Error::NotFound { what: "file", id: given });
            }
            Err(error) => return Err(Error::invalid("file", format!("cannot be read ({})", error.kind()))),
        }
        let bytes = folder::read(file, &given).map_err(as_file)?;
        let source =
            Source { id: id.clone(), form, file: RawFile { name: given.clone(), bytes }, beside: None };
        let contents = source.read().map_err(|issues| Error::Invalid(issues.iter().map(placed).collect()))?;
        let drawing = contents.form == Form::RoadmapSh;
        let flaws = contents.flaws(&given);
        // Nobody can mend a drawing that others publish.
        if !drawing && !flaws.is_empty() {
            return Err(Error::Invalid(flaws.iter().take(plan_form::MOST_ISSUES).map(placed).collect()));
        }
        let old = folder::name(&self.folder, &id)?;
        let name = match &old {
            Some(old) if !overwrite => return Err(disk::taken(&old.name)),
            Some(old) if same_ending(&old.name, &given) => old.clone(),
            Some(old) => {
                return Err(Error::Conflict(format!(
                    "the roadmap is kept in `{}`, and a file in another form would stand beside it; \
                     remove that one first, or choose another id",
                    old.name
                )));
            }
            None if drawing => Name { form: Form::RoadmapSh, name: format!("{id}/{id}.json") },
            None => {
                let ending = given.rsplit('.').next().unwrap_or_default();
                Name { form, name: format!("{id}.{ending}") }
            }
        };
        self.store(id, name, source.file.bytes, old.is_some())
    }

    /// Writes what was found sound, and answers with what can now be read.
    fn store(&self, id: RoadmapId, name: Name, bytes: Vec<u8>, replace: bool) -> Result<Registered> {
        folder::fits(bytes.len())?;
        // What could not be read back is not written in the first place.
        let file = RawFile { name: name.name.clone(), bytes };
        let source = Source { id: id.clone(), form: name.form, file, beside: None };
        let read = |source: &Source| {
            source.read().map_err(|issues| Error::Invalid(issues.iter().map(placed).collect()))
        };
        let written = read(&source)?;
        let path = if replace {
            folder::resolve(&self.folder, &name.name)?
        } else {
            let path = self.folder.join(&name.name);
            disk::make_folder(path.parent().unwrap_or(&self.folder))?;
            folder::parent_inside(&self.folder, &name.name)?
        };
        disk::write(&path, &source.file.bytes, replace)?;
        // A drawing has its title from the text beside it. Otherwise what is there by now may be another's.
        let contents = if written.form == Form::RoadmapSh { read(&self.source(&id)?)? } else { written };
        Ok(Registered {
            id,
            form: contents.form,
            file: name.name,
            replaced: replace,
            roadmap: contents.reading.roadmap,
        })
    }

    /// A drawing is what others published; a plan does not replace it.
    fn refuse_drawing(&self, id: &RoadmapId, old: &Name) -> Result<()> {
        let drawing = match old.form {
            Form::RoadmapSh => true,
            Form::Json => self.source(id)?.read().is_ok_and(|contents| contents.form == Form::RoadmapSh),
            _ => false,
        };
        if drawing {
            return Err(Error::Conflict(format!(
                "`{}` is a drawing of roadmap.sh, which is not written over; register under another id",
                old.name
            )));
        }
        Ok(())
    }

    /// New front matter above the text that is there, which stays as it is to the byte.
    fn with_front_matter(&self, name: &str, front: &str) -> Result<String> {
        let bytes = folder::read(&folder::resolve(&self.folder, name)?, name)?;
        let unreadable =
            |issue: DocumentIssue| Error::invalid(format!("{name}:{}", issue.line), issue.message);
        let text = parse::text(&bytes).map_err(unreadable)?;
        let rest =
            if markdown::begins(text) { markdown::split(text).map_err(unreadable)?.rest } else { text };
        Ok(format!("---\n{front}---\n{rest}"))
    }
}

/// What a caller says as a document, its fields in the order in which people look for them.
fn document(new: NewRoadmap) -> Document {
    let value = |value| Document { line: 0, value };
    let list = |items: Vec<serde_json::Value>, first: &[&str]| {
        let one = |item| ordered(Document::from_json(item, 0), first);
        value(Content::List(items.into_iter().map(one).collect()))
    };
    let mut members = vec![(Key::from("title"), value(Content::Text(new.title)))];
    if let Some(description) = new.description {
        members.push(("description".into(), value(Content::Text(description))));
    }
    if !new.phases.is_empty() {
        members.push(("phases".into(), list(new.phases, &["id", "title"])));
    }
    members.push(("nodes".into(), list(new.nodes, &["id", "label", "scope", "phase", "dependencies"])));
    if !new.connections.is_empty() {
        members.push(("connections".into(), list(new.connections, &["id", "from", "to", "type"])));
    }
    value(Content::Map(members))
}

fn ordered(mut item: Document, first: &[&str]) -> Document {
    if let Content::Map(members) = &mut item.value {
        // It is derived; written down it would only grow old.
        members.retain(|(key, _)| key != "dependents");
        members.sort_by_key(|(key, _)| first.iter().position(|name| name == key).unwrap_or(first.len()));
    }
    item
}

fn argument_issues(issues: &[DocumentIssue]) -> Error {
    Error::Invalid(issues.iter().map(|issue| Issue::new(issue.field.clone(), &issue.message)).collect())
}

/// What is wrong with a file that a caller named is wrong with that argument.
fn as_file(error: Error) -> Error {
    match error {
        Error::Invalid(issues) => {
            Error::Invalid(issues.into_iter().map(|issue| Issue::new("file", issue.message)).collect())
        }
        other => other,
    }
}

fn same_ending(one: &str, other: &str) -> bool {
    let form = |name: &str| folder::form_of(name).map(|(_, form)| form);
    form(one) == form(other)
}
