//! `cairn verify-bundle`: check a bundle, without any database.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use cairn::bundle::{self, BundleReport};
use cairn::core::note::VerifyingKey;
use serde::Serialize;

use super::Outcome;
use super::verify::block;
use crate::args::App;
use crate::error::CliError;
use crate::term::{Bar, Palette, count, visible, wrap};

/// Check a bundle: every hash, every proof, every signature
///
/// Needs no database, and believes nothing in the bundle, its keys included: give the public key of the log with `--key`. Ends with exit code 1 if anything is wrong.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The bundle, or `-` for stdin
    file: PathBuf,
    #[command(flatten)]
    keys: Keys,
}

/// The public keys that a bundle is checked with.
#[derive(Debug, clap::Args)]
pub(crate) struct Keys {
    /// Demand a signature of this public key, or of one that it introduced in the log; of several, one is enough
    #[arg(long = "key", value_name = "VKEY")]
    keys: Vec<String>,
    /// Read public keys from this file, one a line
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl Keys {
    /// The keys that were given.
    pub(crate) fn read(&self) -> Result<Vec<VerifyingKey>, CliError> {
        let mut texts = self.keys.clone();
        if let Some(file) = &self.key_file {
            let shown = file.display();
            let text = std::fs::read_to_string(file)
                .map_err(|error| CliError::io(format!("cannot read `{shown}`"), &error))?;
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
            let before = texts.len();
            texts.extend(lines.map(str::to_string));
            if texts.len() == before {
                return Err(CliError::usage(format!("`{shown}` holds no key")));
            }
        }
        let parse = |text: &String| text.parse().map_err(|error| CliError::usage(format!("--key: {error}")));
        texts.iter().map(parse).collect()
    }
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let keys = args.keys.read()?;
    let report = {
        let bar = Bar::new();
        bundle::verify(open(&args.file)?, &keys, &mut |progress| bar.show(progress))?
    };
    let printed = print(&report, app);
    match (report.valid(), printed) {
        (true, printed) => printed.map(|()| Outcome::Fine),
        // The exit code must tell, even to a caller that reads nothing else.
        (false, _) => Ok(Outcome::FoundSomething),
    }
}

fn open(file: &Path) -> Result<BufReader<Box<dyn Read>>, CliError> {
    let source: Box<dyn Read> = match file {
        file if file == Path::new("-") => Box::new(std::io::stdin()),
        file => Box::new(
            File::open(file)
                .map_err(|error| CliError::io(format!("cannot read `{}`", file.display()), &error))?,
        ),
    };
    Ok(BufReader::with_capacity(1 << 20, source))
}

/// The report as a program reads it.
#[derive(Serialize)]
struct Data<'a> {
    valid: bool,
    message: String,
    #[serde(flatten)]
    report: &'a BundleReport,
}

/// Prints what was found in a bundle.
pub(super) fn print(report: &BundleReport, app: &App) -> Result<(), CliError> {
    if app.ui.json {
        return app.ui.print_json(&Data { valid: report.valid(), message: report.message(), report });
    }
    app.ui.print(&page(report, app.ui.width, app.ui.palette))
}

fn page(report: &BundleReport, width: usize, palette: Palette) -> String {
    let mut page = if report.valid() {
        palette.good(&wrap(&visible(&report.message()), width).join("\n"))
    } else {
        let found = count(report.findings_total, "finding");
        palette.bad(&format!("{found}: this bundle is not what was recorded"))
    };
    page.push('\n');
    for (index, finding) in report.findings.iter().enumerate() {
        page.push_str(&format!("\n{}", block(index + 1, finding, width, palette)));
    }
    let hidden = report.findings_total.saturating_sub(report.findings.len() as u64);
    if hidden > 0 {
        page.push_str(&format!("\n… and {} more\n", count(hidden, "finding").replace(" findings", "")));
    }
    let redacted: Vec<String> = report
        .redacted
        .iter()
        .map(|of| {
            format!("{} (log entry {}) by {} at {}: {}", of.id, of.seq, of.actor, of.created_at, of.reason)
        })
        .collect();
    list(&mut page, "redacted", &redacted, width);
    let hidden = report.redacted_total.saturating_sub(redacted.len() as u64);
    if hidden > 0 {
        page.push_str(&format!("  … and {hidden} more\n"));
    }
    list(&mut page, "not verified", &report.notes, width);
    page
}

fn list(page: &mut String, title: &str, items: &[String], width: usize) {
    if !items.is_empty() {
        page.push_str(&format!("\n{title}:\n"));
    }
    for item in items {
        for (index, line) in wrap(&visible(item), width - 4).iter().enumerate() {
            page.push_str(if index == 0 { "  - " } else { "    " });
            page.push_str(&format!("{line}\n"));
        }
    }
}
