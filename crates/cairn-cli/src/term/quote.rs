//! Paths in commands that people paste into a shell.

use std::path::Path;

use super::visible;

/// Quotes a path for a shell, on one line.
pub(crate) fn quoted(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    match std::str::from_utf8(bytes) {
        Ok(text) if visible(text) == text && !text.contains(['\n', '\t', '`']) => {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
        // What a terminal would not show as it is, and a backtick, which ends a command in a hint.
        _ => format!("$'{}'", bytes.iter().map(|byte| escaped(*byte)).collect::<String>()),
    }
}

fn escaped(byte: u8) -> String {
    match byte {
        b'\'' | b'\\' => format!("\\{}", char::from(byte)),
        b' '..=b'~' if byte != b'`' => char::from(byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn a_shell_takes_a_quoted_path_for_what_it_is() {
        let names: [&[u8]; 8] = [
            b"plain.db",
            b"with space",
            b"it's \"quoted\"",
            b"100%\\n$HOME",
            b"two\nlines\t",
            b"back`tick`",
            b"\xff\x1b[2J'",
            "\u{202e}f\u{fc}r".as_bytes(),
        ];
        for name in names {
            let quoted = quoted(Path::new(OsStr::from_bytes(name)));
            assert!(!quoted.contains(['\n', '\t', '\x1b', '`']), "{quoted:?}");
            let script = format!("printf %s {quoted}");
            let out = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
            assert_eq!(out.stdout, name, "{quoted}");
        }
    }
}
