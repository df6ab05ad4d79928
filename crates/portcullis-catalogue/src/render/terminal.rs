//! For the terminal: plain text, with colours where the caller wants them.

use std::fmt::Write as _;

use crate::inert::{inert, inert_short};
use crate::recommend::Profile;
use crate::record::{ServerRecord, ToolRecord};
use crate::{Class, Level, tokens};

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

/// A server: summary, table, findings and the policy to use.
pub fn server_terminal(server: &ServerRecord, paint: Paint) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_server(server, paint, &mut out);
    out
}

fn write_server(server: &ServerRecord, paint: Paint, out: &mut String) -> std::fmt::Result {
    writeln!(out, "{}", paint.bold(&inert(&server.facts.name)))?;
    let total = server.tools.len();
    writeln!(out, "{total} tools, {} of them can change or destroy something", server.mutating())?;
    let counts: Vec<String> = Class::ALL
        .into_iter()
        .filter(|class| server.count(*class) > 0)
        .map(|class| format!("{} {}", server.count(class), class.name()))
        .collect();
    let from: Vec<String> =
        server.by_provenance().iter().map(|(from, count)| format!("{count} {}", from.name())).collect();
    writeln!(out, "{}; seen: {}", counts.join(", "), from.join(", "))?;
    let grade = server.grade.letter.map_or("-".to_owned(), |letter| format!("{letter:?}"));
    writeln!(out, "grade {grade} ({:.2}), verdict: {}", server.grade.score, server.grade.verdict.name())?;
    writeln!(out, "about {} tokens ({})\n", server.tokens(), tokens::NOTE)?;
    write_table(server, paint, out)?;
    write_findings(server, paint, out)?;
    let policy = server.policy(Profile::Recommended);
    writeln!(out, "\n{}", paint.bold("recommended policy"))?;
    writeln!(out, "{}\n{} {}", policy.text(), policy.effect, policy.others)
}

fn write_table(server: &ServerRecord, paint: Paint, out: &mut String) -> std::fmt::Result {
    let width = server.tools.iter().map(|tool| inert(tool.name()).chars().count()).max().unwrap_or(4);
    let width = width.clamp(4, NAME_COLUMN_MAX);
    writeln!(out, "{:<width$}  {:<11}  {:<8}  {:>4}  reason", "tool", "class", "level", "conf")?;
    for tool in &server.tools {
        let class = paint.level(tool.level(), &format!("{:<11}", tool.class().name()));
        let reason = tool.computed.evidence.first().map(|first| first.says.clone()).unwrap_or_default();
        let review = if tool.computed.needs_review() { " (needs review)" } else { "" };
        writeln!(
            out,
            "{:<width$}  {class}  {:<8}  {:>4.2}  {}{review}",
            inert_short(tool.name(), NAME_COLUMN_MAX),
            tool.level().name(),
            tool.computed.confidence,
            inert(&reason)
        )?;
    }
    Ok(())
}

fn write_findings(server: &ServerRecord, paint: Paint, out: &mut String) -> std::fmt::Result {
    let found: Vec<_> = server
        .tools
        .iter()
        .flat_map(|tool| tool.findings.iter().map(move |finding| (tool, finding)))
        .collect();
    if found.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", paint.bold("findings"))?;
    for (tool, finding) in found {
        let level = paint.level(finding.level, finding.level.name());
        writeln!(
            out,
            "{level} {} in {} at {}: {}",
            finding.kind.name(),
            inert_short(tool.name(), 60),
            inert(&finding.spot.label()),
            inert(&finding.says)
        )?;
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
