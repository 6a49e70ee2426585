//! The command line: global options, the commands, and the page that `cairn --help` shows.

use std::path::PathBuf;

use cairn::{Durability, ReplicaState};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, ValueEnum};

use crate::cmd::Command;
use crate::database::{self, Location};
use crate::error::CliError;
use crate::password;
use crate::term::{ColorChoice, Ui};

/// Record why AI agents do what they do, and prove that nobody changed it since
///
/// Cairn keeps an agent's plans, analyses, decisions and reflections in one SQLite file, linked by hashes and
/// entered into an append-only log. Agents record through MCP (`cairn mcp`), people read and verify here.
#[derive(Debug, Parser)]
#[command(name = "cairn", version, disable_help_subcommand = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options that every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Global {
    /// Work on this database, a file or `postgres://…`, instead of the one in the nearest `.cairn` folder or the user's own; put passwords in CAIRN_DB, PGPASSWORD or ~/.pgpass
    #[arg(long, value_name = "PATH|URL", global = true, env = "CAIRN_DB", hide_env_values = true)]
    db: Option<PathBuf>,
    /// Read roadmaps from this folder instead of `roadmaps` beside the database
    #[arg(long, value_name = "DIR", global = true, env = "CAIRN_ROADMAPS", hide_env_values = true)]
    roadmaps: Option<PathBuf>,
    /// Print JSON: the data of the result, or an envelope with the error
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Colour the output
    #[arg(
        long,
        value_name = "auto|always|never",
        global = true,
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(crate) color: ColorChoice,
    /// Choose when a record counts as written: on disk, or handed to the system
    #[arg(
        long,
        value_name = "full|normal",
        global = true,
        default_value = "full",
        hide_possible_values = true
    )]
    durability: Safety,
}

/// Where a server may read.
#[derive(Debug, Args)]
pub(crate) struct ReadDb {
    /// Read from this replica of the database, `postgres://…`, whenever it has all that this server has recorded or seen; put passwords in CAIRN_READ_DB, PGPASSWORD or ~/.pgpass
    #[arg(long, value_name = "URL", env = "CAIRN_READ_DB", hide_env_values = true)]
    read_db: Option<String>,
}

/// When an acknowledged record is safe.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Safety {
    /// On disk: survives a power cut
    Full,
    /// Handed to the system: survives a crash of the program, and a power cut may take the last ones
    Normal,
}

/// What every command needs: where to print, and which database to work on.
pub(crate) struct App {
    pub(crate) ui: Ui,
    pub(crate) durability: Durability,
    db: Option<PathBuf>,
    roadmaps: Option<PathBuf>,
}

impl App {
    pub(crate) fn new(global: &Global) -> App {
        let durability = match global.durability {
            Safety::Full => Durability::Full,
            Safety::Normal => Durability::Normal,
        };
        let (db, roadmaps) = (global.db.clone(), global.roadmaps.clone());
        App { ui: Ui::new(global.json, global.color), durability, db, roadmaps }
    }

    /// The database of this call.
    pub(crate) fn location(&self) -> Result<Location, CliError> {
        database::locate(self.db.as_deref(), self.roadmaps.as_deref())
    }

    /// Opens it for reading.
    pub(crate) fn read(&self) -> Result<cairn::Cairn, CliError> {
        self.location()?.open_to_read()
    }

    /// Opens it for writing if it is there.
    pub(crate) fn write_existing(&self) -> Result<cairn::Cairn, CliError> {
        self.location()?.open_existing(self.durability)
    }

    /// Opens it for writing.
    pub(crate) fn write(&self) -> Result<cairn::Cairn, CliError> {
        self.location()?.open_to_write(self.durability, None)
    }

    /// Opens it for a server, which may read from a replica.
    pub(crate) fn serve(&self, read: &ReadDb) -> Result<cairn::Cairn, CliError> {
        let replica = read.read_db.as_deref().filter(|replica| !replica.is_empty());
        let cairn = self.location()?.open_to_write(self.durability, replica)?;
        if let Some(replica) = cairn.replica()
            && replica.state == ReplicaState::Unreachable
        {
            self.ui.remark(&format!(
                "note: the replica `{}` cannot be reached; everything is read from the database itself until it can",
                replica.address
            ));
        }
        Ok(cairn)
    }

    /// The folder of roadmaps, for which there need not be a database yet.
    pub(crate) fn roadmaps(&self) -> Result<cairn::Roadmaps, CliError> {
        Ok(cairn::Roadmaps::new(self.location()?.roadmaps))
    }
}

/// Reads the command line; says what on it others should not see.
pub(crate) fn parse() -> Result<(Cli, Option<String>), clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    let exposed = exposed(&matches);
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    Ok((cli, exposed))
}

/// What takes the address of a server: the argument, its flag, and the variable that nobody else can read.
const ADDRESSES: [(&str, &str, &str); 4] = [
    ("db", "--db", "CAIRN_DB"),
    ("read_db", "--read-db", "CAIRN_READ_DB"),
    ("from", "--from", "CAIRN_COPY_FROM"),
    ("to", "--to", "CAIRN_COPY_TO"),
];

