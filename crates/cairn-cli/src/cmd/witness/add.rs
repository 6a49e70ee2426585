//! `cairn witness add`: one more place for heads.

use std::path::{Path, PathBuf};

use cairn::core::note::WitnessKey;
use clap::Subcommand;

use crate::args::App;
use crate::cmd::Outcome;
use crate::error::CliError;
use crate::state::StateFolder;
use crate::term::visible;
use crate::witness::{self, Config, Place};

/// Add a place that keeps heads of this log
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, Subcommand)]
enum Kind {
    File(FileArgs),
    Git(GitArgs),
    Http(HttpArgs),
    Command(CommandArgs),
    Timestamp(TimestampArgs),
}

/// What every kind takes.
#[derive(Debug, clap::Args)]
struct Common {
    /// Call it this instead of after its kind
    #[arg(long)]
    name: Option<String>,
    /// Give it a head at most once in so many seconds, unless asked to
    #[arg(long, value_name = "SECONDS")]
    every: Option<u64>,
}

/// Add each checkpoint to the end of a file elsewhere
///
/// It protects as far as the file is out of reach of who can write the database: on another disk, on a share of another
/// machine, append-only (`chattr +a`).
#[derive(Debug, clap::Args)]
struct FileArgs {
    /// The file, not in the folder of the database
    path: PathBuf,
    #[command(flatten)]
    common: Common,
}

/// Keep checkpoints in a git repository
///
/// Each as a commit on a ref of its own, which `git push REMOTE 'refs/cairn/*:refs/cairn/*'` takes elsewhere. With
/// `--trailers` nothing is committed: heads are looked for in the messages of commits on every branch, where the line
/// that `cairn checkpoint --trailer` prints belongs.
#[derive(Debug, clap::Args)]
struct GitArgs {
    /// The repository
    repository: PathBuf,
    /// Keep them on this ref instead of one named after the log
    #[arg(long = "ref", value_name = "refs/cairn/NAME", conflicts_with = "trailers")]
    reference: Option<String>,
    /// Only look for heads in messages of commits
    #[arg(long)]
    trailers: bool,
    #[command(flatten)]
    common: Common,
}

/// Have checkpoints signed by a witness (C2SP tlog-witness)
///
/// The witness signs what extends the last head that it has signed, and nothing else. It has to know the log's key.
#[derive(Debug, clap::Args)]
struct HttpArgs {
    /// Where its requests begin: `add-checkpoint` is added to it
    url: String,
    /// Its public key, `name+id+base64` with a key of type 4
    #[arg(long, value_name = "WITNESS_VKEY")]
    key: String,
    #[command(flatten)]
    common: Common,
}

/// Give each checkpoint to a program
///
/// It gets the note as its input; exit code 0 means that it is kept.
#[derive(Debug, clap::Args)]
struct CommandArgs {
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "CMD")]
    store: Vec<String>,
    /// A shell command that prints the newest note that is kept, or all of them
    #[arg(long, value_name = "CMD")]
    read: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// Have checkpoints stamped with the time (RFC 3161)
///
/// Proves later that the log had this head by then. Note and stamp are kept here, and `openssl ts -verify` says who
/// made the stamp.
#[derive(Debug, clap::Args)]
struct TimestampArgs {
    /// The time-stamping authority
    url: String,
    /// The certificates of the authority, in PEM, for `cairn witness check`
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(args: Args, app: &App) -> Result<Outcome, CliError> {
    let database = witness::absolute(&app.location()?.name()?).map_err(CliError::failed)?;
    let origin = app.read()?.status()?.origin;
    let state = StateFolder::require()?;
    let (place, common, remark) = place(args.kind, &database, &origin)?;
    let mut config = Config::load(&state, &origin).map_err(CliError::failed)?;
    let added = config.add(common.name, place, common.every).map_err(CliError::refused)?.clone();
    config.save(&state).map_err(CliError::failed)?;
    if app.ui.json {
        app.ui.print_json(&added)?;
    } else {
        app.ui.print(&format!("Added {}\n", visible(&added.title())))?;
        if let Some(remark) = remark {
            app.ui.remark(&app.ui.remarks.warning(&visible(&remark)));
        }
        if !matches!(added.place, Place::Git { reference: None, .. }) {
            app.ui.remark("`cairn witness publish` gives it the first head");
        }
    }
    Ok(Outcome::Fine)
}

fn place(kind: Kind, database: &Path, origin: &str) -> Result<(Place, Common, Option<String>), CliError> {
    let refused = |words: String| Err(CliError::refused(words));
    let mut remark = None;
    let (place, common) = match kind {
        Kind::File(FileArgs { path, common }) => {
            let path = witness::absolute(&path).map_err(CliError::failed)?;
            if let Some(words) = witness::unsuitable(&path, database) {
                return Err(CliError::refused(words)
                    .hint("name a file on another disk, or on a share of another machine"));
            }
            if witness::same_disk(&path, database) {
                remark = Some(
                    "It is on the same file system as the database; one that is mounted from elsewhere protects better"
                        .to_string(),
                );
            }
            (Place::File { path }, common)
        }
        Kind::Git(GitArgs { repository, reference, trailers, common }) => {
            let repository = witness::absolute(&repository).map_err(CliError::failed)?;
            witness::repository(&repository).map_err(CliError::refused)?;
            let reference = (!trailers).then(|| reference.unwrap_or_else(|| witness::default_ref(origin)));
            if let Some(words) = reference.as_ref().and_then(|name| witness::bad_ref(&repository, name)) {
                return refused(words);
            }
            (Place::Git { repository, reference }, common)
        }
        Kind::Http(HttpArgs { url, key, common }) => {
            if let Some(words) = witness::bad_url(&url) {
                return refused(words);
            }
            let key: WitnessKey =
                key.trim().parse().map_err(|error| CliError::refused(format!("--key: {error}")))?;
            (Place::Http { url, key: key.to_string() }, common)
        }
        Kind::Command(CommandArgs { store, read, common }) => (Place::Command { store, read }, common),
        Kind::Timestamp(TimestampArgs { url, ca, common }) => {
            if let Some(words) = witness::bad_url(&url) {
                return refused(words);
            }
            let ca = ca.map(|ca| witness::absolute(&ca)).transpose().map_err(CliError::failed)?;
            if let Some(ca) = ca.as_ref().filter(|ca| !ca.is_file()) {
                return refused(format!("there is no file `{}`", ca.display()));
            }
            (Place::Timestamp { url, ca }, common)
        }
    };
    Ok((place, common, remark))
}
