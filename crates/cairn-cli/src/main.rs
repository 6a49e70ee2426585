//! The `cairn` program: command line and MCP server for agents' decision trails.

mod args;
mod clock;
mod cmd;
mod data;
mod data_plans;
mod database;
#[cfg(test)]
#[path = "../tests/deceive/mod.rs"]
mod deceive;
mod error;
mod graph;
mod mcp;
mod password;
#[cfg(test)]
mod reference;
mod serve;
mod session_words;
mod signals;
#[cfg(unix)]
mod signer;
mod state;
mod term;
mod verifying;
mod web;
mod witness;

use std::process::ExitCode;

use error::Kind;
use term::{ColorChoice, Ui};

fn main() -> ExitCode {
    let (cli, exposed) = match args::parse() {
        Ok(parsed) => parsed,
        Err(error) => return report_usage(&error),
    };
    let app = args::App::new(&cli.global);
    if let Some(exposed) = exposed {
        app.ui.remark(&exposed);
    }
    match cmd::run(cli.command, &app) {
        Ok(cmd::Outcome::Fine) => ExitCode::SUCCESS,
        Ok(cmd::Outcome::FoundSomething) => ExitCode::from(1),
        Err(error) => report(&app.ui, &error),
    }
}

fn report(ui: &Ui, error: &error::CliError) -> ExitCode {
    if error.kind != Kind::BrokenPipe {
        if ui.json {
            // The exit code tells even if nobody reads this.
            let _ = ui.print_json(&error.envelope());
        } else {
            ui.remark(&error.for_people(ui.remarks));
        }
    }
    ExitCode::from(error.exit_code())
}

/// What clap found wrong, or the help that was asked for. A program that asked for JSON gets JSON.
fn report_usage(error: &clap::Error) -> ExitCode {
    let wants_json = std::env::args_os().take_while(|arg| arg != "--").any(|arg| arg == "--json");
    if wants_json && error.use_stderr() {
        // The first paragraph says what is wrong, the rest how it is used.
        let text = error.to_string();
        let lines =
            text.trim_start_matches("error: ").lines().map(str::trim).take_while(|line| !line.is_empty());
        let sentence = lines.collect::<Vec<_>>().join(" ");
        return report(&Ui::new(true, ColorChoice::Never), &error::CliError::usage(sentence));
    }
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { 2 } else { 0 })
}
