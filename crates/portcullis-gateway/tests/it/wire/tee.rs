//! What stands before the server and writes down every byte that goes to it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

pub(crate) struct Tee {
    pub(crate) address: SocketAddr,
    noted: Arc<Mutex<Vec<u8>>>,
}

impl Tee {
    pub(crate) async fn before(server: SocketAddr) -> Tee {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let noted = Arc::new(Mutex::new(Vec::new()));
        let notes = noted.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, server, notes.clone()));
            }
        });
        Tee { address, noted }
    }

    /// Everything since the last time.
    pub(crate) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.noted.lock().unwrap())
    }
}

async fn pass(client: TcpStream, server: SocketAddr, notes: Arc<Mutex<Vec<u8>>>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = TcpStream::connect(server).await.unwrap().into_split();
    let back = tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from_client.read(&mut buffer).await {
        notes.lock().unwrap().extend_from_slice(&buffer[..count]);
        if to_server.write_all(&buffer[..count]).await.is_err() {
            break;
        }
    }
    drop(to_server);
    let _ = back.await;
}
