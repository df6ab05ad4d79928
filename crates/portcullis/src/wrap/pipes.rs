//! The client's side: standard input and output as the runtime reads and writes them best.
//!
//! Clients give pipes or sockets, which can be waited for; anything else (a terminal, a file) is read by a
//! thread of its own.

use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream as PlainSocket;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// What the client writes.
pub(super) fn input() -> Box<dyn AsyncRead + Send + Unpin> {
    let own = || std::io::stdin().as_fd().try_clone_to_owned().ok();
    if let Some(pipe) = own().and_then(|fd| pipe::Receiver::from_owned_fd(fd).ok()) {
        return Box::new(pipe);
    }
    match own().and_then(socket) {
        Some(socket) => Box::new(socket),
        None => Box::new(tokio::io::stdin()),
    }
}

/// What the client reads.
pub(super) fn output() -> Box<dyn AsyncWrite + Send + Unpin> {
    let own = || std::io::stdout().as_fd().try_clone_to_owned().ok();
    if let Some(pipe) = own().and_then(|fd| pipe::Sender::from_owned_fd(fd).ok()) {
        return Box::new(pipe);
    }
    match own().and_then(socket) {
        Some(socket) => Box::new(socket),
        None => Box::new(tokio::io::stdout()),
    }
}

fn socket(fd: OwnedFd) -> Option<UnixStream> {
    use std::os::unix::fs::FileTypeExt as _;
    let file = File::from(fd);
    if !file.metadata().ok()?.file_type().is_socket() {
        return None;
    }
    let socket = PlainSocket::from(OwnedFd::from(file));
    socket.set_nonblocking(true).ok()?;
    UnixStream::from_std(socket).ok()
}
