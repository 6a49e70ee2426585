//! What the program says when something fails: one sentence, what to do about it, an exit code.

use std::io;
use std::path::Path;

use cairn::{Address, Error, Issue, OpenError, StoreError};
use serde_json::{Value, json};

use crate::term::{Palette, quoted, visible};

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Something is wrong, missing or refused: exit code 1.
    Refused,
    /// The command line makes no sense: exit code 2.
    Usage,
    /// Whoever read our output has stopped reading, as `head` does. Not worth a word.
    BrokenPipe,
}

/// Why a command did not do what it was asked to.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) kind: Kind,
    code: &'static str,
    message: String,
    /// What the message follows from, outermost first.
    causes: Vec<String>,
    issues: Vec<Issue>,
    hints: Vec<String>,
}

impl CliError {
    fn new(kind: Kind, code: &'static str, message: impl Into<String>) -> CliError {
        let (causes, hints) = (Vec::new(), Vec::new());
        CliError { kind, code, message: message.into(), causes, issues: Vec::new(), hints }
    }

    /// The command line makes no sense.
    pub(crate) fn usage(message: impl Into<String>) -> CliError {
        CliError::new(Kind::Usage, "INVALID_PARAMS", message)
    }

    /// What was asked for is not there.
    pub(crate) fn not_found(message: impl Into<String>) -> CliError {
        CliError::new(Kind::Refused, "NOT_FOUND", message)
    }

    /// It will not be done.
    pub(crate) fn refused(message: impl Into<String>) -> CliError {
        CliError::new(Kind::Refused, "INVALID_PARAMS", message)
    }

    /// It was tried and did not work.
    pub(crate) fn failed(message: impl Into<String>) -> CliError {
        CliError::new(Kind::Refused, "HANDLER_ERROR", message)
    }

    /// Whoever asks may not.
    pub(crate) fn forbidden(message: impl Into<String>) -> CliError {
        CliError::new(Kind::Refused, "FORBIDDEN", message)
    }

    /// Not now.
    pub(crate) fn busy(message: impl Into<String>) -> CliError {
        CliError::new(Kind::Refused, "BUSY", message)
    }

    /// It is more than is allowed.
    pub(crate) fn too_large(message: impl Into<String>) -> CliError {
        CliError::new(Kind::Refused, "TOO_LARGE", message)
    }

    /// A file could not be read or written.
    pub(crate) fn io(what: impl Into<String>, error: &io::Error) -> CliError {
        let mut failure = CliError::failed(what);
        failure.causes.push(error.to_string());
        match error.kind() {
            io::ErrorKind::StorageFull => failure.hint("free some space on that disk and try again"),
            io::ErrorKind::PermissionDenied => failure.hint("check who owns the file and its folder"),
            _ => failure,
        }
    }

    /// The result could not be printed.
    pub(crate) fn output(error: io::Error) -> CliError {
        match error.kind() {
            io::ErrorKind::BrokenPipe => {
                CliError::new(Kind::BrokenPipe, "HANDLER_ERROR", "nobody reads the output")
            }
            _ => CliError::io("cannot write the result", &error),
        }
    }

    /// Adds what can be done about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> CliError {
        self.hints.push(hint.into());
        self
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::Refused => 1,
            Kind::Usage => 2,
            Kind::BrokenPipe => 0,
        }
    }

    /// What kind of failure it is, as programs know it.
    pub(crate) fn code(&self) -> &'static str {
        self.code
    }

    /// The sentence, with what it follows from.
    pub(crate) fn sentence(&self) -> String {
        let mut sentence = self.message.clone();
        for cause in &self.causes {
            sentence.push_str(": ");
            sentence.push_str(cause);
        }
        sentence
    }

    pub(crate) fn hints(&self) -> &[String] {
        &self.hints
    }

    /// What a person reads: the error, and after a blank line each hint.
    pub(crate) fn for_people(&self, palette: Palette) -> String {
        let mut text = format!("{} {}", palette.bad("error:"), visible(&self.sentence()));
        for hint in &self.hints {
            text.push_str(&format!("\n\n{} {}", palette.strong("hint:"), visible(hint)));
        }
        text
    }

    /// What a program reads: the envelope of a failed call.
    pub(crate) fn envelope(&self) -> Value {
        let mut details = json!({});
        if !self.issues.is_empty() {
            details["issues"] = json!(self.issues);
        }
        if !self.hints.is_empty() {
            details["hints"] = json!(self.hints);
        }
        json!({"ok": false, "error": {"code": self.code, "message": self.sentence(), "details": details}})
    }

    fn caused_by(mut self, error: &dyn std::error::Error) -> CliError {
        let mut source = error.source();
        while let Some(cause) = source {
            self.causes.push(cause.to_string());
            source = cause.source();
        }
        self
    }
}

