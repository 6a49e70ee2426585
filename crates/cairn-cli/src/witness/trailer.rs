//! Heads as trailers of commits: `Cairn-Checkpoint: ORIGIN SIZE ROOT SIGNATURES`.
//!
//! A commit's message is part of its id, and every clone has it: whoever wants to hide a head has to rewrite the
//! history that others have.

use cairn::Stated;
use cairn::core::log::CheckpointNote;

/// The name of the trailer.
pub(crate) const NAME: &str = "Cairn-Checkpoint";
/// Stands for the signatures of a checkpoint that has none.
const UNSIGNED: &str = "unsigned";

/// A checkpoint as one line for the end of a commit message. Signatures of others than the log are left out.
pub(crate) fn trailer(stated: &Stated) -> String {
    let mut lines = stated.note.lines().skip(1);
    let (size, root) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let own = format!("— {} ", stated.origin);
    let signatures: Vec<&str> = lines.filter_map(|line| line.strip_prefix(own.as_str())).collect();
    let signatures = if signatures.is_empty() { UNSIGNED.to_string() } else { signatures.join(",") };
    format!("{NAME}: {} {size} {root} {signatures}", stated.origin)
}

/// The checkpoints in the message of a commit.
pub(super) fn find(message: &str) -> Vec<CheckpointNote> {
    let values = message.lines().filter_map(|line| line.strip_prefix(NAME)?.strip_prefix(": "));
    values.filter_map(parse).collect()
}

fn parse(value: &str) -> Option<CheckpointNote> {
    // From the end: an origin may have spaces.
    let mut words = value.trim_end().rsplitn(4, ' ');
    let (signatures, root, size, origin) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let mut text = format!("{origin}\n{size}\n{root}\n");
    if signatures != UNSIGNED {
        text.push('\n');
        for signature in signatures.split(',') {
            text.push_str(&format!("— {origin} {signature}\n"));
        }
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=";

    fn stated(note: &str) -> Stated {
        let parsed: CheckpointNote = note.parse().unwrap();
        let checkpoint = parsed.checkpoint();
        Stated {
            origin: checkpoint.origin().into(),
            size: checkpoint.size(),
            root: checkpoint.root(),
            signed_by: Vec::new(),
            note: note.into(),
        }
    }

    #[test]
    fn a_trailer_says_what_the_note_says() {
        for note in [
            format!("a b\n12\n{ROOT}\n"),
            format!("a\n12\n{ROOT}\n\n— a {ROOT}\n"),
            format!("a\n12\n{ROOT}\n\n— a {ROOT}\n— a AAAAAAAA\n"),
        ] {
            let line = trailer(&stated(&note));
            assert!(!line.contains('\n') && line.starts_with("Cairn-Checkpoint: a"), "{line}");
            let message = format!("Fix it\n\nBecause.\n\nSigned-off-by: x\n{line}\n");
            assert_eq!(find(&message), [note.parse().unwrap()]);
        }
        let cosigned = format!("a\n12\n{ROOT}\n\n— a {ROOT}\n— w AAAAAAAA\n");
        assert!(trailer(&stated(&cosigned)).ends_with(&format!(" 12 {ROOT} {ROOT}")));
    }

    #[test]
    fn what_is_no_trailer_is_passed_over() {
        for message in [
            "",
            "Cairn-Checkpoint:",
            "Cairn-Checkpoint: a 1 x y",
            "Cairn-Checkpoint: a",
            "Cairn-Checkpoints: a 1 r unsigned",
        ] {
            assert_eq!(find(message), [], "{message}");
        }
    }
}
