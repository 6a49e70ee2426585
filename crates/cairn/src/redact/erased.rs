//! Making sure that an erased text is gone from the files, and saying what is left of it.

use cairn_core::entry::EntryKind;

use super::pieces::{add_metadata, add_text, add_values, texts};
use crate::store::{Pieces, Store, Swept, Target};

/// A text that was erased from its record, and is still to be looked for in the files.
pub(crate) struct Erased {
    pieces: Option<Pieces>,
    brief: bool,
}

impl Erased {
    /// Remembers pieces of what records held.
    pub fn of<'t>(targets: impl IntoIterator<Item = &'t Target>) -> Erased {
        let (mut pieces, mut any, mut brief) = (Pieces::default(), false, false);
        for target in targets {
            any |= add_pieces(&mut pieces, target);
            brief |= target.kind == EntryKind::Brief;
        }
        Erased { pieces: any.then_some(pieces), brief }
    }

    /// Remembers pieces of texts that stood in JSON.
    pub fn of_texts(texts: &[String]) -> Erased {
        let mut pieces = Pieces::default();
        add_values(&mut pieces, texts);
        Erased { pieces: Some(pieces), brief: false }
    }

    /// Looks for it, and makes the file anew where that helps; returns whether it did, and what is left, in words.
    pub fn sweep(&self, store: &dyn Store) -> (bool, Vec<String>) {
        let Some(pieces) = &self.pieces else { return (false, Vec::new()) };
        match store.sweep(pieces) {
            Ok(mut swept) => {
                if self.brief {
                    // It consists of what others say.
                    swept.elsewhere = 0;
                }
                (swept.vacuumed, left(&swept))
            }
            Err(error) => {
                let what = "the files could not be searched for pieces of the text";
                (false, vec![format!("{what}: {error}")])
            }
        }
    }
}

/// Adds what to look for; no if there was no text.
fn add_pieces(pieces: &mut Pieces, target: &Target) -> bool {
    match (&target.key, &target.text) {
        (Some(key), _) => pieces.texts.push(key.clone()),
        (None, Some(data)) if target.kind == EntryKind::Snapshot => add_values(pieces, &texts(data)),
        (None, Some(text)) => add_text(pieces, text, target.kind == EntryKind::Thought),
        (None, None) => {}
    }
    if let Some(metadata) = &target.metadata {
        add_metadata(pieces, metadata);
    }
    let empty = target.key.is_none() && target.text.as_ref().is_none_or(String::is_empty);
    !empty || target.metadata.is_some()
}

/// What is left of the text, in words.
fn left(swept: &Swept) -> Vec<String> {
    let pieces = |count: usize| format!("{count} {}", if count == 1 { "piece" } else { "pieces" });
    let mut left = swept.notes.clone();
    if swept.blocked && swept.in_file + swept.beside > 0 {
        left.push(format!(
            "another program was reading an older state all the time, so that {} of the text still stand in the \
             database file and {} in the write-ahead log beside it; close the other programs that have the database \
             open: the last one to close it empties the log",
            pieces(swept.in_file),
            pieces(swept.beside)
        ));
    } else if swept.blocked {
        left.push(
            "another program was reading an older state all the time, so that the write-ahead log beside the database \
             could not be emptied; no piece of the text was found in it. The last program to close the database \
             empties it"
                .to_string(),
        );
    } else if let Some(error) = &swept.vacuum_failed {
        left.push(format!(
            "{} of the text may stand in unused parts of the database file, which could not be made anew: {error}; run \
             VACUUM on it with an SQLite shell",
            pieces(swept.in_file)
        ));
    }
    if swept.beside > 0 && !swept.blocked {
        left.push(format!(
            "{} of the text still stand in the write-ahead log beside the database; the last program to close the \
             database empties it",
            pieces(swept.beside)
        ));
    }
    if swept.elsewhere > 0 {
        left.push(format!(
            "{} of the text stand in other records as well, which were not redacted; `cairn search` finds thoughts",
            pieces(swept.elsewhere)
        ));
    }
    left
}