impl From<Error> for CliError {
    fn from(error: Error) -> CliError {
        let failure = CliError::new(Kind::Refused, error.code(), error.to_string()).caused_by(&error);
        match &error {
            Error::Invalid(issues) => {
                let sentence = |issue: &Issue| match issue.path.as_str() {
                    "" => issue.message.clone(),
                    path => format!("{}: {}", flag(path), issue.message),
                };
                let sentences: Vec<String> = issues.iter().map(sentence).collect();
                CliError { message: sentences.join("; "), issues: issues.clone(), ..failure }
            }
            Error::NotFound { what: "roadmap", .. } => {
                failure.hint("`cairn roadmap list` shows what there is")
            }
            Error::NotFound { what: "context", .. } => {
                failure.hint("`cairn context history ROADMAP` shows what there is")
            }
            Error::NotFound { what: "session", .. } => {
                failure.hint("`cairn session list` shows what there is")
            }
            Error::NotFound { what: "token", .. } => failure.hint("`cairn token list` shows what there is"),
            Error::NotFound { what: "brief", .. } => {
                failure.hint("`cairn brief list` shows what is stored; give the whole id")
            }
            // A file that was named on the command line: there is no list of those.
            Error::NotFound { what: "file", .. } => failure,
            Error::NotFound { .. } => failure.hint("`cairn list` shows what there is; ids may be shortened"),
            Error::Conflict(message) => {
                CliError { message: message.replace("pass `overwrite`", "pass `--overwrite`"), ..failure }
            }
            Error::Uncovered { .. } => failure.hint("`cairn checkpoint` makes one"),
            // They say themselves what to do.
            Error::AmbiguousLabel { .. } | Error::Forbidden(_) => failure,
            Error::BudgetTooSmall { .. } => {
                failure.hint("raise `--budget`, or leave it out to see everything")
            }
            Error::TooLarge { field: "roadmap", .. } => {
                failure.hint("split the plan into several roadmaps, and leave out what is no part of it")
            }
            Error::TooLarge { .. } => {
                failure.hint("record a summary, and name where the whole of it is kept with `--meta`")
            }
            Error::Damaged(_) => failure.hint("it is not shown; `cairn verify` names what was changed"),
            Error::Busy { .. } => failure.hint("nothing was lost; `cairn doctor` looks at the database"),
            // These say themselves what to do.
            Error::Store(StoreError::DiskFull | StoreError::Damaged(_)) => failure,
            Error::Store(error) if error.is_passing() => failure,
            Error::Store(_) => failure.hint("`cairn doctor` looks at the database"),
        }
    }
}

