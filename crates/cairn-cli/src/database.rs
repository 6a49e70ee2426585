//! Which database a command works on, and how it is opened.

use std::path::{Path, PathBuf};

use cairn::{Address, Cairn, Durability, OpenError, Options, StoreError};

use crate::error::CliError;
use crate::password::{Login, with_password};
use crate::state::prove;
use crate::term::quoted;

/// The folder of a project that holds its database.
pub(crate) const FOLDER: &str = ".cairn";
/// The database in it.
pub(crate) const FILE: &str = "cairn.db";
/// The folder of roadmaps, beside the database.
pub(crate) const ROADMAPS: &str = "roadmaps";

/// A place for a database, why it is this one, and where its roadmaps are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location {
    /// A file, or the address of a server as it was given, with its password: only for opening it.
    pub(crate) path: PathBuf,
    pub(crate) source: Source,
    pub(crate) roadmaps: PathBuf,
    /// Who is to be let in, if it is on a server.
    pub(crate) login: Option<Login>,
}

/// Why a command works on this database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// It was named by `--db` or CAIRN_DB.
    Named,
    /// It is in the nearest `.cairn` folder.
    Project,
    /// There is no such folder: it is in the user's data folder.
    User,
}

/// Finds the database: the one that is named, else the project's, else the user's. Roadmaps are beside it unless
/// their folder is named as well; for one on a server they are where they would be if nothing were named.
pub(crate) fn locate(named: Option<&Path>, roadmaps: Option<&Path>) -> Result<Location, CliError> {
    let (path, source, login) = find(named)?;
    let roadmaps = match roadmaps.filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => folder.to_path_buf(),
        None if is_address(&path) => find(None)?.0.with_file_name(ROADMAPS),
        None => path.with_file_name(ROADMAPS),
    };
    Ok(Location { path, source, roadmaps, login })
}

fn find(named: Option<&Path>) -> Result<(PathBuf, Source, Option<Login>), CliError> {
    if let Some(path) = named.filter(|path| !path.as_os_str().is_empty()) {
        if let Some(address) = path.to_str().filter(|text| Address::is_one(text)) {
            let (address, login) = with_password(address);
            return Ok((PathBuf::from(address), Source::Named, Some(login)));
        }
        let text = path.to_string_lossy();
        if let Some(why) = Address::mistaken(&text) {
            return Err(CliError::usage(OpenError::Address { why }.to_string())
                .hint("a file whose name looks like an address is named with `./` before it"));
        }
        if path.is_dir() {
            return Err(CliError::usage(format!("`{text}` is a folder, not a database"))
                .hint(format!("name a file in it: `--db {}`", quoted(&path.join(FILE)))));
        }
        return Ok((path.to_path_buf(), Source::Named, None));
    }
    let here =
        std::env::current_dir().map_err(|error| CliError::io("cannot tell which folder this is", &error))?;
    if let Some(folder) = here.ancestors().map(|folder| folder.join(FOLDER)).find(|folder| folder.is_dir()) {
        return Ok((folder.join(FILE), Source::Project, None));
    }
    Ok((user_folder()?.join(FILE), Source::User, None))
}

/// `$XDG_DATA_HOME/cairn`, or `~/.local/share/cairn`.
fn user_folder() -> Result<PathBuf, CliError> {
    // The standard says that a relative path here is to be ignored.
    let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let data = data.or_else(|| std::env::home_dir().map(|home| home.join(".local/share")));
    match data {
        Some(data) if data.is_absolute() => Ok(data.join("cairn")),
        _ => Err(CliError::failed("cannot tell where to keep the database: there is no home folder")
            .hint("name a file with `--db` or CAIRN_DB")),
    }
}

/// Whether a name is the address of a server and not a file.
fn is_address(path: &Path) -> bool {
    path.to_str().is_some_and(Address::is_one)
}

impl Location {
    /// Whether it is on a server.
    pub(crate) fn is_server(&self) -> bool {
        is_address(&self.path)
    }

    /// What it is called: without a password, and as what is remembered of it outside calls it.
    pub(crate) fn name(&self) -> Result<PathBuf, CliError> {
        match self.path.to_str().filter(|text| Address::is_one(text)) {
            None => Ok(self.path.clone()),
            Some(text) => match Address::parse(text) {
                Ok(address) => Ok(PathBuf::from(address.to_string())),
                Err(why) => Err(OpenError::Address { why }.into()),
            },
        }
    }

    /// The file, for what can only be done with one.
    pub(crate) fn file(&self, what: &str, hint: &str) -> Result<&Path, CliError> {
        match self.is_server() {
            false => Ok(&self.path),
            true => Err(CliError::refused(format!(
                "{what} needs a database in a file, and this one is on a server"
            ))
            .hint(hint)),
        }
    }

    /// Opens it for reading. Nothing is made or changed.
    pub(crate) fn open_to_read(&self) -> Result<Cairn, CliError> {
        // The database engine says "cannot open" to this and to much else.
        if !self.is_server()
            && self.path.is_file()
            && let Err(error) = std::fs::File::open(&self.path)
            && error.kind() == std::io::ErrorKind::PermissionDenied
        {
            return Err(CliError::io(format!("cannot read `{}`", self.path.display()), &error));
        }
        let options = prove(Options::new().read_only(true).roadmaps(&self.roadmaps), &self.path)?;
        options.open(&self.path).map_err(|error| self.explain(self.kindly(error)))
    }

    /// Opens it for writing if it is there.
    pub(crate) fn open_existing(&self, durability: Durability) -> Result<Cairn, CliError> {
        let options = Options::new().create(false).durability(durability).roadmaps(&self.roadmaps);
        prove(options, &self.path)?.open(&self.path).map_err(|error| self.explain(self.kindly(error)))
    }

    /// Opens it for writing, and makes it if it is missing. A folder that somebody named must exist. What is read may
    /// come from a replica.
    pub(crate) fn open_to_write(
        &self,
        durability: Durability,
        replica: Option<&str>,
    ) -> Result<Cairn, CliError> {
        if self.source == Source::User
            && let Some(folder) = self.path.parent()
        {
            private_folder(folder)?;
        }
        let mut options = Options::new().durability(durability).roadmaps(&self.roadmaps);
        if let Some(replica) = replica {
            options = options.read_from(with_password(replica).0);
        }
        prove(options, &self.path)?.open(&self.path).map_err(|error| self.explain(error))
    }

    /// What went wrong when it was opened, and if nobody was let in, who that was and where the password came from.
    pub(crate) fn explain(&self, error: OpenError) -> CliError {
        let OpenError::Store { source, .. } = &error else { return error.into() };
        let hint = match (source, &self.login) {
            (StoreError::NoPassword | StoreError::WrongPassword, Some(login)) => login.whole(),
            (StoreError::NotAdmitted, Some(login)) => login.who(),
            _ => return error.into(),
        };
        CliError::from(error).hint(hint)
    }

    /// A missing folder is no news to someone who only wants to read: there is no database.
    fn kindly(&self, error: OpenError) -> OpenError {
        match error {
            OpenError::NoFolder { .. } => OpenError::Missing { path: self.path.clone() },
            other => other,
        }
    }
}

/// Makes a folder, and those above it, that only its owner can look into. One that exists stays as it is.
pub(crate) fn private_folder(folder: &Path) -> Result<(), CliError> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(folder)
        .map_err(|error| CliError::io(format!("cannot make the folder `{}`", folder.display()), &error))
}
