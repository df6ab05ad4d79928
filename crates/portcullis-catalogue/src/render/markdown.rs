//! Markdown: pages and reports that other tools render.

use std::fmt::Write as _;

use crate::inert::{inert, inert_short};
use crate::recommend::{Profile, call_to_action};
use crate::record::{FORMULA, ServerRecord, ToolRecord, class_meaning, display_name};
use crate::{Class, tokens};

/// Foreign text for Markdown: inert, and every mark that could mean something escaped.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in inert(text).chars() {
        if character.is_ascii_punctuation()
            && !matches!(character, '.' | ',' | '-' | '/' | '%' | ';' | '?' | '\'')
        {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// Foreign text as inline code; backticks cannot end it early.
pub(crate) fn code(text: &str) -> String {
    format!("`{}`", inert(text).replace('`', "ˋ"))
}

fn fence(text: &str) -> String {
    // JSON cannot hold a line of backticks alone: strings do not break lines.
    format!("```json\n{}\n```", inert_lines(text))
}

fn inert_lines(text: &str) -> String {
    text.lines().map(inert).collect::<Vec<_>>().join("\n")
}

/// A server.
pub fn server_markdown(server: &ServerRecord) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_server(server, &mut out);
    out
}

fn write_server(server: &ServerRecord, out: &mut String) -> std::fmt::Result {
    writeln!(out, "# {}\n", escape(&display_name(&server.facts.name)))?;
    writeln!(
        out,
        "{} tools, {} of them can change or destroy something.\n",
        server.tools.len(),
        server.mutating()
    )?;
    let grade = server.grade.letter.map_or("none".to_owned(), |letter| format!("{letter:?}"));
    writeln!(
        out,
        "Grade **{grade}** ({:.2}), verdict: {}. {FORMULA}\n",
        server.grade.score,
        server.grade.verdict.name()
    )?;
    for (term, value) in &server.grade.terms {
        writeln!(out, "- {term}: {value:+.3}")?;
    }
    writeln!(out, "\nAbout {} tokens of definitions ({}).\n", server.tokens(), tokens::NOTE)?;
    let dangerous = server.most_dangerous();
    if !dangerous.is_empty() {
        writeln!(out, "## Most dangerous tools\n")?;
    }
    for tool in dangerous {
        writeln!(
            out,
            "- {} ({}): {}",
            code(tool.name()),
            tool.class().name(),
            escape(&tool.computed.rationale)
        )?;
    }
    writeln!(
        out,
        "\n## Tools\n\n| tool | class | level | confidence | seen | tokens |\n|---|---|---|---|---|---|"
    )?;
    for tool in &server.tools {
        writeln!(
            out,
            "| {} | {} | {} | {:.2} | {} | {} |",
            code(tool.name()).replace('|', "\\|"),
            tool.class().name(),
            tool.level().name(),
            tool.computed.confidence,
            tool.provenance.name(),
            tool.tokens
        )?;
    }
    write_findings(server, out)?;
    for profile in Profile::ALL {
        let policy = server.policy(profile);
        writeln!(
            out,
            "\n## Policy: {}\n\n{}\n\n{} {}",
            profile.name(),
            fence(&policy.text()),
            policy.effect,
            policy.others
        )?;
    }
    Ok(())
}

fn write_findings(server: &ServerRecord, out: &mut String) -> std::fmt::Result {
    let found = server.all_findings();
    if !found.is_empty() {
        writeln!(out, "\n## Findings\n")?;
    }
    for (tool, finding) in found {
        let place = tool.map_or(String::new(), |tool| {
            format!(" in {} at {}", code(tool.name()), code(&finding.spot.label()))
        });
        let (level, kind) = (finding.level.name(), finding.kind.name());
        writeln!(out, "- {level} **{kind}**{place}: {}", escape(&finding.says))?;
    }
    Ok(())
}

/// A tool.
pub fn tool_markdown(server: &ServerRecord, tool: &ToolRecord) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_tool(server, tool, &mut out);
    out
}

fn write_tool(server: &ServerRecord, tool: &ToolRecord, out: &mut String) -> std::fmt::Result {
    let name = code(tool.name());
    writeln!(
        out,
        "**{} risk** · {} · {}\n",
        tool.level().name(),
        tool.class().name(),
        tool.provenance.name()
    )?;
    writeln!(out, "# {name}\n")?;
    match tool.definition.description.as_deref() {
        Some(text) => writeln!(out, "{}\n", escape(&inert_short(text, 1000)))?,
        None => writeln!(out, "No description published.\n")?,
    }
    writeln!(out, "## What {name} does\n\n{}\n", class_meaning(tool.class()))?;
    writeln!(out, "## Why {name} needs a policy\n\n{}\n", escape(&tool.computed.rationale))?;
    if let Some(set) = &tool.set_by_hand {
        writeln!(out, "Set to {} by {}: {}\n", set.class.name(), escape(&set.by), escape(&set.reason))?;
    }
    writeln!(out, "## From the tool's definition\n\n| rule | where | words | says |\n|---|---|---|---|")?;
    for evidence in &tool.computed.evidence {
        writeln!(
            out,
            "| {} | {} | {} | {} |",
            evidence.rule.code(),
            code(&evidence.place.label()).replace('|', "\\|"),
            if evidence.quote.is_empty() { String::new() } else { code(&evidence.quote).replace('|', "\\|") },
            escape(&evidence.says)
        )?;
    }
    if !tool.attacks.is_empty() {
        writeln!(out, "\n## Documented attack patterns\n")?;
    }
    for applies in &tool.attacks {
        let attack = applies.attack;
        writeln!(out, "- **{}** ({}): {} {}", attack.name, applies.why, attack.summary, attack.case)?;
    }
    write_control(tool, out)?;
    writeln!(out, "\n## Related tools\n")?;
    for other in server.related(tool) {
        writeln!(out, "- {} ({})", code(other.name()), other.class().name())?;
    }
    writeln!(out, "\n## Questions\n")?;
    for question in server.questions(tool) {
        writeln!(out, "### {}\n\n{}\n", escape(&question.question), escape(&question.answer))?;
    }
    let live = server.tools.len();
    writeln!(out, "{live} tools of this server are catalogued; {} are Read.", server.count(Class::Read))
}

fn write_control(tool: &ToolRecord, out: &mut String) -> std::fmt::Result {
    let policy = &tool.recommendation;
    writeln!(out, "\n## How to control {}\n", code(tool.name()))?;
    writeln!(
        out,
        "The gateway stands between the agent and the server and judges each call before it gets there.\n"
    )?;
    writeln!(out, "{}\n\n{} {}\n", fence(&policy.text()), escape(&policy.effect), policy.others)?;
    writeln!(out, "1. Register the server with the gateway: `portcullis server add`.")?;
    writeln!(
        out,
        "2. Add the policy above: `portcullis policy check policy.json`, then attach it to a grant."
    )?;
    writeln!(out, "3. Point the client at the gateway's address for this server.\n")?;
    writeln!(out, "**{}**", call_to_action(tool.class()))
}
