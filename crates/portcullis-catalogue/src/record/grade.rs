//! The grade of a server: a published formula over its tools, independent of their number.

use crate::Class;

/// What is known about a server beside its tools.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Posture {
    /// It is remote and asks for no authentication.
    pub open_remote: bool,
    /// Its version is not pinned.
    pub unpinned: bool,
    /// Live and unchanged for 90 days.
    pub settled: bool,
    /// Its release is signed.
    pub signed: bool,
}

/// One tool, as the grade sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Graded {
    pub(crate) class: Class,
    pub(crate) mismatch: bool,
    pub(crate) injection: bool,
    pub(crate) live: bool,
}

/// A to F.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "they are letters")]
pub enum Letter {
    A,
    B,
    C,
    D,
    E,
    F,
}

/// What to do about a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Reads only.
    Proceed,
    /// Connect it behind the recommended policy.
    ConnectWithRule,
    /// A person should decide first.
    AskFirst,
    /// No tools are known.
    Unknown,
}

impl Verdict {
    /// The words.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Proceed => "proceed",
            Verdict::ConnectWithRule => "connect with rule",
            Verdict::AskFirst => "ask first",
            Verdict::Unknown => "unknown",
        }
    }
}

/// The grade with everything it was made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Grade {
    /// The letter; `None` where no tools are known.
    pub letter: Option<Letter>,
    /// The sum that the letter stands for, 0 to 1 and a little more.
    pub score: f64,
    /// What to do.
    pub verdict: Verdict,
    /// Each term of the sum, by name.
    pub terms: Vec<(&'static str, f64)>,
}

/// How the letter comes about, for every page that shows one.
pub const FORMULA: &str = "Weights: Read 0, Write 1, Execute 3, Destructive 5, Financial 5. \
score = 0.6 × gravest/5 + 0.4 × mean/5, + 0.15 × share of tools whose hints contradict the definition, + 0.20 with \
any sign of injection, + 0.10 remote without authentication, + 0.05 version not pinned, + 0.05 tools not seen live, \
− 0.05 live and unchanged for 90 days, − 0.05 signed release. A below 0.15, B 0.35, C 0.50, D 0.65, E 0.80, else F.";

/// The grade of a set of tools.
pub fn grade_of(tools: &[(Class, bool, bool, bool)], posture: Posture) -> Grade {
    let tools: Vec<Graded> = tools
        .iter()
        .map(|(class, mismatch, injection, live)| Graded {
            class: *class,
            mismatch: *mismatch,
            injection: *injection,
            live: *live,
        })
        .collect();
    grade(&tools, posture)
}

/// The grade of tools.
pub(crate) fn grade(tools: &[Graded], posture: Posture) -> Grade {
    if tools.is_empty() {
        return Grade { letter: None, score: 0.0, verdict: Verdict::Unknown, terms: Vec::new() };
    }
    let terms = terms(tools, posture);
    // Adding zero takes the sign away from a sum of nothing, which would be shown.
    let score = terms.iter().map(|term| term.1).sum::<f64>().max(0.0) + 0.0;
    // A hair of floating point must not move a letter.
    let score = (score * 10_000.0).round() / 10_000.0;
    let letter = letter(score);
    Grade { letter: Some(letter), score, verdict: verdict(tools, letter), terms }
}

fn terms(tools: &[Graded], posture: Posture) -> Vec<(&'static str, f64)> {
    let count = tools.len() as f64;
    let share = |holds: fn(&Graded) -> bool| tools.iter().filter(|tool| holds(tool)).count() as f64 / count;
    let gravest = tools.iter().map(|tool| weight(tool.class)).fold(0.0, f64::max);
    let mean = tools.iter().map(|tool| weight(tool.class)).sum::<f64>() / count;
    let all = [
        ("gravest tool", 0.6 * gravest / 5.0),
        ("mean of the tools", 0.4 * mean / 5.0),
        ("contradicting hints", 0.15 * share(|tool| tool.mismatch)),
        ("signs of injection", if share(|tool| tool.injection) > 0.0 { 0.20 } else { 0.0 }),
        ("remote without authentication", if posture.open_remote { 0.10 } else { 0.0 }),
        ("version not pinned", if posture.unpinned { 0.05 } else { 0.0 }),
        ("tools not seen live", if share(|tool| !tool.live) > 0.0 { 0.05 } else { 0.0 }),
        ("unchanged for 90 days", if posture.settled { -0.05 } else { 0.0 }),
        ("signed release", if posture.signed { -0.05 } else { 0.0 }),
    ];
    all.into_iter().filter(|term| term.1 != 0.0).collect()
}

fn weight(class: Class) -> f64 {
    match class {
        Class::Read => 0.0,
        Class::Write => 1.0,
        Class::Execute => 3.0,
        Class::Destructive | Class::Financial => 5.0,
    }
}

fn letter(score: f64) -> Letter {
    match score {
        s if s < 0.15 => Letter::A,
        s if s < 0.35 => Letter::B,
        s if s < 0.50 => Letter::C,
        s if s < 0.65 => Letter::D,
        s if s < 0.80 => Letter::E,
        _ => Letter::F,
    }
}

fn verdict(tools: &[Graded], letter: Letter) -> Verdict {
    let reads = tools.iter().all(|tool| tool.class == Class::Read && !tool.injection);
    match letter {
        _ if tools.iter().any(|tool| tool.injection) => Verdict::AskFirst,
        _ if reads => Verdict::Proceed,
        Letter::E | Letter::F => Verdict::AskFirst,
        _ => Verdict::ConnectWithRule,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(classes: &[Class]) -> Grade {
        let tools: Vec<_> = classes.iter().map(|class| (*class, false, false, true)).collect();
        grade_of(&tools, Posture::default())
    }

    #[test]
    fn the_examples_of_the_documentation_hold() {
        let mut reads = vec![Class::Read; 9];
        assert_eq!(of(&reads).letter, Some(Letter::A));
        reads.push(Class::Write);
        assert_eq!(of(&reads).letter, Some(Letter::A));
        assert_eq!(of(&[Class::Write; 4]).letter, Some(Letter::B));
        let with = |class| {
            let mut tools = vec![Class::Read; 9];
            tools.push(class);
            of(&tools).letter
        };
        assert_eq!(with(Class::Execute), Some(Letter::C));
        assert_eq!(with(Class::Destructive), Some(Letter::D));
        assert_eq!(of(&[]).verdict, Verdict::Unknown);
    }

    #[test]
    fn doubling_every_tool_changes_nothing() {
        let tools = [Class::Read, Class::Execute, Class::Write];
        let twice = [tools, tools].concat();
        assert_eq!(of(&tools), of(&twice));
    }
}
