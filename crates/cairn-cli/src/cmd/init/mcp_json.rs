//! Putting one server into `.mcp.json` without touching anything else in it.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::layout::{PLAIN, Page, pretty};
use super::scan::{members, skip_space};
use crate::error::CliError;

const SERVERS: &str = "mcpServers";
const NAME: &str = "cairn";

/// The entry of a server that is started as a program.
#[derive(Debug, Serialize)]
pub(super) struct Server {
    pub(super) command: String,
    pub(super) args: [&'static str; 3],
}

/// What happens to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Created,
    Added,
    Replaced,
    /// The entry is there already.
    Unchanged,
    /// There is an entry of that name which says something else.
    LeftAlone,
}

impl Change {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Change::Created => "created",
            Change::Added => "added",
            Change::Replaced => "replaced",
            Change::Unchanged => "unchanged",
            Change::LeftAlone => "left_alone",
        }
    }
}

/// What the file will say.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) change: Change,
    text: Option<String>,
}

/// Reads the file and decides what to do; writes nothing.
pub(super) fn plan(path: &Path, server: &Server, force: bool) -> Result<Plan, CliError> {
    let text = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(CliError::io(format!("cannot read `{}`", path.display()), &error)),
    };
    merge(&text, server, force).map_err(|problem| {
        CliError::refused(format!("`{}` {problem}; nothing was changed", path.display()))
            .hint("repair the file, or move it away, and run `cairn init` again")
    })
}

fn merge(bytes: &[u8], server: &Server, force: bool) -> Result<Plan, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "is not UTF-8".to_string())?;
    if text.trim().is_empty() {
        let whole = BTreeMap::from([(SERVERS, BTreeMap::from([(NAME, server)]))]);
        return Ok(Plan { change: Change::Created, text: Some(pretty(&whole, "  ") + "\n") });
    }
    // Some editors put a byte order mark first, which JSON does not know.
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let value: Value =
        serde_json::from_str(&text[start..]).map_err(|error| format!("is not valid JSON: {error}"))?;
    if !value.is_object() {
        return Err("does not hold a JSON object".to_string());
    }
    let page = Page::new(text, skip_space(text.as_bytes(), start));
    let (top, _) = members(text, page.start);
    // Of two members with one name the last one counts, as it does for every common parser.
    let Some(servers) = top.iter().rfind(|member| member.key == SERVERS) else {
        let text = page.with_member(page.start, 0, SERVERS, &BTreeMap::from([(NAME, server)]));
        return Ok(Plan { change: Change::Added, text: Some(text) });
    };
    let servers = servers.value.start;
    if !text[servers..].starts_with('{') {
        return Err(format!("has a `{SERVERS}` that is no object"));
    }
    let (named, _) = members(text, servers);
    let Some(entry) = named.iter().rfind(|member| member.key == NAME) else {
        return Ok(Plan { change: Change::Added, text: Some(page.with_member(servers, 1, NAME, server)) });
    };
    let says: Value =
        serde_json::from_str(&text[entry.value.clone()]).expect("a part of what was just parsed");
    if says == serde_json::to_value(server).expect(PLAIN) {
        return Ok(Plan { change: Change::Unchanged, text: None });
    }
    if !force {
        return Ok(Plan { change: Change::LeftAlone, text: None });
    }
    let new = page.rendered(server, servers, entry.start);
    let text = [&text[..entry.value.start], &new, &text[entry.value.end..]].concat();
    Ok(Plan { change: Change::Replaced, text: Some(text) })
}

impl Plan {
    /// Puts the new text in place: the old file or the new one, never half of either.
    pub(super) fn write(&self, path: &Path) -> Result<(), CliError> {
        let Some(text) = &self.text else { return Ok(()) };
        // Through a link to the file that it names, so that the link stays.
        let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let failed =
            |error: std::io::Error| CliError::io(format!("cannot write `{}`", path.display()), &error);
        let folder =
            target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new().prefix(".mcp.json.").tempfile_in(folder).map_err(failed)?;
        file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
        match std::fs::metadata(&target) {
            Ok(metadata) => file.as_file().set_permissions(metadata.permissions()).map_err(failed)?,
            // Temporary files are private; this one is for everybody who works on the project.
            #[cfg(unix)]
            Err(_) => {
                let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o644);
                file.as_file().set_permissions(everybody).map_err(failed)?;
            }
            #[cfg(not(unix))]
            Err(_) => {}
        }
        file.persist(&target).map_err(|error| failed(error.error))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> Server {
        Server { command: "cairn".to_string(), args: ["mcp", "--tools", "trail"] }
    }