/// A word about passwords on the command line, which everyone on the machine can list.
fn exposed(matches: &ArgMatches) -> Option<String> {
    let mut innermost = matches;
    while let Some((_, inner)) = innermost.subcommand() {
        innermost = inner;
    }
    let holds_password = |name: &str| {
        matches!(innermost.try_contains_id(name), Ok(true))
            && innermost.value_source(name) == Some(ValueSource::CommandLine)
            && innermost
                .get_raw(name)
                .is_some_and(|mut values| values.any(|value| value.to_str().is_some_and(password::is_in)))
    };
    let found: Vec<_> = ADDRESSES.iter().filter(|(name, ..)| holds_password(name)).collect();
    let [flags, variables] = [
        found.iter().map(|(_, flag, _)| *flag).collect::<Vec<_>>().join(" and "),
        found.iter().map(|(.., variable)| *variable).collect::<Vec<_>>().join(", "),
    ];
    (!found.is_empty()).then(|| {
        format!(
            "note: everyone on this machine can read the password behind {flags} while this runs; {variables}, \
             PGPASSWORD or ~/.pgpass are the places for it"
        )
    })
}

/// The commands as one looks for them, not as the alphabet has them.
const GROUPS: [(&str, &[&str]); 8] = [
    ("Start", &["init", "demo", "serve", "mcp"]),
    ("Record and read", &["record", "list", "show", "tree", "trail", "why", "search"]),
    ("Plans", &["roadmap", "context", "drift"]),
    ("Working memory", &["session", "brief"]),
    ("Prove", &["verify", "checkpoint", "prove", "log", "key", "witness", "signer"]),
    ("Share", &["token"]),
    ("Keep and hand over", &["backup", "copy", "export", "verify-bundle", "import", "redact", "doctor"]),
    ("Set up the shell", &["completions"]),
];

const EXAMPLES: [(&str, &str); 4] = [
    ("cairn demo", "see what it does"),
    ("cairn init", "set up this folder"),
    ("cairn record decision \"Use SQLite\" -s storage", "record by hand"),
    ("cairn trail --action commit-4f2a", "ask why this was done"),
];

/// The command line as it is shown to people: on the first page the commands in groups, and on each page
/// what is to be said about a command at its top.
pub(crate) fn command() -> clap::Command {
    let command = Cli::command();
    let page = first_page(&command);
    whole_about(command.mut_subcommands(group_page)).help_template(page)
}

/// A command that others belong to lists them with their first lines only.
fn group_page(command: clap::Command) -> clap::Command {
    if !command.has_subcommands() {
        return command;
    }
    let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    let mut page = String::from("{about-with-newline}\n{usage-heading} {usage}\n\n");
    page.push_str(&group(&command, "Commands", &names));
    let page = page + &options(&command);
    command.help_template(page)
}

/// The whole description on the short help page too, of this command and of those below it: clap spreads options
/// out over many lines as soon as there is a long one.
fn whole_about(command: clap::Command) -> clap::Command {
    let command = command.mut_subcommands(whole_about);
    match command.get_long_about().cloned() {
        Some(about) => command.about(about).long_about(None),
        None => command,
    }
}

fn first_page(command: &clap::Command) -> String {
    let heading = command.get_styles().get_header();
    let literal = command.get_styles().get_literal();
    let mut page = String::from("{about-with-newline}\n{usage-heading} {usage}\n\n");
    for (title, names) in GROUPS {
        page.push_str(&group(command, title, names));
    }
    page.push_str(&format!("{heading}Examples:{heading:#}\n"));
    for (example, comment) in EXAMPLES {
        page.push_str(&format!("  {literal}{example:<45}{literal:#}  {comment}\n"));
    }
    page.push('\n');
    page + &options(command) + "\n\n`cairn COMMAND --help` says more about a command."
}

fn group(command: &clap::Command, title: &str, names: &[&str]) -> String {
    let heading = command.get_styles().get_header();
    let literal = command.get_styles().get_literal();
    let mut group = format!("{heading}{title}:{heading:#}\n");
    for name in names {
        let about = command.find_subcommand(name).and_then(|found| found.get_about());
        let about = about.map(ToString::to_string).unwrap_or_default();
        group.push_str(&format!("  {literal}{name:<13}{literal:#}  {about}\n"));
    }
    group + "\n"
}

fn options(command: &clap::Command) -> String {
    let heading = command.get_styles().get_header();
    format!("{heading}Options:{heading:#}\n{{options}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_in_one_group_and_says_what_it_does() {
        let command = command();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let mut known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        grouped.sort_unstable();
        known.sort_unstable();
        assert_eq!(grouped, known);
    }

    #[test]
    fn every_command_and_flag_has_a_help_line_without_a_full_stop() {
        let root = Cli::command();
        let mut commands = vec![&root];
        while let Some(sub) = commands.pop() {
            commands.extend(sub.get_subcommands());
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(!about.is_empty() && !about.ends_with('.'), "{}: `{about}`", sub.get_name());
            for arg in sub.get_arguments() {
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(
                    !help.is_empty() && !help.ends_with('.'),
                    "{} {}: `{help}`",
                    sub.get_name(),
                    arg.get_id()
                );
            }
        }
    }

    #[test]
    fn the_first_page_fits_eighty_columns() {
        for line in first_page(&Cli::command()).lines() {
            let plain: String =
                line.split('\x1b').map(|part| part.split_once('m').map_or(part, |(_, text)| text)).collect();
            assert!(plain.chars().count() <= 80, "{plain}");
        }
    }

    #[test]
    fn the_definition_is_sound() {
        command().debug_assert();
    }
}
