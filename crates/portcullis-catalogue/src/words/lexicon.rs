//! The verbs: what each does, and whether the word is also a common noun.
//!
//! A *strict* word is read as a verb wherever it stands; one that is *either* is a verb only where the
//! sentence or the rest of the name does not say otherwise (`deploy_app`, `deploy_status`).

use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::FixedState;

use super::list::{WordList, words};
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
    aggregate analyze assess await beautify brainstorm browse calculate capitalize categorize \
    classify collect compare compute concatenate contrast correlate critique crosscheck debunk \
    decide decode decompile decrypt deduce demonstrate derive describe detect determine \
    diagnose disassemble discover encode enumerate estimate evaluate examine explain explore \
    extract extrapolate fetch find gather geocode geolocate get highlight identify indicate \
    infer inform inspect interpolate interpret introspect investigate learn lint listen locate \
    lookup ls minify multiply normalize nslookup obtain paginate paraphrase parse peek ping \
    poll predict prettify proofread pwd quantify read recall recognize recommend rephrase \
    rerank resemble retrieve return reveal see simplify solve spellcheck suggest summarize \
    tabulate tally tokenize traceroute transcribe translate transpile transpose troubleshoot \
    understand unshorten validate verify visualize whoami";
const READ_EITHER: &str = "\
    answer ask audit average benchmark capture cat challenge chart chat check choose consult \
    convert count crawl debate define diff dig display divide dump echo expand filter forecast \
    format glob grade graph grep guess hash head hello help hierarchy inquiry inventory list \
    look lower map match measure monitor observe outline pick plan plot preview probe profile \
    query quote rank reader reason reflect render research reverse review roll round sample \
    score scrape screen screenshot search show simulate sleep snapshot sort status stream \
    subtract sum survey tail tell think trace track tree triage upper view wait watchlist";
const WRITE_STRICT: &str = "\
    accept acknowledge activate add adjust allocate allow allowlist amend annotate anonymize \
    append apply approve archive assign associate attach authenticate authorize autofix award \
    ban bind blacklist blocklist blur bookmark bootstrap brighten cancel change checkin \
    cherrypick chmod chown claim click clockin clockout clone close colorize compile complete \
    compress configure confirm connect copy cordon correct cp create crop customize darken \
    deactivate declare decline decrement delegate demote denoise deny denylist deregister \
    detach disable disassociate disconnect dismiss dispute downgrade download downvote drag \
    duplicate edit elevate enable endorse enrich enroll entitle escalate expire export favorite \
    favourite fill finalize finish fix follow fulfill grant hide hover ignore implement import \
    increment ingest initialize inpaint insert isolate login logout maintain manipulate mark \
    memorize merge migrate mkdir moderate modify mount move mutate mute mv nominate nudge \
    offboard onboard optimize optin optout outpaint override overwrite patch persist phaseout \
    pickup postpone prepend prioritize promote propose protect provision put quarantine react \
    reactivate reallocate reassign rebalance rebase recolor recover redact redo refactor \
    register reindex reject relocate remember rename reopen reorder repair replace reprioritize \
    reschedule resize resolve restore revert revise rewrite rollback sanitize save scaffold set \
    settle sharpen ship signin signout signup snooze submit subscribe suspend swipe switch sync \
    synchronize taint tamper tap toggle transition trash tweak unarchive unassign unassociate \
    unban unbind unblock undelete undo unenroll unfavorite unfavourite unfollow unlabel unlink \
    unlock unmark unmount unmute unpin unprotect unpublish unregister unresolve unseal unstar \
    unsubscribe untag update upgrade upload upsert upvote whitelist write";
const WRITE_EITHER: &str = "\
    acquire align arrange backup block book borrow branch bridge cache checkout checkpoint \
    clean cleanup clear combine comment commit compact compose customise cut deposit design dim \
    distribute draft draw emulate encrypt end enhance ensure exchange extend extrude flag flip \
    focus fork generate group improve index init issue join label leave lend lifecycle like \
    link load lock log make mask maximize minimize mint model note open order overlay pack \
    paint paste personalize pin place populate post prepare press produce pull push rate record \
    refine refresh release report request reserve reset rotate schedule scroll seed select \
    setup share shift sketch skip slice split stage stake star stash store supply swap \
    synthesize tag touch trade transfer transform trim turn type unpack unstake upscale vacuum \
    vote warp watch wrap zoom";
