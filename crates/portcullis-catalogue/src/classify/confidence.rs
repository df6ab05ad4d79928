//! How sure a classification is: a short sum, the same for every tool.
//!
//! The terms were chosen once and the result is checked by the evaluation, which prints how often each
//! band is right on servers that were left out.

/// What the sum is made of.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Grounds {
    /// There is a description.
    pub(crate) described: bool,
    /// The name has a verb that can be nothing else.
    pub(crate) firm_name: bool,
    /// The name has any verb.
    pub(crate) named: bool,
    /// Name and description say different classes.
    pub(crate) disagree: bool,
    /// Name and description say the same class.
    pub(crate) agree: bool,
    /// The class rests on the siblings alone.
    pub(crate) siblings_only: bool,
    /// A parameter alone raised the class.
    pub(crate) raised_by_schema: bool,
    /// A hint agrees.
    pub(crate) hint_agrees: bool,
    /// A hint contradicts.
    pub(crate) hint_contradicts: bool,
    /// A removing verb with a force flag.
    pub(crate) forced_removal: bool,
    /// No rule matched.
    pub(crate) nothing: bool,
}

/// No confidence is below this.
pub const FLOOR: f64 = 0.5;
/// No confidence is above this.
pub const CAP: f64 = 0.98;
/// Below this a page says that the tool needs review.
pub const REVIEW_BELOW: f64 = 0.7;

/// The sum, between [`FLOOR`] and [`CAP`], in steps of a hundredth.
pub(crate) fn confidence(grounds: Grounds) -> f64 {
    if grounds.nothing {
        return FLOOR;
    }
    let terms = [
        (!grounds.described && grounds.firm_name, -0.10),
        (!grounds.described && !grounds.firm_name, -0.20),
        (grounds.described && !grounds.firm_name && !grounds.agree, -0.07),
        (grounds.disagree, -0.15),
        (grounds.described && !grounds.named, -0.10),
        (grounds.siblings_only, -0.25),
        (grounds.raised_by_schema, -0.05),
        (grounds.hint_agrees, 0.03),
        (grounds.hint_contradicts, -0.10),
        (grounds.forced_removal, 0.02),
    ];
    let sum: f64 = 0.95 + terms.iter().filter(|term| term.0).map(|term| term.1).sum::<f64>();
    (sum.clamp(FLOOR, CAP) * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_description_costs_more_where_the_name_is_weak() {
        let strong = Grounds { firm_name: true, named: true, ..Grounds::default() };
        let weak = Grounds { named: true, ..Grounds::default() };
        assert_eq!(confidence(strong), 0.85);
        assert_eq!(confidence(weak), 0.75);
    }

    #[test]
    fn nothing_found_is_the_floor() {
        assert_eq!(confidence(Grounds { nothing: true, ..Grounds::default() }), FLOOR);
    }
}
