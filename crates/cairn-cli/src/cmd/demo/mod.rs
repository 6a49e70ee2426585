//! `cairn demo`: what Cairn does, in a second, on a story that anyone can follow.

mod menu;
mod story;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use cairn::core::tree::nest;
use cairn::{Cairn, Drift, KeyFolder, Options, Report, Scope, Summary};
use serde_json::json;

use super::{Outcome, drift, serve, verify};
use crate::args::App;
use crate::database::FILE;
use crate::error::CliError;
use crate::term::{Palette, Ui, draw_tree, trail_block, wrap};
use story::{ACTION, AGENT, DECIDING, FORGERY, ROADMAP, SESSION, STEPS, StoryClock, TRUTH};

const COPY: &str = "edited-copy.db";

/// Play a small story: record, read, find drift, catch a forgery
///
/// Works in a folder of its own, which is removed at the end. Nothing of yours is touched.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Work in this folder instead, and leave the files there
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Leave the folder there and say where it is
    #[arg(long)]
    keep: bool,
    /// Serve the viewer on the story, and on one with turns and briefs, until Ctrl-C
    #[arg(long)]
    serve: bool,
    /// Serve on this address
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:7411", requires = "serve", value_parser = serve::address)]
    addr: SocketAddr,
}

/// Everything that the demo found out.
struct Findings {
    thoughts: Vec<Summary>,
    trails: Vec<Vec<Summary>>,
    drift: Drift,
    before: Report,
    after: Report,
    edited: String,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let place = Place::new(args)?;
    let findings = play(place.path())?;
    if args.serve {
        serve_stories(place.path(), args.addr, app)?;
        place.leave();
        return Ok(Outcome::Fine);
    }
    if app.ui.json {
        let forest = nest(findings.thoughts);
        app.ui.print_json(&json!({
            "session_id": SESSION,
            "tree": forest.tree,
            "action_id": ACTION,
            "trails": findings.trails,
            "drift": findings.drift,
            "verify": verify::Data::of(&findings.before),
            "edit": {"id": findings.edited, "field": "content", "from": TRUTH, "to": FORGERY},
            "verify_edited_copy": verify::Data::of(&findings.after),
        }))?;
    } else {
        app.ui.print(&page(&findings, &app.ui))?;
        if place.stays() {
            app.ui.remark(&format!("\nThe files are in {}", place.path().display()));
        }
    }
    let found_out = findings.before.valid() && !findings.after.valid();
    place.leave();
    if found_out { Ok(Outcome::Fine) } else { Err(CliError::failed("the demo did not end as it should")) }
}

/// Adds the second story, and serves both.
fn serve_stories(folder: &Path, addr: SocketAddr, app: &App) -> Result<(), CliError> {
    if !addr.ip().is_loopback() {
        return Err(CliError::usage("--addr: the demo is served on loopback only")
            .hint("`cairn serve` serves a database of yours on other addresses"));
    }
    let database = folder.join(FILE);
    let of_the_demo =
        |options: Options| options.signer(KeyFolder::new(folder.join("keys"))).heads(folder.join("heads"));
    let cairn = of_the_demo(menu::options()).open(&database)?;
    menu::record(&cairn)?;
    cairn.checkpoint()?;
    cairn.close();
    let cairn = of_the_demo(Options::new()).open(&database)?;
    serve::on_this_machine(cairn, addr, app)
}

/// Records, reads, verifies, and does to a copy what should not be done.
fn play(folder: &Path) -> Result<Findings, CliError> {
    let clock = StoryClock::default();
    // A key and a memory of heads of its own: nothing of the user's is touched.
    let options = clock.options().signer(KeyFolder::new(folder.join("keys"))).heads(folder.join("heads"));
    let cairn = options.open(folder.join(FILE))?;
    let mut ids: Vec<String> = Vec::new();
    for (number, step) in STEPS.iter().enumerate() {
        clock.move_to(number);
        let parent = step.parent.map(|parent| ids[parent].as_str());
        let context_id = (number == DECIDING).then(|| freeze(&cairn, false)).transpose()?;
        ids.push(cairn.record(story::thought(step, parent, context_id))?.id.to_string());
    }
    freeze(&cairn, true)?;
    let drift = cairn.drift(None, None)?;
    let thoughts = cairn.tree(SESSION, false)?.records;
    let trails = cairn.reasoning_trail(ACTION)?.records;
    cairn.checkpoint()?;
    let before = verify::check(&cairn, &Scope::All)?;
    let copy = folder.join(COPY);
    cairn.backup(&copy, &mut |_| {})?;
    cairn.close();
    edit(&copy)?;
    let after = verify::check(&reopen(&copy)?, &Scope::All)?;
    let edited = STEPS.iter().position(|step| step.text.contains(TRUTH)).map(|step| ids[step].clone());
    Ok(Findings { thoughts, trails, drift, before, after, edited: edited.unwrap_or_default() })
}

