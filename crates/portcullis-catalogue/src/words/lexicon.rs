//! The verbs: what each does, and whether the word is also a common noun.
//!
//! A *strict* word is read as a verb wherever it stands; one that is *either* is a verb only where the
//! sentence or the rest of the name does not say otherwise (`deploy_app`, `deploy_status`).

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::Class;

/// Whether a word is surely a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A verb, wherever it stands.
    Strict,
    /// A verb or a noun.
    Either,
    /// A verb that says nothing of its effect (`manage`): the description decides if it can.
    Vague,
}

/// One verb.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Verb {
    pub(crate) base: &'static str,
    pub(crate) class: Class,
    pub(crate) kind: Kind,
}

/// The lexicon: a class, a kind, and the base forms.
const GROUPS: &[(Class, Kind, &str)] = &[
    (Class::Read, Kind::Strict, READ_STRICT),
    (Class::Read, Kind::Either, READ_EITHER),
    (Class::Write, Kind::Strict, WRITE_STRICT),
    (Class::Write, Kind::Either, WRITE_EITHER),
    (Class::Write, Kind::Vague, WRITE_VAGUE),
    (Class::Execute, Kind::Strict, EXECUTE_STRICT),
    (Class::Execute, Kind::Either, EXECUTE_EITHER),
    (Class::Destructive, Kind::Strict, DESTRUCTIVE_STRICT),
    (Class::Destructive, Kind::Either, DESTRUCTIVE_EITHER),
    (Class::Financial, Kind::Strict, FINANCIAL_STRICT),
    (Class::Financial, Kind::Either, FINANCIAL_EITHER),
];

const READ_STRICT: &str = "\
    aggregate analyze assess await browse calculate categorize classify collect compare compute \
    contrast critique crosscheck debunk decide decode decompile decrypt deduce describe detect \
    determine diagnose disassemble discover encode enumerate estimate evaluate examine explain \
    explore extract fetch find gather geocode get highlight identify infer inspect interpret \
    introspect investigate learn lint listen locate lookup normalize obtain parse peek ping poll \
    predict quantify rate read recall recognize recommend resemble retrieve return see suggest \
    summarize tally tell tokenize transcribe translate troubleshoot understand validate verify \
    visualize whoami";
const READ_EITHER: &str = "\
    answer ask audit average benchmark capture chart chat check consult convert count crawl diff \
    display dump echo expand filter forecast format glob grade graph grep guess hash head hello \
    help hierarchy inquiry inventory list map match measure monitor observe outline plan plot \
    preview probe profile query quote rank reader reason reflect render research review sample \
    score scrape screen screenshot search show simulate sleep snapshot sort status stream sum \
    survey tail think trace track tree triage view wait watchlist";
const WRITE_STRICT: &str = "\
    accept acknowledge activate add adjust allow amend annotate append apply approve archive \
    assign associate attach authenticate authorize autofix ban bind bookmark bootstrap cancel \
    change checkin chmod chown click clone close compile complete compress configure confirm \
    connect copy correct create crop customize deactivate declare decline decrement demote deny \
    deregister detach disable disassociate disconnect dismiss downgrade download downvote drag \
    duplicate edit enable enrich enroll exchange export favorite favourite fill finalize finish \
    fix follow grant hover implement import increment ingest initialize insert login logout \
    maintain mark memorize merge migrate mkdir modify mount move mute nudge offboard onboard \
    optimize patch persist place postpone prioritize promote propose protect provision put react \
    reactivate reassign redo refactor register reindex reject remember rename reopen reorder \
    repair replace reprioritize reschedule resize resolve restore revert rewrite rollback save \
    scaffold set settle snooze submit subscribe supply suspend swipe switch sync synchronize tap \
    toggle transition trash tweak unarchive unassign unassociate unban unbind unblock undelete \
    undo unenroll unfavorite unfavourite unfollow unlabel unlink unlock unmark unmount unmute \
    unpin unprotect unpublish unregister unresolve unstar unsubscribe untag update upgrade upload \
    upsert upvote write";
const WRITE_EITHER: &str = "\
    access backup block book borrow branch bridge cache checkout checkpoint clear comment commit \
    compose customise cut deposit design draft draw emulate encrypt flag flip focus fork generate \
    group index init issue join label leave lend lifecycle like link load lock log make mint model \
    new note open order pack paint paste pin populate post prepare press produce pull push record \
    refresh release report request reserve reset rotate schedule scroll seed select setup share \
    sketch split stage stake star stash store swap synthesize tag touch trade transfer transform \
    trim type unpack unstake use vote watch zoom";
const WRITE_VAGUE: &str = "\
    administer control do handle manage operate perform process work";
const EXECUTE_STRICT: &str = "\
    announce automate begin boot broadcast bruteforce crash dispatch enqueue eval exec execute \
    fuzz goto hack initiate inject install interrupt invite invoke launch navigate notify \
    orchestrate pause publish reboot redeploy replay reply rerun respond restart resume retry run \
    send shutdown spawn speak start stop telnet trigger undeploy unsuspend";
const EXECUTE_EITHER: &str = "\
    alert attack bash build call command continue curl debug deploy dm email experiment exploit \
    fax forward mail message play print proxy scale scan script shell sign sms ssh step terminal \
    test tunnel tweet";
const DESTRUCTIVE_STRICT: &str = "\
    bulkdelete decommission delete deprovision destroy discard erase expunge forget kill nuke \
    obliterate purge remove revoke rm rmdir shred terminate truncate uninstall wipe";
const DESTRUCTIVE_EITHER: &str = "\
    burn drop empty flush prune";
const FINANCIAL_STRICT: &str = "\
    buy disburse donate liquidate pay purchase redeem refund reimburse repay sell withdraw";
const FINANCIAL_EITHER: &str = "\
    bid charge invest payout remit tip";

static BY_BASE: LazyLock<HashMap<&'static str, Verb>> = LazyLock::new(|| {
    let mut verbs = HashMap::new();
    for (class, kind, words) in GROUPS {
        for base in words.split_whitespace() {
            let verb = Verb {
                base,
                class: *class,
                kind: *kind,
            };
            verbs.entry(base).or_insert(verb);
        }
    }
    verbs
});

/// The verb with this base form.
pub(crate) fn verb(base: &str) -> Option<&'static Verb> {
    BY_BASE.get(base)
}

/// The groups, for the generated page.
pub(crate) fn groups() -> &'static [(Class, Kind, &'static str)] {
    GROUPS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_verb_stands_in_two_groups() {
        let words: Vec<_> = GROUPS
            .iter()
            .flat_map(|group| group.2.split_whitespace())
            .collect();
        assert_eq!(words.len(), BY_BASE.len());
    }
}
