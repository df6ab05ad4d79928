//! `cargo xtask bench catalogue`: what an index of 50,000 servers costs as it grows, and the plot of it.

use anyhow::{Context, Result};
use serde::Deserialize;

use super::plot::{Line, Panel, svg};
use crate::{process, workspace};

const EXAMPLE: &str = "catalogue_bench";
/// Servers with ten tools each.
const SERVERS: usize = 50_000;
const PLOT: &str = "docs/catalogue-growth.svg";

/// What the example prints after each step.
#[derive(Deserialize)]
struct Step {
    tools: f64,
    import_per_s: f64,
    /// Processor time for one tool, in microseconds, over all threads.
    processor_us: f64,
    /// The part of it that the one writer used.
    writer_us: f64,
    bytes_per_tool: f64,
    p50_ms: f64,
    p99_ms: f64,
    wall_p99_ms: f64,
    rss_mb: f64,
    peak_mb: f64,
}

impl Step {
    /// Tools a second that two cores with nothing else to do can import: bounded by all the work on two, and
    /// by the one writer.
    fn on_two_cores(&self) -> f64 {
        1e6 / (self.processor_us / 2.0).max(self.writer_us)
    }
}

/// What the example prints first.
#[derive(Deserialize)]
struct Yardstick {
    /// Tools a second of processor time.
    yardstick: f64,
}

/// Runs the example in release, prints its figures beside the targets, and writes the plot.
pub(super) fn run() -> Result<()> {
    let build = ["build", "--release", "--workspace", "--example", EXAMPLE];
    process::run(&mut process::cargo(&build))?;
    let folder = workspace::target()?.join("catalogue-bench");
    // An index that is left over from an earlier run would be updated, not filled.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    let mut example = process::command(workspace::built(&format!("release/examples/{EXAMPLE}"))?);
    let captured = process::capture(example.arg(folder.join("index.sqlite")).arg(SERVERS.to_string()))?;
    let (yardstick, steps) = read(&captured.stdout)?;
    print_figures(&yardstick, &steps);
    std::fs::write(workspace::root().join(PLOT), plot(&steps))
        .with_context(|| format!("cannot write `{PLOT}`"))?;
    println!("{PLOT} written");
    Ok(())
}

fn read(output: &str) -> Result<(Yardstick, Vec<Step>)> {
    let (first, rest) = output.split_once('\n').context("the example printed nothing")?;
    let steps = rest.lines().map(|line| serde_json::from_str(line).with_context(|| line.to_owned()));
    Ok((serde_json::from_str(first)?, steps.collect::<Result<_>>()?))
}

fn print_figures(yardstick: &Yardstick, steps: &[Step]) {
    println!("reading the text alone, on one core: {:.0} tools a second", yardstick.yardstick);
    let heads = [
        "tools",
        "import/s",
        "two cores",
        "cpu µs",
        "writer µs",
        "ratio",
        "B/tool",
        "p50 ms",
        "p99 ms",
        "wall p99",
        "RSS MB",
        "peak MB",
    ];
    println!("{}", heads.map(|head| format!("{head:>10}")).join(""));
    for step in steps {
        let ratio = step.processor_us * yardstick.yardstick / 1e6;
        let whole = |value: f64| format!("{value:>10.0}");
        let exact = |value: f64| format!("{value:>10.2}");
        let cells = [
            whole(step.tools),
            whole(step.import_per_s),
            whole(step.on_two_cores()),
            exact(step.processor_us),
            exact(step.writer_us),
            exact(ratio),
            whole(step.bytes_per_tool),
            exact(step.p50_ms),
            exact(step.p99_ms),
            exact(step.wall_p99_ms),
            whole(step.rss_mb),
            whole(step.peak_mb),
        ];
        println!("{}", cells.join(""));
    }
    println!(
        "wanted: import above 20000/s, p50 below 5 ms, p99 below 30 ms, RSS below 300 MB, below 1000 B a tool"
    );
}

fn plot(steps: &[Step]) -> String {
    let line = |name, value: fn(&Step) -> f64| Line {
        name,
        points: steps.iter().map(|step| (step.tools, value(step))).collect(),
    };
    let panels = [
        Panel {
            title: "import, tools a second",
            wanted: 20_000.0,
            lines: vec![line("cores", Step::on_two_cores), line("wall", |step| step.import_per_s)],
        },
        Panel {
            title: "search, milliseconds",
            wanted: 5.0,
            lines: vec![line("p50", |step| step.p50_ms), line("p99", |step| step.p99_ms)],
        },
        Panel {
            title: "resident memory, MB",
            wanted: 300.0,
            lines: vec![line("now", |step| step.rss_mb), line("peak", |step| step.peak_mb)],
        },
        Panel {
            title: "on disk, bytes a tool",
            wanted: 1000.0,
            lines: vec![line("disk", |step| step.bytes_per_tool)],
        },
    ];
    svg("Tools in the index", &panels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_the_example_are_read_and_drawn() {
        let output = "{\"yardstick\":90000}\n{\"tools\":10,\"import_per_s\":5,\"processor_us\":80,\"writer_us\":50,\"bytes_per_tool\":7,\"p50_ms\":0.1,\"p99_ms\":1,\"wall_p99_ms\":2,\"rss_mb\":9,\"peak_mb\":9}\n";
        let (yardstick, steps) = read(output).unwrap();
        assert_eq!((yardstick.yardstick, steps.len()), (90_000.0, 1));
        assert_eq!(steps[0].on_two_cores(), 20_000.0);
        assert!(plot(&steps).contains("import, tools a second"));
        assert!(read("{\"yardstick\":1}\n{\"tools\":1}\n").is_err());
    }
}
