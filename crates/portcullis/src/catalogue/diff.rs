//! `portcullis catalogue diff`.

use std::io;
use std::path::Path;

use clap::Args;
use portcullis_catalogue::diff::{Difference, diff};
use portcullis_catalogue::fingerprint::Drift;
use portcullis_catalogue::index::{Change, Kept, saved};
use portcullis_catalogue::{Class, ToolDefinition, inert, inert_json, inert_short};
use portcullis_json::{Object, Value, pretty};

use super::place::{Place, time};
use crate::exit::Code;
use crate::files;
use crate::output::Output;
use crate::reached::fail;

/// Characters of one text that are shown.
const TEXT_CHARACTERS_MAX: usize = 2_000;
/// Steps of a server's history that are shown.
const HISTORY_MAX: usize = 200;

/// Compare two lists of a server's tools: two files, two versions, or two times.
///
/// Tools that came, went, were renamed or changed, side by side, and classes that were raised. Of a server, each
/// list that was imported is kept when it differs from the one before; of one that was never imported with its
/// definitions, the history says what changed and not how.
#[derive(Args, Debug)]
pub(crate) struct Diff {
    /// A server, or a file with the older list.
    #[arg(value_name = "SERVER|FILE")]
    one: String,
    /// A file with the newer list.
    #[arg(value_name = "FILE")]
    other: Option<String>,
    /// The older version (`1.2.0`) or time (`2026-11-01`); otherwise the one before `--to`.
    #[arg(long, value_name = "WHEN", conflicts_with = "other")]
    from: Option<String>,
    /// The newer version or time; otherwise the latest.
    #[arg(long, value_name = "WHEN", conflicts_with = "other")]
    to: Option<String>,
    /// For programs.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

/// What is told.
enum Told {
    Differences(Vec<Difference>),
    History(Vec<Change>),
}

impl Diff {
    pub(crate) fn run(&self, output: &mut Output) -> io::Result<Code> {
        let told = match &self.other {
            Some(other) => files_differ(Path::new(&self.one), Path::new(other)),
            None => self.server_differs(),
        };
        match told {
            Ok(told) => self.show(&told, output),
            Err(message) => fail(output, &message),
        }
    }

    fn server_differs(&self) -> Result<Told, String> {
        let layers = self.place.layers()?;
        let known = layers.server(&self.one).map_err(|fault| fault.to_string())?;
        let unknown = || format!("nothing is known of a server `{}`; for files, name two", self.one);
        let name = known.ok_or_else(unknown)?.name;
        let kept = layers.kept(&name).map_err(|fault| fault.to_string())?;
        if kept.len() < 2 {
            let history = layers.changes(&name, 0, HISTORY_MAX).map_err(|fault| fault.to_string())?;
            return Ok(Told::History(history));
        }
        let to = match &self.to {
            Some(when) => find(&kept, when)?,
            None => kept.len() - 1,
        };
        let from = match &self.from {
            Some(when) => find(&kept, when)?,
            None => to.saturating_sub(1),
        };
        let tools = |at: usize| kept.get(at).map(|kept| kept.tools.as_slice()).unwrap_or_default();
        Ok(Told::Differences(diff(&name, tools(from), tools(to))))
    }

