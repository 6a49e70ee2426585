//! The commands, one file each: what it takes, what it does, how its result is shown.

mod backup;
mod brief;
mod changes;
mod checkpoint;
mod completions;
mod context;
mod copy;
mod demo;
mod doctor;
mod drift;
mod export;
mod import;
mod init;
mod key;
mod list;
mod log;
mod mcp;
mod metadata;
mod plan_page;
mod prove;
mod record;
mod redact;
mod roadmap;
mod search;
mod serve;
mod session;
mod show;
mod signer;
mod token;
mod trail;
mod tree;
mod verify;
mod verify_bundle;
mod why;
mod witness;

use cairn::{Damage, ThoughtType};
use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::args::App;
use crate::error::CliError;
use crate::term::{Ui, visible};

/// A command and its arguments.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(init::Args),
    Demo(demo::Args),
    Mcp(mcp::Args),
    Serve(serve::Args),
    Record(Box<record::Args>),
    List(list::Args),
    Show(show::Args),
    Tree(tree::Args),
    Trail(trail::Args),
    Why(why::Args),
    Search(search::Args),
    Roadmap(roadmap::Args),
    Context(context::Args),
    Drift(drift::Args),
    Session(session::Args),
    Brief(brief::Args),
    Verify(verify::Args),
    Checkpoint(checkpoint::Args),
    Prove(prove::Args),
    Log(log::Args),
    Key(key::Args),
    Redact(redact::Args),
    Witness(witness::Args),
    Signer(signer::Args),
    Token(token::Args),
    Backup(backup::Args),
    Copy(copy::Args),
    Export(export::Args),
    VerifyBundle(verify_bundle::Args),
    Import(import::Args),
    Doctor(doctor::Args),
    Completions(completions::Args),
}

/// What a command that worked has to say through its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing is wrong: exit code 0.
    Fine,
    /// It looked for something wrong and found it: exit code 1.
    FoundSomething,
}

pub(crate) fn run(command: Command, app: &App) -> Result<Outcome, CliError> {
    match command {
        Command::Init(args) => init::run(&args, app),
        Command::Demo(args) => demo::run(&args, app),
        Command::Mcp(args) => mcp::run(&args, app),
        Command::Serve(args) => serve::run(&args, app),
        Command::Record(args) => record::run(*args, app),
        Command::List(args) => list::run(args, app),
        Command::Show(args) => show::run(&args, app),
        Command::Tree(args) => tree::run(&args, app),
        Command::Trail(args) => trail::run(&args, app),
        Command::Why(args) => why::run(&args, app),
        Command::Search(args) => search::run(args, app),
        Command::Roadmap(args) => roadmap::run(args, app),
        Command::Context(args) => context::run(args, app),
        Command::Drift(args) => drift::run(&args, app),
        Command::Session(args) => session::run(args, app),
        Command::Brief(args) => brief::run(args, app),
        Command::Verify(args) => verify::run(args, app),
        Command::Checkpoint(args) => checkpoint::run(&args, app),
        Command::Prove(args) => prove::run(&args, app),
        Command::Log(args) => log::run(&args, app),
        Command::Key(args) => key::run(&args, app),
        Command::Redact(args) => redact::run(args, app),
        Command::Witness(args) => witness::run(args, app),
        Command::Signer(args) => signer::run(args, app),
        Command::Token(args) => token::run(args, app),
        Command::Backup(args) => backup::run(&args, app),
        Command::Copy(args) => copy::run(&args, app),
        Command::Export(args) => export::run(args, app),
        Command::VerifyBundle(args) => verify_bundle::run(&args, app),
        Command::Import(args) => import::run(&args, app),
        Command::Doctor(args) => doctor::run(&args, app),
        Command::Completions(args) => completions::run(&args, app),
    }
}

/// Ends a listing: names the records that cannot be shown, and lets the exit code tell.
fn listed(damaged: &[Damage], ui: &Ui) -> Result<Outcome, CliError> {
    if !ui.json {
        name_damaged(damaged, ui)?;
    }
    Ok(outcome(damaged, ui))
}

fn name_damaged<'d>(damaged: impl IntoIterator<Item = &'d Damage>, ui: &Ui) -> Result<(), CliError> {
    for damage in damaged {
        ui.print(&format!("{} {}\n", ui.palette.bad("DAMAGED"), visible(&damage.message)))?;
    }
    Ok(())
}

/// The exit code of a listing.
fn outcome(damaged: &[Damage], ui: &Ui) -> Outcome {
    if damaged.is_empty() {
        return Outcome::Fine;
    }
    ui.remark("Damaged records are not shown; `cairn verify` names what was changed.");
    Outcome::FoundSomething
}

/// Takes one of the four words, and lets help and shells know them.
fn kind_parser() -> impl TypedValueParser<Value = ThoughtType> {
    PossibleValuesParser::new(ThoughtType::ALL.map(ThoughtType::as_str))
        .map(|word| word.parse().expect("only the four words pass"))
}
