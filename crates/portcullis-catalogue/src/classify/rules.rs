//! The table of rules: id, meaning and examples. The reference page is written from it.

/// The rules by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the table below says what each is")]
pub enum RuleId {
    N1,
    N2,
    N3,
    D1,
    D2,
    D3,
    S1,
    S2,
    S3,
    S4,
    S5,
    S6,
    S7,
    S8,
    S9,
    S10,
    A1,
    A2,
    A3,
    M1,
    X1,
    B1,
    B2,
    Z0,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The id.
    pub id: RuleId,
    /// As reports write the id.
    pub code: &'static str,
    /// A short name.
    pub name: &'static str,
    /// What it looks at and what it does.
    pub meaning: &'static str,
    /// Invented or well-known names that show it.
    pub examples: &'static [&'static str],
}

const fn rule(
    id: RuleId,
    code: &'static str,
    name: &'static str,
    meaning: &'static str,
    examples: &'static [&'static str],
) -> Rule {
    Rule { id, code, name, meaning, examples }
}

/// All rules, in the order of the page.
pub const RULES: &[Rule] = &[
    rule(
        RuleId::N1,
        "N1",
        "name-verb-first",
        "the first word of the name, after a prefix that all tools of the server share, is a verb: its class",
        &["get_page: Read", "apply_settings: Write", "create_or_drop: the graver of both"],
    ),
    rule(
        RuleId::N2,
        "N2",
        "name-head-last",
        "names that start with a noun: the verb further back, or a last word that announces a report; such a \
         word beats a first word that is also a noun",
        &["vm_delete: Destructive", "deploy_status: Read", "app_logs: Read"],
    ),
    rule(
        RuleId::N3,
        "N3",
        "verb-object",
        "what the verb is done to changes its class: text that is only returned, words that are sent to people, \
         ties that are cut, data that is emptied",
        &[
            "generate_regex: Read",
            "post_message: Execute",
            "remove_label: Write",
            "clear_history: Destructive",
        ],
    ),
    rule(
        RuleId::D1,
        "D1",
        "description-verb",
        "the leading verb of the description, inflections folded, in English and some other languages; weaker \
         than a verb in the name, but neither text talks away what the other says is changed",
        &[
            "`Lists the open doors`: Read",
            "`删除文件`: Destructive",
            "list_doors, `Deletes the doors`: Destructive",
            "drop_doors, `Lists the doors`: Destructive",
        ],
    ),
    rule(
        RuleId::D2,
        "D2",
        "description-alternatives",
        "several verbs side by side in the leading clause: the gravest of them, and it beats a Read name; what is \
         found and put into a store is Write; a name that says nothing takes the gravest of all that is stated",
        &[
            "`Get or update the scale`: Write",
            "`List, create and delete keys`: Destructive",
            "`Collect all doors into a file`: Write",
        ],
    ),
    rule(
        RuleId::D3,
        "D3",
        "description-negation",
        "verbs that are denied or only considered do not count; a claim to change nothing is kept as a signal and \
         never outweighs a verb in the name",
        &["`does not modify`", "`decides whether to send`", "`dry run`"],
    ),
    rule(
        RuleId::S1,
        "S1",
        "free-form-code",
        "a parameter takes code, a script, a shell command, an expression or SQL and the tool may run it: Execute, \
         whatever its name says; a parameter that is merely called `query` is not enough, a language must be named; \
         tools that look at code (explain, validate, format) stay Read",
        &["eval(code)", "query(sql)", "get_doors(sql)", "explain_code(code) stays Read"],
    ),
    rule(
        RuleId::S2,
        "S2",
        "choice-maximum",
        "the choices of a `method`, `action`, `operation`, `mode` or `command` parameter: the gravest of them",
        &["door(action: open | lock | destroy): Destructive"],
    ),
    rule(
        RuleId::S3,
        "S3",
        "path",
        "a parameter takes a file path: signal; a look whose result is written to one is Write",
        &["path", "take_picture(save_path): Write"],
    ),
    rule(RuleId::S4, "S4", "url", "a parameter takes a URL or host: signal", &["url", "webhook_url"]),
    rule(
        RuleId::S5,
        "S5",
        "html-template",
        "a parameter takes HTML or a template: signal",
        &["html", "template"],
    ),
    rule(RuleId::S6, "S6", "many-parameters", "twelve parameters or more: signal", &[]),
    rule(
        RuleId::S7,
        "S7",
        "recipient",
        "a parameter takes a recipient: signal; with a sending verb, Execute",
        &["to", "recipients"],
    ),
    rule(
        RuleId::S8,
        "S8",
        "amount",
        "a parameter takes an amount or a currency: signal for the money rule",
        &["amount", "currency"],
    ),
    rule(
        RuleId::S9,
        "S9",
        "force",
        "a force or recursive flag: signal; with a removing verb it adds confidence",
        &["force", "recursive"],
    ),
    rule(RuleId::S10, "S10", "secret", "secrets go in or come out: signal", &["password", "get_secret"]),
    rule(
        RuleId::A1,
        "A1",
        "hint-raises",
        "`readOnlyHint: false` raises a Read guess to Write; `destructiveHint: true` on Write adds the signal \
         `overwrites`; a hint never lowers a class",
        &[],
    ),
    rule(RuleId::A2, "A2", "hint-agrees", "a stated hint agrees with the class: more confidence", &[]),
    rule(
        RuleId::A3,
        "A3",
        "hint-contradicts",
        "`readOnlyHint: true` on a tool that the other rules call mutating: finding, the class stays",
        &["send_mail with readOnlyHint: true"],
    ),
    rule(
        RuleId::M1,
        "M1",
        "money-effect",
        "a mutating verb together with a money noun, or with an ambiguous one where the surroundings speak of money: \
         Financial; the noun alone is Read",
        &["authorizePayment: Financial", "swapTokens: Financial", "list_invoices: Read"],
    ),
    rule(
        RuleId::X1,
        "X1",
        "irreversible",
        "the description of a mutating tool says that it cannot be undone: Destructive",
        &["`permanently removes`", "`this cannot be undone`"],
    ),
    rule(
        RuleId::B1,
        "B1",
        "siblings-execute",
        "other tools of the server run code, and this one runs, tests, installs, loads or evaluates",
        &["run_class_test beside eval"],
    ),
    rule(RuleId::B2, "B2", "siblings-read", "no verb at all and every other tool is Read: weak Read", &[]),
    rule(
        RuleId::Z0,
        "Z0",
        "nothing-found",
        "no rule matched: Write with confidence 0.5, to be reviewed; never Read by default",
        &["frobnicator"],
    ),
];

impl RuleId {
    /// Its row of the table.
    pub fn rule(self) -> &'static Rule {
        // Every id has a row; the first stands in only to keep this total, and a test compares the two.
        RULES.iter().find(|rule| rule.id == self).unwrap_or(&FALLBACK)
    }

    /// As reports write it.
    pub fn code(self) -> &'static str {
        self.rule().code
    }
}

const FALLBACK: Rule = rule(RuleId::Z0, "Z0", "nothing-found", "", &[]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_has_one_row_that_speaks() {
        for (index, row) in RULES.iter().enumerate() {
            assert_eq!(row.id as usize, index, "{} is out of order", row.code);
            assert_eq!(format!("{:?}", row.id), row.code);
            assert!(!row.meaning.is_empty());
        }
        assert_eq!(RULES.len(), RuleId::Z0 as usize + 1);
    }
}
