//! `portcullis policy explain FILE --tool NAME --args JSON`

use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use clap::Args;
use portcullis_json::{Limits, Object, Value};
use portcullis_policy::{
    Call, Caller, Class, Counters, Dialect, Effect, JsonSchema, Look, Policy, Question, ServerRequest,
    Subject, Time, Verdict, explain,
};

use super::report;
use crate::exit::Code;
use crate::files;
use crate::output::Output;

/// Show how a policy decides one call, and every rule that was looked at.
///
/// Prints the decision as JSON, with what was looked at in order and how it came out. Counters start at
/// nothing. Without `--tool`, asks for a resource, a prompt or a request of the server instead.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The policy; `-` is standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The tool that is called.
    #[arg(long, value_name = "NAME", required_unless_present_any = ["resource", "prompt", "server_request"])]
    tool: Option<String>,
    /// Its arguments, a JSON object.
    #[arg(long, value_name = "JSON", default_value = "{}", requires = "tool")]
    args: String,
    /// Its risk class: Read, Write, Execute, Destructive or Financial; not known unless given.
    #[arg(long, value_name = "CLASS", value_parser = class, requires = "tool")]
    class: Option<Class>,
    /// A file with its input schema, for `validate`.
    #[arg(long, value_name = "FILE", requires = "tool")]
    schema: Option<PathBuf>,
    /// Only whether the tool is listed.
    #[arg(long, requires = "tool")]
    list: bool,
    /// A person has said yes to this call.
    #[arg(long, requires = "tool")]
    approved: bool,
    /// A resource, by its URI.
    #[arg(long, value_name = "URI", conflicts_with_all = ["tool", "prompt", "server_request"])]
    resource: Option<String>,
    /// A prompt, by its name.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["tool", "server_request"])]
    prompt: Option<String>,
    /// A request of the server: sampling, elicitation or roots.
    #[arg(long, value_name = "KIND", value_parser = server_request, conflicts_with = "tool")]
    server_request: Option<ServerRequest>,
    /// The time of the call, as in 2026-11-15T10:00:00Z; now unless given.
    #[arg(long, value_name = "TIME", value_parser = Time::parse)]
    at: Option<Time>,
    /// The grant's label.
    #[arg(long, value_name = "LABEL", default_value = "cli")]
    grant: String,
    /// A tag of the grant; may be given several times.
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// The server's name.
    #[arg(long, value_name = "NAME", default_value = "server")]
    server: String,
    /// The session, where there is one.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// What the client calls itself.
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
    /// Print the result on one line.
    #[arg(long)]
    json: bool,
}

fn class(name: &str) -> Result<Class, String> {
    Class::from_name(name).ok_or_else(|| format!("the classes are {}", Class::NAMES.join(", ")))
}

fn server_request(name: &str) -> Result<ServerRequest, String> {
    ServerRequest::from_name(name)
        .ok_or_else(|| format!("the requests are {}", ServerRequest::NAMES.join(", ")))
}

impl Explain {
    pub(crate) fn run(&self, output: &mut Output) -> io::Result<Code> {
        let source = match files::read(&self.file) {
            Ok(source) => source,
            Err(message) => return output.error(&message).map(|()| Code::Failed),
        };
        let policy = match Policy::parse(&source) {
            Ok(policy) => policy,
            Err(problems) => {
                output.note(&report::drawn(&self.file, &source, &problems, output.has_colour()))?;
                return Ok(Code::Failed);
            }
        };
        match self.explained(&policy) {
            Ok(result) => {
                let text = if self.json { format!("{result}\n") } else { portcullis_json::pretty(&result) };
                output.text(&text)?;
                Ok(Code::Good)
            }
            Err(message) => output.error(&message).map(|()| Code::Failed),
        }
    }

    fn explained(&self, policy: &Policy) -> Result<Value, String> {
        let arguments = read_arguments(&self.args)?;
        let schema = self.schema.as_ref().map(|path| read_schema(path)).transpose()?;
        let question = Question { caller: self.caller(), subject: self.subject(&arguments, schema.as_ref()) };
        let (verdict, looks) = explain(Some(policy), &question, &Counters::new());
        Ok(as_json(&verdict, &looks))
    }

