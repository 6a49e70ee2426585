//! Standard input and output without a thread in between, where the system allows it.
//!
//! Most parents start a server on pipes, Node on socket pairs. Both can be read without blocking, which is ten
//! times as fast as handing every read and write to another thread, as must be done for files and terminals.

use tokio::io::{AsyncRead, AsyncWrite};

/// Where requests come from.
pub type Input = Box<dyn AsyncRead + Send + Unpin>;
/// Where answers go.
pub type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Opens standard input. Must be called inside a runtime.
pub fn input() -> Input {
    #[cfg(target_os = "linux")]
    if let Some(pipe) = pipe::input() {
        return Box::new(pipe);
    }
    #[cfg(unix)]
    if let Some(socket) = socket::of(&std::io::stdin()) {
        return Box::new(socket);
    }
    Box::new(tokio::io::stdin())
}

/// Opens standard output. Must be called inside a runtime.
pub fn output() -> Output {
    #[cfg(target_os = "linux")]
    if let Some(pipe) = pipe::output() {
        return Box::new(pipe);
    }
    #[cfg(unix)]
    if let Some(socket) = socket::of(&std::io::stdout()) {
        return Box::new(socket);
    }
    Box::new(tokio::io::stdout())
}

/// A pipe is opened anew, so that the non-blocking mode stays ours: the flag belongs to the open file, which we
/// share with the parent and whoever else inherited it.
#[cfg(target_os = "linux")]
mod pipe {
    use tokio::net::unix::pipe::{OpenOptions, Receiver, Sender};

    pub fn input() -> Option<Receiver> {
        OpenOptions::new().open_receiver(anonymous("/proc/self/fd/0")?).ok()
    }

    pub fn output() -> Option<Sender> {
        let sender = OpenOptions::new().open_sender(anonymous("/proc/self/fd/1")?).ok()?;
        // Fewer turns between us and the client for a large answer; the system may not grant it, which is fine.
        let _ = rustix::pipe::fcntl_setpipe_size(&sender, 1 << 20);
        Some(sender)
    }

    /// A named pipe opened anew does not report that its writers have left, an anonymous one does.
    fn anonymous(path: &'static str) -> Option<&'static str> {
        let target = std::fs::read_link(path).ok()?;
        target.to_string_lossy().starts_with("pipe:").then_some(path)
    }
}

#[cfg(unix)]
mod socket {
    use std::fs::File;
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::fs::FileTypeExt;

    use tokio::net::UnixStream;

    pub fn of(stream: &impl AsFd) -> Option<UnixStream> {
        let file = File::from(stream.as_fd().try_clone_to_owned().ok()?);
        if !file.metadata().ok()?.file_type().is_socket() {
            return None;
        }
        let socket = std::os::unix::net::UnixStream::from(OwnedFd::from(file));
        socket.set_nonblocking(true).ok()?;
        UnixStream::from_std(socket).ok()
    }
}
