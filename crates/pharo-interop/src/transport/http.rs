//! MCP over streamable HTTP, both protocol eras at one path. Plain HTTP/1.1: beyond loopback put
//! something in front that speaks TLS.

use std::{convert::Infallible, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response, StatusCode, header, header::HeaderValue};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, combinators::BoxBody};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::{
    guard::{self, Refusal},
    sessions::BoundedSessions,
    stop::StopSignals,
};
use crate::{
    console::say,
    mcp::Server,
    settings::{Listener, Token},
};

const CONNECTIONS_MAX: usize = 256;
const HEAD_TIME_MAX: Duration = Duration::from_secs(30);
const BODY_TIME_MAX: Duration = Duration::from_secs(30);
const REQUEST_BYTES_MAX: usize = 4 * 1024 * 1024;
/// After a failed accept, such as too many open files, trying at once would only burn the processor.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

type Body = BoxBody<Bytes, Infallible>;

/// What every connection shares.
struct Endpoint {
    mcp: StreamableHttpService<Server, BoundedSessions>,
    token: Option<Token>,
}

pub(super) async fn serve(server: Server, listener: Listener, stop: StopSignals) -> Result<(), String> {
    let socket = TcpListener::bind(listener.address)
        .await
        .map_err(|fault| format!("cannot listen on {}: {fault}", listener.address))?;
    let address = socket.local_addr().map_err(|fault| format!("no address: {fault}"))?;
    say(&format!("listening on http://{address}{}", guard::PATH));
    let config = config(&listener);
    let endpoint = Arc::new(Endpoint {
        mcp: StreamableHttpService::new(move || Ok(server.clone()), Arc::default(), config),
        token: listener.token,
    });
    tokio::select! {
        () = accept(socket, endpoint) => Ok(()),
        () = stop.received() => Ok(()),
    }
}

fn config(listener: &Listener) -> StreamableHttpServerConfig {
    let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(String::from).to_vec();
    if !listener.address.ip().is_unspecified() {
        hosts.push(listener.address.ip().to_string());
    }
    hosts.extend(listener.hosts.iter().cloned());
    StreamableHttpServerConfig::default()
        .with_allowed_hosts(hosts)
        .with_allowed_origins(listener.origins.iter().cloned())
        // Without this an empty list would let every origin in.
        .enforce_origin_validation()
        // A stream only where there is something to stream; clients limit the size of an event.
        .with_json_response(true)
        .with_max_request_body_bytes(REQUEST_BYTES_MAX)
}

async fn accept(socket: TcpListener, endpoint: Arc<Endpoint>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        match socket.accept().await {
            Ok((connection, _)) => {
                tokio::spawn(converse(connection, endpoint.clone(), place));
            }
            Err(fault) => {
                say(&format!("warning: a connection was not accepted: {fault}"));
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn converse(connection: TcpStream, endpoint: Arc<Endpoint>, place: OwnedSemaphorePermit) {
    let _not_supported = connection.set_nodelay(true);
    let answer = service_fn(|request| respond(&endpoint, request));
    // A client that goes away in the middle is no news.
    let _ended = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME_MAX)
        .serve_connection(TokioIo::new(connection), answer)
        .await;
    drop(place);
}

async fn respond(endpoint: &Endpoint, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let token = endpoint.token.as_ref();
    if let Some(refusal) = guard::refusal(request.uri().path(), request.headers(), token) {
        return Ok(refused(refusal));
    }
    let (head, body) = request.into_parts();
    match whole(body).await {
        Ok(body) => Ok(endpoint.mcp.handle(Request::from_parts(head, Full::new(body))).await),
        Err(refusal) => Ok(refused(refusal)),
    }
}

/// Reads the body here, because the SDK would wait for it without end.
async fn whole(body: Incoming) -> Result<Bytes, Refusal> {
    match timeout(BODY_TIME_MAX, Limited::new(body, REQUEST_BYTES_MAX).collect()).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(fault)) if fault.is::<LengthLimitError>() => {
            Err((StatusCode::PAYLOAD_TOO_LARGE, "the request is larger than 4 MiB"))
        }
        Ok(Err(_)) => Err((StatusCode::BAD_REQUEST, "the request broke off")),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "the request takes too long")),
    }
}

fn refused((status, reason): Refusal) -> Response<Body> {
    let mut response = Response::new(Full::from(reason).boxed());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}