    fn caller(&self) -> Caller<'_> {
        Caller {
            policy: "policy",
            grant_id: &self.grant,
            grant_label: &self.grant,
            grant_tags: &self.tags,
            server: &self.server,
            session: self.session.as_deref(),
            client: self.client.as_deref(),
            now: self.at.unwrap_or_else(now),
        }
    }

    fn subject<'a>(&'a self, arguments: &'a Value, schema: Option<&'a JsonSchema>) -> Subject<'a> {
        if let Some(uri) = &self.resource {
            return Subject::Resource(uri);
        }
        if let Some(name) = &self.prompt {
            return Subject::Prompt(name);
        }
        if let Some(request) = self.server_request {
            return Subject::ServerRequest(request);
        }
        let tool = self.tool.as_deref().unwrap_or_default();
        if self.list {
            return Subject::List { tool, class: self.class };
        }
        Subject::Call(Call { tool, class: self.class, schema, arguments, approved: self.approved })
    }
}

fn now() -> Time {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time::from_microseconds(i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX))
}

fn read_arguments(text: &str) -> Result<Value, String> {
    let arguments = portcullis_json::parse(text.as_bytes(), &Limits::message())
        .map_err(|fault| format!("`--args` is not JSON: {fault}"))?;
    match arguments {
        Value::Object(_) => Ok(arguments),
        other => Err(format!("`--args` must be a JSON object, not {}", other.kind().with_article())),
    }
}

fn read_schema(path: &std::path::Path) -> Result<JsonSchema, String> {
    let source = files::read(path)?;
    let schema = portcullis_json::parse(&source, &Limits::document())
        .map_err(|fault| format!("`{}`: {fault}", path.display()))?;
    JsonSchema::compile(&schema, Dialect::AsDeclared)
        .map_err(|message| format!("`{}`: {message}", path.display()))
}

fn as_json(verdict: &Verdict, looks: &[Look]) -> Value {
    let text = |text: Option<&str>| text.map_or(Value::Null, Value::from);
    let seconds = verdict.retry_after_s.and_then(|seconds| i64::try_from(seconds).ok());
    let obligations = &verdict.obligations;
    let charges = obligations.charges.iter().map(|charge| {
        let charged = Object::new()
            .with("counter", charge.key.counter.as_str())
            .with("amount", charge.amount.to_string())
            .with("rule", &*charge.limit.pointer);
        Value::from(charged)
    });
    let names = obligations.redact.iter().map(|detector| Value::from(detector.name()));
    let mut result = Object::new()
        .with("decision", verdict.effect.name())
        .with("rule", &*verdict.rule)
        .with("message", text(verdict.message.as_deref()))
        .with("retryable", verdict.retryable)
        .with("retry_after_s", seconds.map_or(Value::Null, Value::from));
    if let Some(would) = verdict.would {
        result =
            result.with("would_deny", would == Effect::Deny).with("would_approve", would == Effect::Approve);
    }
    result
        .with("set", obligations.set.iter().map(|path| Value::from(path.as_str())).collect::<Vec<_>>())
        .with("arguments", obligations.arguments.clone().unwrap_or(Value::Null))
        .with("redact", names.collect::<Vec<_>>())
        .with("charges", charges.collect::<Vec<_>>())
        .with("looked_at", looks.iter().map(look_as_json).collect::<Vec<_>>())
        .into()
}

fn look_as_json(look: &Look) -> Value {
    let result = Object::new().with("rule", look.pointer.as_str()).with("outcome", look.outcome.as_str());
    if look.conditions.is_empty() {
        return result.into();
    }
    let conditions = look.conditions.iter().map(|condition| {
        let condition = Object::new()
            .with("path", condition.path.as_str())
            .with("op", condition.op)
            .with("outcome", condition.outcome)
            .with("counts_as", condition.counts_as_true);
        Value::from(condition)
    });
    result.with("conditions", conditions.collect::<Vec<_>>()).into()
}
