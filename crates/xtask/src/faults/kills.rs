//! `kill -9` at random points under load, on one data directory, with limits that must hold over all of them.
//!
//! Every other kill comes from inside, at a random write or sync, which leaves half of a write behind.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::audit::{self, Held};
use super::failing::Faults;
use super::site::Gateway;
use super::stage::{Bench, Row, Setting, Stage};

const TOOLS: &[&str] = &["ok_read", "ok_write", "limited"];
const CLIENTS: usize = 12;
/// A write or sync that far away is the last.
const KILL_AT_MAX: i32 = 600;
const LOAD_MS_MAX: u64 = 250;
const BURST: Held<'_> = Held { counter: "burst", window_s: 1, max: 20 };
/// Between two looks at the whole log.
const AUDIT_EVERY: u32 = 20;

pub(crate) fn run(bench: &Bench) -> Result<Row> {
    let (kills, total_max) = bench.pick((20, 60), (240, 600));
    let policy = format!(
        r#"{{"version": "1", "default": "allow", "tools": {{"limited": {{"limits": [
            {{"counter": "total", "window": "day", "max": {total_max}}},
            {{"counter": "burst", "window": {}, "max": {}}}]}}}}}}"#,
        BURST.window_s, BURST.max
    );
    let setting = Setting { policy: Some(&policy), failing: true, ..Setting::default() };
    let mut stage = Stage::new(bench, "kills", &setting)?;
    let mut random = fastrand::Rng::with_seed(bench.seed);
    let limits = [Held { counter: "total", window_s: 86_400, max: total_max }, BURST];
    let (mut gateway, before) = stage.start_warm()?;
    for kill in 1..=kills {
        gateway = kill_and_start(&mut stage, gateway, &mut random, kill % 2 == 0)
            .with_context(|| format!("kill {kill}"))?;
        if kill % AUDIT_EVERY == 0 {
            audit::audit(&stage.site, &stage.upstream, &stage.tally, &limits)
                .with_context(|| format!("after kill {kill}"))?;
        }
    }
    // What the server saw counts, not only what the log says.
    let seen = stage.upstream.count("limited");
    ensure!(seen <= total_max, "{seen} calls of a tool that is limited to {total_max} a day");
    let done = format!("{kills} kills; {seen} of at most {total_max} calls a day of a limited tool");
    stage.end(gateway, before, done, &limits)
}

fn kill_and_start(
    stage: &mut Stage,
    mut gateway: Gateway,
    random: &mut fastrand::Rng,
    from_inside: bool,
) -> Result<Gateway> {
    let load = stage.load(CLIENTS, TOOLS);
    if from_inside {
        stage.site.control()?.set(Faults { kill_at: random.i32(1..KILL_AT_MAX), ..Faults::default() })?;
        gateway.process.wait()?;
        stage.site.control()?.set(Faults::default())?;
    } else {
        std::thread::sleep(Duration::from_millis(random.u64(0..LOAD_MS_MAX)));
        gateway.kill()?;
    }
    stage.tally.merge(load.stop()?);
    let gateway = stage.site.start()?;
    stage.site.run(&["log", "verify"])?;
    Ok(gateway)
}
