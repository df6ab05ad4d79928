//! Runs cases one after the other at one gateway, and holds the log against them at the end.

use std::net::SocketAddr;

use portcullis_gateway::Settings;
use portcullis_json::Value;
use portcullis_state::CheckpointKey;
use portcullis_state::log::verify;

use super::case::{Case, Expect, File};
use super::directory;
use super::request::{CANARY, Era};
use super::socket::{Reply, exchange};
use super::tee::Tee;
use crate::client::{at, read};
use crate::fake_server::FakeServer;
use crate::rig::{Rig, plain, snapshot};

/// All cases of a file, in all its eras.
pub(crate) async fn run_file(name: &str, count: usize) {
    let source = std::fs::read(directory().join(format!("{name}.yaml"))).unwrap();
    let file = File::read(&source);
    let mut ran = 0;
    for era in &file.eras {
        let mut stand = Stand::new(*era, &file.policy).await;
        for case in file.cases(*era, &stand.session) {
            stand.run(&case).await;
            ran += 1;
        }
        stand.finish().await;
    }
    assert_eq!(ran, count, "cases in {name}.yaml; if that is meant, correct the number beside its name");
}

/// A gateway with everything warm, and what the log must hold in the end.
pub(crate) struct Stand {
    rig: Rig,
    tee: Tee,
    pub(crate) session: String,
    address: SocketAddr,
    records_before: usize,
    strangers: u64,
    records: Vec<(String, String)>,
    faults: Vec<String>,
}

impl Stand {
    pub(crate) async fn new(era: Era, policy: &str) -> Stand {
        let server = FakeServer::start(era == Era::Modern, plain()).await;
        let tee = Tee::before(server.address).await;
        let snapshot = snapshot(&[("fake", format!("http://{}/mcp", tee.address))], policy, 1);
        // Nothing is to be listed again while the cases run: every byte at the server is a case's.
        let settings =
            Settings { tools_recheck_ms: 3_600_000, tools_age_ms_max: 3_600_000, ..Settings::default() };
        let rig = Rig::with(server, snapshot, settings).await;
        let session = match era {
            Era::Modern => String::new(),
            Era::Legacy => rig
                .client
                .initialize()
                .await
                .headers
                .iter()
                .find(|(name, _)| name == "mcp-session-id")
                .unwrap()
                .1
                .clone(),
        };
        let address = rig.client_at("", "").url.trim_start_matches("http://").parse().unwrap();
        let mut stand = Stand {
            rig,
            tee,
            session,
            address,
            records_before: 0,
            strangers: 0,
            records: Vec::new(),
            faults: Vec::new(),
        };
        stand.warm_up(era).await;
        stand
    }

    /// The server's era and tools are found out, with a call that the tools are not there for.
    async fn warm_up(&mut self, era: Era) {
        let words = super::request::words(era, &self.session);
        let case = read(r#"{"tool":"there-is-none"}"#);
        exchange(self.address, &super::request::bytes(&case, era, &words), 1).await;
        self.tee.take();
        self.records_before = self.rig.records().len();
    }

    /// Notes what is not as expected; `finish` tells.
    pub(crate) async fn run(&mut self, case: &Case) {
        let (replies, closed) = exchange(self.address, &case.bytes, case.expect.statuses.len()).await;
        let received = String::from_utf8_lossy(&self.tee.take()).into_owned();
        let mut faults = answer_faults(&case.expect, &replies, closed);
        faults.extend(upstream_faults(&case.expect, &received));
        self.faults.extend(faults.into_iter().map(|fault| format!("{}: {fault}", case.name)));
        for record in &case.expect.records {
            match record.as_str() {
                "stranger" => self.strangers += 1,
                outcome => self.records.push((case.name.clone(), outcome.to_owned())),
            }
        }
    }

    pub(crate) async fn finish(mut self) {
        self.rig.stop.take().unwrap().send(()).unwrap();
        (&mut self.rig.served).await.unwrap().unwrap();
        self.check_log();
        let faults = self.faults.len();
        self.faults.truncate(20);
        assert!(faults == 0, "{faults} faults:\n{}", self.faults.join("\n"));
    }

    /// One record for each case, in the order of the cases; strangers as a sum; all in one sound chain.
    fn check_log(&mut self) {
        let records = self.rig.records().split_off(self.records_before);
        let kind = |record: &Value, kind: &str| at(record, "kind") == kind;
        let count = |record: &Value| at(record, "count").parse::<u64>().unwrap();
        let strangers: u64 = records.iter().filter(|record| kind(record, "refusals")).map(count).sum();
        if strangers != self.strangers {
            self.faults.push(format!("{strangers} strangers in the log, not {}", self.strangers));
        }
        let decided: Vec<&Value> = records
            .iter()
            .filter(|record| kind(record, "decision") && at(record, "grant") == "g_alice")
            .collect();
        for ((name, outcome), record) in self.records.iter().zip(&decided) {
            if at(record, "outcome") != *outcome {
                self.faults.push(format!("{name}: recorded as {record}, not {outcome}"));
            }
        }
        if decided.len() != self.records.len() {
            self.faults.push(format!("{} decisions in the log, not {}", decided.len(), self.records.len()));
        }
        let all: String = self.rig.records().iter().map(ToString::to_string).collect();
        if all.contains(CANARY) {
            self.faults.push("the log holds a value of the requests".to_owned());
        }
        let key = CheckpointKey::from_bytes(&[1; 32]).public();
        if let Err(fault) = verify(&self.rig.directory.path().join("log"), Some(&key)) {
            self.faults.push(format!("the log does not verify: {fault:?}"));
        }
    }
}

fn answer_faults(expect: &Expect, replies: &[Reply], closed: bool) -> Vec<String> {
    let mut faults = Vec::new();
    let statuses: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
    if statuses != expect.statuses {
        let last = replies.last().map_or("", |reply| &reply.body);
        faults.push(format!("answered {statuses:?}, not {:?}: {last}", expect.statuses));
        return faults;
    }
    if closed != expect.closed {
        faults.push(format!("the connection is {}", if closed { "closed" } else { "open" }));
    }
    let Some(last) = replies.last() else {
        return faults;
    };
    let found = if last.body.is_empty() { "-".to_owned() } else { at(&read(&last.body), "error|code") };
    if let Some(code) = &expect.code
        && *code != found
    {
        faults.push(format!("the code is not {code}: {}", last.body));
    }
    faults.extend(
        expect
            .says
            .iter()
            .filter(|words| !last.text.contains(*words))
            .map(|words| format!("`{words}` is missing: {}", last.body)),
    );
    let echoes = expect.upstream.is_empty() && last.text.contains(CANARY);
    if echoes || expect.never_says.iter().any(|words| last.text.contains(words)) {
        faults.push(format!("the payload is in the answer: {}", last.text));
    }
    faults
}

fn upstream_faults(expect: &Expect, received: &str) -> Vec<String> {
    if expect.upstream.is_empty() && expect.upstream_never.is_empty() {
        return match received {
            "" => Vec::new(),
            _ => vec![format!("the server received {received}")],
        };
    }
    let missing = expect.upstream.iter().filter(|words| !received.contains(*words));
    let missing = missing.map(|words| format!("the server did not receive `{words}`: {received}"));
    let present = expect.upstream_never.iter().filter(|words| received.contains(*words));
    missing.chain(present.map(|words| format!("the server received `{words}`: {received}"))).collect()
}