    fn show(&self, told: &Told, output: &mut Output) -> io::Result<Code> {
        let is_empty = match told {
            Told::Differences(found) => found.is_empty(),
            Told::History(changes) => changes.is_empty(),
        };
        if self.json {
            output.line(&inert_json(&pretty(&as_json(told))))?;
        } else if is_empty {
            output.line("no differences")?;
        } else {
            let lines: Vec<String> = match told {
                Told::Differences(found) => found.iter().flat_map(lines).collect(),
                Told::History(changes) => changes.iter().map(history_line).collect(),
            };
            lines.iter().try_for_each(|line| output.line(line))?;
        }
        Ok(if is_empty { Code::Good } else { Code::No })
    }
}

fn files_differ(one: &Path, other: &Path) -> Result<Told, String> {
    let (before, after) = (read(one)?, read(other)?);
    let name = after.name.or(before.name).unwrap_or_default();
    Ok(Told::Differences(diff(&name, &before.tools, &after.tools)))
}

struct Read {
    name: Option<String>,
    tools: Vec<ToolDefinition>,
}

fn read(path: &Path) -> Result<Read, String> {
    let shown = path.display();
    let text = String::from_utf8(files::read(path)?).map_err(|_| format!("`{shown}` is not text"))?;
    let saved = saved(&text).map_err(|fault| format!("`{shown}` cannot be used: {}", fault.reason))?;
    Ok(Read { name: saved.name, tools: saved.tools })
}

/// The list of a version, or the one that held at a time.
fn find(kept: &[Kept], when: &str) -> Result<usize, String> {
    if let Some(at) = kept.iter().rposition(|kept| kept.version.as_deref() == Some(when)) {
        return Ok(at);
    }
    let known = || {
        let all = kept.iter().map(|kept| match &kept.version {
            Some(version) => format!("{} ({})", inert_short(version, 40), time(kept.at)),
            None => time(kept.at),
        });
        format!("nothing is kept for `{when}`; there is {}", all.collect::<Vec<_>>().join(", "))
    };
    let seconds = moment(when).ok_or_else(known)?;
    kept.iter().rposition(|kept| kept.at <= seconds).ok_or_else(known)
}

/// A time, or the end of a day, in UTC.
fn moment(text: &str) -> Option<i64> {
    let whole: Option<jiff::Timestamp> = text.parse().ok();
    let day = || format!("{text}T23:59:59Z").parse::<jiff::Timestamp>().ok();
    whole.or_else(day).map(jiff::Timestamp::as_second)
}

fn names(drift: &Drift) -> (&'static str, &str, Option<&str>) {
    match drift {
        Drift::Added { tool } => ("added", tool, None),
        Drift::Removed { tool } => ("removed", tool, None),
        Drift::Renamed { from, to } => ("renamed", to, Some(from)),
        Drift::Changed { tool, .. } => ("changed", tool, None),
    }
}

fn lines(difference: &Difference) -> Vec<String> {
    let (kind, tool, was) = names(&difference.drift);
    let was = was.map(|was| format!(" (was `{}`)", inert_short(was, 100))).unwrap_or_default();
    let raised = if difference.is_raised() { ", raised" } else { "" };
    let class = match (difference.class_before, difference.class_after) {
        (Some(before), Some(after)) if before != after => {
            format!("{} to {}{raised}", before.name(), after.name())
        }
        (before, after) => after.or(before).map(Class::name).unwrap_or_default().to_owned(),
    };
    let mut lines = vec![format!("{kind:<8} `{}`{was}  {class}", inert_short(tool, 100))];
    for part in &difference.parts {
        lines.push(format!("  {}", part.part.field()));
        let shown =
            |mark: &str, text: &String| format!("    {mark} {}", inert_short(text, TEXT_CHARACTERS_MAX));
        lines.extend(part.before.as_ref().map(|text| shown("-", text)));
        lines.extend(part.after.as_ref().map(|text| shown("+", text)));
    }
    lines
}

fn history_line(change: &Change) -> String {
    let tool = inert_short(&change.tool, 100);
    format!("{}  {:<12} `{tool}`  {}", time(change.at), change.kind.name(), inert(&change.detail))
}

fn as_json(told: &Told) -> Value {
    let object = match told {
        Told::Differences(found) => {
            Object::new().with("differences", found.iter().map(difference_json).collect::<Vec<_>>())
        }
        Told::History(changes) => {
            Object::new().with("history", changes.iter().map(change_json).collect::<Vec<_>>())
        }
    };
    object.into()
}

fn difference_json(difference: &Difference) -> Value {
    let (kind, tool, was) = names(&difference.drift);
    let optional = |text: Option<&str>| text.map_or(Value::Null, Value::from);
    let parts = difference.parts.iter().map(|part| {
        let object = Object::new()
            .with("part", part.part.field())
            .with("before", optional(part.before.as_deref()))
            .with("after", optional(part.after.as_deref()));
        Value::from(object)
    });
    let object = Object::new()
        .with("change", kind)
        .with("tool", tool)
        .with("was", optional(was))
        .with("class_before", optional(difference.class_before.map(Class::name)))
        .with("class_after", optional(difference.class_after.map(Class::name)))
        .with("raised", difference.is_raised())
        .with("parts", parts.collect::<Vec<_>>());
    object.into()
}

fn change_json(change: &Change) -> Value {
    let object = Object::new()
        .with("at", time(change.at))
        .with("tool", change.tool.as_str())
        .with("change", change.kind.name())
        .with("detail", change.detail.as_str());
    object.into()
}
