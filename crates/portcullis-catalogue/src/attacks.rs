//! Documented attack patterns: what each is, a public case, the policy that limits it, and what policy cannot do.

use crate::classify::{Classification, Signal};
use crate::findings::{Finding, FindingKind};
use crate::{Class, Level};

/// How well a pattern is documented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A public case with an identifier or a named disclosure.
    Verified,
    /// A known weakness without a public case that we would cite.
    Partial,
}

/// One pattern.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    /// The slug, stable.
    pub slug: &'static str,
    /// The name.
    pub name: &'static str,
    /// `protocol` or `agent behaviour`.
    pub category: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// How it works.
    pub how: &'static str,
    /// A public case, with its identifier and month.
    pub case: &'static str,
    /// How well it is documented.
    pub status: Status,
    /// The policy that limits it.
    pub policy: &'static str,
    /// What that policy does.
    pub limits: &'static str,
    /// What no policy can do about it.
    pub cannot: &'static str,
    /// The classes whose tools it abuses; empty for all.
    pub classes: &'static [Class],
    /// The signals that make it likely.
    pub signals: &'static [Signal],
    /// The findings that make it likely.
    pub findings: &'static [FindingKind],
}

/// Patterns that a page shows at most.
pub const SHOWN_MAX: usize = 4;

