//! The listener: sockets to exchanges, with bounds on connections, heads and time.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::header::CONNECTION;
use http::{HeaderValue, Method, Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use crate::Gateway;
use crate::authenticate::check_scraper;
use crate::body::Body;
use crate::conclude::stranger_reason;
use crate::lanes::Lanes;
use crate::pipeline;
use crate::record::Trail;
use crate::respond;
use crate::room::{Share, Shares};
use crate::settings::milliseconds;
use crate::stall::StallGuard;
use crate::stop::{ClientFault, Stop};
use crate::strict_heads::{self, StrictHeads};

/// After an accept failed (no descriptors left, mostly) it is not tried again at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How often refusals of strangers are written.
const STRANGERS_INTERVAL: Duration = Duration::from_secs(1);

/// Answers on `listener` until `shutdown` resolves; then takes nothing new, lets open calls finish within
/// `drain_timeout_ms`, and returns.
///
/// A gateway that has stopped is not served again: its streams stay closed.
///
/// With `tls` the sockets speak TLS; whoever binds a socket that is not loopback decides whether they must.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Arc<rustls::ServerConfig>>,
    gateway: Arc<Gateway>,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let connections = Arc::new(Semaphore::new(gateway.settings.connections_max.min(Semaphore::MAX_PERMITS)));
    let addresses: Arc<Shares<IpAddr>> = Arc::default();
    let per_address = gateway.settings.connections_per_address_max;
    let (stop, stopping) = watch::channel(false);
    let door = Door { gateway: gateway.clone(), tls: tls.map(TlsAcceptor::from), stopping };
    let lanes = Lanes::start()?;
    let mut shutdown = pin!(shutdown);
    let mut tick = tokio::time::interval(STRANGERS_INTERVAL);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            _ = tick.tick() => {
                gateway.settle_strangers();
                gateway.end_sessions();
            }
            accepted = accept(&listener, &connections) => match accepted {
                Ok((socket, peer, permit)) => match addresses.take(network(peer.ip()), per_address) {
                    Some(share) => {
                        lanes.run(door.clone().connection(socket, peer, (permit, share)));
                    }
                    None => tracing::debug!(%peer, "an address has too many connections open"),
                },
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    let _ = stop.send(true);
    gateway.close_streams();
    drop(door);
    drain(&gateway, &connections).await;
    gateway.end_all_sessions().await;
    gateway.end_processes().await;
    lanes.end().await;
    gateway.flush();
    Ok(())
}

async fn accept(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
) -> io::Result<(std::net::TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let permit = connections.clone().acquire_owned().await.map_err(io::Error::other)?;
    let (socket, peer) = listener.accept().await?;
    socket.set_nodelay(true)?;
    // To be watched by the lane that serves it.
    Ok((socket.into_std()?, peer, permit))
}

/// Whose connections count together: an IPv6 host has a whole network of addresses.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
    }
}

/// Waits until every connection is done, or time is up.
async fn drain(gateway: &Gateway, connections: &Arc<Semaphore>) {
    let all = u32::try_from(gateway.settings.connections_max).unwrap_or(u32::MAX);
    let patience = milliseconds(gateway.settings.drain_timeout_ms);
    if tokio::time::timeout(patience, connections.acquire_many(all)).await.is_err() {
        tracing::warn!("connections were still open when the time to drain was over");
    }
}

/// What each connection needs.
#[derive(Clone)]
struct Door {
    gateway: Arc<Gateway>,
    tls: Option<TlsAcceptor>,
    stopping: watch::Receiver<bool>,
}

impl Door {
    async fn connection(
        self,
        socket: std::net::TcpStream,
        peer: SocketAddr,
        _held: (OwnedSemaphorePermit, Share<IpAddr>),
    ) {
        let socket = match TcpStream::from_std(socket) {
            Ok(socket) => socket,
            Err(error) => {
                tracing::warn!(%peer, %error, "a connection could not be served");
                return;
            }
        };
        let patience = milliseconds(self.gateway.settings.head_timeout_ms);
        match self.tls.clone() {
            None => self.serve(socket, peer).await,
            Some(acceptor) => match tokio::time::timeout(patience, acceptor.accept(socket)).await {
                Ok(Ok(socket)) => self.serve(socket, peer).await,
                Ok(Err(error)) => tracing::debug!(%peer, %error, "a TLS handshake failed"),
                Err(_) => tracing::debug!(%peer, "a TLS handshake took too long"),
            },
        }
    }

