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
    bytes_per_tool: f64,
    p50_ms: f64,
    p99_ms: f64,
    rss_mb: f64,
    peak_mb: f64,
}

/// What the example prints first.
#[derive(Deserialize)]
struct Yardstick {
    yardstick: f64,
}

/// Runs the example in release, prints its figures beside the targets, and writes the plot.
pub(super) fn run() -> Result<()> {
    let build = ["build", "--release", "--package", "portcullis-catalogue", "--example", EXAMPLE];
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
    println!(
        "{:>8} {:>10} {:>6} {:>9} {:>8} {:>8} {:>7} {:>8}",
        "tools", "import/s", "ratio", "B/tool", "p50 ms", "p99 ms", "RSS MB", "peak MB"
    );
    for step in steps {
        let ratio = yardstick.yardstick / step.import_per_s;
        let Step { tools, import_per_s, bytes_per_tool, p50_ms, p99_ms, rss_mb, peak_mb } = step;
        println!(
            "{tools:>8} {import_per_s:>10} {ratio:>6.1} {bytes_per_tool:>9} {p50_ms:>8.2} {p99_ms:>8.2} {rss_mb:>7} {peak_mb:>8}"
        );
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
            lines: vec![line("import", |step| step.import_per_s)],
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
        let output = "{\"yardstick\":90000}\n{\"tools\":10,\"import_per_s\":5,\"bytes_per_tool\":7,\"p50_ms\":0.1,\"p99_ms\":1,\"rss_mb\":9,\"peak_mb\":9}\n";
        let (yardstick, steps) = read(output).unwrap();
        assert_eq!((yardstick.yardstick, steps.len()), (90_000.0, 1));
        assert!(plot(&steps).contains("import, tools a second"));
        assert!(read("{\"yardstick\":1}\n{\"tools\":1}\n").is_err());
    }
}
