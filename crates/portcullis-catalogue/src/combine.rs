//! What tools can do together that none can alone: a source of untrusted text, private data and a way out in
//! the hands of one agent.
//!
//! A pure function over names, classes and parameters, so that it works on the index as well as on live
//! definitions. `stack` calls it for each client.

use std::collections::BTreeSet;

use crate::Class;
use crate::words::{Nouns, WordList, split_name, words};

/// Tools named for each leg of a combination.
pub const TOOLS_NAMED_MAX: usize = 5;

/// One tool, as far as combinations go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capability {
    /// The server, as the client calls it.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// Its class.
    pub class: Class,
    /// The names of its parameters.
    pub parameters: Vec<String>,
}

/// What a tool contributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leg {
    /// Text from strangers comes in.
    UntrustedText,
    /// Something private is read.
    PrivateData,
    /// Something can be carried to the outside.
    WayOut,
    /// Code, commands or expressions are run.
    Code,
    /// Things are destroyed or money is moved.
    Harm,
}

impl Leg {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Leg::UntrustedText => "text from strangers",
            Leg::PrivateData => "private data",
            Leg::WayOut => "a way out",
            Leg::Code => "free-form code",
            Leg::Harm => "destruction or money",
        }
    }
}

/// A combination that is dangerous in one pair of hands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combination {
    /// What it is called.
    pub name: &'static str,
    /// Why it is dangerous.
    pub why: &'static str,
    /// What limits it.
    pub limit: &'static str,
    /// Each leg with the tools that make it, `server/tool`, at most [`TOOLS_NAMED_MAX`], and how many there are.
    pub legs: Vec<(Leg, Vec<String>, usize)>,
}

struct Kind {
    name: &'static str,
    why: &'static str,
    limit: &'static str,
    legs: &'static [Leg],
}

const KINDS: &[Kind] = &[
    Kind {
        name: "strangers can draw out private data",
        why: "text that somebody planted can tell the agent to read what is private and to carry it out",
        limit: "require approval for, or restrict the recipients of, the tools that lead out",
        legs: &[Leg::UntrustedText, Leg::PrivateData, Leg::WayOut],
    },
    Kind {
        name: "strangers can have code run",
        why: "text that somebody planted can tell the agent what to execute",
        limit: "require approval for, or hide, the tools that take code, commands or expressions",
        legs: &[Leg::UntrustedText, Leg::Code],
    },
    Kind {
        name: "strangers can destroy or spend",
        why: "text that somebody planted can tell the agent to delete something or to move money",
        limit: "require approval for, and limit, the tools that destroy or spend",
        legs: &[Leg::UntrustedText, Leg::Harm],
    },
];

/// The dangerous combinations among the tools of one agent.
pub fn combinations(tools: &[Capability]) -> Vec<Combination> {
    let legs: Vec<(BTreeSet<Leg>, &Capability)> = tools.iter().map(|tool| (legs_of(tool), tool)).collect();
    KINDS.iter().filter_map(|kind| combination(kind, &legs)).collect()
}

fn combination(kind: &Kind, tools: &[(BTreeSet<Leg>, &Capability)]) -> Option<Combination> {
    let named = |leg: &Leg| {
        let with = tools.iter().filter(|(legs, _)| legs.contains(leg));
        let names: Vec<String> = with.map(|(_, tool)| format!("{}/{}", tool.server, tool.tool)).collect();
        let count = names.len();
        (count > 0).then(|| (*leg, names.into_iter().take(TOOLS_NAMED_MAX).collect(), count))
    };
    let legs: Vec<_> = kind.legs.iter().map(named).collect::<Option<_>>()?;
    Some(Combination { name: kind.name, why: kind.why, limit: kind.limit, legs })
}

/// Parameters that carry something to a place of the caller's choosing.
static OUTWARD_PARAMETERS: WordList =
    words!("url uri to recipient recipients cc bcc channel webhook endpoint host email address destination");
/// Parameters that are run.
static CODE_PARAMETERS: WordList =
    words!("code command cmd script expression sql statement shell javascript js python program");
/// Verbs for carrying something to others.
static OUTWARD_VERBS: WordList =
    words!("send post publish push upload share reply notify tweet request submit invite forward");
/// What is carried to others when it is made.
static OUTWARD_OBJECTS: WordList = words!("comment email message");

/// Parameters that lead anywhere.
static ADDRESSES: WordList = words!("url uri");
/// Places that strangers do not write to.
static OWN_PLACES: WordList = words!("file files directory directories folder folders local schema");

