//! Everything that shows a database, as calls: commands, tools, prompts, resources and pages.
//!
//! The calls come from the tables that the program itself is made of, so that a new reader is found here, and fails the
//! test until its arguments are listed.

use std::path::{Path, PathBuf};

use cairn::{Cairn, Options};
use clap::CommandFactory;
use clap::Parser;
use serde_json::{Value, json};

use super::ground::{ACTION, ALPHA, BETA, Ground, Names, PLAN, TALK, TASK};
use crate::args::{App, Cli};
use crate::cmd;
use crate::mcp::{Call, Tool, testing};
use crate::web::testing::TestSite;

/// One call.
pub(super) enum Reader {
    Command(Vec<String>),
    Tool(&'static Tool, Value),
    Prompt(&'static str, Value),
    Resource(String),
    ResourceList,
    Page(String),
}

/// A database that readers look at.
pub(super) struct Place {
    /// The folder with the file `cairn.db`.
    pub(super) folder: PathBuf,
    pub(super) roadmaps: PathBuf,
}

/// The same, open, for those that do not open it themselves.
pub(super) struct Opened<'p> {
    place: &'p Place,
    cairn: Cairn,
    site: TestSite,
}

impl Place {
    pub(super) fn file(&self) -> PathBuf {
        self.folder.join("cairn.db")
    }

    pub(super) fn open(&self) -> Result<Opened<'_>, cairn::OpenError> {
        let options = Options::new().create(false).automatic_checkpoints(false).roadmaps(&self.roadmaps);
        let cairn = options.open(self.file())?;
        let beside = tempfile::tempdir_in(&self.folder).expect("a folder");
        Ok(Opened { place: self, site: TestSite::over(cairn.clone(), beside), cairn })
    }

    /// Runs a command as the program does; gives its exit code and all that it said.
    pub(super) fn command(&self, words: &[String]) -> (u8, String) {
        let (file, roadmaps) = (self.file(), self.roadmaps.clone());
        let options = ["cairn".as_ref(), "--db".as_ref(), file.as_os_str(), "--roadmaps".as_ref()];
        let words = words.iter().map(AsRef::as_ref);
        let line = options.into_iter().chain([roadmaps.as_os_str()]).chain(words);
        let cli = Cli::try_parse_from(line).expect("a command line");
        let mut app = App::new(&cli.global);
        let kept = app.ui.keep();
        let code = match cmd::run(cli.command, &app) {
            Ok(cmd::Outcome::Fine) => 0,
            Ok(cmd::Outcome::FoundSomething) => 1,
            Err(error) => {
                app.ui.remark(&error.envelope().to_string());
                error.exit_code()
            }
        };
        (code, kept.text())
    }
}

impl Reader {
    /// Its answer, with the place of the file taken out.
    pub(super) fn read(&self, opened: &Opened<'_>) -> String {
        let Opened { place, cairn, site } = opened;
        let said = match self {
            Reader::Command(words) => {
                let (code, said) = place.command(words);
                format!("exit {code}\n{said}")
            }
            Reader::Tool(tool, arguments) => testing::call(tool, cairn, arguments),
            Reader::Prompt(name, arguments) => testing::prompt(name, cairn, arguments),
            Reader::Resource(uri) => testing::resource(uri, cairn),
            Reader::ResourceList => testing::resource_list(cairn),
            Reader::Page(address) => match site.twin(address) {
                Ok(twin) => twin.to_string(),
                Err(error) => error.envelope().to_string(),
            },
        };
        without_size(said.replace(&place.folder.display().to_string(), "FOLDER"))
    }

    pub(super) fn name(&self) -> String {
        match self {
            Reader::Command(words) => format!("cairn {}", words.join(" ")),
            Reader::Tool(tool, arguments) => format!("{} {arguments}", tool.name),
            Reader::Prompt(name, arguments) => format!("prompt {name} {arguments}"),
            Reader::Resource(uri) => uri.clone(),
            Reader::ResourceList => "list of resources".to_string(),
            Reader::Page(address) => format!("GET {address}"),
        }
    }
}

