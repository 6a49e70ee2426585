//! What is around a database: its files, its folder, its disk.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Check, Location};
use crate::term::size;

/// A write-ahead log of this size is worth a word: readers have kept it from being folded in.
const LARGE_WAL: u64 = 64 << 20;
/// Free space below which a disk is nearly full.
const LITTLE_SPACE: u64 = 256 << 20;

/// Looks at sizes and free space; works for a database that cannot be opened, too.
pub(super) fn look(location: &Location, checks: &mut Vec<Check>) {
    if location.is_server() {
        return;
    }
    let length = |suffix: &str| {
        let mut file = location.path.clone().into_os_string();
        file.push(suffix);
        fs::metadata(file).ok().map(|metadata| metadata.len())
    };
    if let Some(bytes) = length("") {
        let wal = length("-wal").unwrap_or(0);
        let message = format!("{}, write-ahead log {}", size(bytes), size(wal));
        let advice = "a reader that never ends holds it: end it, and it shrinks at the next write";
        checks.push(if wal < LARGE_WAL {
            Check::ok("size", message)
        } else {
            Check::warn("size", message, advice)
        });
    }
    if let Some(free) = free_space(folder_of(&location.path)) {
        let advice = "make room: nothing can be recorded on a full disk";
        checks.push(if free > LITTLE_SPACE {
            Check::ok("disk", format!("{} free", size(free)))
        } else {
            Check::warn("disk", format!("only {} free", size(free)), advice)
        });
    }
}

/// What cannot be written, if anything: the file, or the folder that its write-ahead log must be made in.
pub(super) fn obstacle_to_writing(path: &Path) -> Option<PathBuf> {
    if fs::OpenOptions::new().write(true).open(path).is_err() {
        return Some(path.to_path_buf());
    }
    let folder = folder_of(path);
    (!may_write(folder)).then(|| folder.to_path_buf())
}

/// The nearest folder that exists.
fn folder_of(path: &Path) -> &Path {
    let mut folders = path.ancestors().skip(1).filter(|folder| folder.is_dir());
    folders.next().unwrap_or(Path::new("."))
}

#[cfg(unix)]
fn may_write(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(unix)]
fn free_space(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn may_write(_: &Path) -> bool {
    true
}

#[cfg(not(unix))]
fn free_space(_: &Path) -> Option<u64> {
    None
}