/// What one tool contributes.
pub fn legs_of(tool: &Capability) -> BTreeSet<Leg> {
    let words = split_name(&tool.tool);
    let has = |nouns: &Nouns| words.iter().any(|word| nouns.has(&word.text));
    let says = |list: &WordList| words.iter().any(|word| list.has(&word.text));
    let takes = |list: &WordList| {
        tool.parameters.iter().flat_map(|name| split_name(name)).any(|word| list.has(&word.text))
    };
    let runs = tool.class == Class::Execute && (takes(&CODE_PARAMETERS) || says(&CODE_PARAMETERS));
    let looks = matches!(tool.class, Class::Read | Class::Execute) && !says(&OUTWARD_VERBS);
    // Searching one's own files brings in no stranger's text.
    let fetches = takes(&ADDRESSES) || (has(Nouns::untrusted()) && !says(&OWN_PLACES));
    let acts = matches!(tool.class, Class::Write | Class::Execute | Class::Financial);
    let carries = takes(&OUTWARD_PARAMETERS) || says(&OUTWARD_VERBS) || says(&OUTWARD_OBJECTS);
    let leads_out = takes(&ADDRESSES) || (acts && carries);
    let contributes = [
        (Leg::UntrustedText, looks && fetches),
        (Leg::PrivateData, runs || (looks && (has(Nouns::private()) || has(Nouns::secret())))),
        (Leg::WayOut, runs || leads_out),
        (Leg::Code, runs),
        (Leg::Harm, matches!(tool.class, Class::Destructive | Class::Financial)),
    ];
    contributes.into_iter().filter(|(_, is)| *is).map(|(leg, _)| leg).collect()
}

#[cfg(test)]
mod tests {
    use super::{Capability, Class, Leg, combinations, legs_of};

    fn tool(server: &str, name: &str, class: Class, parameters: &[&str]) -> Capability {
        let parameters = parameters.iter().map(|name| (*name).to_owned()).collect();
        Capability { server: server.to_owned(), tool: name.to_owned(), class, parameters }
    }

    fn legs(name: &str, class: Class, parameters: &[&str]) -> Vec<Leg> {
        legs_of(&tool("s", name, class, parameters)).into_iter().collect()
    }

    #[test]
    fn what_single_tools_contribute() {
        assert_eq!(legs("fetch", Class::Read, &["url"]), [Leg::UntrustedText, Leg::WayOut]);
        assert_eq!(legs("read_text_file", Class::Read, &["path"]), [Leg::PrivateData]);
        assert_eq!(legs("send_email", Class::Execute, &["to", "body"]), [Leg::WayOut]);
        assert_eq!(legs("eval", Class::Execute, &["code"]), [Leg::PrivateData, Leg::WayOut, Leg::Code]);
        assert_eq!(legs("delete_file", Class::Destructive, &["path"]), [Leg::Harm]);
        assert_eq!(legs("search_files", Class::Read, &["path", "pattern"]), [Leg::PrivateData]);
        assert!(legs("get_current_time", Class::Read, &["timezone"]).is_empty());
        assert!(legs("add_numbers", Class::Read, &["a", "b"]).is_empty());
    }

    #[test]
    fn the_legs_may_stand_on_different_servers() {
        let reads = tool("files", "read_file", Class::Read, &["path"]);
        let fetches = tool("web", "get_web_page", Class::Read, &["page"]);
        let sends = tool("mail", "send_email", Class::Execute, &["to"]);
        assert!(combinations(&[reads.clone(), fetches.clone()]).is_empty());
        let found = combinations(&[reads, fetches, sends]);
        assert_eq!(found.len(), 1);
        let named: Vec<&str> = found
            .iter()
            .flat_map(|found| &found.legs)
            .flat_map(|(_, tools, _)| tools)
            .map(String::as_str)
            .collect();
        assert_eq!(named, ["web/get_web_page", "files/read_file", "mail/send_email"]);
    }

    #[test]
    fn a_browser_beside_a_shell_is_named_twice() {
        let found = combinations(&[
            tool("web", "browse_page", Class::Read, &["url"]),
            tool("shell", "run_command", Class::Execute, &["command"]),
        ]);
        let names: Vec<&str> = found.iter().map(|found| found.name).collect();
        assert_eq!(names, ["strangers can draw out private data", "strangers can have code run"]);
    }
}
