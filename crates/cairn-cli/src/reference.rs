//! `docs/cli-reference.md`, made from what clap knows, so that it cannot be out of date.

use std::fmt::Write;
use std::path::Path;

use clap::{Arg, Command};

const INTRODUCTION: &str = "\
# Command line

<!-- Made from the program by a test. `CAIRN_UPDATE_DOCS=1 cargo test -p cairn-cli` writes it anew. -->

Results go to stdout, everything else to stderr. Exit codes: 0 fine, 1 something is wrong, missing or refused,
2 wrong usage. Ids of thoughts may be shortened to any unique beginning.
";

fn reference() -> String {
    let mut root = crate::args::command();
    root.build();
    let mut page = String::from(INTRODUCTION);
    page.push_str("\n## Options of every command\n\n");
    let global: Vec<&Arg> = root.get_arguments().filter(|arg| arg.is_global_set()).collect();
    arguments(&mut page, &global);
    for command in root.get_subcommands().filter(|command| !command.is_hide_set()) {
        section(&mut page, command, "cairn", 2);
    }
    page
}

/// A command, and below it those that belong to it.
fn section(page: &mut String, command: &Command, above: &str, depth: usize) {
    let name = format!("{above} {}", command.get_name());
    let _ = write!(page, "\n{} `{name}`\n\n", "#".repeat(depth));
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let (first, rest) = about.split_once('\n').unwrap_or((&about, ""));
    let _ = writeln!(page, "{}.", first.trim());
    if !rest.trim().is_empty() {
        let _ = writeln!(page, "\n{}", rest.trim());
    }
    let usage = command.clone().render_usage().to_string();
    let _ = writeln!(page, "\n```console\n$ {}\n```", usage.trim_start_matches("Usage: ").trim());
    let own: Vec<&Arg> = command.get_arguments().filter(|arg| !arg.is_global_set() && shown(arg)).collect();
    if !own.is_empty() {
        page.push('\n');
        arguments(page, &own);
    }
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        section(page, below, &name, depth + 1);
    }
}

fn shown(arg: &Arg) -> bool {
    !arg.is_hide_set() && arg.get_id() != "help" && arg.get_id() != "version"
}

fn arguments(page: &mut String, arguments: &[&Arg]) {
    page.push_str("| argument | |\n|---|---|\n");
    for arg in arguments {
        let _ = writeln!(page, "| `{}` | {} |", cell(&spelling(arg)), cell(&meaning(arg)));
    }
}

/// `-n, --limit N`
fn spelling(arg: &Arg) -> String {
    let values: Vec<String> =
        arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
    let values = if arg.get_action().takes_values() { values.join(" ") } else { String::new() };
    if arg.is_positional() {
        return if arg.is_required_set() { values } else { format!("[{values}]") };
    }
    let short = arg.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
    format!("{short}--{} {values}", arg.get_long().unwrap_or_default()).trim_end().to_string()
}

fn meaning(arg: &Arg) -> String {
    let mut meaning = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|_| arg.get_action().takes_values())
        .map(|value| match value.get_help() {
            Some(help) => format!("`{}` ({help})", value.get_name()),
            None => format!("`{}`", value.get_name()),
        })
        .collect();
    if !values.is_empty() {
        let _ = write!(meaning, ": {}", values.join(", "));
    }
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into()).collect();
    if arg.get_action().takes_values() && !defaults.is_empty() {
        let _ = write!(meaning, ". Default: `{}`", defaults.join(" "));
    }
    if let Some(name) = arg.get_env() {
        let _ = write!(meaning, ". Environment: `{}`", name.to_string_lossy());
    }
    meaning
}

/// A bar would end the cell, even between backticks.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[test]
fn the_reference_is_what_the_program_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli-reference.md");
    if std::env::var_os("CAIRN_UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a file in docs")).expect("docs can be made");
        std::fs::write(&path, reference()).expect("docs can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == reference(),
        "docs/cli-reference.md is out of date: run this with CAIRN_UPDATE_DOCS=1"
    );
}
