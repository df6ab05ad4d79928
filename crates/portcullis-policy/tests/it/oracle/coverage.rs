//! Counts what a run of scenarios has reached, so that a generator that has lost its way is noticed.

use std::collections::BTreeMap;

pub(crate) struct Coverage {
    counted: Option<BTreeMap<String, u64>>,
}

impl Coverage {
    /// Counts nothing and costs nothing.
    pub(crate) fn off() -> Self {
        Self { counted: None }
    }

    pub(crate) fn on() -> Self {
        Self { counted: Some(BTreeMap::new()) }
    }

    pub(crate) fn note(&mut self, what: impl FnOnce() -> String) {
        if let Some(counted) = &mut self.counted {
            *counted.entry(what()).or_default() += 1;
        }
    }

    pub(crate) fn times(&self, what: &str) -> u64 {
        let counted = self.counted.as_ref();
        counted.and_then(|counted| counted.get(what)).copied().unwrap_or(0)
    }
}
