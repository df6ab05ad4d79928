//! For every n, the n-th operation on the disk fails, or is the last before a kill: each command of the store.
//!
//! Writes, syncs, creations, renames and removals all count, those of SQLite as well as those of the log. What a
//! command says it did must be there; whatever it said, the store opens, the log verifies, and the command can be
//! given again.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};

use super::audit::Compared;
use super::client::Tally;
use super::failing::{Control, Faults};
use super::site::Held;
use super::stage::{Bench, Row};
use crate::process;

/// A command, what shows that it was done, and the text that is there then.
struct Step {
    command: &'static [&'static str],
    look: &'static [&'static str],
    seen: &'static str,
    /// What it says when it is given again.
    again: &'static str,
}

const SCRIPT: &[Step] = &[
    Step {
        command: &["server", "add", "s", "--url", "http://127.0.0.1:9/mcp", "--header", "X-Key=hush"],
        look: &["server", "list"],
        seen: "127.0.0.1:9",
        again: "already exists",
    },
    Step {
        command: &["policy", "add", "p", "p.json", "--server", "s", "--activate"],
        look: &["policy", "list"],
        seen: "p ",
        again: "",
    },
    Step {
        command: &["grant", "create", "alice", "--server", "s", "--policy", "p"],
        look: &["grant", "list"],
        seen: "alice",
        again: "alice",
    },
    Step {
        command: &["policy", "add", "p", "q.json", "--server", "s"],
        look: &["policy", "list"],
        seen: "p ",
        again: "",
    },
    Step {
        command: &["policy", "activate", "p"],
        look: &["policy", "show", "p"],
        seen: "\"deny\"",
        again: "",
    },
    Step { command: &["grant", "revoke", "alice"], look: &["grant", "list"], seen: "revoked", again: "" },
];

/// More operations than any command has.
const OPERATIONS_MAX: i32 = 2_000;

pub(crate) fn run(bench: &Bench) -> Result<Row> {
    let store = Store::new(bench)?;
    let mut random = fastrand::Rng::with_seed(bench.seed);
    let stride = bench.pick(10, 1);
    let (mut failed, mut killed) = (0, 0);
    for step in SCRIPT {
        for kill in [false, true] {
            let tried = store.every(step, kill, stride, random.i32(1..=stride))?;
            *(if kill { &mut killed } else { &mut failed }) += tried;
        }
        store.keep(step)?;
    }
    let every =
        if stride == 1 { "every operation".to_owned() } else { format!("every {stride}th operation") };
    let done = format!("{every} of {} commands: {failed} failed, {killed} killed", SCRIPT.len());
    let nothing = Held::default();
    Ok(Row { done, tally: Tally::default(), compared: Compared::default(), before: nothing, after: nothing })
}

/// The data directory as it was before a step, and the one that suffers.
struct Store {
    directory: PathBuf,
    product: PathBuf,
    library: PathBuf,
    control: Control,
}

impl Store {
    fn new(bench: &Bench) -> Result<Store> {
        let directory = bench.place.join("every-operation");
        if directory.exists() {
            std::fs::remove_dir_all(&directory)?;
        }
        std::fs::create_dir_all(&directory)?;
        std::fs::write(directory.join("p.json"), r#"{"version": "1", "default": "allow"}"#)?;
        std::fs::write(directory.join("q.json"), r#"{"version": "1", "default": "deny"}"#)?;
        let control = Control::new(directory.join("faults"))?;
        Ok(Store { product: bench.product.clone(), library: bench.library.clone(), control, directory })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.product);
        command.args(arguments).args(["--data-dir", "data"]).current_dir(&self.directory);
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Result<Output> {
        Ok(self.command(arguments).output()?)
    }

    fn run_well(&self, arguments: &[&str]) -> Result<String> {
        let output = self.run(arguments)?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`{}` failed: {}", arguments.join(" "), said.trim());
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Puts the directory back to where it was before the step.
    fn reset(&self) -> Result<()> {
        let (data, before) = (self.path("data"), self.path("before"));
        if data.exists() {
            std::fs::remove_dir_all(&data)?;
        }
        if before.exists() { copy(&before, &data) } else { Ok(()) }
    }

    /// Takes the step for good.
    fn keep(&self, step: &Step) -> Result<()> {
        self.reset()?;
        self.run_well(step.command)?;
        if self.path("before").exists() {
            std::fs::remove_dir_all(self.path("before"))?;
        }
        copy(&self.path("data"), &self.path("before"))
    }

    /// Every operation of a step from `first` on; how many there were.
    fn every(&self, step: &Step, kill: bool, stride: i32, first: i32) -> Result<u32> {
        let mut tried = 0;
        let mut n = first;
        while n < OPERATIONS_MAX {
            let how = if kill { "killed at" } else { "failed" };
            let reached = self.one(step, kill, n);
            if !reached.with_context(|| format!("`{}`, operation {n} {how}", step.command.join(" ")))? {
                break;
            }
            tried += 1;
            n += stride;
        }
        Ok(tried)
    }

    /// The step with one operation that fails; whether there was such an operation.
    fn one(&self, step: &Step, kill: bool, n: i32) -> Result<bool> {
        self.reset()?;
        let faults = if kill {
            Faults { kill_at: n, ..Faults::default() }
        } else {
            Faults { fail_at: n, ..Faults::default() }
        };
        self.control.set(faults)?;
        let mut command = self.command(step.command);
        self.control.load(&self.library, &mut command);
        let output = command.output()?;
        if self.control.is_pending()? {
            return Ok(false);
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(kill || output.status.code().is_some(), "the command crashed: {said}");
        if output.status.success() {
            self.is_there(step).context("it said that it was done")?;
        }
        self.again(step).with_context(|| format!("after it had said: {}", said.trim()))?;
        Ok(true)
    }

    fn is_there(&self, step: &Step) -> Result<()> {
        let found = self.run_well(step.look)?;
        ensure!(found.contains(step.seen), "`{}` shows: {found}", step.look.join(" "));
        Ok(())
    }

    /// The same command once more, on a disk that works.
    fn again(&self, step: &Step) -> Result<()> {
        let output = self.run(step.command)?;
        let said = String::from_utf8_lossy(&output.stderr);
        let known = !step.again.is_empty() && said.contains(step.again);
        ensure!(output.status.success() || known, "given again it failed: {}", said.trim());
        self.is_there(step)?;
        self.run_well(&["log", "verify"]).map(drop)
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    process::capture(process::command("cp").arg("-a").arg(from).arg(to)).map(drop)
}
