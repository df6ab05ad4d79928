//! One connection that sends bytes and tells what came back, and whether it is still good afterwards.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Far longer than any answer takes; only a hang comes to it.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// All of it, head and body.
    pub(crate) text: String,
    pub(crate) body: String,
}

/// What came back until `wanted` answers were there, and whether the connection was closed then.
pub(crate) async fn exchange(address: SocketAddr, bytes: &[u8], wanted: usize) -> (Vec<Reply>, bool) {
    let talk = async {
        let mut connection =
            Connection { socket: TcpStream::connect(address).await.unwrap(), read: Vec::new() };
        // It may be closed while we are still writing.
        let _ = connection.socket.write_all(bytes).await;
        let mut replies = Vec::new();
        while replies.len() < wanted {
            match connection.reply().await {
                Some(reply) => replies.push(reply),
                None => return (replies, true),
            }
        }
        let _ = connection.socket.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
        match connection.reply().await {
            Some(health) if health.status == 200 && health.body == "ok\n" => (replies, false),
            Some(other) => {
                replies.push(other);
                (replies, connection.reply().await.is_none())
            }
            None => (replies, true),
        }
    };
    tokio::time::timeout(PATIENCE, talk)
        .await
        .unwrap_or_else(|_| panic!("no answer to {}", bytes.escape_ascii()))
}

struct Connection {
    socket: TcpStream,
    read: Vec<u8>,
}

impl Connection {
    /// The next answer; none when the connection is closed.
    async fn reply(&mut self) -> Option<Reply> {
        let head_end = self.until(|read| find(read, b"\r\n\r\n").map(|at| at + 4)).await?;
        let head = String::from_utf8(self.read[..head_end].to_vec()).unwrap();
        let length = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok())
            .unwrap_or(0);
        let end = self.until(|read| (read.len() >= head_end + length).then_some(head_end + length)).await?;
        let text = String::from_utf8(self.read.drain(..end).collect()).unwrap();
        let status = head.split(' ').nth(1)?.parse().ok()?;
        // An interim answer says to go on; what counts comes after it.
        if status == 100 {
            return Box::pin(self.reply()).await;
        }
        Some(Reply { status, body: text[head_end..].to_owned(), text })
    }

    async fn until(&mut self, found: impl Fn(&[u8]) -> Option<usize>) -> Option<usize> {
        loop {
            if let Some(at) = found(&self.read) {
                return Some(at);
            }
            if self.socket.read_buf(&mut self.read).await.ok()? == 0 {
                return None;
            }
        }
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
