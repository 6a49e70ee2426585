//! Which witnesses a log has: one readable file for each log, in the state folder.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::files::{self, Files};
use crate::state::StateFolder;

const FORMAT: &str = "cairn-witnesses/1";
/// More would only make every command slower.
const MAX_WITNESSES: usize = 32;

/// The witnesses of one log.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    format: String,
    /// The log.
    pub(crate) origin: String,
    /// Its witnesses, in the order in which they were added.
    pub(crate) witnesses: Vec<Witness>,
}

/// One witness.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Witness {
    /// What it is called here.
    pub(crate) name: String,
    /// What it is.
    #[serde(flatten)]
    pub(crate) place: Place,
    /// It is not bothered more often than this, in seconds, unless somebody asks for it.
    pub(crate) every: u64,
}

/// Where heads are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum Place {
    /// At the end of a file.
    File {
        /// The file.
        path: PathBuf,
    },
    /// In a git repository.
    Git {
        /// The repository.
        repository: PathBuf,
        /// The ref that has a commit for each head; none if heads are looked for in messages of commits.
        #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
        reference: Option<String>,
    },
    /// With somebody who signs what extends the last head they signed (C2SP tlog-witness).
    Http {
        /// Where requests begin.
        url: String,
        /// Their key.
        key: String,
    },
    /// Wherever a program puts them.
    Command {
        /// The program and its arguments; the note is its input.
        store: Vec<String>,
        /// A shell command that prints the newest note, or all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        read: Option<String>,
    },
    /// Nowhere, but with a time that somebody else has signed (RFC 3161).
    Timestamp {
        /// Who stamps.
        url: String,
        /// The certificates that stamps are verified with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ca: Option<PathBuf>,
    },
}

impl Place {
    /// The word for its kind.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Place::File { .. } => "file",
            Place::Git { .. } => "git",
            Place::Http { .. } => "http",
            Place::Command { .. } => "command",
            Place::Timestamp { .. } => "timestamp",
        }
    }

    /// How often it gets a head, in seconds, unless something else is said: a file gets each, a time stamp is worth
    /// as much once a day.
    pub(crate) fn usual_interval(&self) -> u64 {
        match self {
            Place::File { .. } => 0,
            Place::Timestamp { .. } => 24 * 60 * 60,
            _ => 60 * 60,
        }
    }
}

/// Where it is.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File { path } => write!(f, "{}", path.display()),
            Place::Git { repository, reference: Some(reference) } => {
                write!(f, "{} {reference}", repository.display())
            }
            Place::Git { repository, reference: None } => {
                write!(f, "{} messages of commits", repository.display())
            }
            Place::Http { url, .. } | Place::Timestamp { url, .. } => f.write_str(url),
            Place::Command { store, .. } => f.write_str(&store.join(" ")),
        }
    }
}

impl Witness {
    /// As sentences name it.
    pub(crate) fn title(&self) -> String {
        format!("witness `{}` ({} {})", self.name, self.place.kind(), self.place)
    }
}

impl Config {
    /// What is configured for a log.
    pub(crate) fn load(state: &StateFolder, origin: &str) -> Result<Config, String> {
        let path = Files::new(state, origin).config();
        let Some(text) = files::read_text(&path)? else {
            return Ok(Config { format: FORMAT.into(), origin: origin.into(), witnesses: Vec::new() });
        };
        let config: Config = serde_json::from_str(&text)
            .map_err(|error| format!("`{}` cannot be read: {error}", path.display()))?;
        if config.format != FORMAT || config.origin != origin {
            return Err(format!(
                "`{}` is of format `{}` and log `{}`, expected are `{FORMAT}` and `{origin}`",
                path.display(),
                config.format,
                config.origin
            ));
        }
        match config.witnesses.iter().find(|witness| !is_name(&witness.name)) {
            Some(wrong) => Err(format!("`{}` has a witness named `{}`", path.display(), wrong.name)),
            None => Ok(config),
        }
    }

    /// Writes it.
    pub(crate) fn save(&self, state: &StateFolder) -> Result<(), String> {
        let path = Files::new(state, &self.origin).config();
        let text = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
        files::replace(&path, (text + "\n").as_bytes())
    }

    /// Adds a witness under a name, or under one made from its kind.
    pub(crate) fn add(
        &mut self,
        name: Option<String>,
        place: Place,
        every: Option<u64>,
    ) -> Result<&Witness, String> {
        let taken = |name: &str| self.witnesses.iter().any(|witness| witness.name == name);
        let numbered = || {
            let others = (2..).map(|number| format!("{}-{number}", place.kind()));
            std::iter::once(place.kind().to_string()).chain(others).find(|name| !taken(name))
        };
        let name = name.or_else(numbered).unwrap_or_default();
        if !is_name(&name) {
            return Err(
                "a name has 1 to 40 letters, digits, dots, dashes and underscores, no dot first".into()
            );
        }
        if taken(&name) {
            return Err(format!("there is a witness `{name}` already"));
        }
        if let Some(same) = self.witnesses.iter().find(|witness| witness.place == place) {
            return Err(format!("witness `{}` is there already", same.name));
        }
        if self.witnesses.len() >= MAX_WITNESSES {
            return Err(format!("a log has at most {MAX_WITNESSES} witnesses"));
        }
        let every = every.unwrap_or_else(|| place.usual_interval());
        self.witnesses.push(Witness { name, place, every });
        self.witnesses.last().ok_or_else(String::new)
    }
}

/// Names are names of files.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    (1..=40).contains(&name.len()) && name.chars().all(plain) && !name.starts_with('.')
}