/// All patterns.
pub const ATTACKS: &[Attack] = &[
    Attack {
        slug: "tool-poisoning",
        name: "Tool poisoning",
        category: "protocol",
        summary: "Orders to the model are hidden in a tool's description or schema.",
        how: "The model reads every listed definition. A server writes orders into one, often in characters that people do not see, and the model follows them while it uses quite other tools.",
        case: "Shown by Invariant Labs in April 2025: orders in a tool's description made agents hand out files and messages.",
        status: Status::Verified,
        policy: r#"{"version":"1","default":"deny","tools":{"lookup":{}}}"#,
        limits: "Only the named tools are listed, so the model never reads the other definitions.",
        cannot: "The definition of an allowed tool still reaches the model: look at its findings first.",
        classes: &[],
        signals: &[],
        findings: &[
            FindingKind::HiddenCharacters,
            FindingKind::Instructions,
            FindingKind::SecretPlace,
            FindingKind::LoadedDefault,
        ],
    },
    Attack {
        slug: "mcp-rug-pull",
        name: "Rug pull",
        category: "protocol",
        summary: "A definition is accepted once and changed afterwards.",
        how: "Approval is remembered by name. Later the server, or a file that starts it, is swapped, and the old approval covers the new behaviour.",
        case: "CVE-2025-54136 (fixed in July 2025): an approved server entry could be changed without being asked about again.",
        status: Status::Verified,
        policy: r#"{"version":"1","default":"deny","tools":{"lookup":{"validate":"strict"}}}"#,
        limits: "Pinned definitions are withheld when they change, and arguments outside of the accepted schema are refused.",
        cannot: "A server that changes its behaviour and not its definition is not noticed.",
        classes: &[],
        signals: &[],
        findings: &[FindingKind::RemoteReference],
    },
    Attack {
        slug: "prompt-injection-via-tool-results",
        name: "Prompt injection via tool results",
        category: "agent behaviour",
        summary: "Returned data carries orders that the agent then follows.",
        how: "The agent cannot tell data from orders. A result that contains orders is obeyed with every tool that the agent holds.",
        case: "CVE-2025-54135 (fixed in July 2025): a chat message fetched by an agent led to commands on the developer's machine.",
        status: Status::Verified,
        policy: r#"{"version":"1","default":"deny","tools":{"fetch_page":{"require":[{"conditions":[{"path":"args.url","op":"host_in","value":["docs.example.com"]}],"on_deny":"Only the documentation may be fetched."}]}}}"#,
        limits: "Only known hosts are read, so strangers have no way to put text before the agent.",
        cannot: "A trusted host can carry planted text too.",
        classes: &[Class::Read],
        signals: &[Signal::Url, Signal::UntrustedText],
        findings: &[],
    },
    Attack {
        slug: "indirect-prompt-injection",
        name: "Indirect prompt injection",
        category: "agent behaviour",
        summary: "Text is planted in a page, ticket or mail that the agent will read.",
        how: "The attacker never talks to the agent. A public issue or a mail waits until somebody's agent is asked to look through them.",
        case: "CVE-2025-32711 (June 2025): a received mail made an assistant hand out internal data without a click.",
        status: Status::Verified,
        policy: r#"{"version":"1","default":"deny","tools":{"list_issues":{},"create_issue":{"action":"require_approval","reason":"A person reads what leaves."}}}"#,
        limits: "Reading stays free; what would carry data out waits for a person.",
        cannot: "What the agent tells its own user is not filtered.",
        classes: &[Class::Read],
        signals: &[Signal::UntrustedText],
        findings: &[],
    },
    Attack {
        slug: "data-exfiltration-via-tool-chaining",
        name: "Data exfiltration via tool chaining",
        category: "agent behaviour",
        summary: "A private read is followed by an outward write in one task.",
        how: "Each tool is harmless alone. Planted text makes the agent read something private and put it where the attacker can fetch it.",
        case: "Shown in May 2025 by Invariant Labs against a code-hosting server: a public issue drew private repositories into a public pull request.",
        status: Status::Verified,
        policy: r#"{"version":"1","default":"deny","tools":{"send_email":{"require":[{"conditions":[{"path":"args.to","op":"regex","value":"^[^@]+@example\\.com$"}],"on_deny":"Only to our own addresses."}]}}}"#,
        limits: "The way out leads only to known recipients.",
        cannot: "Data can leave through any tool that takes free text to an outside system.",
        classes: &[Class::Execute, Class::Write],
        signals: &[Signal::Recipient, Signal::Url, Signal::Secret],
        findings: &[FindingKind::OtherTools],
    },
    Attack {
        slug: "confused-deputy",
        name: "Confused deputy",
        category: "protocol",
        summary: "The server acts with its own wide rights for a caller who lacks them.",
        how: "The server holds one strong credential for everybody. Whoever may call a tool gets what that credential may do.",
        case: "CVE-2025-49596 (June 2025): a local helper ran commands for whoever could reach its port.",
        status: Status::Verified,
        policy: r#"{"version":"1","default":"deny","tools":{"update_record":{"require":[{"conditions":[{"path":"args.project","op":"eq","value":"mine"}],"on_deny":"Only in this project."}],"limits":[{"counter":"update_record_rate","window":"minute","max":30,"scope":"grant"}]}}}"#,
        limits: "Each grant reaches only its own part, whatever the server's credential could do.",
        cannot: "The server's own checks stay as weak as they are for callers who do not come through the gateway.",
        classes: &[Class::Write, Class::Execute, Class::Destructive, Class::Financial],
        signals: &[Signal::Path, Signal::Force],
        findings: &[],
    },
    Attack {
        slug: "token-mis-redemption",
        name: "Token mis-redemption",
        category: "protocol",
        summary: "A token made for one audience is taken by another service.",
        how: "A server passes on the token that it was given, or accepts one that was made for somebody else, and the audit trail ends there.",
        case: "Described as token passthrough in the protocol's own security guidance and prevented by RFC 8707; we cite no public case.",
        status: Status::Partial,
        policy: r#"{"version":"1","default":"deny","tools":{"lookup":{}}}"#,
        limits: "Agents hold tokens of the gateway only; the server's credential never reaches them.",
        cannot: "A server that is reached directly can still be handed a wrong token.",
        classes: &[],
        signals: &[Signal::Secret],
        findings: &[],
    },
    Attack {
        slug: "credential-leak-via-errors",
        name: "Credential leak via errors",
        category: "protocol",
        summary: "The text of a failure shows keys or connection strings.",
        how: "A call that fails returns the raw error of a database or cloud library, with the secret in it, and the model keeps it.",
        case: "Weakness CWE-209; we cite no public case in this protocol.",
        status: Status::Partial,
        policy: r#"{"version":"1","default":"allow","all_tools":{"redact":["secrets","private_keys"]}}"#,
        limits: "Known forms of secrets are blanked out in results and errors.",
        cannot: "A secret without a known form passes.",
        classes: &[],
        signals: &[Signal::Secret, Signal::FreeFormCode],
        findings: &[],
    },
    Attack {
        slug: "mcp-typosquatting",
        name: "Typosquatting",
        category: "protocol",
        summary: "A package or server with a look-alike name is installed.",
        how: "Servers are started straight from a package registry by name. One wrong letter starts somebody else's code.",
        case: "The package postmark-mcp (September 2025) took a vendor's name that the vendor had never published.",
        status: Status::Verified,
        policy: r#"{"version":"1","default":"deny"}"#,
        limits: "A server that nobody wrote a policy for can do nothing through the gateway.",
        cannot: "Code that was started locally runs with the user's rights before any call is made.",
        classes: &[],
        signals: &[],
        findings: &[FindingKind::OddName, FindingKind::LookAlikeTool],
    },
    Attack {
        slug: "compromised-mcp-package",
        name: "Compromised package",
        category: "protocol",
        summary: "A trusted package ships a bad release.",
        how: "After many good versions one adds a single line. Unpinned versions bring it to every user the same day.",
        case: "postmark-mcp 1.0.16 (September 2025) sent a hidden copy of each mail to its author.",
        status: Status::Verified,
        policy: r#"{"version":"1","default":"deny","tools":{"send_email":{"action":"require_approval","reason":"A person reads each mail."}}}"#,
        limits: "Less is sent, and a person sees what is.",
        cannot: "What the server does behind an allowed call is out of reach of any policy: pin versions.",
        classes: &[Class::Execute],
        signals: &[Signal::Recipient],
        findings: &[],
    },
    Attack {
        slug: "runaway-tool-loops",
        name: "Runaway tool loops",
        category: "agent behaviour",
        summary: "Retries, ping-pong between agents or an endless plan burn calls and money.",
        how: "An agent that does not see why a call fails calls again, hundreds of times a minute.",
        case: "Weakness CWE-770; operators report it often, we cite no single case.",
        status: Status::Partial,
        policy: r#"{"version":"1","default":"allow","all_tools":{"limits":[{"counter":"burst","window":"minute","max":30,"scope":"grant"},{"counter":"sustained","window":"hour","max":300,"scope":"grant"}]}}"#,
        limits: "A burst and a sustained limit end the loop; the agent is told when to try again.",
        cannot: "A loop inside of one call is the server's to end.",
        classes: &[Class::Write, Class::Execute, Class::Financial],
        signals: &[Signal::Amount],
        findings: &[],
    },
    Attack {
        slug: "destructive-action-autonomy",
        name: "Destructive action on its own judgement",
        category: "agent behaviour",
        summary: "The agent deletes or overwrites something because it thought it right.",
        how: "Instructions in a prompt are advice. Under pressure or confusion the agent picks a tool that it holds.",
        case: "July 2025: a coding agent deleted a production database during a declared code freeze (widely reported; Replit).",
        status: Status::Verified,
        policy: r#"{"version":"1","default":"allow","hide":["delete_*","drop_*"]}"#,
        limits: "What is not listed is not thought of, and a call of it is refused.",
        cannot: "Free-form code can do the same under another name: limit and review those tools too.",
        classes: &[Class::Destructive, Class::Execute],
        signals: &[Signal::Removal, Signal::FreeFormCode, Signal::Force],
        findings: &[],
    },
];

