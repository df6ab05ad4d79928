//! Small line plots as SVG: panels side by side, one line or two in each, the wanted value dashed.
//!
//! Readable on a light and on a dark page; no script, no font that has to be loaded.

use std::fmt::Write as _;

/// One line of a panel.
pub(super) struct Line {
    pub(super) name: &'static str,
    pub(super) points: Vec<(f64, f64)>,
}

/// One panel.
pub(super) struct Panel {
    pub(super) title: &'static str,
    /// Where the dashed line is.
    pub(super) wanted: f64,
    pub(super) lines: Vec<Line>,
}

const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 60.0;
const TOP: f64 = 34.0;
const RIGHT: f64 = 44.0;
const BOTTOM: f64 = 40.0;
const COLUMNS: usize = 2;
const COLOURS: [&str; 2] = ["#2a78d6", "#d1721f"];

/// The panels, two in a row, over a common horizontal axis.
pub(super) fn svg(axis: &str, panels: &[Panel]) -> String {
    let (width, height) = (WIDTH * COLUMNS as f64, HEIGHT * panels.len().div_ceil(COLUMNS) as f64);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"11\" fill=\"#777\">\n"
    );
    for (at, panel) in panels.iter().enumerate() {
        let (x, y) = ((at % COLUMNS) as f64 * WIDTH, (at / COLUMNS) as f64 * HEIGHT);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "<g transform=\"translate({x} {y})\">");
        let _ = draw(&mut out, axis, panel);
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

fn draw(out: &mut String, axis: &str, panel: &Panel) -> std::fmt::Result {
    let points = || panel.lines.iter().flat_map(|line| line.points.iter());
    let scale = Scale {
        x_max: points().map(|point| point.0).fold(1.0, f64::max),
        y_max: points().map(|point| point.1).fold(panel.wanted, f64::max) * 1.1,
    };
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    writeln!(
        out,
        "<text x=\"{LEFT}\" y=\"18\" font-size=\"13\" font-weight=\"bold\">{}</text>",
        panel.title
    )?;
    writeln!(out, "<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"#999\"/>")?;
    writeln!(
        out,
        "<text x=\"{right}\" y=\"{}\" text-anchor=\"end\">{axis}: {}</text>",
        bottom + 16.0,
        short(scale.x_max)
    )?;
    let wanted = scale.y(panel.wanted);
    writeln!(out, "<path d=\"M{LEFT} {wanted:.1}H{right}\" stroke=\"#999\" stroke-dasharray=\"4 3\"/>")?;
    writeln!(
        out,
        "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
        LEFT - 5.0,
        wanted + 4.0,
        short(panel.wanted)
    )?;
    for (line, colour) in panel.lines.iter().zip(COLOURS) {
        draw_line(out, line, colour, &scale)?;
    }
    Ok(())
}

fn draw_line(out: &mut String, line: &Line, colour: &str, scale: &Scale) -> std::fmt::Result {
    let places = line.points.iter().map(|(x, y)| format!("{:.1},{:.1}", scale.x(*x), scale.y(*y)));
    let places: Vec<String> = places.collect();
    writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
        places.join(" ")
    )?;
    let Some((x, y)) = line.points.last() else { return Ok(()) };
    let (x, y) = (scale.x(*x) + 4.0, scale.y(*y) + 4.0);
    writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{colour}\">{}</text>", line.name)
}

struct Scale {
    x_max: f64,
    y_max: f64,
}

impl Scale {
    fn x(&self, value: f64) -> f64 {
        LEFT + value / self.x_max * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - value / self.y_max * (HEIGHT - TOP - BOTTOM)
    }
}

/// `20000` as `20k`.
fn short(value: f64) -> String {
    if value >= 10_000.0 { format!("{:.0}k", value / 1000.0) } else { format!("{value}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_lie_between_the_axes_and_larger_is_higher() {
        let lines = vec![Line { name: "a", points: vec![(0.0, 0.0), (50.0, 10.0), (100.0, 40.0)] }];
        let drawn = svg("x", &[Panel { title: "t", wanted: 20.0, lines }]);
        let places = drawn.split_once("points=\"").unwrap().1.split_once('"').unwrap().0;
        let heights: Vec<f64> =
            places.split(' ').map(|place| place.split_once(',').unwrap().1.parse().unwrap()).collect();
        assert_eq!(heights[0], HEIGHT - BOTTOM);
        assert!(heights[0] > heights[1] && heights[1] > heights[2] && heights[2] >= TOP, "{heights:?}");
        assert_eq!(short(500_000.0), "500k");
    }
}
