//! Fills an index with generated servers and prints, as it grows, what import, search, disk and memory cost.
//!
//! usage: catalogue_bench FILE SERVERS [SEARCHES] — `cargo xtask bench catalogue` runs it and draws the plot. One line
//! of JSON for each step. Generating is not measured; reading the text of the definitions is.
#![expect(clippy::print_stdout, reason = "a command that prints figures")]

#[path = "catalogue_bench/generate.rs"]
mod generate;

use std::path::Path;
use std::time::{Duration, Instant};

use generate::{Dice, NOUNS, TOOLS_PER_SERVER, VERBS, WORDS, definitions, server_name};
use portcullis_catalogue::index::import::tools_list;
use portcullis_catalogue::index::{Index, IndexFault, Listing, Search, ServerEntry};
use portcullis_catalogue::record::Provenance;
use portcullis_catalogue::{Class, Level};
use rustix::time::{ClockId, clock_gettime};

/// Servers that are generated at once and imported in one transaction.
const SERVERS_PER_BATCH: usize = 2500;
/// Searches after each step, unless another number is given.
const SEARCHES: usize = 2000;

fn main() -> Result<(), IndexFault> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().unwrap_or_else(|| "catalogue-bench.sqlite".to_owned());
    let servers: usize = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(5_000);
    let wanted: usize = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(SEARCHES);
    let path = Path::new(&file);
    let mut index = Index::open(path)?;
    println!(r#"{{"yardstick":{:.0}}}"#, read_only_rate());
    let mut done = 0;
    for step in steps(servers) {
        let mut took = Took::default();
        let since = done;
        while done < step {
            let until = (done + SERVERS_PER_BATCH).min(step);
            took.add(import(&mut index, done..until)?);
            done = until;
        }
        print_step(&index, path, (done - since) * TOOLS_PER_SERVER, &took, wanted)?;
    }
    Ok(())
}

/// Time on the wall, and time of the processors, which a busy machine does not stretch.
#[derive(Default)]
struct Took {
    wall: Duration,
    processors: Duration,
    /// The part of it that the one writer used.
    writer: Duration,
}

impl Took {
    fn add(&mut self, other: Took) {
        self.wall += other.wall;
        self.processors += other.processors;
        self.writer += other.writer;
    }
}

/// Ten steps, evenly apart.
fn steps(servers: usize) -> Vec<usize> {
    (1..=10).map(|tenth| servers * tenth / 10).collect()
}

/// Tools a second, on one core, where the text is read and nothing else is done.
fn read_only_rate() -> f64 {
    let texts: Vec<String> = (0..SERVERS_PER_BATCH).map(definitions).collect();
    let start = clock(ClockId::ThreadCPUTime);
    let read: usize =
        texts.iter().filter_map(|text| tools_list(text).ok()).map(|(tools, _)| tools.len()).sum();
    read as f64 / (clock(ClockId::ThreadCPUTime) - start).as_secs_f64()
}

fn import(index: &mut Index, servers: std::ops::Range<usize>) -> Result<Took, IndexFault> {
    let texts: Vec<(usize, String)> = servers.map(|server| (server, definitions(server))).collect();
    let start = Instant::now();
    let (all, this) = (clock(ClockId::ProcessCPUTime), clock(ClockId::ThreadCPUTime));
    let listings = texts.iter().filter_map(|(server, text)| Some(listing(*server, tools_list(text).ok()?.0)));
    index.import(listings, 0)?;
    Ok(Took {
        wall: start.elapsed(),
        processors: clock(ClockId::ProcessCPUTime) - all,
        writer: clock(ClockId::ThreadCPUTime) - this,
    })
}

fn listing(server: usize, tools: Vec<portcullis_catalogue::ToolDefinition>) -> Listing {
    Listing {
        server: ServerEntry { name: server_name(server), ..ServerEntry::default() },
        tools,
        provenance: Provenance::Imported,
        source: "generated".to_owned(),
        complete: false,
    }
}

fn print_step(
    index: &Index,
    path: &Path,
    imported: usize,
    took: &Took,
    wanted: usize,
) -> Result<(), IndexFault> {
    let stored = index.counts()?.total();
    let rate = imported as f64 / took.wall.as_secs_f64();
    let each = |time: Duration| time.as_secs_f64() * 1e6 / imported as f64;
    let (processor_us, writer_us) = (each(took.processors), each(took.writer));
    let log = std::fs::metadata(path.with_extension("sqlite-wal")).map_or(0, |file| file.len());
    let bytes = (std::fs::metadata(path)?.len() + log) as f64 / stored as f64;
    let (p50, p99, wall_p99) = searches(index, stored as usize / TOOLS_PER_SERVER, wanted)?;
    let (now, peak) = (memory("VmRSS"), memory("VmHWM"));
    println!(
        r#"{{"tools":{stored},"import_per_s":{rate:.0},"processor_us":{processor_us:.1},"writer_us":{writer_us:.1},"bytes_per_tool":{bytes:.0},"p50_ms":{p50:.3},"p99_ms":{p99:.3},"wall_p99_ms":{wall_p99:.3},"rss_mb":{now:.0},"peak_mb":{peak:.0}}}"#
    );
    Ok(())
}

/// The median and the 99th percentile over searches of five kinds in milliseconds of processor time, and the
/// 99th percentile on the wall.
fn searches(index: &Index, servers: usize, count: usize) -> Result<(f64, f64, f64), IndexFault> {
    let mut dice = Dice(7);
    let (mut times, mut walls) = (Vec::new(), Vec::new());
    for round in 0..count {
        let search = Search { most: 20, ..wanted(&mut dice, round, servers) };
        let (start, used) = (Instant::now(), clock(ClockId::ThreadCPUTime));
        index.search(&search)?;
        times.push((clock(ClockId::ThreadCPUTime) - used).as_secs_f64() * 1000.0);
        walls.push(start.elapsed().as_secs_f64() * 1000.0);
    }
    Ok((at(&mut times, 0.5), at(&mut times, 0.99), at(&mut walls, 0.99)))
}

fn at(times: &mut [f64], share: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get((times.len() as f64 * share) as usize).copied().unwrap_or_default()
}

fn wanted(dice: &mut Dice, round: usize, servers: usize) -> Search {
    let all = Search::default();
    match round % 5 {
        0 => Search { text: Some(dice.pick(NOUNS).to_owned()), ..all },
        1 => Search {
            text: Some(format!("{} {}", dice.pick(VERBS), dice.pick(NOUNS))),
            class: Some(Class::Write),
            ..all
        },
        2 => Search {
            text: Some(format!("{} {}", dice.pick(WORDS), dice.pick(NOUNS))),
            level: Some(Level::Critical),
            ..all
        },
        3 => Search { server: Some(server_name(dice.roll(servers))), ..all },
        _ => Search {
            text: Some(format!("{}_{}_{}", dice.pick(VERBS), dice.pick(NOUNS), dice.roll(10))),
            ..all
        },
    }
}

/// Time that a clock of the system shows.
fn clock(which: ClockId) -> Duration {
    Duration::try_from(clock_gettime(which)).unwrap_or_default()
}

/// A figure of this process's memory in MiB, where the system tells.
fn memory(field: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap_or_default();
    let kib: Option<f64> = line.split_whitespace().nth(1).and_then(|number| number.parse().ok());
    kib.unwrap_or_default() / 1024.0
}
