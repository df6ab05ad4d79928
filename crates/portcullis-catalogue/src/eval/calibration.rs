//! Is a confidence of 0.9 right nine times out of ten? Checked on servers that were left out.

use std::collections::BTreeSet;

use super::metrics::ratio;

/// Lower ends of the bands, in hundredths; the last band is open.
const BANDS: &[u32] = &[50, 60, 70, 80, 85, 90, 95];

/// One judged tool, as the calibration sees it.
#[derive(Clone, Debug)]
pub(crate) struct Point<'a> {
    pub(crate) server: &'a str,
    pub(crate) confidence: f64,
    pub(crate) right: bool,
}

/// One band of confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// Lower end.
    pub from: f64,
    /// Tools in it.
    pub count: usize,
    /// Mean confidence as stated.
    pub stated: f64,
    /// Share that was right.
    pub right: f64,
    /// What the other servers would have foretold for these tools, each server left out in turn.
    pub foretold: f64,
}

/// The table.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The bands that hold tools.
    pub bands: Vec<Band>,
    /// Mean distance between what was foretold (server left out) and what was right, weighted.
    pub error_left_out: f64,
    /// The same with the stated confidence.
    pub error_stated: f64,
}

pub(crate) fn calibrate(points: &[Point<'_>]) -> Calibration {
    let foretold: Vec<f64> = points.iter().map(|point| foretell(points, point)).collect();
    let bands: Vec<Band> = (0..BANDS.len()).filter_map(|band| summarize(points, &foretold, band)).collect();
    let total = points.len().max(1) as f64;
    let weigh = |distance: fn(&Band) -> f64| {
        bands.iter().map(|band| distance(band).abs() * band.count as f64).sum::<f64>() / total
    };
    Calibration {
        error_left_out: weigh(|band| band.foretold - band.right),
        error_stated: weigh(|band| band.stated - band.right),
        bands,
    }
}

fn band_of(confidence: f64) -> usize {
    let hundredths = (confidence * 100.0).round() as u32;
    BANDS.iter().rposition(|from| hundredths >= *from).unwrap_or(0)
}

/// The share of right ones in this band over all other servers, smoothed towards the stated value.
fn foretell(points: &[Point<'_>], wanted: &Point<'_>) -> f64 {
    let band = band_of(wanted.confidence);
    let others =
        points.iter().filter(|point| point.server != wanted.server && band_of(point.confidence) == band);
    let (mut right, mut count) = (0, 0);
    for point in others {
        count += 1;
        right += usize::from(point.right);
    }
    const PRIOR: f64 = 4.0;
    (right as f64 + PRIOR * wanted.confidence) / (count as f64 + PRIOR)
}

fn summarize(points: &[Point<'_>], foretold: &[f64], band: usize) -> Option<Band> {
    let inside: Vec<(&Point<'_>, f64)> = points
        .iter()
        .zip(foretold.iter().copied())
        .filter(|(point, _)| band_of(point.confidence) == band)
        .collect();
    if inside.is_empty() {
        return None;
    }
    let count = inside.len();
    let mean = |value: fn(&(&Point<'_>, f64)) -> f64| inside.iter().map(value).sum::<f64>() / count as f64;
    Some(Band {
        from: f64::from(BANDS.get(band).copied().unwrap_or_default()) / 100.0,
        count,
        stated: mean(|(point, _)| point.confidence),
        right: ratio(inside.iter().filter(|(point, _)| point.right).count(), count),
        foretold: mean(|(_, foretold)| *foretold),
    })
}

/// How many servers there are.
pub(crate) fn servers(points: &[Point<'_>]) -> usize {
    points.iter().map(|point| point.server).collect::<BTreeSet<_>>().len()
}
