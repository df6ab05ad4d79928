//! The HTTP client: plain HTTP/1.1, no redirects, no proxies, a bounded answer.

use std::{error::Error, io::ErrorKind, time::Duration};

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};

use super::{Encoding, ImageUrl, WireRequest};
use crate::failure::Failure;

/// The largest answer that is read.
pub(crate) const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
/// Shorter than the time after which the image's web server closes an idle connection.
const IDLE_TIME_MAX: Duration = Duration::from_secs(10);
const IDLE_CONNECTIONS_MAX: usize = 8;

/// A whole answer, not yet looked at.
#[derive(Debug)]
pub(crate) struct RawAnswer {
    pub(crate) status: StatusCode,
    pub(crate) content_type: String,
    pub(crate) body: Bytes,
}

pub(super) struct Client(legacy::Client<HttpConnector, Full<Bytes>>);

impl Client {
    pub(super) fn new() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT_TIME_MAX));
        connector.set_nodelay(true);
        let client = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIME_MAX)
            .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
            .build(connector);
        Self(client)
    }

    pub(super) async fn ask(&self, url: &ImageUrl, request: &WireRequest) -> Result<RawAnswer, Failure> {
        let answer = self
            .0
            .request(http_request(url, request)?)
            .await
            .map_err(|fault| connection_failure(&fault, fault.is_connect()))?;
        let (head, body) = answer.into_parts();
        let content_type = head
            .headers
            .get(header::CONTENT_TYPE)
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .unwrap_or_default();
        Ok(RawAnswer { status: head.status, content_type, body: whole(body).await? })
    }
}

fn http_request(url: &ImageUrl, request: &WireRequest) -> Result<Request<Full<Bytes>>, Failure> {
    let builder =
        Request::builder().uri(format!("{url}{}", request.target)).header(header::ACCEPT, "application/json");
    let builder = match request.encoding {
        Encoding::Query => builder.method(Method::GET),
        Encoding::Body => builder.method(Method::POST).header(header::CONTENT_TYPE, "application/json"),
    };
    builder
        .body(Full::new(request.body.clone()))
        .map_err(|fault| Failure::Unreachable { reason: fault.to_string() })
}

async fn whole(body: Incoming) -> Result<Bytes, Failure> {
    match Limited::new(body, ANSWER_BYTES_MAX).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(fault) if fault.is::<LengthLimitError>() => Err(Failure::AnswerTooLarge),
        Err(fault) => Err(Failure::ConnectionLost { reason: innermost(fault.as_ref()) }),
    }
}

fn connection_failure(fault: &(dyn Error + 'static), connecting: bool) -> Failure {
    if !connecting {
        return Failure::ConnectionLost { reason: innermost(fault) };
    }
    match io_kind(fault) {
        Some(ErrorKind::ConnectionRefused) => Failure::Refused,
        _ => Failure::Unreachable { reason: innermost(fault) },
    }
}

fn io_kind(fault: &(dyn Error + 'static)) -> Option<ErrorKind> {
    causes(fault).find_map(|cause| cause.downcast_ref::<std::io::Error>()).map(std::io::Error::kind)
}

/// The innermost cause says what happened; the outer ones only where.
fn innermost(fault: &(dyn Error + 'static)) -> String {
    causes(fault).last().map(ToString::to_string).unwrap_or_default()
}

fn causes<'fault>(
    fault: &'fault (dyn Error + 'static),
) -> impl Iterator<Item = &'fault (dyn Error + 'static)> {
    std::iter::successors(Some(fault), |cause| (*cause).source())
}
