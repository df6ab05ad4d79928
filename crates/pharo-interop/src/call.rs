//! The life of one call, from its arguments to a reply: check, wait for a place, ask, interpret,
//! shape. Knows nothing of MCP's messages; `mcp` calls it.

use serde_json::{Map, Value};

use crate::{
    answer::{self, Picture},
    failure::Failure,
    image::{Image, WireRequest},
    ping,
    settings::Settings,
    time_limits::TimeLimits,
    tools::{self, ArgumentFault, Checked, ResultKind, Tool},
    waiting::{Asked, Watcher, wait},
};

/// The images and rules of this process; one for all connections.
pub(crate) struct Desk {
    images: Vec<Image>,
    time_limits: TimeLimits,
    read_only: bool,
}

/// What goes back to the caller.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) is_error: bool,
    pub(crate) structured: Value,
    /// Sentences for the reader, beside the structured content.
    pub(crate) notes: Vec<String>,
    pub(crate) picture: Option<Picture>,
}

impl Desk {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            images: settings.images.into_iter().map(Image::new).collect(),
            time_limits: settings.time_limits,
            read_only: settings.read_only,
        }
    }

    pub(crate) fn images(&self) -> &[Image] {
        &self.images
    }

    /// The tools on offer.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &'static Tool> {
        let read_only = self.read_only;
        tools::all().filter(move |tool| tool.hints.read_only || !read_only)
    }

    /// Runs one call to its end. A failure is a reply too.
    pub(crate) async fn call(
        &self,
        tool: &'static Tool,
        arguments: Map<String, Value>,
        watcher: &impl Watcher,
    ) -> Reply {
        let checked = match tools::check(tool, arguments, &self.images) {
            Ok(checked) => checked,
            Err(fault) => return failed(tool, None, Failure::Argument(fault)),
        };
        let Some(image) = self.images.get(checked.image) else {
            let fault = ArgumentFault::new("image", "names no image");
            return failed(tool, None, Failure::Argument(fault));
        };
        let mut reply = match self.run(tool, image, checked, watcher).await {
            Ok(reply) => reply,
            Err(failure) => failed(tool, Some(image), failure),
        };
        if let (true, Value::Object(members)) = (self.images.len() > 1, &mut reply.structured) {
            members.insert("image".into(), image.name.as_str().into());
        }
        reply
    }

    async fn run(
        &self,
        tool: &'static Tool,
        image: &Image,
        checked: Checked,
        watcher: &impl Watcher,
    ) -> Result<Reply, Failure> {
        let asked = Asked::default();
        let limit = self.time_limits.of(tool, checked.timeout_seconds);
        let Checked { parameters, page, .. } = checked;
        let Some((encoding, path)) = tool.endpoint.address() else {
            asked.set();
            let report = ping::ping(image, !self.read_only);
            return wait(report, &asked, limit, watcher).await.map(succeeded);
        };
        let request = WireRequest::new(encoding, path, parameters).map_err(|long| {
            let problem = format!("is too long: at most {} bytes can be sent", long.bytes_max);
            Failure::Argument(ArgumentFault::new(argument_name(tool, long.parameter), problem))
        })?;
        let answer = wait(ask(tool, image, &request, &asked), &asked, limit, watcher).await?;
        let mut reply = succeeded(answer);
        if let Some(page) = page {
            reply.notes.extend(answer::take_page(&mut reply.structured, page));
        }
        shape(tool.result, image, &mut reply).await;
        Ok(reply)
    }
}

async fn ask(
    tool: &'static Tool,
    image: &Image,
    request: &WireRequest,
    asked: &Asked,
) -> Result<Value, Failure> {
    let in_flight = image.gate.enter(tool.name).await?;
    asked.set();
    let answer = image.ask(request).await;
    in_flight.answered();
    answer::interpret(tool, &answer?)
}

/// What some kinds of results get beside the image's answer.
async fn shape(kind: ResultKind, image: &Image, reply: &mut Reply) {
    match kind {
        ResultKind::TestReport => {
            let text = reply.structured.get("result").and_then(Value::as_str).unwrap_or_default();
            let report = answer::test_report(text);
            if let (Some(report), Value::Object(members)) = (report, &mut reply.structured) {
                members.insert("tests".into(), report);
            }
        }
        ResultKind::Screen => match answer::picture(&reply.structured, &image.url).await {
            Some(Ok(picture)) => reply.picture = Some(picture),
            Some(Err(note)) => reply.notes.push(note),
            None => {}
        },
        _ => {}
    }
}

fn succeeded(structured: Value) -> Reply {
    Reply { is_error: false, structured, notes: Vec::new(), picture: None }
}

fn failed(tool: &Tool, image: Option<&Image>, failure: Failure) -> Reply {
    let place = image.map(|image| format!(" (image `{}` at {})", image.name, image.url));
    let note = format!(
        "`{}` failed: {}{}\nnext: {}",
        tool.name,
        failure.what(),
        place.unwrap_or_default(),
        failure.next()
    );
    Reply { is_error: true, structured: failure.into_structured(), notes: vec![note], picture: None }
}

/// The caller knows the argument by its name here.
fn argument_name(tool: &Tool, wire_name: &'static str) -> &'static str {
    tool.arguments
        .iter()
        .find(|argument| argument.wire_name == wire_name)
        .map_or(wire_name, |argument| argument.name)
}
