//! For the terminal: plain text, with colours where the caller wants them.

use std::fmt::Write as _;

use super::wrap::{lines, padded, width};
use crate::inert::{inert, inert_short};
use crate::recommend::Profile;
use crate::record::{ServerRecord, ToolRecord};
use crate::{Class, Level};

/// Whether escapes for colours are written. The caller knows whether somebody looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Text only.
    Plain,
    /// With ANSI colours.
    Ansi,
}

impl Paint {
    fn level(self, level: Level, text: &str) -> String {
        let code = match level {
            Level::Low => "32",
            Level::Medium => "33",
            Level::High => "35",
            Level::Critical => "31",
        };
        self.code(code, text)
    }

    fn bold(self, text: &str) -> String {
        self.code("1", text)
    }

    fn code(self, code: &str, text: &str) -> String {
        match self {
            Paint::Plain => text.to_owned(),
            Paint::Ansi => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}

/// Widest name column.
const NAME_COLUMN_MAX: usize = 40;
/// A narrower column for reasons is hard to read; they go under the tool instead.
const REASON_COLUMN_MIN: usize = 36;
/// Where no terminal says how wide it is, lines are not broken.
const UNBROKEN: usize = usize::MAX;
/// More tools than this make a policy that nobody reads in a terminal.
const POLICY_TOOLS_MAX: usize = 40;

/// How a server is shown.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// With colours or without.
    pub paint: Paint,
    /// Columns of the terminal, if it is one.
    pub width: Option<usize>,
    /// Whose policy is shown.
    pub profile: Profile,
}

impl View {
    /// Without colours, lines unbroken, with the recommended policy.
    pub const PLAIN: View = View { paint: Paint::Plain, width: None, profile: Profile::Recommended };
}

/// A server: table, summary, findings and the policy to use.
pub fn server_terminal(server: &ServerRecord, view: View) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_server(server, view, &mut out);
    out
}

fn write_server(server: &ServerRecord, view: View, out: &mut String) -> std::fmt::Result {
    let version = server.facts.version.as_deref().map(|version| format!(" {}", inert_short(version, 40)));
    let name = inert_short(&server.facts.name, 200);
    writeln!(out, "{}{}\n", view.paint.bold(&name), version.unwrap_or_default())?;
    write_table(server, view, out)?;
    write_summary(server, out)?;
    write_findings(server, view, out)?;
    write_policy(server, view, out)
}

fn write_summary(server: &ServerRecord, out: &mut String) -> std::fmt::Result {
    let total = server.tools.len();
    let tools = if total == 1 { "tool" } else { "tools" };
    let counts: Vec<String> = Class::ALL
        .into_iter()
        .filter(|class| server.count(*class) > 0)
        .map(|class| format!("{} {}", server.count(class), class.name()))
        .collect();
    let counts = if counts.is_empty() { String::new() } else { format!(": {}", counts.join(", ")) };
    let from: Vec<&str> = server.by_provenance().iter().map(|(from, _)| from.name()).collect();
    writeln!(out, "\n{total} {tools} ({}){counts}", from.join(", "))?;
    let grade = server.grade.letter.map_or("-".to_owned(), |letter| format!("{letter:?}"));
    writeln!(out, "grade {grade} ({:.2}), verdict: {}", server.grade.score, server.grade.verdict.name())?;
    writeln!(out, "about {} tokens of definitions", server.tokens())
}

fn write_policy(server: &ServerRecord, view: View, out: &mut String) -> std::fmt::Result {
    let policy = server.policy(view.profile);
    writeln!(out, "\n{}", view.paint.bold(&format!("policy to use ({})", view.profile.name())))?;
    if server.tools.len() <= POLICY_TOOLS_MAX {
        writeln!(out, "{}", policy.short_text())?;
    }
    let words = format!("{} {}", policy.effect, policy.others);
    lines(&words, view.width.unwrap_or(UNBROKEN)).iter().try_for_each(|line| writeln!(out, "{line}"))
}

fn write_table(server: &ServerRecord, view: View, out: &mut String) -> std::fmt::Result {
    if server.tools.is_empty() {
        return writeln!(out, "no tools");
    }
    let names: Vec<String> =
        server.tools.iter().map(|tool| inert_short(tool.name(), NAME_COLUMN_MAX)).collect();
    let column = names.iter().map(|name| width(name)).max().unwrap_or_default().max(4);
    // Two blanks between columns: name, class, level, confidence.
    let before = column + 2 + 11 + 2 + 8 + 2 + 4 + 2;
    let left = view.width.unwrap_or(UNBROKEN).saturating_sub(before);
    let head = format!("{}  {:<11}  {:<8}  {:>4}", padded("tool", column), "class", "level", "conf");
    writeln!(out, "{head}{}", if left >= REASON_COLUMN_MIN { "  reason" } else { "" })?;
    for (tool, name) in server.tools.iter().zip(&names) {
        let class = view.paint.level(tool.level(), &format!("{:<11}", tool.class().name()));
        let (level, confidence) = (tool.level().name(), tool.computed.confidence);
        write!(out, "{}  {class}  {level:<8}  {confidence:>4.2}", padded(name, column))?;
        write_reason(&reason(tool), before, left, view, out)?;
    }
    Ok(())
}

