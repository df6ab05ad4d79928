//! Which cores a measurement runs on.
//!
//! On one core a call costs what the programs do. On several a virtual machine adds the waking of a core that
//! went to sleep, which is the machine's and often takes longer than all the programs together.

use anyhow::{Context as _, Result};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The cores that this process had at first.
pub(super) struct Cores {
    all: CpuSet,
}

impl Cores {
    pub(super) fn of_this_process() -> Result<Cores> {
        Ok(Cores { all: sched_getaffinity(None)? })
    }

    /// Keeps this process, and what it starts from now on, on the last of them: the first has the interrupts.
    pub(super) fn keep_to_one(&self) -> Result<()> {
        let last = (0..CpuSet::MAX_CPU).rev().find(|core| self.all.is_set(*core)).context("no core")?;
        let mut one = CpuSet::new();
        one.set(last);
        Ok(sched_setaffinity(None, &one)?)
    }

    /// Lets this process, and what it starts from now on, run on all of them.
    pub(super) fn use_all(&self) -> Result<()> {
        Ok(sched_setaffinity(None, &self.all)?)
    }
}
