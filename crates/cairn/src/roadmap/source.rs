//! The files of one roadmap as they are on disk, and what they say.

use cairn_core::Sha;
use cairn_core::id::RoadmapId;
use cairn_core::roadmap::Roadmap;
use cairn_core::roadmap::document::{Document, DocumentIssue};
use cairn_core::roadmap::plan_form::{self, Reading};
use cairn_core::roadmap::react_flow;
use cairn_core::thought::Issue;

use super::parse::{self, parse};
use super::{FileIssue, Form, markdown, yaml};
use crate::error::{Error, Result};

/// The bytes of a roadmap, read within the limits and not looked at yet.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(super) id: RoadmapId,
    /// As the name says; a drawing may also be in a file `ID.json`.
    pub(super) form: Form,
    pub(super) file: RawFile,
    /// The text beside a drawing.
    pub(super) beside: Option<RawFile>,
}

/// A file's name and content.
#[derive(Debug, Clone)]
pub(super) struct RawFile {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

/// What a source says.
pub(super) struct Contents {
    pub(super) form: Form,
    pub(super) reading: Reading,
    /// What could not be read and was not needed.
    pub(super) remarks: Vec<FileIssue>,
}

impl Source {
    /// Changes with any change of the files.
    pub(crate) fn hash(&self) -> Sha {
        let files = || [Some(&self.file), self.beside.as_ref()].into_iter().flatten();
        let head: String = files().map(|file| format!("{} {}\n", file.name, file.bytes.len())).collect();
        let mut parts = vec![head.as_bytes()];
        parts.extend(files().map(|file| file.bytes.as_slice()));
        Sha::of_parts(&parts)
    }

    /// Whether it is Markdown without front matter.
    pub(super) fn is_a_page(&self) -> bool {
        self.form == Form::Markdown && parse::text(&self.file.bytes).is_ok_and(|text| !markdown::begins(text))
    }

    /// The roadmap in it, or every reason why there is none.
    pub(crate) fn parse(&self) -> Result<Roadmap> {
        match self.read() {
            Ok(contents) => Ok(contents.reading.roadmap),
            Err(issues) => Err(Error::Invalid(issues.iter().map(placed).collect())),
        }
    }

    pub(super) fn read(&self) -> std::result::Result<Contents, Vec<FileIssue>> {
        let at = |issue| FileIssue::at(&self.file.name, issue);
        let all = |issues: Vec<DocumentIssue>| issues.into_iter().map(at).collect::<Vec<_>>();
        let document = parse(self.form, &self.file.bytes).map_err(|issue| vec![at(issue)])?;
        let json = matches!(self.form, Form::Json | Form::RoadmapSh);
        if !(json && react_flow::is_drawing(&document)) {
            let reading = plan_form::read(document).map_err(all)?;
            return Ok(Contents { form: self.form, reading, remarks: Vec::new() });
        }
        let (front, remarks) = self.front();
        let reading = react_flow::read(self.id.as_str(), front.as_ref(), &document).map_err(all)?;
        Ok(Contents { form: Form::RoadmapSh, reading, remarks })
    }

    /// The front matter beside a drawing. It gives no more than a title, so that a drawing is read without it.
    fn front(&self) -> (Option<Document>, Vec<FileIssue>) {
        let Some(file) = &self.beside else { return (None, Vec::new()) };
        let parsed = parse::text(&file.bytes).and_then(|text| {
            if !markdown::begins(text) {
                return Ok(None);
            }
            yaml::parse(markdown::split(text)?.front, 2).map(Some)
        });
        match parsed {
            Ok(front) => (front, Vec::new()),
            Err(issue) => (None, vec![FileIssue::at(&file.name, issue)]),
        }
    }
}

impl Contents {
    /// What the roadmap should not have, with the lines it stands on.
    pub(super) fn flaws(&self, file: &str) -> Vec<FileIssue> {
        let flaws = self.reading.flaws().into_iter();
        flaws
            .map(|flaw| {
                let line = self.reading.line(flaw.place);
                FileIssue::at(file, DocumentIssue { line, field: flaw.path(), message: flaw.message })
            })
            .collect()
    }
}

impl FileIssue {
    pub(super) fn at(file: &str, issue: DocumentIssue) -> FileIssue {
        let DocumentIssue { line, field, message } = issue;
        FileIssue { file: file.to_string(), line: (line > 0).then_some(line), field, message }
    }
}

/// An issue of a file as an issue of a call: `import.yaml:12 nodes[3].label`.
pub(super) fn placed(issue: &FileIssue) -> Issue {
    let line = issue.line.map(|line| format!(":{line}")).unwrap_or_default();
    let space = if issue.field.is_empty() { "" } else { " " };
    Issue::new(format!("{}{line}{space}{}", issue.file, issue.field), &issue.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_changes_with_any_change_of_the_files() {
        let file = |name: &str, bytes: &[u8]| RawFile { name: name.into(), bytes: bytes.into() };
        let of = |file: RawFile, beside: Option<RawFile>| {
            Source { id: RoadmapId::new("a").unwrap(), form: Form::Yaml, file, beside }.hash()
        };
        let hashes = [
            of(file("a.yaml", b"x"), None),
            of(file("a.yml", b"x"), None),
            of(file("a.yaml", b"y"), None),
            of(file("a.yaml", b""), None),
            of(file("a/a.json", b"x"), Some(file("a/a.md", b""))),
            of(file("a/a.json", b"x"), Some(file("a/a.md", b"y"))),
            of(file("a/a.json", b"xy"), Some(file("a/a.md", b""))),
            of(file("a/a.json", b"x"), None),
        ];
        for (index, hash) in hashes.iter().enumerate() {
            assert!(!hashes[..index].contains(hash), "{index}");
        }
        assert_eq!(of(file("a.yaml", b"x"), None), hashes[0]);
    }
}