/// A pattern that applies to a tool, and why.
#[derive(Clone, Debug)]
pub struct Applies {
    /// The pattern.
    pub attack: &'static Attack,
    /// Why it applies, in our words.
    pub why: String,
}

/// The patterns that apply to a tool, those with the most matching findings and signals first.
pub fn applicable(class: &Classification, findings: &[Finding]) -> Vec<Applies> {
    let mut scored: Vec<(usize, Applies)> =
        ATTACKS.iter().filter_map(|attack| score(attack, class, findings)).collect();
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored.into_iter().take(SHOWN_MAX).map(|(_, applies)| applies).collect()
}

fn score(attack: &'static Attack, class: &Classification, findings: &[Finding]) -> Option<(usize, Applies)> {
    let by_class = attack.classes.contains(&class.class);
    let signals: Vec<&str> =
        attack.signals.iter().filter(|signal| class.has(**signal)).map(|signal| signal.name()).collect();
    let matched: Vec<&str> = attack
        .findings
        .iter()
        .filter(|kind| {
            findings.iter().any(|finding| finding.kind == **kind && finding.level >= Level::Medium)
        })
        .map(|kind| kind.name())
        .collect();
    let fits = attack.classes.is_empty() || by_class || !matched.is_empty();
    let score = 4 * matched.len() + 2 * signals.len() + usize::from(by_class);
    if !fits || score == 0 {
        return None;
    }
    let mut reasons: Vec<String> = Vec::new();
    reasons.extend(matched.iter().map(|name| format!("finding `{name}`")));
    reasons.extend(signals.iter().map(|name| format!("signal `{name}`")));
    if by_class {
        reasons.push(format!("class {}", class.class.name()));
    }
    Some((score, Applies { attack, why: reasons.join(", ") }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_distinct_and_every_text_is_there() {
        let mut slugs: Vec<_> = ATTACKS.iter().map(|attack| attack.slug).collect();
        slugs.sort_unstable();
        slugs.dedup();
        assert_eq!(slugs.len(), ATTACKS.len());
        for attack in ATTACKS {
            for text in [attack.summary, attack.how, attack.case, attack.limits, attack.cannot] {
                assert!(text.ends_with('.'), "{}: {text}", attack.slug);
            }
        }
    }
}
