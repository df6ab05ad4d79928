//! Running the classifier over labelled tools.

use std::collections::BTreeMap;

use super::calibration::{Calibration, Point, calibrate, servers};
use super::metrics::{Confusion, Interval, ratio, wilson_95};
use super::rows::{Labelled, Truth};
use crate::{Class, Classification, RuleId, Siblings, Signal, ToolDefinition, classify};

/// A disagreement with a label that our own rules demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demanded {
    /// Money that is only looked at is Read.
    MoneyRead,
    /// What is sent out is Execute.
    SendingIsExecute,
    /// Free-form code or SQL is Execute.
    CodeIsExecute,
    /// A money noun with a committing verb is Financial.
    MoneyCommitted,
}

impl Demanded {
    /// In words.
    pub fn says(self) -> &'static str {
        match self {
            Demanded::MoneyRead => "money that is only looked at is Read",
            Demanded::SendingIsExecute => "what is sent out is Execute",
            Demanded::CodeIsExecute => "free-form code and SQL are Execute",
            Demanded::MoneyCommitted => "money that is committed is Financial",
        }
    }
}

/// One tool that was judged.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The row.
    pub row: Labelled,
    /// What the rules made of it.
    pub classification: Classification,
    /// Whether the figure's question was answered as labelled.
    pub right: bool,
    /// Why a disagreement is meant.
    pub demanded: Option<Demanded>,
}

/// The figures for one set of rows with one kind of truth.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// Every judged tool, in the order of the rows.
    pub judged: Vec<Judged>,
    /// Rows that have no truth of this kind.
    pub left_out: usize,
    /// Servers among the judged.
    pub servers: usize,
    /// Who was called what: two labels for hints, five for classes.
    pub confusion: Confusion,
    /// The same without the disagreements that our rules demand.
    pub confusion_set_aside: Confusion,
    /// Mutating tools called Read, of all mutating ones.
    pub unsafe_errors: Interval,
    /// Their number, and the number of mutating tools.
    pub unsafe_count: (usize, usize),
    /// Is the confidence what it says?
    pub calibration: Calibration,
    /// Threshold, share of tools at or above it, share right among those.
    pub coverage: Vec<(f64, f64, f64)>,
    /// Tools whose read-only hint contradicts the rules (only where hints were shown).
    pub mismatches: usize,
}

/// Thresholds of the coverage table.
const THRESHOLDS: &[f64] = &[0.6, 0.7, 0.8, 0.9];

/// Judges the rows that have a truth; `show_hints` lets the classifier see the annotations.
pub fn evaluate(rows: &[Labelled], show_hints: bool) -> Evaluation {
    let siblings = siblings_by_server(rows);
    let scored: Vec<&Labelled> = rows.iter().filter(|row| row.truth != Truth::NotScored).collect();
    let judged: Vec<Judged> = scored.iter().map(|row| judge(row, &siblings, show_hints)).collect();
    let binary = judged.iter().all(|judged| matches!(judged.row.truth, Truth::ReadOnly(_)));
    let unsafe_count = count_unsafe(&judged);
    let points: Vec<Point<'_>> = judged
        .iter()
        .map(|judged| Point {
            server: &judged.row.server,
            confidence: judged.classification.confidence,
            right: judged.right,
        })
        .collect();
    Evaluation {
        left_out: rows.len() - judged.len(),
        servers: servers(&points),
        confusion: confusion(&judged, binary, |_| true),
        confusion_set_aside: confusion(&judged, binary, |judged| judged.demanded.is_none()),
        unsafe_errors: wilson_95(unsafe_count.0, unsafe_count.1),
        unsafe_count,
        calibration: calibrate(&points),
        coverage: THRESHOLDS.iter().map(|threshold| coverage(&judged, *threshold)).collect(),
        mismatches: judged.iter().filter(|judged| judged.classification.hint_contradicts).count(),
        judged,
    }
}

