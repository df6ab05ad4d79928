//! The system's clock, set by an hour and by a day, forth and back: no window opens again, no grant revives.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::audit::Held;
use super::client::Told;
use super::failing::Faults;
use super::stage::{Bench, Row, Setting, Stage};

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;
const LIMIT: Held<'_> = Held { counter: "hourly", window_s: HOUR, max: 10 };
const POLICY: &str = r#"{"version": "1", "default": "allow", "tools": {"limited": {"limits": [
    {"counter": "hourly", "window": "hour", "max": 10}]}}}"#;
/// The gateway looks at its clock every second.
const LOOKED: Duration = Duration::from_millis(1_500);

pub(crate) fn run(bench: &Bench) -> Result<Row> {
    let expires = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(12);
    let setting = Setting {
        policy: Some(POLICY),
        failing: true,
        expires: Some(expires.to_string()),
        ..Setting::default()
    };
    let mut stage = Stage::new(bench, "clock", &setting)?;
    let (gateway, before) = stage.start_warm()?;
    ensure!(admitted(&mut stage, 15)? == LIMIT.max, "the limit is not used up");
    for offset in [-HOUR, -DAY, 0] {
        set(&stage, offset)?;
        let more = admitted(&mut stage, 5)?;
        ensure!(more == 0, "a clock set to {offset} s opened the window for {more} calls");
    }
    set(&stage, HOUR)?;
    ensure!(admitted(&mut stage, 15)? == LIMIT.max, "an hour later the next window is open");
    set(&stage, 0)?;
    ensure!(admitted(&mut stage, 5)? == 0, "the clock set back by an hour opened the window");
    set(&stage, DAY)?;
    refused(&mut stage, "the grant has expired")?;
    set(&stage, 0)?;
    refused(&mut stage, "the clock set back by a day revived the grant")?;
    ensure!(gateway.stop()?.success(), "the gateway failed: {}", stage.site.errors());
    let gateway = stage.site.start()?;
    refused(&mut stage, "a start with the clock set back revived the grant")?;
    let records = stage.site.records()?;
    let steps =
        records.iter().filter(|record| record.get("action").is_some_and(|action| action == "clock_stepped"));
    let steps = steps.count();
    ensure!(steps >= 6, "only {steps} of 7 steps are in the log");
    let done = format!("7 steps of an hour or a day, {steps} told in the log; limit and expiry held");
    stage.end(gateway, before, done, &[LIMIT])
}

fn set(stage: &Stage, clock_offset_s: i64) -> Result<()> {
    stage.site.control()?.set(Faults { clock_offset_s, ..Faults::default() })?;
    std::thread::sleep(LOOKED);
    Ok(())
}

/// How many of so many calls of the limited tool got through.
fn admitted(stage: &mut Stage, calls: u32) -> Result<u64> {
    let before = stage.upstream.count("limited");
    for _ in 0..calls {
        stage.call("limited")?;
    }
    Ok(stage.upstream.count("limited") - before)
}

fn refused(stage: &mut Stage, why: &str) -> Result<()> {
    let (told, text) = stage.call("ok_read")?;
    ensure!(told == Told::Error, "{why}: {told:?} {text}");
    Ok(())
}
