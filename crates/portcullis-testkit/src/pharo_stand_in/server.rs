//! The HTTP side: a thread of its own, on a free port of loopback.

use std::{
    collections::HashMap,
    convert::Infallible,
    io,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{net::TcpListener, sync::oneshot, time::sleep};

use super::{
    Age, Fault, Recorded, answers::Outcome, body::PiecewiseBody, endpoints, evaluator, extra_endpoints,
    fixture, screen::Screenshot, world::World,
};

const RECORDED_MAX: usize = 10_000;

/// A stand-in that runs until it is dropped.
pub struct StandIn {
    address: SocketAddr,
    shared: Arc<Shared>,
    directory: PathBuf,
    _stop: oneshot::Sender<()>,
}

struct Shared(Mutex<State>);

struct State {
    world: World,
    age: Age,
    /// By path; the empty path stands for all others.
    faults: HashMap<String, Fault>,
    recorded: Vec<Recorded>,
    under_way: usize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A URL of loopback at which nothing listens.
pub fn refused_url() -> io::Result<String> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
    Ok(format!("http://{}", listener.local_addr()?))
}

impl StandIn {
    /// Starts with the world of the fixture.
    pub fn start() -> io::Result<Self> {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("pharo-stand-in-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&directory)?;
        let shared = Arc::new(Shared(Mutex::new(State {
            world: fixture::world(&directory.to_string_lossy()),
            age: Age::default(),
            faults: HashMap::new(),
            recorded: Vec::new(),
            under_way: 0,
        })));
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let for_thread = shared.clone();
        std::thread::spawn(move || runtime.block_on(serve(listener, for_thread, stopped)));
        Ok(Self { address, shared, directory, _stop: stop })
    }

    /// The base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A directory of its own, gone with the stand-in.
    pub fn directory(&self) -> &std::path::Path {
        &self.directory
    }

    /// Takes what was received since the last time.
    pub fn take_recorded(&self) -> Vec<Recorded> {
        std::mem::take(&mut self.shared.lock().recorded)
    }

    /// How many requests are being answered.
    pub fn under_way(&self) -> usize {
        self.shared.lock().under_way
    }

    /// Misbehaves at one path, or at every other one with the empty path.
    pub fn misbehave(&self, path: &str, fault: Fault) {
        self.shared.lock().faults.insert(path.to_owned(), fault);
    }

    /// Behaves again.
    pub fn behave(&self) {
        self.shared.lock().faults.clear();
    }

    /// Becomes an older or newer image side.
    pub fn set_age(&self, age: Age) {
        self.shared.lock().age = age;
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        let _already_gone = std::fs::remove_dir_all(&self.directory);
    }
}

async fn serve(
    listener: std::net::TcpListener,
    shared: Arc<Shared>,
    mut stopped: oneshot::Receiver<()>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (connection, _) = tokio::select! {
            accepted = listener.accept() => accepted?,
            _ = &mut stopped => return Ok(()),
        };
        connection.set_nodelay(true)?;
        let shared = shared.clone();
        tokio::spawn(async move {
            let answer = service_fn(|request| respond(&shared, request));
            let connection = TokioIo::new(connection);
            let _client_gone = http1::Builder::new().serve_connection(connection, answer).await;
        });
    }
}

/// Counts a request as under way until it is answered or given up.
struct UnderWay<'a>(&'a Shared);

impl<'a> UnderWay<'a> {
    fn new(shared: &'a Shared) -> Self {
        shared.lock().under_way += 1;
        Self(shared)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.lock().under_way -= 1;
    }
}

type Answer = Response<PiecewiseBody>;

async fn respond(shared: &Shared, request: Request<Incoming>) -> Result<Answer, io::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let query = head.uri.query().unwrap_or_default();
    let request = Recorded::new(head.method.as_str(), head.uri.path(), query, &body);
    let _under_way = UnderWay::new(shared);
    let (fault, delay) = received(shared, &request);
    sleep_unless_zero(delay).await;
    match fault {
        None => Ok(honest(shared, &request, Screenshot::Real).await),
        Some(fault) => misbehave(shared, &request, fault).await,
    }
}

