//! The client's side: standard input and output as the runtime can wait for them.
//!
//! Clients give pipes or sockets. Anything else is a person at a terminal, or a test with files: that is read
//! by a thread of its own and written at once.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixStream as PlainSocket;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// What the client writes.
pub(super) fn input() -> Result<Box<dyn AsyncRead + Send + Unpin>, String> {
    let own = || io::stdin().as_fd().try_clone_to_owned();
    let fault = |error: io::Error| format!("standard input cannot be read: {error}");
    if let Ok(pipe) = own().and_then(pipe::Receiver::from_owned_fd) {
        return Ok(Box::new(pipe));
    }
    let socket = match own().and_then(as_socket).map_err(fault)? {
        Some(socket) => socket,
        None => through_a_thread().map_err(fault)?,
    };
    Ok(Box::new(waited_for(socket).map_err(fault)?))
}

/// What the client reads.
pub(super) fn output() -> Result<Box<dyn AsyncWrite + Send + Unpin>, String> {
    let own = || io::stdout().as_fd().try_clone_to_owned();
    let fault = |error: io::Error| format!("standard output cannot be written: {error}");
    if let Ok(pipe) = own().and_then(pipe::Sender::from_owned_fd) {
        return Ok(Box::new(pipe));
    }
    Ok(match own().and_then(as_socket).map_err(fault)? {
        Some(socket) => Box::new(waited_for(socket).map_err(fault)?),
        None => Box::new(AtOnce(File::from(own().map_err(fault)?))),
    })
}

fn as_socket(fd: OwnedFd) -> io::Result<Option<PlainSocket>> {
    let file = File::from(fd);
    let is_socket = file.metadata()?.file_type().is_socket();
    Ok(is_socket.then(|| PlainSocket::from(OwnedFd::from(file))))
}

fn waited_for(socket: PlainSocket) -> io::Result<UnixStream> {
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

/// The thread ends with its input, or with the process.
fn through_a_thread() -> io::Result<PlainSocket> {
    let (ours, mut theirs) = PlainSocket::pair()?;
    let copy = move || drop(io::copy(&mut io::stdin().lock(), &mut theirs));
    std::thread::Builder::new().name("standard-input".to_owned()).spawn(copy)?;
    Ok(ours)
}

/// A file or a terminal, which takes what it is given.
struct AtOnce(File);

impl AsyncWrite for AtOnce {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(self.0.write(bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.0.flush())
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
