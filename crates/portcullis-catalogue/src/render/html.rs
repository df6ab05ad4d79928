//! A self-contained HTML report: no script, no request, light and dark, wide and narrow.

use std::fmt::Write as _;

use crate::inert::{inert, inert_short};
use crate::recommend::Profile;
use crate::record::{FORMULA, ServerRecord, ToolRecord, class_advice, display_name};
use crate::{Class, Level, tokens};

const STYLE: &str = include_str!("report.css");

/// Foreign text for HTML: inert, and escaped.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in inert(text).chars() {
        push_escaped(character, &mut out);
    }
    out
}

/// A sentence with code between backticks: escaped, the backticks turned into tags in pairs.
fn sentence(text: &str) -> String {
    let escaped = escape(text);
    let mut parts = escaped.split('`');
    let mut out = parts.next().unwrap_or_default().to_owned();
    while let Some(inside) = parts.next() {
        match parts.next() {
            Some(after) => {
                out.push_str("<code>");
                out.push_str(inside);
                out.push_str("</code>");
                out.push_str(after);
            }
            None => {
                out.push('`');
                out.push_str(inside);
            }
        }
    }
    out
}

/// `1 tool`, `2 tools`.
fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Our own text over several lines, such as a policy: lines stay, everything else is escaped.
fn escape_lines(text: &str) -> String {
    text.lines().map(escape).collect::<Vec<_>>().join("\n")
}

fn push_escaped(character: char, out: &mut String) {
    match character {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '"' => out.push_str("&quot;"),
        '\'' => out.push_str("&#39;"),
        other => out.push(other),
    }
}

/// The report over one or more servers.
pub fn html_report(servers: &[ServerRecord], made_at: &str) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_report(servers, made_at, &mut out);
    out
}

fn write_report(servers: &[ServerRecord], made_at: &str, out: &mut String) -> std::fmt::Result {
    let total: usize = servers.iter().map(|server| server.tools.len()).sum();
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>Tool risk report</title><style>{STYLE}</style></head><body><main>\n\
         <header><h1>Tool risk report</h1><p class=\"quiet\">{}, {}, made {}</p></header>\n",
        counted(servers.len(), "server"),
        counted(total, "tool"),
        escape(made_at)
    )?;
    for server in servers {
        write_server(server, out)?;
    }
    write!(out, "<footer><p class=\"quiet\">{FORMULA}</p></footer></main></body></html>")
}

fn write_server(server: &ServerRecord, out: &mut String) -> std::fmt::Result {
    let letter = server.grade.letter.map_or("–".to_owned(), |letter| format!("{letter:?}"));
    writeln!(
        out,
        "<section><div class=\"head\"><span class=\"grade g{letter}\" title=\"grade\">{letter}</span><div><h2>{}</h2>\
         <p>{}, {} of them can change or destroy something. Verdict: <b>{}</b>.</p></div></div>",
        escape(&display_name(&server.facts.name)),
        counted(server.tools.len(), "tool"),
        server.mutating(),
        server.grade.verdict.name()
    )?;
    write_bar(server, out)?;
    let terms: Vec<String> =
        server.grade.terms.iter().map(|(name, value)| format!("{name} {value:+.3}")).collect();
    let from: Vec<String> =
        server.by_provenance().iter().map(|(from, count)| format!("{count} {}", from.name())).collect();
    writeln!(
        out,
        "<p class=\"quiet\">Score {:.2}: {}. Seen: {}. About {} tokens of definitions ({}){}.</p>",
        server.grade.score,
        terms.join(", "),
        from.join(", "),
        server.tokens(),
        tokens::NOTE,
        match server.saved_with(5) {
            0 => String::new(),
            saved => format!("; with only the 5 cheapest tools {saved} fewer"),
        }
    )?;
    write_dangerous(server, out)?;
    write_findings(server, out)?;
    write_tools(server, out)?;
    out.write_str("<h3>Policies</h3>\n")?;
    for profile in Profile::ALL {
        let policy = server.policy(profile);
        let open = if profile == Profile::Recommended { " open" } else { "" };
        writeln!(
            out,
            "<details{open}><summary>{}</summary><p>{} {}</p><pre>{}</pre></details>",
            profile.name(),
            sentence(&policy.effect),
            policy.others,
            escape_lines(&policy.text())
        )?;
    }
    out.write_str("</section>\n")
}