fn received(shared: &Shared, request: &Recorded) -> (Option<Fault>, Duration) {
    let mut state = shared.lock();
    if state.recorded.len() < RECORDED_MAX {
        state.recorded.push(request.clone());
    }
    let fault = state.faults.get(&request.path).or_else(|| state.faults.get("")).cloned();
    let code = request.parameters.get("code").and_then(Value::as_str);
    (fault, code.map(evaluator::delay).unwrap_or_default())
}

async fn sleep_unless_zero(delay: Duration) {
    if !delay.is_zero() {
        sleep(delay).await;
    }
}

async fn honest(shared: &Shared, request: &Recorded, screenshot: Screenshot) -> Answer {
    let body = {
        let mut state = shared.lock();
        let State { world, age, .. } = &mut *state;
        let age = *age;
        let mut outcome = endpoints::answer(world, request, screenshot);
        if outcome.is_none() && age == Age::WithExtras {
            outcome = extra_endpoints::answer(world, request);
        }
        match outcome {
            None => return plain(StatusCode::NOT_FOUND, "text/plain", "Not Found"),
            Some(outcome) => outcome.into_body(&request.path, age),
        }
    };
    match body {
        Some(body) => plain(StatusCode::OK, "application/json", body),
        None => never().await,
    }
}

async fn misbehave(shared: &Shared, request: &Recorded, fault: Fault) -> Result<Answer, io::Error> {
    let json = |text: &str| Ok(plain(StatusCode::OK, "application/json", text.to_owned()));
    match fault {
        Fault::Hang => Ok(never().await),
        Fault::Close => Err(io::Error::other("the stand-in closes")),
        Fault::Late(delay) => {
            sleep(delay).await;
            Ok(honest(shared, request, Screenshot::Real).await)
        }
        Fault::Drip(pause) => {
            let body = honest_bytes(shared, request).await;
            Ok(answer_with(PiecewiseBody::dripping(body, 1, pause)))
        }
        Fault::Half => Ok(answer_with(PiecewiseBody::half(honest_bytes(shared, request).await))),
        Fault::Status(status) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            Ok(plain(status, "text/plain", "the stand-in refuses"))
        }
        Fault::Html => Ok(plain(StatusCode::OK, "text/html", "<html><body>It works!</body></html>")),
        Fault::WrongContentType => {
            Ok(plain(StatusCode::OK, "text/plain", honest_bytes(shared, request).await))
        }
        Fault::Empty => json(""),
        Fault::NotJson => json("{'success': True}"),
        Fault::OtherJson => json(r#"{"status":"ok"}"#),
        Fault::Huge(size) => json(&format!(r#"{{"success":true,"result":"{}"}}"#, "x".repeat(size))),
        Fault::Redirect(place) => {
            let mut answer = plain(StatusCode::FOUND, "text/plain", "elsewhere");
            if let Ok(place) = header::HeaderValue::from_str(&place) {
                answer.headers_mut().insert(header::LOCATION, place);
            }
            Ok(answer)
        }
        Fault::Raises(description) => Ok(outcome(shared, request, Outcome::error(description))),
        Fault::NotSerialisable => Ok(outcome(shared, request, Outcome::NotSerialisable("Object".to_owned()))),
        Fault::MissingScreenshot => Ok(honest(shared, request, Screenshot::Missing).await),
        Fault::TextAsScreenshot => Ok(honest(shared, request, Screenshot::Text).await),
    }
}

fn outcome(shared: &Shared, request: &Recorded, outcome: Outcome) -> Answer {
    let body = outcome.into_body(&request.path, shared.lock().age).unwrap_or_default();
    plain(StatusCode::OK, "application/json", body)
}

async fn honest_bytes(shared: &Shared, request: &Recorded) -> Bytes {
    let body = honest(shared, request, Screenshot::Real).await.into_body();
    body.collect().await.map(|whole| whole.to_bytes()).unwrap_or_default()
}

async fn never<T>() -> T {
    match std::future::pending::<Infallible>().await {}
}

fn plain(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = answer_with(PiecewiseBody::whole(body.into()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(content_type));
    answer
}

fn answer_with(body: PiecewiseBody) -> Answer {
    let mut answer = Response::new(body);
    answer.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    answer
}
