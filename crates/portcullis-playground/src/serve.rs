//! The listener: connections in, one exchange per request, until it is told to stop.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::{Playground, exchange};

/// Connections at one time; the next waits.
const CONNECTIONS_MAX: usize = 512;
/// How long a client may take for a request's head.
const HEAD_WAIT: Duration = Duration::from_secs(10);
/// After an accept that failed, as when the system has no more descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves until `shutdown` resolves; what is open then is closed.
pub async fn serve(listener: TcpListener, playground: Arc<Playground>, shutdown: impl Future<Output = ()>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let place = tokio::select! {
            place = places.clone().acquire_owned() => place,
            () = &mut shutdown => return,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut shutdown => return,
        };
        match accepted {
            Ok((stream, _)) => {
                let playground = playground.clone();
                connections.spawn(async move {
                    connection(stream, playground).await;
                    drop(place);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(stream: TcpStream, playground: Arc<Playground>) {
    // Small messages should not wait for each other.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let playground = playground.clone();
        async move { Ok::<_, Infallible>(exchange::answer(playground, request).await) }
    });
    // A connection that breaks is the client's affair.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WAIT)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