fn siblings_by_server(rows: &[Labelled]) -> BTreeMap<String, Siblings> {
    let mut tools: BTreeMap<&str, Vec<ToolDefinition>> = BTreeMap::new();
    for row in rows {
        tools.entry(&row.server).or_default().push(row.tool.clone());
    }
    tools.into_iter().map(|(server, tools)| (server.to_owned(), Siblings::of(server, &tools))).collect()
}

fn judge(row: &Labelled, siblings: &BTreeMap<String, Siblings>, show_hints: bool) -> Judged {
    let none = Siblings::none();
    let siblings = siblings.get(&row.server).unwrap_or(&none);
    let tool = if show_hints { row.tool.clone() } else { row.tool.clone().without_annotations() };
    let classification = classify(&tool, siblings);
    let right = match row.truth {
        Truth::ReadOnly(read_only) => read_only == (classification.class == Class::Read),
        Truth::Class(class) => class == classification.class,
        Truth::NotScored => true,
    };
    let demanded = if right { None } else { demanded(row, &classification) };
    Judged { row: row.clone(), classification, right, demanded }
}

fn demanded(row: &Labelled, ours: &Classification) -> Option<Demanded> {
    let by = |rule| ours.evidence.first().is_some_and(|evidence| evidence.rule == rule);
    let sends = ours.evidence.first().is_some_and(|evidence| {
        let word = evidence.quote.to_ascii_lowercase();
        ["send", "post", "publish", "notify", "sms", "email", "reply"].iter().any(|verb| word.contains(verb))
    });
    match (row.truth, ours.class) {
        (Truth::Class(Class::Financial), Class::Read)
            if ours.has(Signal::Money) || about_subscriptions(&row.tool) =>
        {
            Some(Demanded::MoneyRead)
        }
        (Truth::Class(Class::Write), Class::Execute) if sends => Some(Demanded::SendingIsExecute),
        (Truth::ReadOnly(true), Class::Execute) if sends => Some(Demanded::SendingIsExecute),
        (Truth::Class(Class::Read | Class::Write) | Truth::ReadOnly(true), Class::Execute)
            if by(RuleId::S1) =>
        {
            Some(Demanded::CodeIsExecute)
        }
        (Truth::Class(Class::Write), Class::Financial) if by(RuleId::M1) => Some(Demanded::MoneyCommitted),
        _ => None,
    }
}

fn about_subscriptions(tool: &ToolDefinition) -> bool {
    tool.name.to_ascii_lowercase().contains("subscription")
}

fn confusion(judged: &[Judged], binary: bool, counts: fn(&Judged) -> bool) -> Confusion {
    let labels: Vec<&'static str> =
        if binary { vec!["Read", "mutating"] } else { Class::ALL.iter().map(|class| class.name()).collect() };
    let mut confusion = Confusion::new(&labels);
    for judged in judged.iter().filter(|judged| counts(judged)) {
        let called = judged.classification.class;
        match judged.row.truth {
            Truth::ReadOnly(read) => confusion.add(usize::from(!read), usize::from(called != Class::Read)),
            Truth::Class(class) => confusion.add(position(class), position(called)),
            Truth::NotScored => {}
        }
    }
    confusion
}

fn position(class: Class) -> usize {
    Class::ALL.iter().position(|other| *other == class).unwrap_or_default()
}

fn count_unsafe(judged: &[Judged]) -> (usize, usize) {
    let mutating = judged.iter().filter(|judged| match judged.row.truth {
        Truth::ReadOnly(read) => !read,
        Truth::Class(class) => class != Class::Read,
        Truth::NotScored => false,
    });
    let mutating: Vec<&Judged> = mutating.collect();
    let missed = mutating.iter().filter(|judged| judged.classification.class == Class::Read).count();
    (missed, mutating.len())
}

fn coverage(judged: &[Judged], threshold: f64) -> (f64, f64, f64) {
    let inside: Vec<&Judged> =
        judged.iter().filter(|judged| judged.classification.confidence >= threshold).collect();
    let right = inside.iter().filter(|judged| judged.right).count();
    (threshold, ratio(inside.len(), judged.len()), ratio(right, inside.len()))
}