/// Every reader there is.
pub(super) fn all(ground: &Ground) -> Vec<Reader> {
    let names = &ground.names;
    let mut readers = commands(names);
    for tool in testing::tools() {
        let calls =
            tool_calls(tool.name, names).unwrap_or_else(|| panic!("{}: no arguments listed", tool.name));
        assert!(
            !calls.is_empty() || !matches!(tool.call, Call::Read(_)) || tool.name == "log_verify",
            "{} reads: list arguments for it",
            tool.name
        );
        readers.extend(calls.into_iter().map(|arguments| Reader::Tool(tool, arguments)));
    }
    for name in testing::prompts() {
        readers.push(Reader::Prompt(name, json!({"session_id": TALK})));
    }
    for template in testing::templates() {
        readers.extend(resources(template, names).into_iter().map(Reader::Resource));
    }
    readers.push(Reader::ResourceList);
    for route in crate::web::pages() {
        readers.extend(pages(route.path, names).into_iter().map(Reader::Page));
    }
    readers
}

fn commands(names: &Names) -> Vec<Reader> {
    let program = Cli::command();
    let mut leaves: Vec<(String, &clap::Command)> = vec![(String::new(), &program)];
    let mut readers = Vec::new();
    while let Some((name, command)) = leaves.pop() {
        for below in command.get_subcommands() {
            leaves.push((format!("{name} {}", below.get_name()).trim().to_string(), below));
        }
        // `cairn log` is a command and has others below it.
        if !command.has_subcommands() || name == "log" {
            let calls = command_calls(&name, names);
            let calls = calls.unwrap_or_else(|| panic!("cairn {name}: no arguments listed"));
            for arguments in calls {
                let words: Vec<String> = name.split(' ').map(ToString::to_string).chain(arguments).collect();
                readers.push(Reader::Command(words));
            }
        }
    }
    readers
}

/// The ways in which each command is called; none for those that write, serve or do not read the database.
fn command_calls(name: &str, names: &Names) -> Option<Vec<Vec<String>>> {
    let Names { plain, child, acted, on_context, on_brief, redacted, sealed, unsealed, .. } = names;
    let (brief, other) = (&names.briefs[0], &names.briefs[1]);
    let lines: Vec<String> = match name {
        "list" => ["", "-s alpha", "-s beta -n 20", "-t payments", "--type decision", "-a bob", "--last 5"]
            .map(|filter| format!("{filter} --json"))
            .into_iter()
            .chain(["".to_string(), "-t orders --cursor 90".to_string()])
            .collect(),
        "show" => {
            let ids = [plain, child, acted, on_context, on_brief, redacted, sealed, unsealed];
            ids.iter().map(|id| format!("{id} --json")).chain([plain.clone()]).collect()
        }
        "tree" => vec![format!("{ALPHA} --json"), format!("{BETA} --full"), format!("{TALK} --json")],
        "trail" => vec![format!("{child} --json"), format!("--action {ACTION} --json")],
        "why" => vec![format!("{on_context} --json"), format!("{on_brief} --json"), child.clone()],
        "search" => {
            vec![
                "payment --json".into(),
                format!("order -s {ALPHA} --json"),
                "soup --type plan --json".into(),
            ]
        }
        "roadmap list" => vec!["--json".into()],
        "roadmap show" | "roadmap validate" => vec![format!("{PLAN} --json")],
        "roadmap graph" => vec![PLAN.into()],
        "context latest" | "context history" => vec![format!("{PLAN} --json"), "export --json".into()],
        "context show" => vec!["1 --json".into(), "4 --json".into(), "5".into()],
        "context diff" => vec!["1 2 --json".into(), "1".into(), "4 5 --json".into()],
        "context verify" => vec!["1 --json".into(), "5 --json".into()],
        "context search" => vec!["step --json".into(), format!("payment --roadmap {PLAN} --json")],
        "drift" => vec!["--json".into(), format!("--roadmap {PLAN}")],
        "session list" | "brief list" => vec!["--json".into(), "".into()],
        "session show" => {
            vec![
                format!("{TALK} --json"),
                format!("{BETA} --turn 3 --json"),
                format!("{TALK} --part reasoning"),
            ]
        }
        "session events" => vec![format!("{TALK} --json"), format!("{BETA} --after 150 --json")],
        "brief build" => vec![format!("{TALK} think --json"), format!("{BETA} act --turn 4 --json")],
        "brief show" => vec![format!("{brief} --json"), format!("{} --json", names.redacted_brief)],
        "brief diff" => vec![format!("{brief} {other} --json")],
        "brief verify" => vec![format!("{brief} --json")],
        "prove" => {
            vec![format!("{child} --json"), "5 --json".into(), format!("--since {}", names.checkpoint)]
        }
        "log" | "key show" | "witness list" | "witness check" => vec!["--json".into()],
        // It tells of the machine, such as free space; what it tells of the database is on the first page as well.
        "doctor" => Vec::new(),
        "export" => vec!["-o -".into(), format!("-s {ALPHA} -o -"), format!("-t {TASK} -o - --with-keys")],
        // These say what verification says, which is run before the readers.
        "verify" => Vec::new(),
        // These write, serve, or do not look at the database.
        "init" | "demo" | "mcp" | "serve" | "record" | "redact" | "checkpoint" | "import"
        | "verify-bundle" | "completions" | "backup" | "copy" | "roadmap add" | "context create"
        | "context ensure" | "key new" | "key add" | "key retire" | "key rotate" | "key revoke"
        | "log new" | "witness add" | "witness publish" | "witness remove" => Vec::new(),
        // Access is no evidence.
        name if name.starts_with("token ") => Vec::new(),
        // Another key's work, and settings of this machine.
        name if name.starts_with("signer") || name.starts_with("witness add ") => Vec::new(),
        _ => return None,
    };
    let words = |line: String| line.split_whitespace().map(ToString::to_string).collect();
    Some(lines.into_iter().map(words).collect())
}

