//! The reference tables of the documentation, written from the tables that the code uses.

use std::fmt::Write as _;

use crate::attacks::{ATTACKS, Status};
use crate::recommend::{Profile, Treatment, treatment};
use crate::record::FORMULA;
use crate::{Class, Level, RULES};

/// All tables, in Markdown.
pub fn reference() -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_classes(&mut out);
    let _ = write_rules(&mut out);
    let _ = write_attacks(&mut out);
    let _ = writeln!(out, "## Grade\n\n{FORMULA}");
    out
}

fn write_classes(out: &mut String) -> std::fmt::Result {
    writeln!(out, "## Classes, levels and recommended rules\n")?;
    writeln!(out, "| class | level | strict | recommended | permissive |\n|---|---|---|---|---|")?;
    for class in Class::ALL {
        let cells = Profile::ALL.map(|profile| cell(treatment(class, profile)));
        writeln!(out, "| {} | {} | {} |", class.name(), Level::of(class).name(), cells.join(" | "))?;
    }
    writeln!(out)
}

fn cell(treatment: Treatment) -> String {
    match treatment {
        Treatment::Allow => "allowed".to_owned(),
        Treatment::PerMinute(max) => format!("{max} a minute"),
        Treatment::Approve => "a person approves".to_owned(),
        Treatment::Hide => "hidden".to_owned(),
    }
}

fn write_rules(out: &mut String) -> std::fmt::Result {
    writeln!(out, "## Rules of the classifier\n\n| id | name | meaning | examples |\n|---|---|---|---|")?;
    for rule in RULES {
        let examples = rule.examples.join("; ").replace('|', "\\|");
        writeln!(out, "| {} | {} | {} | {examples} |", rule.code, rule.name, rule.meaning)?;
    }
    writeln!(out)
}

fn write_attacks(out: &mut String) -> std::fmt::Result {
    writeln!(out, "## Attack patterns\n")?;
    for attack in ATTACKS {
        let status = match attack.status {
            Status::Verified => "documented",
            Status::Partial => "no public case cited",
        };
        writeln!(out, "### {} (`{}`)\n", attack.name, attack.slug)?;
        writeln!(out, "{} {}\n\nCase ({status}): {}\n", attack.summary, attack.how, attack.case)?;
        writeln!(out, "```json\n{}\n```\n\n{} {}\n", attack.policy, attack.limits, attack.cannot)?;
    }
    Ok(())
}
