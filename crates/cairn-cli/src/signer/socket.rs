//! The socket file: in a folder that nobody else can change, and never over one that somebody answers on.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// A bound socket; its file is removed at the end.
pub(super) struct Socket {
    path: PathBuf,
    inode: u64,
}

/// Binds a socket that its owner and its group can connect to.
pub(super) fn bind(path: &Path) -> Result<(UnixListener, Socket), String> {
    let shown = path.display();
    let failed = |error: std::io::Error| format!("cannot listen on `{shown}`: {error}");
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    check_folder(folder)?;
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
        Ok(found) if !found.file_type().is_socket() => {
            return Err(format!("`{shown}` is there and is no socket: name another file"));
        }
        Ok(_) => match UnixStream::connect(path) {
            Ok(_) => return Err(format!("a signer is answering on `{shown}` already")),
            // Left behind by one that was killed.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                fs::remove_file(path).map_err(failed)?;
            }
            Err(error) => return Err(failed(error)),
        },
    }
    let listener = UnixListener::bind(path).map_err(failed)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o660)).map_err(failed)?;
    let inode = fs::symlink_metadata(path).map_err(failed)?.ino();
    listener.set_nonblocking(true).map_err(failed)?;
    Ok((listener, Socket { path: path.to_path_buf(), inode }))
}

/// Whoever can put files into the folder can put another signer in the place of this one.
fn check_folder(folder: &Path) -> Result<(), String> {
    let shown = folder.display();
    let found = fs::metadata(folder).map_err(|error| format!("cannot look at `{shown}`: {error}"))?;
    let own = rustix::process::geteuid().as_raw();
    if !found.is_dir() {
        return Err(format!("`{shown}` is no folder"));
    }
    if found.uid() != own && found.uid() != 0 {
        return Err(format!(
            "the folder `{shown}` belongs to another user: put the socket into one of your own"
        ));
    }
    if found.mode() & 0o002 != 0 {
        return Err(format!(
            "everybody can write into the folder `{shown}`: put the socket into one where only you can"
        ));
    }
    Ok(())
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Not that of another signer, which may have taken the place.
        if fs::symlink_metadata(&self.path).is_ok_and(|found| found.ino() == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}
