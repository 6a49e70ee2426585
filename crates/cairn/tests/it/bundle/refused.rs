//! Bundles that nobody vouches for, and files that are no bundles.

use cairn::bundle::{MAX_LINE, Selection};
use cairn::core::canonical;
use cairn::core::log::Checkpoint;
use cairn::core::note::{SigningKey, VerifyingKey};
use cairn::{Reason, Sha};
use serde_json::json;

use super::forge::{Bundle, both, checkpoint, export, filled, key_of, verify};

#[test]
fn a_signature_counts_only_with_a_key_that_was_given() {
    let bytes = export(&filled(), Selection::All);
    let origin = Bundle::of(&bytes).origin();
    let other = SigningKey::from_seed(&origin, [8; 32]).unwrap();
    let stranger = SigningKey::from_seed("cairn/stranger", [7; 32]).unwrap();
    let foreign = "checkpoint_mismatch (table checkpoint, note)";
    for key in [&other, &stranger] {
        assert_eq!(both(&bytes, &[key.verifying_key().clone()]), [foreign; 3]);
    }
    let unsigned = Bundle::of(&bytes).rebuilt(&[]);
    let key = key_of(&origin).verifying_key().clone();
    assert_eq!(both(&unsigned.bytes(), &[key]), ["checkpoint_mismatch (table checkpoint, signature)"]);
    // Rewritten as a whole and signed by somebody else: consistent, and worth nothing to who has the log's key.
    let mut forged = Bundle::of(&bytes);
    forged
        .lines
        .retain(|line| line.get("checkpoint").is_none_or(|note| note.as_str().unwrap().contains("\n19\n")));
    forged.set_leaf(2, |leaf| leaf["agent_id"] = json!("eve"));
    let forged = forged.rebuilt(&[&other]);
    let key: VerifyingKey = key_of(&origin).verifying_key().clone();
    assert_eq!(both(&forged.bytes(), std::slice::from_ref(&key)), [foreign]);
    assert_eq!(both(&forged.bytes(), &[key, other.verifying_key().clone()]), [""; 0]);
    assert_eq!(both(&forged.bytes(), &[]), [""; 0]);
    // An older checkpoint that a given key signed for other entries.
    let mut older = Bundle::of(&bytes);
    let note = Checkpoint::new(&origin, 4, Sha::of(b"other")).unwrap();
    let note = note.signed(&[&key_of(&origin)]).unwrap();
    *checkpoint(&mut older, 0) = json!(note.to_string());
    let key = key_of(&origin).verifying_key().clone();
    assert_eq!(both(&older.bytes(), &[key]), ["checkpoint_mismatch (table checkpoint, root)"]);
}

#[test]
fn what_is_no_bundle_is_refused_by_both_at_the_same_line() {
    let good = export(&filled(), Selection::All);
    let lines: Vec<&[u8]> = good.split_inclusive(|byte| *byte == b'\n').collect();
    let with = |number: usize, line: &[u8]| {
        let mut lines = lines.clone();
        lines[number - 1] = line;
        lines.concat()
    };
    let line_4 = lines[3].strip_suffix(b"\n").unwrap();
    let deep = [b"{\"leaf\":".to_vec(), vec![b'['; 100_000], vec![b']'; 100_000], b"}\n".to_vec()].concat();
    let twice = [b"{\"content\":null,", &line_4[1..], b"\n"].concat();
    let spaced = [b"{ ", &line_4[1..], b"\n"].concat();
    let cases: Vec<(&str, Vec<u8>, usize)> = vec![
        ("nothing", Vec::new(), 1),
        ("garbage", b"garbage\n".to_vec(), 1),
        ("bytes", (0..=255).collect(), 1),
        ("a list", b"[]\n".to_vec(), 1),
        ("a byte order mark", [b"\xef\xbb\xbf", &good[..]].concat(), 1),
        ("another format", with(1, &canonical::to_bytes(&json!({"format": "cairn-bundle/2"})).unwrap()), 1),
        ("cut after a line", lines[..5].concat(), 6),
        ("cut inside a line", good[..good.len() - 10].to_vec(), lines.len()),
        ("without the last newline", good[..good.len() - 1].to_vec(), lines.len()),
        ("without the manifest", lines[..lines.len() - 1].concat(), lines.len()),
        ("more after the manifest", [&good[..], b"{\"keys\":[]}\n"].concat(), lines.len() + 1),
        ("an empty line at the end", [&good[..], b"\n"].concat(), lines.len() + 1),
        ("an empty line", with(4, b"\n"), 4),
        ("two lines in one", with(4, line_4), 4),
        ("deep JSON", with(4, &deep), 4),
        ("a key twice", with(4, &twice), 4),
        ("a space", with(4, &spaced), 4),
        ("a carriage return", with(4, &[line_4, b"\r\n"].concat()), 4),
        ("not UTF-8", with(4, &[&line_4[..12], b"\xff", &line_4[12..], b"\n"].concat()), 4),
        ("half a character", with(4, b"{\"content\":\"\\ud800\",\"leaf\":\"x\"}\n"), 4),
        ("a number", with(4, b"{\"leaf\":1}\n"), 4),
        ("a float", with(4, b"{\"leaf\":1.5}\n"), 4),
        ("a huge number", with(4, b"{\"leaf\":1e999}\n"), 4),
        ("NaN", with(4, b"{\"leaf\":NaN}\n"), 4),
        ("a huge line", vec![b' '; MAX_LINE + 2], 1),
    ];
    for (name, bytes, line) in cases {
        let found = both(&bytes, &[]);
        assert_eq!(found.last().unwrap(), &format!("malformed (table bundle, line {line})"), "{name}");
        assert_eq!(verify(&bytes, &[]).findings.last().unwrap().reason, Reason::Malformed, "{name}");
    }
    let changed = with(lines.len(), b"{\"manifest\":{\"entries\":19,\"redacted\":0,\"sha256\":\"00\"}}\n");
    assert_eq!(both(&changed, &[]), [format!("malformed (table bundle, line {})", lines.len())]);
    let mut changed = good.clone();
    let digit = changed.len() - 10;
    changed[digit] = if changed[digit] == b'0' { b'1' } else { b'0' };
    assert_eq!(both(&changed, &[]), ["content_hash_mismatch (table manifest, sha256)"]);
}
