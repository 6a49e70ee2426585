//! Finding the files of a roadmap, and reading them without being led out of the folder.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use cairn_core::id::RoadmapId;

use super::Form;
use super::parse::MAX_BYTES;
use crate::error::{Error, Result};

/// A name under which a roadmap may be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) form: Form,
    /// Relative to the folder: `import.yaml`, `git/git.json`.
    pub(super) name: String,
}

const ENDINGS: [(&str, Form); 5] = [
    ("yaml", Form::Yaml),
    ("yml", Form::Yaml),
    ("json", Form::Json),
    ("toml", Form::Toml),
    ("md", Form::Markdown),
];

/// The form that a file's name says, and the name without its ending.
pub(super) fn form_of(name: &str) -> Option<(&str, Form)> {
    let (stem, ending) = name.rsplit_once('.')?;
    ENDINGS.iter().find(|(known, _)| *known == ending).map(|(_, form)| (stem, *form))
}

/// Every file there is for one id: none, one, or too many.
pub(super) fn names(folder: &Path, id: &RoadmapId) -> Result<Vec<Name>> {
    let files = ENDINGS.iter().map(|(ending, form)| Name { form: *form, name: format!("{id}.{ending}") });
    let drawing = Name { form: Form::RoadmapSh, name: format!("{id}/{id}.json") };
    let mut found = Vec::new();
    for name in files.chain([drawing]) {
        if is_there(folder, &name.name)? {
            found.push(name);
        }
    }
    Ok(found)
}

/// Whether there is something by that name that is no folder. A link is something, wherever it leads.
pub(super) fn is_there(folder: &Path, name: &str) -> Result<bool> {
    match fs::symlink_metadata(folder.join(name)) {
        Ok(found) => Ok(!found.is_dir()),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
        Err(error) => Err(unreadable(name, &error)),
    }
}

/// The one file of a roadmap.
pub(super) fn name(folder: &Path, id: &RoadmapId) -> Result<Option<Name>> {
    let mut found = names(folder, id)?;
    match &found[..] {
        [] | [_] => Ok(found.pop()),
        [one, other, ..] => Err(Error::Conflict(format!(
            "the roadmap `{id}` is in `{}` and in `{}`; keep one of them",
            one.name, other.name
        ))),
    }
}

/// The ids of all roadmaps, in order. A folder that is not there holds none.
pub(super) fn ids(folder: &Path) -> Result<BTreeSet<RoadmapId>> {
    let mut ids = BTreeSet::new();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(ids),
        Err(error) => {
            return Err(Error::Conflict(format!("the folder of roadmaps cannot be read ({})", error.kind())));
        }
    };
    for entry in entries.flatten() {
        // A name that is no text cannot be an id either.
        let Ok(name) = entry.file_name().into_string() else { continue };
        if let Some((stem, _)) = form_of(&name)
            && let Ok(id) = RoadmapId::new(stem)
            && is_there(folder, &name).unwrap_or(true)
        {
            ids.insert(id);
        }
        if let Ok(id) = RoadmapId::new(name)
            && is_there(folder, &format!("{id}/{id}.json")).unwrap_or(false)
        {
            ids.insert(id);
        }
    }
    Ok(ids)
}

/// Where a file really is, links followed, which must be inside the folder.
pub(super) fn resolve(folder: &Path, name: &str) -> Result<PathBuf> {
    let root = fs::canonicalize(folder).map_err(|error| unreadable(name, &error))?;
    let path = match fs::canonicalize(root.join(name)) {
        Ok(path) => path,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(refused(format!("`{name}` is a link to nothing")));
        }
        Err(error) => return Err(unreadable(name, &error)),
    };
    if path.starts_with(&root) {
        Ok(path)
    } else {
        Err(refused(format!("`{name}` is a link out of the folder of roadmaps")))
    }
}

/// Reads a file whole, if it is one and not too large.
pub(super) fn read(path: &Path, name: &str) -> Result<Vec<u8>> {
    let failed = |error| unreadable(name, &error);
    // Asked before it is opened: opening a pipe would wait for somebody to write into it.
    let size = regular(fs::metadata(path).map_err(failed)?, name)?;
    let file = File::open(path).map_err(failed)?;
    regular(file.metadata().map_err(failed)?, name)?;
    let mut bytes = Vec::with_capacity(size + 1);
    // A file can grow while it is read.
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    fits(bytes.len())?;
    Ok(bytes)
}

fn regular(found: fs::Metadata, name: &str) -> Result<usize> {
    if !found.is_file() {
        return Err(refused(format!("`{name}` is not a regular file")));
    }
    let size = usize::try_from(found.len()).unwrap_or(usize::MAX);
    fits(size)?;
    Ok(size)
}

/// Refuses what is larger than a roadmap may be.
pub(super) fn fits(size: usize) -> Result<()> {
    if size > MAX_BYTES {
        return Err(Error::TooLarge { field: "roadmap", actual: size, limit: MAX_BYTES });
    }
    Ok(())
}

fn refused(message: String) -> Error {
    Error::invalid("roadmap_id", message)
}

fn unreadable(name: &str, error: &std::io::Error) -> Error {
    refused(format!("`{name}` cannot be read ({})", error.kind()))
}

/// Where a new file goes. Its folder is there, and must be inside like the file itself.
pub(super) fn parent_inside(folder: &Path, name: &str) -> Result<PathBuf> {
    match name.split_once('/') {
        None => Ok(fs::canonicalize(folder).map_err(|error| unreadable(name, &error))?.join(name)),
        Some((inner, file)) => Ok(resolve(folder, inner)?.join(file)),
    }
}
