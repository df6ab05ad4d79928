//! What was charged since the counters' snapshot, from the log.
//!
//! Called once at start, after the log was opened and its tail repaired. It says how far back the result
//! can be trusted: a limit whose window reaches further must deny. Plain data: the counters themselves
//! live with the policies.

use std::io;
use std::path::Path;

use jiff::Timestamp;

use super::chain::Position;
use super::follow::{Begin, Follower};
use super::open::DAMAGE_ACCEPTED;
use super::record::Charge;
use super::stored::Stored;
use crate::snapshot::{self, Snapshot, SnapshotFault};

/// How far back snapshot and log together reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// To the very first record.
    Complete,
    /// To this time; what was charged before is not known.
    Since {
        /// The oldest record that is left, or the start that found records missing.
        time: Timestamp,
        /// Why not further.
        why: String,
    },
}

/// Whether charges were taken or given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Movement {
    /// An admitted call charged them.
    Charged,
    /// The call of this decision never left.
    GivenBack {
        /// The decision's sequence number.
        decision: u64,
    },
    /// Damage was accepted: what was charged before is not all known.
    Forgotten,
}

/// One record that moved counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Its number.
    pub sequence: u64,
    /// Its time: the one that the charge counts from.
    pub time: Timestamp,
    /// Taken or given back.
    pub movement: Movement,
    /// What.
    pub charges: Vec<Charge>,
}

const TO_DO: &str = "; run `portcullis log verify` to see where it is damaged, then restore the directory from a \
    copy, or start once with `--accept-log-damage`: then limits deny until their windows have passed";

/// The log could not be replayed: the counters are not known, and every limit must deny.
#[derive(Debug, thiserror::Error)]
pub enum ReplayFault {
    /// A file could not be read, or the chain is broken.
    #[error("cannot replay the decision log: {0}{to_do}", to_do = TO_DO)]
    Log(#[from] io::Error),
    /// The log ends before its last record.
    #[error("cannot replay the decision log: it ends at record {reached}, not at {end}{to_do}", to_do = TO_DO)]
    Incomplete {
        /// The last record that was read.
        reached: u64,
        /// The last record of the log.
        end: u64,
    },
    /// A record whose charges cannot be read.
    #[error("cannot replay the decision log: the charges of record {0} are unreadable{to_do}", to_do = TO_DO)]
    Charges(u64),
}

/// The records behind a snapshot, oldest first.
pub struct Replay {
    follower: Follower,
    latest: Option<Timestamp>,
    damaged: Option<Timestamp>,
    held: Option<Stored>,
    reached: u64,
    /// The last record that there must be.
    end: u64,
}

/// Starts a replay of the log in `directory` up to record `end`, from the snapshot beside it where that
/// fits.
pub(crate) fn replay(
    directory: &Path,
    end: u64,
    now: Timestamp,
) -> Result<(Option<Snapshot>, Coverage, Replay), ReplayFault> {
    let mut ahead = None;
    let mut why = "there is no counters' snapshot".to_owned();
    match snapshot::read(&snapshot::path_beside(directory)) {
        Ok(Some(snapshot)) => match behind(directory, &snapshot.position, end)? {
            Some(replay) => return Ok((Some(snapshot), Coverage::Complete, replay)),
            None => {
                why = "the counters' snapshot does not belong to this log".to_owned();
                ahead = Some(snapshot.position.sequence);
            }
        },
        Ok(None) => {}
        Err(SnapshotFault::File(error)) => return Err(error.into()),
        Err(fault) => why = fault.to_string(),
    }
    let replay = Replay::open(directory, Begin::Start, end)?;
    let first = replay.held.as_ref().map(|first| (first.position.sequence, first.time));
    let coverage = match (first, ahead) {
        // It holds charges of records that this log does not have: nobody knows which.
        (Some((first, _)), Some(ahead)) if ahead + 1 >= first => Coverage::Since { time: now, why },
        (Some((first, time)), _) if first > 1 => Coverage::Since { time, why },
        _ => Coverage::Complete,
    };
    Ok((None, coverage, replay))
}

/// The replay behind `position`, if the log continues it.
fn behind(directory: &Path, position: &Position, end: u64) -> io::Result<Option<Replay>> {
    let before = position.sequence.saturating_sub(1);
    let mut replay = Replay::open(directory, Begin::After(before), end)?;
    let Some(first) = replay.held.take() else {
        return Ok(None);
    };
    if first.position == *position {
        return Ok(Some(replay));
    }
    // Everything up to the snapshot may have been retired.
    let continues = first.position.sequence == position.sequence + 1 && first.previous == position.hash;
    replay.held = Some(first);
    Ok(continues.then_some(replay))
}

impl Replay {
    fn open(directory: &Path, from: Begin, end: u64) -> io::Result<Replay> {
        let mut follower = Follower::open(directory, from)?;
        let held = follower.next_record()?.map(|followed| followed.record);
        let latest = held.as_ref().map(|first| first.time);
        let reached = held.as_ref().map_or(0, |first| first.position.sequence);
        Ok(Replay { follower, latest, damaged: None, held, reached, end })
    }

    /// The latest time of any record seen so far: limits never use an earlier one.
    pub fn latest_time(&self) -> Option<Timestamp> {
        self.latest
    }

    /// The last time, among the records seen so far, that damage was accepted: what was charged before is
    /// not all known.
    pub fn damaged(&self) -> Option<Timestamp> {
        self.damaged
    }

    fn next_moved(&mut self) -> Result<Option<Replayed>, ReplayFault> {
        loop {
            let record = match self.held.take() {
                Some(record) => record,
                None => match self.follower.next_record()? {
                    Some(followed) => followed.record,
                    None => return self.check_end(),
                },
            };
            self.reached = record.position.sequence;
            self.latest = self.latest.max(Some(record.time));
            if record.kind == "repair" && record.text("action") == Some(DAMAGE_ACCEPTED) {
                self.damaged = self.damaged.max(Some(record.time));
            }
            let moved = moved(&record).ok_or(ReplayFault::Charges(record.position.sequence))?;
            if !moved.charges.is_empty() {
                return Ok(Some(moved));
            }
        }
    }
}

impl Replay {
    /// INVARIANT (limits never exceed): a log that ends early must not look like one with fewer charges.
    fn check_end(&mut self) -> Result<Option<Replayed>, ReplayFault> {
        let (reached, end) = (self.reached, self.end);
        if reached >= end {
            return Ok(None);
        }
        // Said once; then the iterator is at its end.
        self.end = reached;
        Err(ReplayFault::Incomplete { reached, end })
    }
}

/// What a record moved; nothing if that cannot be read.
pub(crate) fn moved(record: &Stored) -> Option<Replayed> {
    let (movement, charges) = match record.kind.as_str() {
        "decision" => (Movement::Charged, record.charges("charges")?),
        "outcome" => {
            let decision = record.number("decision")?;
            (Movement::GivenBack { decision }, record.charges("given_back")?)
        }
        "repair" if record.text("action") == Some(DAMAGE_ACCEPTED) => (Movement::Forgotten, Vec::new()),
        _ => (Movement::Charged, Vec::new()),
    };
    Some(Replayed { sequence: record.position.sequence, time: record.time, movement, charges })
}

impl Iterator for Replay {
    type Item = Result<Replayed, ReplayFault>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_moved().transpose()
    }
}
