//! `cairn prove`: that an entry is in the log, or that the log only grew.

use std::path::PathBuf;

use cairn::{Cairn, Error, Grown, Proof};

use super::{Outcome, record};
use crate::args::App;
use crate::error::CliError;
use crate::term::{count, visible};

/// Prove that a record is in the log, or that the log only grew
///
/// Prints a proof that anyone can check who has the signer's public key: a C2SP tlog-proof of the entry, which `cairn prove --entry` prints byte for byte, or with `--since` the hashes that connect an older checkpoint with the newest.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The record: an id of a thought, or the beginning of one, or a position in the log
    #[arg(value_name = "ID|SEQ", required_unless_present = "since")]
    record: Option<String>,
    /// Print the exact bytes of the entry that the proof is about, instead of the proof
    #[arg(long, requires = "record")]
    entry: bool,
    /// Prove that the log as it is extends the log of so many entries
    #[arg(long, value_name = "SIZE", conflicts_with = "record")]
    since: Option<u64>,
    /// Write to this file instead, which must not exist
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let cairn = app.read()?;
    let text = match (args.since, &args.record) {
        (Some(size), _) => growth(&cairn.prove_growth(size)?, app)?,
        (None, Some(record)) if args.entry => entry(&cairn, seq_of(&cairn, record)?)?,
        (None, Some(record)) => inclusion(&cairn.prove(seq_of(&cairn, record)?)?, app)?,
        (None, None) => return Err(CliError::usage("name a record, or a size with `--since`")),
    };
    match &args.output {
        None => app.ui.print(&text)?,
        Some(path) => {
            let written = std::fs::File::create_new(path)
                .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
            written.map_err(|error| CliError::io(format!("cannot write `{}`", path.display()), &error))?;
        }
    }
    Ok(Outcome::Fine)
}

/// Where the record is in the log.
fn seq_of(cairn: &Cairn, record: &str) -> Result<u64, CliError> {
    match record.parse() {
        Ok(seq) => Ok(seq),
        Err(_) => Ok(record::find(cairn, record)?.seq),
    }
}

/// The bytes of an entry.
fn entry(cairn: &Cairn, seq: u64) -> Result<String, CliError> {
    let entry = cairn.entry(seq)?;
    let entry = entry.ok_or_else(|| Error::NotFound { what: "log entry", id: seq.to_string() })?;
    Ok(entry.leaf)
}

fn inclusion(proof: &Proof, app: &App) -> Result<String, CliError> {
    if app.ui.json {
        return json(proof);
    }
    let Proof { seq, checkpoint, .. } = proof;
    let of = format!("entry {seq} is in the log of {}", count(checkpoint.size, "entry"));
    match &proof.receipt {
        Some(receipt) => {
            let keys = visible(&checkpoint.signed_by.join(" and ")).into_owned();
            app.ui.remark(&app.ui.remarks.good(&format!("{of}, signed by {keys}")));
            Ok(receipt.clone())
        }
        None => Err(CliError::refused(format!("{of}, and nobody has signed that: there is no such proof"))
            .hint("`--json` prints the hashes; with a key (CAIRN_SIGNER, CAIRN_KEY), record something and prove again")),
    }
}

fn growth(grown: &Grown, app: &App) -> Result<String, CliError> {
    if app.ui.json {
        return json(grown);
    }
    let (old, new) = (count(grown.old_size, "entry"), count(grown.checkpoint.size, "entry"));
    app.ui.remark(&format!("{old} with root {} grew into {new}", grown.old_root));
    Ok(grown.report.clone())
}

fn json(value: &impl serde::Serialize) -> Result<String, CliError> {
    let text = serde_json::to_string_pretty(value).map_err(|error| CliError::failed(error.to_string()))?;
    Ok(text + "\n")
}
