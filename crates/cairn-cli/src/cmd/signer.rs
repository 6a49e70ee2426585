//! `cairn signer`: signs for others what extends what it has signed before.

use std::path::PathBuf;

use super::Outcome;
use crate::args::App;
use crate::error::CliError;

/// Sign checkpoints for another user, who cannot reach the key
///
/// Meant to run as a user of its own, so that neither an agent nor the owner of the database can use the key
/// otherwise. It signs only what extends its own last head of a log; a log it sees for the first time is taken on
/// trust. Those who record set CAIRN_SIGNER=unix:PATH.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Listen on this socket, in a folder that not everybody can write to
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,
    /// Keep the keys in this folder
    #[arg(long, value_name = "DIR")]
    keys: PathBuf,
    /// Remember the heads in this folder
    #[arg(long, value_name = "DIR")]
    heads: PathBuf,
    /// Answer this user, and only those that are named; without it, only the user that runs this
    #[arg(long, value_name = "NAME|UID")]
    allow_user: Vec<String>,
}

#[cfg(unix)]
pub(crate) fn run(args: Args, _: &App) -> Result<Outcome, CliError> {
    use crate::signer::{Settings, parse_user, serve};
    let mut users = args
        .allow_user
        .iter()
        .map(|user| parse_user(user))
        .collect::<Result<Vec<_>, _>>()
        .map_err(CliError::usage)?;
    if users.is_empty() {
        users.push(rustix::process::geteuid().as_raw());
    }
    let Args { socket, keys, heads, .. } = args;
    let say = |line: &str| {
        use std::io::Write;
        let _ = writeln!(std::io::stderr().lock(), "cairn signer: {}", crate::term::visible(line));
    };
    serve(Settings { socket, keys, heads, users }, say).map_err(CliError::failed)?;
    Ok(Outcome::Fine)
}

#[cfg(not(unix))]
pub(crate) fn run(args: Args, _: &App) -> Result<Outcome, CliError> {
    let _ = (args.socket, args.keys, args.heads, args.allow_user);
    Err(CliError::failed("a signer needs Unix sockets, which this system does not have"))
}