    async fn serve(mut self, socket: impl AsyncRead + AsyncWrite + Unpin, peer: SocketAddr) {
        let gateway = self.gateway.clone();
        let service = service_fn(move |request| {
            let gateway = gateway.clone();
            async move { Ok::<_, Infallible>(answer(&gateway, peer.ip(), request).await) }
        });
        let patience = milliseconds(self.gateway.settings.write_stall_timeout_ms);
        let head_bytes_max = self.gateway.settings.head_bytes_max;
        // hyper has no smaller buffer, and looks at the size of a head when it has all of it.
        let buffer_bytes_max = head_bytes_max.max(8 << 10);
        let socket = StrictHeads::new(socket, buffer_bytes_max.saturating_mul(2));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(milliseconds(self.gateway.settings.head_timeout_ms))
            .max_buf_size(buffer_bytes_max)
            .max_header_size(head_bytes_max)
            .serve_connection(TokioIo::new(StallGuard::new(socket, patience)), service);
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = stop_wanted(&mut self.stopping) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            if error.is_parse() {
                self.gateway.refuse_stranger(peer.ip(), "not one clear HTTP request");
            }
            tracing::debug!(%peer, %error, "a connection ended badly");
        }
    }
}

async fn stop_wanted(stopping: &mut watch::Receiver<bool>) {
    // That nobody can say it any more means the same.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}

async fn answer(gateway: &Arc<Gateway>, peer: IpAddr, request: Request<Incoming>) -> Response<Body> {
    let is_last = strict_heads::is_last(request.headers());
    let mut response = route(gateway, peer, request).await;
    if is_last {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

async fn route(gateway: &Arc<Gateway>, peer: IpAddr, request: Request<Incoming>) -> Response<Body> {
    let path = request.uri().path().to_owned();
    if let Some(server) = path.strip_prefix("/mcp/") {
        return pipeline::handle(gateway, peer, server, request).await;
    }
    let page = match path.as_str() {
        "/healthz" => Some((true, "ok\n".to_owned())),
        "/readyz" => Some(ready(gateway)),
        "/metrics" => {
            let (settings, uri, headers) = (&gateway.settings, request.uri(), request.headers());
            match check_scraper(settings, is_local(peer), uri, headers) {
                Ok(()) => Some((true, gateway.metrics())),
                Err(stop) => return refuse(gateway, peer, &stop),
            }
        }
        _ => None,
    };
    let fault = match page {
        Some((healthy, text)) if request.method() == Method::GET => return respond::page(healthy, text),
        Some(_) => ClientFault::WrongVerb("GET"),
        None => ClientFault::NotFound,
    };
    refuse(gateway, peer, &fault.into())
}

/// What is not at a server's path is nobody's.
fn refuse(gateway: &Gateway, peer: IpAddr, stop: &Stop) -> Response<Body> {
    gateway.refuse_stranger(peer, stranger_reason(stop));
    respond::stop(stop, &Trail::default())
}

/// Also when an IPv4 address is written as one of IPv6.
fn is_local(peer: IpAddr) -> bool {
    peer.to_canonical().is_loopback()
}

/// Ready means that calls can be recorded: nothing is let through otherwise.
fn ready(gateway: &Gateway) -> (bool, String) {
    match gateway.state.log.health().failure {
        None => (true, "ready\n".to_owned()),
        Some(_) => (false, "the decision log cannot be written\n".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_local() {
        for (address, local) in [
            ("127.0.0.1", true),
            ("::1", true),
            ("::ffff:127.0.0.1", true),
            ("10.0.0.1", false),
            ("fe80::1", false),
        ] {
            assert_eq!(is_local(address.parse().unwrap()), local, "{address}");
        }
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let of = |address: &str| network(address.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
    }
}
