//! One span for each exchange, sent over OTLP (HTTP, protobuf). Only with the cargo feature `otlp`.
//!
//! The library batches in a thread of its own and drops what does not fit; a collector that is slow or gone
//! never holds up a call. Spans name server, method, tool, outcome and rule, and no argument.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use clap::Args;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::{Request, Response};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{Span as _, SpanKind, Status, Tracer as _, TracerProvider as _};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider};
use portcullis_gateway::{Exchange, Gateway};
use tokio::runtime::Handle;

/// How long the collector may take for one batch.
const EXPORT_WAIT: Duration = Duration::from_secs(10);
/// How long the last batch may take when the gateway stops.
const LAST_WAIT: Duration = Duration::from_secs(5);
/// Bytes of a collector's answer.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// Characters of a name; agents write some of them. As in the decision log.
const NAME_CHARACTERS_MAX: usize = 160;

/// Where spans go.
#[derive(Args, Clone, Debug)]
pub(crate) struct Otlp {
    /// Send a span of every exchange to this OTLP collector, as in `http://127.0.0.1:4318`.
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
}

/// The spans of a running gateway.
pub(crate) struct Spans(Option<SdkTracerProvider>);

impl Otlp {
    /// Starts to send, if a collector is named. To be called inside the runtime.
    pub(crate) fn start(&self, gateway: &Gateway) -> Result<Spans, String> {
        let Some(url) = &self.otlp else {
            return Ok(Spans(None));
        };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Sender::new()?)
            .with_endpoint(format!("{}/v1/traces", url.trim_end_matches('/')))
            .with_timeout(EXPORT_WAIT)
            .build()
            .map_err(|error| format!("`--otlp {url}` cannot be used: {error}"))?;
        let resource = Resource::builder().with_service_name("portcullis").build();
        let provider = SdkTracerProvider::builder()
            // Whether an exchange is told is not for the agent to say, by its trace context.
            .with_sampler(Sampler::AlwaysOn)
            .with_batch_exporter(exporter)
            .with_resource(resource)
            .build();
        let tracer = provider.tracer("portcullis");
        gateway.watch(Arc::new(move |exchange| tell(&tracer, exchange)));
        Ok(Spans(Some(provider)))
    }
}

impl Spans {
    /// Sends what is left.
    pub(crate) async fn finish(self) {
        let Some(provider) = self.0 else {
            return;
        };
        // It waits for the collector: not on a thread that the sending needs.
        let last = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(LAST_WAIT));
        if let Ok(Err(error)) = last.await {
            tracing::warn!(%error, "the last spans did not reach the collector");
        }
    }
}

fn tell(tracer: &SdkTracer, exchange: &Exchange<'_>) {
    let started = SystemTime::from(exchange.started);
    let tool = exchange.tool.map(cut);
    let name = match &tool {
        Some(tool) => format!("{} {tool}", exchange.method),
        None if exchange.method.is_empty() => "unread".to_owned(),
        None => exchange.method.to_owned(),
    };
    let fields = [
        ("portcullis.request", Some(exchange.request)),
        ("portcullis.server", exchange.server),
        ("portcullis.grant", exchange.grant),
        ("portcullis.outcome", Some(exchange.outcome)),
        ("portcullis.rule", Some(exchange.rule).filter(|rule| !rule.is_empty())),
        ("mcp.method.name", Some(exchange.method)),
        ("mcp.tool.name", tool.as_deref()),
    ];
    let fields = fields.into_iter().filter_map(|(key, value)| Some(KeyValue::new(key, value?.to_owned())));
    let builder = tracer.span_builder(name).with_kind(SpanKind::Server).with_start_time(started);
    let mut span = builder.with_attributes(fields).start_with_context(tracer, &parent(exchange.trace_parent));
    if matches!(exchange.outcome, "failed" | "unavailable" | "shed") {
        span.set_status(Status::error(exchange.outcome.to_owned()));
    }
    span.end_with_timestamp(started + exchange.took);
}

fn cut(name: &str) -> String {
    name.chars().take(NAME_CHARACTERS_MAX).collect()
}

/// The client's span, where it named one.
fn parent(trace_parent: Option<&str>) -> Context {
    let carried: HashMap<String, String> =
        trace_parent.map(|value| ("traceparent".to_owned(), value.to_owned())).into_iter().collect();
    TraceContextPropagator::new().extract_with_context(&Context::new(), &carried)
}

/// Sends batches with the runtime's client: the library's thread has no runtime of its own.
struct Sender {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    runtime: Handle,
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sender")
    }
}

impl Sender {
    fn new() -> Result<Sender, String> {
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_webpki_roots(rustls::crypto::ring::default_provider())
            .map_err(|error| format!("TLS cannot be set up: {error}"))?
            .https_or_http()
            .enable_http1()
            .build();
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Sender { client, runtime: Handle::current() })
    }
}

#[async_trait]
impl HttpClient for Sender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let exchange = async move {
            let (head, body) = client.request(request.map(Full::new)).await?.into_parts();
            let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await?.to_bytes();
            Ok::<_, HttpError>(Response::from_parts(head, body))
        };
        // A timer can only be made inside the runtime, and the library's thread is outside.
        self.runtime.spawn(async move { tokio::time::timeout(EXPORT_WAIT, exchange).await }).await??
    }
}
