//! A mark beside a database that is being made.
//!
//! A new database is a file without tables until its write-ahead log is folded in. So is a file that was copied without
//! its write-ahead log, and in that no new log may begin. The mark tells the two apart: it is there from before the first
//! byte of a database until its log is committed.

use std::fs;
use std::path::{Path, PathBuf};

fn mark_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_os_string();
    name.push("-new");
    PathBuf::from(name)
}

/// Marks a database that is about to be made. Without the mark, one that is left unfinished has to be removed by hand.
pub fn begin(database: &Path) {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _ = options.open(mark_of(database));
}

/// Removes the mark of a database that has its log.
pub fn end(database: &Path) {
    let mark = mark_of(database);
    if mark.exists() {
        let _ = fs::remove_file(mark);
    }
}

/// Returns whether a file without tables is empty, or was left unfinished.
pub fn may_get_a_log(database: &Path) -> bool {
    fs::metadata(database).map_or(true, |file| file.len() == 0) || mark_of(database).exists()
}