const WRITE_VAGUE: &str = "\
    administer conduct control do handle manage operate perform process work";
const EXECUTE_STRICT: &str = "\
    abort actuate announce automate autoscale begin boot bringup broadcast bruteforce crash \
    crosspost deallocate detonate dial disarm dispatch drain enqueue evacuate eval exec execute \
    failover fuzz goto hack handover hangup hibernate ignite impersonate initiate inject \
    install interrupt invite invoke launch navigate notify orchestrate pause phish poweroff \
    poweron publish reboot redeploy replay reply rerun respond restart retry run send shutdown \
    sideload spawn speak spindown spinup spoof start stop summon teleport telnet trigger \
    undeploy unsuspend wake";
const EXECUTE_EITHER: &str = "\
    alert arm attack bash build call command continue curl debug deploy dm email experiment \
    exploit fax flash forward handoff mail message play print proxy resume retweet scale scan \
    script shell sign sms ssh step terminal test tunnel tweet";
const DESTRUCTIVE_STRICT: &str = "\
    annihilate bulkdelete decommission del delete deprovision destroy discard dispose eradicate \
    erase evict expunge forget kill nuke nullify obliterate purge raze remove revoke rm rmdir \
    shred takedown teardown terminate truncate uninstall vaporize wipe";
const DESTRUCTIVE_EITHER: &str = "\
    burn drop empty flush prune void";
const FINANCIAL_STRICT: &str = "\
    buy cashout disburse donate liquidate overpay pay payoff prepay purchase redeem refund \
    reimburse repay sell topup wager withdraw writeoff";
const FINANCIAL_EITHER: &str = "\
    bet bid charge invest payout remit tip";

/// Verbs by base form; nothing that comes from outside gets in, so a fast hash is safe.
type Verbs = HashMap<&'static str, Verb, FixedState>;

static BY_BASE: LazyLock<Verbs> = LazyLock::new(|| {
    let mut verbs = Verbs::default();
    for (class, kind, words) in GROUPS {
        for base in words.split_whitespace() {
            verbs.entry(base).or_insert(Verb { base, class: *class, kind: *kind });
        }
    }
    for (class, _, words) in GROUPS.iter().filter(|group| group.0 != Class::Read) {
        for base in words.split_whitespace().filter(|base| base.len() >= PREFIXED_BYTES_MIN) {
            prefixed("re", base, *class, &mut verbs);
            prefixed("un", base, Class::Write, &mut verbs);
        }
    }
    verbs
});

/// Shorter verbs with a prefix are other words (`retip`, `unset` is listed by itself).
const PREFIXED_BYTES_MIN: usize = 4;

/// `rebuild` does what `build` does once more; `ungroup` takes it back.
fn prefixed(prefix: &str, base: &str, class: Class, verbs: &mut Verbs) {
    let word = format!("{prefix}{base}");
    if !verbs.contains_key(word.as_str()) {
        // Leaked once per process: the lexicon lives as long as it.
        let base: &'static str = word.leak();
        verbs.insert(base, Verb { base, class, kind: Kind::Strict });
    }
}

/// The verb with this base form.
pub(crate) fn verb(base: &str) -> Option<&'static Verb> {
    BY_BASE.get(base)
}

/// Second words of verbs that are written as two (`roll back`, `check in`, `cherry pick`).
static PARTICLES: WordList = words!("in out up down off on back over pick");

/// The verb that a word makes with the one behind it: `roll back` is `rollback`, which is another verb than `roll`.
pub(crate) fn phrasal(first: &str, second: &str) -> Option<&'static Verb> {
    PARTICLES.has(second).then(|| verb(&format!("{first}{second}"))).flatten()
}

/// Every verb.
pub(crate) fn verbs() -> impl Iterator<Item = &'static Verb> {
    BY_BASE.values()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_verb_stands_in_two_groups() {
        let words: Vec<_> = GROUPS.iter().flat_map(|group| group.2.split_whitespace()).collect();
        let distinct: std::collections::HashSet<_> = words.iter().collect();
        assert_eq!(words.len(), distinct.len());
    }
}
