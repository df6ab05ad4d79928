//! Figures: confusion, F1, intervals.

/// How often each truth was called what; rows are truths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confusion {
    labels: Vec<&'static str>,
    counts: Vec<Vec<usize>>,
}

impl Confusion {
    /// Nothing counted yet.
    pub fn new(labels: &[&'static str]) -> Confusion {
        Confusion { labels: labels.to_vec(), counts: vec![vec![0; labels.len()]; labels.len()] }
    }

    /// Counts one.
    pub fn add(&mut self, truth: usize, called: usize) {
        if let Some(cell) = self.counts.get_mut(truth).and_then(|row| row.get_mut(called)) {
            *cell += 1;
        }
    }

    /// The labels.
    pub fn labels(&self) -> &[&'static str] {
        &self.labels
    }

    /// How often `truth` was called `called`.
    pub fn count(&self, truth: usize, called: usize) -> usize {
        self.counts.get(truth).and_then(|row| row.get(called)).copied().unwrap_or_default()
    }

    /// All that was counted.
    pub fn total(&self) -> usize {
        self.counts.iter().flatten().sum()
    }

    /// The share that was called right.
    pub fn accuracy(&self) -> f64 {
        let right: usize = (0..self.labels.len()).map(|label| self.count(label, label)).sum();
        ratio(right, self.total())
    }

    /// F1 of one label; `None` where neither truth nor calls have it.
    pub fn f1(&self, label: usize) -> Option<f64> {
        let right = self.count(label, label);
        let truths: usize = (0..self.labels.len()).map(|other| self.count(label, other)).sum();
        let calls: usize = (0..self.labels.len()).map(|other| self.count(other, label)).sum();
        (truths + calls > 0).then(|| ratio(2 * right, truths + calls))
    }

    /// The mean F1 over the labels that occur.
    pub fn macro_f1(&self) -> f64 {
        let scores: Vec<f64> = (0..self.labels.len()).filter_map(|label| self.f1(label)).collect();
        scores.iter().sum::<f64>() / scores.len().max(1) as f64
    }
}

/// `part` of `whole`; nothing of nothing is nothing.
pub(crate) fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// A share with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The share.
    pub share: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The Wilson score interval.
pub fn wilson_95(part: usize, whole: usize) -> Interval {
    const Z: f64 = 1.959_964;
    if whole == 0 {
        return Interval { share: 0.0, low: 0.0, high: 1.0 };
    }
    let n = whole as f64;
    let share = part as f64 / n;
    let centre = share + Z * Z / (2.0 * n);
    let spread = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    Interval { share, low: ((centre - spread) / scale).max(0.0), high: ((centre + spread) / scale).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_small_matrix() {
        let mut confusion = Confusion::new(&["a", "b"]);
        for (truth, called) in [(0, 0), (0, 0), (0, 1), (1, 1)] {
            confusion.add(truth, called);
        }
        assert_eq!(confusion.accuracy(), 0.75);
        assert_eq!(confusion.f1(0), Some(0.8));
        assert!((confusion.macro_f1() - (0.8 + 2.0 / 3.0) / 2.0).abs() < 1e-12);
    }

    #[test]
    fn the_interval_holds_the_share() {
        let interval = wilson_95(5, 241);
        assert!(interval.low < interval.share && interval.share < interval.high);
        assert!((interval.high - 0.0476).abs() < 0.001, "{interval:?}");
        assert_eq!(wilson_95(0, 10).low, 0.0);
    }
}