impl From<OpenError> for CliError {
    fn from(error: OpenError) -> CliError {
        let code = match &error {
            OpenError::Missing { .. } | OpenError::NoFolder { .. } | OpenError::Dangling { .. } => {
                "NOT_FOUND"
            }
            OpenError::Address { .. } | OpenError::Replica { .. } => "INVALID_PARAMS",
            OpenError::Gone { .. } | OpenError::Barred { .. } => "FORBIDDEN",
            OpenError::Busy { .. } => "BUSY",
            OpenError::Store { source, .. } if source.is_passing() => "BUSY",
            _ => "HANDLER_ERROR",
        };
        let sentence = match &error {
            OpenError::ReadOnly { path } if path.is_file() => {
                format!("`{}` or its folder is read-only", path.display())
            }
            OpenError::ReadOnly { path } => {
                format!("`{}` cannot be made: its folder is read-only", path.display())
            }
            other => other.to_string(),
        };
        let failure = CliError::new(Kind::Refused, code, sentence).caused_by(&error);
        let hint = match &error {
            OpenError::Address { .. } => {
                "it looks like `postgres://USER@HOST/DATABASE?schema=NAME`; in CAIRN_DB a password is seen by nobody else"
                    .to_string()
            }
            OpenError::Replica { .. } => {
                "`--read-db` or CAIRN_READ_DB names a standby of the PostgreSQL server that `--db` names; leave it out to read from the database itself"
                    .to_string()
            }
            OpenError::Missing { path } if is_address(path) => {
                "whoever records makes it: `cairn record` or `cairn serve`, with a role that may; or name another schema: \
                 `?schema=NAME`"
                    .to_string()
            }
            OpenError::Barred { .. } => {
                "let the role that is to own it open it once, with `cairn record` or `cairn serve`, and give this one its \
                 rights: docs/postgres-roles.sql"
                    .to_string()
            }
            OpenError::NotOurs { path, .. } if is_address(path) => {
                "Cairn leaves it as it is; name another schema in the address: `?schema=NAME`".to_string()
            }
            OpenError::Older { path, .. } if is_address(path) => {
                "a log from before the first release cannot be converted; name another schema in the address: \
                 `?schema=NAME`"
                    .to_string()
            }
            OpenError::Store { path, source } if is_address(path) => return match source {
                StoreError::Unreachable => {
                    // Nobody has asked for anything to be written yet.
                    let several = path.to_string_lossy().contains(',');
                    let cause = if several { "none of the servers answers and takes writes" } else { "the server does not answer" };
                    let causes = vec![cause.to_string()];
                    CliError { causes, ..failure }.hint("check the host, the port and that the server runs")
                }
                // These say themselves what to do.
                StoreError::NotAllowed
                | StoreError::NotAdmitted
                | StoreError::NoPassword
                | StoreError::WrongPassword
                | StoreError::NotEncrypted(_)
                | StoreError::NoPrimary
                | StoreError::Unsuitable(_)
                | StoreError::Overloaded { .. } => failure,
                _ => failure.hint("docs/storage.md says what a server must offer and a role must be allowed"),
            },
            OpenError::NoFolder { folder } => format!("make it with `mkdir -p {}`", quoted(folder)),
            OpenError::Missing { .. } => {
                "run `cairn init` to start one in this folder, or name another with `--db`".to_string()
            }
            OpenError::Gone { path, .. } => format!(
                "restore it from a backup or an export; if it was deleted on purpose, this creates it again: `cairn log \
                 new --lost --reason 'deleted on purpose' --db {}`",
                quoted(path)
            ),
            OpenError::Dangling { .. } => {
                "remove the link, or make the file that it names; or name another database with `--db`".to_string()
            }
            OpenError::NotOurs { .. } => {
                "Cairn leaves it as it is; name another file with `--db`, or move this one away".to_string()
            }
            OpenError::Hollow { path } => {
                let mut wal = path.clone().into_os_string();
                wal.push("-wal");
                format!(
                    "what was recorded is in {}, which was lost, or left behind when the file was copied; `cairn backup \
                     FILE` copies a database that is in use. Cairn begins no new log in this file: restore it, move it \
                     away, or name another with `--db`",
                    quoted(Path::new(&wal))
                )
            }
            OpenError::Unfolded { path } => format!(
                "copy the file and its `-wal` into a folder that can be written, and read the copy; or run `cairn \
                 checkpoint --db {}` as a user who may write there, which folds it in",
                quoted(path)
            ),
            OpenError::Newer { .. } => format!(
                "this is Cairn {}; install a newer one, or name another database with `--db`",
                env!("CARGO_PKG_VERSION")
            ),
            OpenError::Older { .. } => {
                "a database from before the first release cannot be converted; name another one with `--db`".to_string()
            }
            OpenError::ReadOnly { path } => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                let folder = folder.unwrap_or(Path::new("."));
                // A database writes beside itself even when it is only read.
                let which = if path.exists() { vec![path.as_path(), folder] } else { vec![folder] };
                let which: Vec<String> = which.iter().map(|path| quoted(path)).collect();
                format!(
                    "`chmod u+w {}` may help; or name a file in a folder of yours with `--db`",
                    which.join(" ")
                )
            }
            OpenError::Interrupted { path } => format!(
                "`cairn checkpoint --db {}` takes the unfinished write back; reading never changes a file",
                quoted(path)
            ),
            OpenError::Busy { .. } => "wait until the other process is done and try again".to_string(),
            // It says itself what to do.
            OpenError::Store { source: StoreError::DiskFull, .. } => return failure,
            OpenError::Store { source: StoreError::Damaged(what), .. } => {
                // Its own advice is to verify it, which needs a database that can be opened.
                let causes = vec![format!("the database is damaged ({what})")];
                return CliError { causes, ..failure }
                    .hint("restore it from a backup or an export, and keep this file as evidence");
            }
            OpenError::Store { .. } => "`cairn doctor` looks at the database".to_string(),
        };
        failure.hint(hint)
    }
}

fn is_address(path: &Path) -> bool {
    path.to_str().is_some_and(Address::is_one)
}

/// The flag that a person typed for an argument that the library names.
fn flag(path: &str) -> String {
    if path.contains([':', ' ']) {
        // A place in a file, `limit.yaml:2 nodes[0].id`.
        return path.to_string();
    }
    let (name, rest) = path.split_at(path.find(['.', '[']).unwrap_or(path.len()));
    let flag = match name {
        "task_id" => "--task",
        "session_id" => "--session",
        "agent_id" => "--agent",
        "parent_id" => "--parent",
        "action_id" => "--action",
        "context_id" => "--context",
        "context_id1" | "context_id2" => "context",
        "roadmap_id" => "roadmap",
        "brief_id" => "--brief",
        "supersedes" => "--supersedes",
        "rejects" => "--rejects",
        "applies_to" => "--applies-to",
        "metadata" => "--metadata",
        "idempotency_key" => "--key",
        "limit" => "--limit",
        "turn" => "--turn",
        "counter" => "--counter",
        "cursor" => "--cursor",
        other => other,
    };
    format!("{flag}{rest}")
}