/// What decided, in a few words.
fn reason(tool: &ToolRecord) -> String {
    let says = tool.computed.evidence.first().map(|first| inert(&first.says)).unwrap_or_default();
    let review = if tool.computed.needs_review() { " (needs review)" } else { "" };
    match &tool.set_by_hand {
        Some(set) => format!("set by {}: {}", inert_short(&set.by, 40), inert_short(&set.reason, 200)),
        None => format!("{says}{review}"),
    }
}

/// In a column of its own where there is room, under the tool where there is not.
fn write_reason(reason: &str, before: usize, left: usize, view: View, out: &mut String) -> std::fmt::Result {
    let (indent, room) = if left >= REASON_COLUMN_MIN {
        (before, left)
    } else {
        writeln!(out)?;
        (4, view.width.unwrap_or(UNBROKEN).saturating_sub(4))
    };
    for (index, line) in lines(reason, room).iter().enumerate() {
        let beside = index == 0 && left >= REASON_COLUMN_MIN;
        let gap = if beside { "  ".to_owned() } else { " ".repeat(indent) };
        writeln!(out, "{gap}{line}")?;
    }
    if reason.is_empty() && left >= REASON_COLUMN_MIN { writeln!(out) } else { Ok(()) }
}

fn write_findings(server: &ServerRecord, view: View, out: &mut String) -> std::fmt::Result {
    let found = server.all_findings();
    if found.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", view.paint.bold("findings"))?;
    for (tool, finding) in found {
        let place = tool.map_or(String::new(), |tool| {
            let place = inert_short(finding.spot.place.as_str(), 120);
            format!(" in `{}` at {place}", inert_short(tool.name(), 60))
        });
        let words = format!("{}{place}: {}", finding.kind.name(), inert(&finding.says));
        let name = finding.level.name();
        let room = view.width.unwrap_or(UNBROKEN).saturating_sub(name.len() + 1);
        for (index, line) in lines(&words, room).iter().enumerate() {
            let level =
                if index == 0 { view.paint.level(finding.level, name) } else { " ".repeat(name.len()) };
            writeln!(out, "{level} {line}")?;
        }
    }
    Ok(())
}

/// One tool in full.
pub fn tool_terminal(server: &ServerRecord, tool: &ToolRecord, paint: Paint) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_tool(server, tool, paint, &mut out);
    out
}

fn write_tool(server: &ServerRecord, tool: &ToolRecord, paint: Paint, out: &mut String) -> std::fmt::Result {
    let level = paint.level(tool.level(), &format!("{} risk", tool.level().name()));
    writeln!(out, "{}  {level}  class {}", paint.bold(&inert(tool.name())), tool.class().name())?;
    match tool.definition.description.as_deref() {
        Some(text) => writeln!(out, "{}", inert_short(text, 400))?,
        None => writeln!(out, "no description published")?,
    }
    writeln!(out, "\n{}\n{}", paint.bold("why"), tool.computed.rationale)?;
    if let Some(set) = &tool.set_by_hand {
        writeln!(out, "set to {} by {}: {}", set.class.name(), inert(&set.by), inert(&set.reason))?;
    }
    writeln!(out, "\n{}", paint.bold("evidence"))?;
    for evidence in &tool.computed.evidence {
        let quoted =
            if evidence.quote.is_empty() { String::new() } else { format!(" `{}`", inert(&evidence.quote)) };
        writeln!(
            out,
            "{:<3} {}{quoted}: {}",
            evidence.rule.code(),
            inert(&evidence.place.label()),
            inert(&evidence.says)
        )?;
    }
    if !tool.attacks.is_empty() {
        writeln!(out, "\n{}", paint.bold("attack patterns that use this kind of access"))?;
    }
    for applies in &tool.attacks {
        writeln!(out, "{} ({}): {}", applies.attack.name, applies.why, applies.attack.summary)?;
    }
    let policy = &tool.recommendation;
    writeln!(
        out,
        "\n{}\n{}\n{} {}",
        paint.bold("how to control it"),
        policy.text(),
        policy.effect,
        policy.others
    )?;
    writeln!(out)?;
    for question in server.questions(tool) {
        writeln!(out, "{}\n{}\n", paint.bold(&question.question), question.answer)?;
    }
    Ok(())
}
