//! What this user keeps away from every database: signing keys, the heads of logs that were seen, their witnesses.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cairn::core::entry::KeyOp;
use cairn::{Address, Cairn, KeyFolder, KeySigner, Options, Signer};

use crate::error::CliError;
#[cfg(unix)]
use crate::signer::SocketSigner;
use crate::term::visible;

/// The folder of it all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StateFolder {
    pub(crate) path: PathBuf,
}

impl StateFolder {
    /// `$CAIRN_STATE`, else `$XDG_STATE_HOME/cairn`, else `~/.local/state/cairn`; none if there is no home folder.
    pub(crate) fn find() -> Option<StateFolder> {
        // A unit test leaves the folder of the person who runs it alone.
        #[cfg(test)]
        return Some(StateFolder {
            path: std::env::temp_dir().join(format!("cairn-unit-{}", std::process::id())),
        });
        #[cfg(not(test))]
        StateFolder::find_in_environment()
    }

    #[cfg(not(test))]
    fn find_in_environment() -> Option<StateFolder> {
        let named = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let path = named("CAIRN_STATE")
            .or_else(|| named("XDG_STATE_HOME").map(|state| state.join("cairn")))
            .or_else(|| std::env::home_dir().map(|home| home.join(".local/state/cairn")))?;
        path.is_absolute().then_some(StateFolder { path })
    }

    /// The same, for what cannot do without.
    pub(crate) fn require() -> Result<StateFolder, CliError> {
        StateFolder::find().ok_or_else(|| {
            CliError::failed("cannot tell where to keep keys and heads: there is no home folder")
                .hint("name a folder with CAIRN_STATE")
        })
    }

    /// The signing keys.
    pub(crate) fn keys(&self) -> PathBuf {
        self.path.join("keys")
    }

    /// The heads of logs that were seen.
    pub(crate) fn heads(&self) -> PathBuf {
        self.path.join("heads")
    }

    /// Which witnesses a log has.
    pub(crate) fn witnesses(&self) -> PathBuf {
        self.path.join("witnesses")
    }
}

/// Who signs checkpoints.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Signing {
    /// A key in a file of this user's, made when it is first needed.
    File,
    /// A key handed over in `CAIRN_KEY`.
    Environment(String),
    /// `cairn signer`, behind this socket.
    Socket(PathBuf),
    /// Nobody.
    Nobody,
}

impl Signing {
    /// What `CAIRN_SIGNER` and `CAIRN_KEY` ask for.
    pub(crate) fn find() -> Result<Signing, CliError> {
        let text = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
        match (text("CAIRN_SIGNER").as_deref(), text("CAIRN_KEY")) {
            (None | Some("file"), None) => Ok(Signing::File),
            (None, Some(key)) => Ok(Signing::Environment(key)),
            (Some("none"), _) => Ok(Signing::Nobody),
            (Some(socket), _) if socket.starts_with("unix:") => Ok(Signing::Socket(PathBuf::from(&socket[5..]))),
            (Some(other), _) => Err(CliError::usage(format!(
                "CAIRN_SIGNER: there is no way to sign called `{other}`"
            ))
            .hint(
                "`file` (the default) keeps a key for you, `unix:PATH` asks `cairn signer`, `none` signs nothing; CAIRN_KEY hands a key over",
            )),
        }
    }
}

/// Who signs, if somebody does.
pub(crate) fn signer() -> Result<Option<Arc<dyn Signer>>, CliError> {
    Ok(match (StateFolder::find(), Signing::find()?) {
        (Some(state), Signing::File) => Some(Arc::new(KeyFolder::new(state.keys()))),
        (_, Signing::Environment(key)) => {
            let key = key.trim().parse().map_err(|error| {
                CliError::usage(format!("CAIRN_KEY cannot be used: {error}"))
                    .hint("it must be a whole `PRIVATE+KEY+…` line, as `cairn key new` prints it")
            })?;
            Some(Arc::new(KeySigner::new(key)))
        }
        #[cfg(unix)]
        (_, Signing::Socket(path)) => Some(Arc::new(SocketSigner::new(path))),
        #[cfg(not(unix))]
        (_, Signing::Socket(_)) => {
            return Err(CliError::usage("CAIRN_SIGNER: there are no such sockets on this system"));
        }
        (None, Signing::File) | (_, Signing::Nobody) => None,
    })
}

/// Where this user's keys are, if files hold them.
pub(crate) fn key_folder() -> Result<Option<KeyFolder>, CliError> {
    Ok(match (StateFolder::find(), Signing::find()?) {
        (Some(state), Signing::File) => Some(KeyFolder::new(state.keys())),
        _ => None,
    })
}

/// A log that is signed, but not from here.
pub(crate) struct SignedElsewhere {
    /// The key that signs it.
    pub(crate) key: String,
    /// Where a copy of that key would be found.
    pub(crate) place: PathBuf,
}

impl SignedElsewhere {
    /// Looks whether the log has a key and this user has none of it.
    pub(crate) fn find(cairn: &Cairn) -> Result<Option<SignedElsewhere>, CliError> {
        let Some(keys) = key_folder()? else { return Ok(None) };
        let origin = cairn.status()?.origin;
        if !keys.keys(&origin).map_err(CliError::refused)?.is_empty() {
            return Ok(None);
        }
        let newest = cairn.key_changes()?.into_iter().rfind(|change| change.op == KeyOp::Add);
        Ok(newest.map(|change| {
            // The name of a key without the key.
            let key = change.vkey.rsplit_once('+').map_or(&*change.vkey, |(id, _)| id).to_string();
            SignedElsewhere { key, place: keys.path(&origin) }
        }))
    }

    pub(crate) fn message(&self) -> String {
        format!(
            "the log is signed with {}, which is not here: checkpoints made here are unsigned",
            visible(&self.key)
        )
    }

    pub(crate) fn advice(&self) -> String {
        format!(
            "if it may sign here too, copy it to {} from where it is (readable by its owner alone)",
            self.place.display()
        )
    }
}

/// Adds to `options` who signs, and where heads are remembered.
pub(crate) fn prove(mut options: Options, database: &Path) -> Result<Options, CliError> {
    // Passing it over would keep keys and heads in a folder that nobody named.
    if let Some(named) = std::env::var_os("CAIRN_STATE").map(PathBuf::from).filter(|path| path.is_relative())
        && !named.as_os_str().is_empty()
    {
        let message = format!("CAIRN_STATE: `{}` does not say where it begins", named.display());
        return Err(CliError::usage(message).hint("name the folder with its whole path, from the root on"));
    }
    if let Some(signer) = signer()? {
        options = options.shared_signer(signer);
    }
    if let Some(state) = StateFolder::find() {
        if !database.to_str().is_some_and(Address::is_one) {
            away_from(database, &state.path)?;
        }
        options = options.heads(state.heads());
    }
    Ok(options)
}

/// Whoever can write the database must not find the keys beside it.
fn away_from(database: &Path, state: &Path) -> Result<(), CliError> {
    let folder = database.parent().unwrap_or(Path::new(""));
    let same = |a: &Path, b: &Path| match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    };
    if [state.to_path_buf(), state.join("keys"), state.join("heads")].iter().any(|path| same(path, folder)) {
        return Err(CliError::refused(format!(
            "`{}` holds your keys: a database does not belong there",
            folder.display()
        ))
        .hint("name another folder with `--db`, or move the keys with CAIRN_STATE"));
    }
    Ok(())
}
