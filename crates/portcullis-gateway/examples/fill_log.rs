//! Fills a data directory with a million records, as calls leave them, and dies without a word, as `kill -9` would.
//!
//! `fill_log DIRECTORY RECORDS AFTER_SNAPSHOT`: the counters are kept once, so many records before the end; with
//! `AFTER_SNAPSHOT` at `RECORDS` never. For `cargo xtask bench start`.

use std::error::Error;

use jiff::Timestamp;
use portcullis_gateway::Ledger;
use portcullis_state::DataDirectory;
use portcullis_state::log::{
    Arguments, Charge, Decision, DecisionLog, Ending, Entry, LogOptions, Outcome, PolicyName, RiskClass,
    Verdict,
};

const HASH: [u8; 32] = [5; 32];
/// Grants that take turns.
const GRANTS: u64 = 1_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or("give a directory and two numbers");
    let directory = DataDirectory::open_or_create(next()?.as_ref())?;
    let (records, behind): (u64, u64) = (next()?.parse()?, next()?.parse()?);
    let log = DecisionLog::open(&directory.log(), directory.checkpoint_key()?, LogOptions::default())?.0;
    let calls = records / 2;
    for call in 0..calls {
        if calls - call == behind / 2 && behind < records {
            Ledger::from_log(&log)?.save(&log)?;
        }
        append_call(&log, call)?;
    }
    log.sync_now()?;
    std::process::abort()
}

fn append_call(log: &DecisionLog, call: u64) -> Result<(), Box<dyn Error>> {
    let (request, grant) = (format!("d_{call:026}"), format!("g_{:026}", call % GRANTS));
    let charges = [Charge {
        counter: format!("[\"daily\",\"calls\",\"grant\",\"{grant}\"]"),
        amount: "1".to_owned(),
        window_seconds: 86_400,
    }];
    let decision = Decision {
        request: &request,
        grant: Some(&grant),
        server: Some("pharo"),
        method: "tools/call",
        tool: Some("find-references-to-class"),
        class: Some(RiskClass::Read),
        policy: Some(PolicyName { name: "daily", version: 7, hash: &HASH }),
        verdict: Verdict::Allowed,
        arguments: Arguments { keys: &["class", "package", "limit"], digest: Some(&HASH) },
        charges: &charges,
        ..Decision::default()
    };
    let position = log.append(Timestamp::now(), &Entry::Decision(&decision))?.wait()?;
    let outcome = Outcome {
        request: &request,
        decision: position.sequence,
        grant: Some(&grant),
        server: Some("pharo"),
        tool: Some("find-references-to-class"),
        ending: Ending::Answered,
        status: Some(200),
        latency_us: 1_234,
        message: None,
        given_back: &[],
    };
    log.append(Timestamp::now(), &Entry::Outcome(&outcome))?.wait()?;
    Ok(())
}