/// Writes the plan and freezes it.
fn freeze(cairn: &Cairn, in_the_end: bool) -> Result<u64, CliError> {
    cairn.roadmaps().register(story::plan(in_the_end))?;
    Ok(cairn.context_ensure(ROADMAP, None)?.context.context_id)
}

fn reopen(path: &Path) -> Result<Cairn, CliError> {
    Ok(Options::new().create(false).open(path)?)
}

/// Changes the record in the file itself, as no rule of the database can prevent.
fn edit(path: &Path) -> Result<(), CliError> {
    let failed = |error: std::io::Error| CliError::io(format!("cannot edit `{}`", path.display()), &error);
    let mut bytes = std::fs::read(path).map_err(failed)?;
    let places: Vec<usize> = bytes
        .windows(TRUTH.len())
        .enumerate()
        .filter(|(_, w)| *w == TRUTH.as_bytes())
        .map(|(at, _)| at)
        .collect();
    for at in places {
        bytes[at..at + TRUTH.len()].copy_from_slice(FORGERY.as_bytes());
    }
    std::fs::write(path, bytes).map_err(failed)
}

/// The folder of the demo.
enum Place {
    Temporary { folder: tempfile::TempDir, keep: bool },
    Named(PathBuf),
}

impl Place {
    fn new(args: &Args) -> Result<Place, CliError> {
        let Some(dir) = &args.dir else {
            let folder = tempfile::Builder::new().prefix("cairn-demo-").tempdir();
            let folder = folder.map_err(|error| CliError::io("cannot make a temporary folder", &error))?;
            return Ok(Place::Temporary { folder, keep: args.keep });
        };
        std::fs::create_dir_all(dir)
            .map_err(|error| CliError::io(format!("cannot make the folder `{}`", dir.display()), &error))?;
        if let Some(taken) = [FILE, COPY].iter().map(|file| dir.join(file)).find(|file| file.exists()) {
            return Err(CliError::refused(format!("`{}` exists already", taken.display()))
                .hint("name an empty folder with `--dir`"));
        }
        Ok(Place::Named(dir.clone()))
    }

    fn path(&self) -> &Path {
        match self {
            Place::Temporary { folder, .. } => folder.path(),
            Place::Named(path) => path,
        }
    }

    fn stays(&self) -> bool {
        matches!(self, Place::Temporary { keep: true, .. } | Place::Named(_))
    }

    fn leave(self) {
        if let Place::Temporary { folder, keep: true } = self {
            let _ = folder.keep();
        }
    }
}

fn page(findings: &Findings, ui: &Ui) -> String {
    let palette = ui.palette;
    let mut page = Page { text: String::new(), width: ui.width, palette };
    page.say(&format!(
        "An agent, {AGENT}, makes a slow checkout fast again. Cairn records why it does what it does."
    ));
    page.command(&format!("cairn tree {SESSION}"));
    page.text.push_str(&draw_tree(&findings.thoughts, false, ui.width, palette));
    page.say(&format!("Two weeks later somebody asks: why was {ACTION} made?"));
    page.command(&format!("cairn trail --action {ACTION}"));
    page.text.push_str(
        &findings.trails.iter().map(|path| trail_block(path, ui.width, palette)).collect::<String>(),
    );
    page.say("The plan has moved on since. Which decisions rest on what it was?");
    page.command("cairn drift");
    page.text.push_str(&drift::page(&findings.drift, ui));
    page.say(
        "Can that be trusted? Cairn recomputes every hash from what is stored, and holds it against what was signed.",
    );
    page.command("cairn verify");
    page.text.push_str(&verify::page(&findings.before, ui.width, palette));
    page.text.push_str(&verify::reach(&findings.before, ui.width));
    page.text.push_str(&verify::notes(&findings.before, ui.width));
    page.say("Now one digit is changed in a copy of the file, behind Cairn's back:");
    page.text.push_str(&format!(
        "\n  {}\n  {}\n",
        palette.faint(&format!("- {TRUTH}")),
        palette.strong(&format!("+ {FORGERY}"))
    ));
    page.command(&format!("cairn verify --db {COPY}"));
    page.text.push_str(&verify::page(&findings.after, ui.width, palette));
    page.say("That was the demo. `cairn init` sets Cairn up in a folder of yours.");
    page.text.trim_start().to_string()
}

struct Page {
    text: String,
    width: usize,
    palette: Palette,
}

impl Page {
    fn say(&mut self, sentence: &str) {
        self.text.push_str(&format!("\n{}\n", wrap(sentence, self.width).join("\n")));
    }

    fn command(&mut self, command: &str) {
        self.text.push_str(&format!("\n{}\n", self.palette.strong(&format!("$ {command}"))));
    }
}
