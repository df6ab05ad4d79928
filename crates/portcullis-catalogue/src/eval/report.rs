//! The evaluation as text.

use std::fmt::Write as _;

use super::metrics::Confusion;
use super::rows::Truth;
use super::run::{Evaluation, Judged};
use crate::inert::inert_short;

/// All figures and every error of one evaluation.
pub fn report(title: &str, evaluation: &Evaluation) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_figures(title, evaluation, &mut out);
    let _ = write_tables(evaluation, &mut out);
    let _ = write_errors(evaluation, &mut out);
    out
}

fn write_figures(title: &str, evaluation: &Evaluation, out: &mut String) -> std::fmt::Result {
    let judged = evaluation.judged.len();
    writeln!(out, "## {title}\n")?;
    writeln!(
        out,
        "{judged} tools of {} servers, {} rows without a label left out",
        evaluation.servers, evaluation.left_out
    )?;
    let whole = &evaluation.confusion;
    writeln!(out, "macro-F1 {:.3}, accuracy {:.3}", whole.macro_f1(), whole.accuracy())?;
    let aside = &evaluation.confusion_set_aside;
    if aside.total() < whole.total() {
        writeln!(
            out,
            "with the {} disagreements that our rules demand set aside: macro-F1 {:.3}, accuracy {:.3}",
            whole.total() - aside.total(),
            aside.macro_f1(),
            aside.accuracy()
        )?;
    }
    let rate = evaluation.unsafe_errors;
    let (missed, mutating) = evaluation.unsafe_count;
    writeln!(
        out,
        "unsafe errors (mutating called Read): {missed} of {mutating} = {:.1} % (95 % interval {:.1} to {:.1} %)",
        rate.share * 100.0,
        rate.low * 100.0,
        rate.high * 100.0
    )?;
    writeln!(out, "hints that contradict the rules: {}\n", evaluation.mismatches)
}

fn write_tables(evaluation: &Evaluation, out: &mut String) -> std::fmt::Result {
    write_confusion(&evaluation.confusion, out)?;
    writeln!(out, "confidence  tools  stated  right  foretold (server left out)")?;
    for band in &evaluation.calibration.bands {
        let Band { from, count, stated, right, foretold } = *band;
        writeln!(out, "  >= {from:.2}  {count:>5}   {stated:.3}  {right:.3}     {foretold:.3}")?;
    }
    let calibration = &evaluation.calibration;
    writeln!(
        out,
        "calibration error: {:.3} as stated, {:.3} foretold from the other servers\n",
        calibration.error_stated, calibration.error_left_out
    )?;
    for (threshold, covered, right) in &evaluation.coverage {
        writeln!(
            out,
            "confidence >= {threshold:.1}: covers {:.1} %, of these right {:.1} %",
            covered * 100.0,
            right * 100.0
        )?;
    }
    writeln!(out)
}

use super::calibration::Band;

fn write_confusion(confusion: &Confusion, out: &mut String) -> std::fmt::Result {
    write!(out, "{:<14}", "label \\ called")?;
    for label in confusion.labels() {
        write!(out, "{label:>12}")?;
    }
    writeln!(out, "{:>8}", "F1")?;
    for (truth, label) in confusion.labels().iter().enumerate() {
        write!(out, "{label:<14}")?;
        for called in 0..confusion.labels().len() {
            write!(out, "{:>12}", confusion.count(truth, called))?;
        }
        writeln!(out, "{:>8.3}", confusion.f1(truth).unwrap_or_default())?;
    }
    writeln!(out)
}

fn write_errors(evaluation: &Evaluation, out: &mut String) -> std::fmt::Result {
    let wrong: Vec<&Judged> = evaluation.judged.iter().filter(|judged| !judged.right).collect();
    writeln!(out, "errors:")?;
    for judged in wrong.iter().filter(|judged| judged.demanded.is_none()) {
        write_error(judged, out)?;
    }
    writeln!(out, "\ndisagreements that our rules demand:")?;
    for judged in wrong.iter().filter(|judged| judged.demanded.is_some()) {
        write_error(judged, out)?;
    }
    writeln!(out)
}

fn write_error(judged: &Judged, out: &mut String) -> std::fmt::Result {
    let label = match judged.row.truth {
        Truth::ReadOnly(true) => "Read",
        Truth::ReadOnly(false) => "mutating",
        Truth::Class(class) => class.name(),
        Truth::NotScored => "-",
    };
    let ours = &judged.classification;
    let rule = ours.evidence.first().map(|evidence| evidence.rule.code()).unwrap_or_default();
    let name = format!("{}/{}", judged.row.server, judged.row.tool.name);
    let description = judged.row.tool.description.as_deref().unwrap_or_default();
    write!(
        out,
        "  {:<11} called {:<11} {:.2} {rule:<3} {} | {}",
        label,
        ours.class.name(),
        ours.confidence,
        inert_short(&name, 80),
        inert_short(description, 70)
    )?;
    match judged.demanded {
        Some(demanded) => writeln!(out, " ({})", demanded.says()),
        None => writeln!(out),
    }
}