fn write_bar(server: &ServerRecord, out: &mut String) -> std::fmt::Result {
    out.write_str("<div class=\"bar\" role=\"img\" aria-label=\"tools by class\">")?;
    for class in Class::ALL {
        let count = server.count(class);
        if count > 0 {
            let name = class.name();
            write!(out, "<span class=\"c{name}\" style=\"flex:{count}\">{count} {name}</span>")?;
        }
    }
    out.write_str("</div>\n")
}

fn write_dangerous(server: &ServerRecord, out: &mut String) -> std::fmt::Result {
    let dangerous = server.most_dangerous();
    if dangerous.is_empty() {
        return Ok(());
    }
    out.write_str("<h3>Most dangerous tools</h3><ul>")?;
    for tool in dangerous {
        write!(
            out,
            "<li><code>{}</code> {} {}</li>",
            escape(&inert_short(tool.name(), 80)),
            badge(tool.level()),
            escape(class_advice(tool.class()))
        )?;
    }
    out.write_str("</ul>\n")
}

fn write_findings(server: &ServerRecord, out: &mut String) -> std::fmt::Result {
    let found = server.all_findings();
    if found.is_empty() {
        return Ok(());
    }
    out.write_str("<h3>Findings</h3><ul>")?;
    for (tool, finding) in found {
        let place = tool.map_or(String::new(), |tool| {
            let name = escape(&inert_short(tool.name(), 80));
            format!(" in <code>{name}</code> at <code>{}</code>", escape(&finding.spot.label()))
        });
        let (kind, says) = (finding.kind.name(), sentence(&finding.says));
        write!(out, "<li>{} <b>{kind}</b>{place}: {says}</li>", badge(finding.level))?;
    }
    out.write_str("</ul>\n")
}

fn badge(level: Level) -> String {
    format!("<span class=\"badge l{0}\">{0}</span>", level.name())
}

fn write_tools(server: &ServerRecord, out: &mut String) -> std::fmt::Result {
    out.write_str("<h3>All tools</h3>\n")?;
    for tool in &server.tools {
        write_tool(server, tool, out)?;
    }
    Ok(())
}

fn write_tool(server: &ServerRecord, tool: &ToolRecord, out: &mut String) -> std::fmt::Result {
    let review = if tool.computed.needs_review() { " · needs review" } else { "" };
    writeln!(
        out,
        "<details class=\"tool\"><summary><code>{}</code> <span class=\"class c{1}\">{1}</span> {2} <span class=\"quiet once\">{3:.2}{review} · {4} tokens</span></summary>",
        escape(&inert_short(tool.name(), 80)),
        tool.class().name(),
        badge(tool.level()),
        tool.computed.confidence,
        tool.tokens
    )?;
    match tool.definition.description.as_deref() {
        Some(text) => write!(out, "<blockquote>{}</blockquote>", escape(&inert_short(text, 600)))?,
        None => out.write_str("<p class=\"quiet\">No description published.</p>")?,
    }
    write!(
        out,
        "<p>{}</p><div class=\"scroll\"><table><tr><th>rule</th><th>where</th><th>words</th><th>says</th></tr>",
        sentence(&tool.computed.rationale)
    )?;
    for evidence in &tool.computed.evidence {
        write!(
            out,
            "<tr><td>{}</td><td>{}</td><td><code>{}</code></td><td>{}</td></tr>",
            evidence.rule.code(),
            escape(&evidence.place.label()),
            escape(&evidence.quote),
            sentence(&evidence.says)
        )?;
    }
    out.write_str("</table></div>")?;
    if !tool.attacks.is_empty() {
        out.write_str("<h4>Documented attack patterns</h4><ul>")?;
        for applies in &tool.attacks {
            let attack = applies.attack;
            write!(
                out,
                "<li><b>{}</b> ({}): {} {} {}</li>",
                attack.name,
                sentence(&applies.why),
                attack.summary,
                attack.case,
                attack.cannot
            )?;
        }
        out.write_str("</ul>")?;
    }
    let policy = &tool.recommendation;
    write!(
        out,
        "<h4>How to control it</h4><p>{} {}</p><pre>{}</pre>",
        sentence(&policy.effect),
        policy.others,
        escape_lines(&policy.text())
    )?;
    for question in server.questions(tool) {
        write!(out, "<h4>{}</h4><p>{}</p>", sentence(&question.question), sentence(&question.answer))?;
    }
    out.write_str("</details>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backticks_become_tags_in_pairs_and_nothing_else_does() {
        assert_eq!(sentence("a `b<c>` d"), "a <code>b&lt;c&gt;</code> d");
        assert_eq!(sentence("a ` b"), "a ` b");
    }
}