/// The arguments of each tool that reads; none of one that writes.
fn tool_calls(name: &str, names: &Names) -> Option<Vec<Value>> {
    let Names { plain, child, redacted, sealed, .. } = names;
    let (brief, other) = (&names.briefs[0], &names.briefs[1]);
    Some(match name {
        "thought_get" => [plain, child, redacted, sealed].iter().map(|id| json!({"id": id})).collect(),
        "thought_record_list" => vec![
            json!({}),
            json!({"session_id": ALPHA, "limit": 10}),
            json!({"task_id": TASK, "type": "decision"}),
            json!({"agent_id": "bob", "cursor": "60"}),
        ],
        "thought_tree" => vec![
            json!({"session_id": ALPHA}),
            json!({"session_id": BETA, "include_content": true, "include_children": false}),
        ],
        "thought_trail" => {
            vec![json!({"record_id": child}), json!({"record_id": plain, "session_id": BETA})]
        }
        "thought_for_action" | "thought_reasoning_trail" => vec![json!({"action_id": ACTION})],
        "thought_verify" => vec![json!({"session_id": ALPHA}), json!({"task_id": TASK})],
        "thought_verify_chain" => vec![json!({"session_id": BETA})],
        "thought_search" => vec![
            json!({"query": "payment order"}),
            json!({"query": "\"number 37\" OR soup*", "type": "plan"}),
            json!({"query": "thought", "session_id": BETA, "task_id": TASK, "limit": 100}),
        ],
        "roadmap_list" => vec![json!({})],
        "roadmap_get" | "roadmap_validate" => vec![json!({"roadmap_id": PLAN})],
        "context_get" | "context_verify" => [1, 3, 5].iter().map(|id| json!({"context_id": id})).collect(),
        "context_latest" | "context_history" => {
            vec![json!({"roadmap_id": PLAN}), json!({"roadmap_id": "export"})]
        }
        "context_compare" => vec![json!({"context_id1": 1}), json!({"context_id1": 3, "context_id2": 6})],
        "context_search" => vec![json!({"query": "payment"}), json!({"query": "step 3", "roadmap_id": PLAN})],
        "context_drift" => vec![json!({}), json!({"roadmap_id": PLAN})],
        "brief_build" => ["understand", "think", "act", "reply"]
            .iter()
            .map(|node| json!({"session_id": TALK, "node": node}))
            .chain([json!({"session_id": BETA, "node": "think", "turn": 5})])
            .collect(),
        "brief_get" => vec![json!({"brief_id": brief}), json!({"brief_id": names.redacted_brief})],
        "brief_verify" => vec![json!({"brief_id": other})],
        "brief_compare" => vec![json!({"brief_id1": brief, "brief_id2": other})],
        "session_list" => vec![json!({})],
        "session_state" => vec![
            json!({"session_id": TALK}),
            json!({"session_id": BETA, "part": "entities"}),
            json!({"session_id": TALK, "turn": 2}),
        ],
        "entity_get" => vec![
            json!({"session_id": TALK, "ref": "recipe_1"}),
            json!({"session_id": BETA, "ref": "gen_menu_2", "turn": 4}),
        ],
        "log_prove" => vec![json!({"id": child}), json!({"seq": 7}), json!({"old_size": names.checkpoint})],
        "thought_record" | "thought_plan" | "thought_analysis" | "thought_decision"
        | "thought_reflection" | "roadmap_register" | "context_create" | "context_ensure"
        | "session_open" | "turn_begin" | "entity_apply" | "turn_step" | "turn_note" | "turn_end"
        | "summary_apply" | "log_checkpoint" | "thought_redact" => Vec::new(),
        // It says what verification says, which is run before the readers.
        "log_verify" => Vec::new(),
        _ => return None,
    })
}