    fn merged(text: &str) -> String {
        let plan = merge(text.as_bytes(), &server(), false).unwrap();
        assert_eq!(plan.change, Change::Added);
        let text = plan.text.unwrap();
        let again = merge(text.as_bytes(), &server(), false).unwrap();
        assert_eq!(again, Plan { change: Change::Unchanged, text: None });
        text
    }

    const ENTRY: &str = r#""cairn": {"command":"cairn","args":["mcp","--tools","trail"]}"#;

    #[test]
    fn other_servers_unknown_keys_order_and_layout_stay() {
        let before = "{\n\t\"z\": 1,\n\t\"mcpServers\": {\n\t\t\"b\": {\"command\": \"b\" }\n\t},\n\t\"a\": [1.50]\n}\n";
        let after = merged(before);
        let added = ",\n\t\t\"cairn\": {\n\t\t\t\"command\": \"cairn\",\n\t\t\t\"args\": [\n\t\t\t\t\"mcp\",\n\t\t\t\t\"--tools\",\n\t\t\t\t\"trail\"\n\t\t\t]\n\t\t}";
        assert!(after.contains(added), "{after}");
        assert_eq!(after.replace(added, ""), before);
    }

    #[test]
    fn a_file_on_one_line_stays_on_one_line() {
        assert_eq!(
            merged(r#"{"a":1}"#),
            format!(r#"{{"a":1, "mcpServers": {{{}}}}}"#, ENTRY.replace(": {", ":{"))
        );
        assert_eq!(merged(r#"{"mcpServers":{ }}"#), format!(r#"{{"mcpServers":{{{ENTRY}}}}}"#));
        assert_eq!(
            merged(r#"{"mcpServers":{"x":{}}}"#),
            format!(r#"{{"mcpServers":{{"x":{{}}, {ENTRY}}}}}"#)
        );
    }

    #[test]
    fn an_empty_object_is_filled() {
        assert!(merged("{}").starts_with("{\n  \"mcpServers\": {\n    \"cairn\": {\n      \"command\": "));
        let windows = merged("\u{feff}{\r\n  \"mcpServers\": {\r\n  }\r\n}\r\n");
        assert_eq!(windows.matches('\n').count(), windows.matches("\r\n").count());
        assert!(windows.starts_with("\u{feff}{\r\n  \"mcpServers\": {\r\n    \"cairn\": {"));
    }

    #[test]
    fn another_entry_of_that_name_gives_way_only_by_force() {
        let before =
            "{\n  \"mcpServers\": {\n    \"cairn\": {\"command\": \"other\"},\n    \"x\": {}\n  }\n}";
        assert_eq!(merge(before.as_bytes(), &server(), false).unwrap().change, Change::LeftAlone);
        let plan = merge(before.as_bytes(), &server(), true).unwrap();
        assert_eq!(plan.change, Change::Replaced);
        let after: Value = serde_json::from_str(plan.text.as_ref().unwrap()).unwrap();
        assert_eq!(after["mcpServers"]["cairn"]["command"], "cairn");
        assert!(plan.text.unwrap().ends_with("    },\n    \"x\": {}\n  }\n}"));
    }

    #[test]
    fn what_cannot_be_understood_is_refused() {
        let problem = |text: &[u8]| merge(text, &server(), true).unwrap_err();
        assert_eq!(problem(b"{\n  \"a\": 1,\n}"), "is not valid JSON: trailing comma at line 3 column 1");
        assert_eq!(problem(b"[]"), "does not hold a JSON object");
        assert_eq!(problem(b"{\"mcpServers\": []}"), "has a `mcpServers` that is no object");
        assert_eq!(problem(b"\xff"), "is not UTF-8");
    }
}