fn resources(template: &str, names: &Names) -> Vec<String> {
    match template {
        "cairn://thought/{id}" => vec![format!("cairn://thought/{}", names.child)],
        "cairn://session/{id}/tree" => vec![format!("cairn://session/{ALPHA}/tree")],
        "cairn://session/{id}/brief/{node}" => vec![format!("cairn://session/{TALK}/brief/act")],
        "cairn://brief/{id}" => vec![format!("cairn://brief/{}", names.briefs[0])],
        "cairn://roadmap/{id}" => vec![format!("cairn://roadmap/{PLAN}")],
        "cairn://context/{id}" => vec!["cairn://context/2".to_string()],
        "cairn://checkpoint/{size}" => {
            vec!["cairn://checkpoint/latest".to_string(), format!("cairn://checkpoint/{}", names.checkpoint)]
        }
        other => panic!("{other}: no address listed"),
    }
}

fn pages(path: &str, names: &Names) -> Vec<String> {
    match path {
        "/" => vec!["/".into(), "/?before=80".into()],
        "/sessions/{id}" => vec![
            format!("/sessions/{ALPHA}"),
            format!("/sessions/{BETA}?type=decision"),
            format!("/sessions/{TALK}"),
        ],
        "/thoughts/{id}" => [&names.plain, &names.child, &names.on_context, &names.on_brief, &names.redacted]
            .iter()
            .map(|id| format!("/thoughts/{id}"))
            .collect(),
        "/actions/{id}" => vec![format!("/actions/{ACTION}")],
        "/search" => vec!["/search?q=payment".into(), format!("/search?q=order&session={ALPHA}")],
        "/roadmaps" => vec!["/roadmaps".into()],
        "/roadmaps/{id}" => vec![format!("/roadmaps/{PLAN}"), "/roadmaps/export".into()],
        "/contexts/{id}" => vec!["/contexts/1".into(), "/contexts/5".into()],
        "/compare" => vec!["/compare?from=1&to=4".into(), "/compare?from=3".into()],
        "/sessions/{id}/turns" => vec![format!("/sessions/{TALK}/turns"), format!("/sessions/{BETA}/turns")],
        "/sessions/{id}/turns/{turn}" => {
            vec![format!("/sessions/{TALK}/turns/5"), format!("/sessions/{BETA}/turns/3")]
        }
        "/briefs/{id}" => {
            vec![format!("/briefs/{}", names.briefs[0]), format!("/briefs/{}", names.redacted_brief)]
        }
        "/log" => vec!["/log".into(), "/log?before=60".into()],
        "/log/{seq}" => vec!["/log/3".into(), "/log/90".into()],
        // They tell of the server: its last verification, and how to connect to it.
        "/integrity" | "/connect" => Vec::new(),
        other => panic!("{other}: no address listed"),
    }
}

/// Takes out how many bytes the file has, which is nothing that was recorded.
fn without_size(said: String) -> String {
    match said.split_once("\"bytes\":") {
        Some((before, after)) => {
            format!("{before}\"bytes\":…{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
        None => said,
    }
}

/// Removes what SQLite leaves beside a file.
pub(super) fn clear(file: &Path) {
    for end in ["", "-wal", "-shm", "-journal"] {
        let _ = std::fs::remove_file(format!("{}{end}", file.display()));
    }
}
