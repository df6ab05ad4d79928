//! Verifying a log offline: from its directory, or from a copy of it, without the gateway.
//!
//! Every line is read and hashed; every record must continue the one before, every segment the one before
//! it, every checkpoint must be signed. The first place that does not hold is named. What it cannot see:
//! a tail cut behind the newest checkpoint that is at hand, and a rewrite by somebody who has the signing
//! key. Both show only against a checkpoint or a copy that is kept elsewhere.

use std::io;
use std::path::{Path, PathBuf};

use super::chain::{GENESIS, Hash, Position};
use super::checkpoint;
use super::segment::{Line, Lines, Segment, segments};
use super::stored::{NotARecord, Stored};
use crate::keys::PublicKey;

/// Records beyond the announced distance that may stand between two checkpoints: those that the log
/// writes while it recovers.
const CHECKPOINT_SLACK: u64 = 64;

/// What was verified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Records whose hash and place hold.
    pub records: u64,
    /// Segments.
    pub segments: u64,
    /// Checkpoints whose signature holds.
    pub checkpoints: u64,
    /// Checkpoints that were not checked, because there was no public key.
    pub checkpoints_unchecked: u64,
    /// The first record's number.
    pub from: u64,
    /// The last record's number.
    pub to: u64,
    /// The last record's hash: keep it elsewhere to notice a cut tail.
    pub last_hash: Option<Hash>,
    /// Records behind the last checkpoint: nothing signed covers them.
    pub unsigned_tail: u64,
    /// Repairs that the log records about itself.
    pub repairs: u64,
    /// What the `head` file said.
    pub head: Head,
}

/// What the newest kept checkpoint says about the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Head {
    /// There is no `head` file: a tail that was cut cannot be noticed.
    #[default]
    Absent,
    /// The log reaches at least to this record, as it should.
    Reached(u64),
}

/// The first place that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    /// The file.
    pub file: PathBuf,
    /// The line in it, from 1; 0 for the file as a whole.
    pub line: u64,
    /// The record's number, as far as it can be told.
    pub sequence: Option<u64>,
    /// What is wrong.
    pub what: Broken,
    /// What held before it.
    pub before: Verified,
}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each says it")]
pub enum Broken {
    #[error("{0}")]
    NotARecord(#[from] NotARecord),
    #[error("the last line is not complete: cut by a crash, which the next start repairs, or by hand")]
    Torn,
    #[error("records {expected} to {} are missing", .found - 1)]
    Missing { expected: u64, found: u64 },
    #[error("record {found} stands where {expected} should: inserted, repeated or moved")]
    OutOfPlace { expected: u64, found: u64 },
    #[error("the record before it was changed or replaced: its hash is not the one named here")]
    PreviousReplaced,
    #[error("the file is named after record {named} but starts with {found}")]
    WrongName { named: u64, found: u64 },
    #[error("the segment does not start with a segment record")]
    NoSegmentRecord,
    #[error("the segment belongs to another log")]
    OtherLog,
    #[error(
        "the records before {first} are missing, and no signed retention record says that they were retired"
    )]
    BeginningMissing { first: u64 },
    #[error("the checkpoint's signature does not hold for this log and key")]
    CheckpointForged,
    #[error("checkpoints are missing: one is due every {every} records")]
    CheckpointMissing { every: u64 },
    #[error("the segment was closed without a checkpoint")]
    UnsignedEnd,
    #[error("the end is missing: a checkpoint for record {head} was kept, the last record is {last}")]
    EndMissing { head: u64, last: u64 },
    #[error("record {head} is not the one that was signed")]
    HeadReplaced { head: u64 },
    #[error("the kept checkpoint is unreadable or forged")]
    HeadForged,
    #[error("there is no segment")]
    Empty,
}

/// A log could not be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyFault {
    /// A file could not be read.
    #[error("cannot read the log: {0}")]
    File(#[from] io::Error),
    /// It does not hold.
    #[error("`{}`, line {}: {}", .0.file.display(), .0.line, .0.what)]
    Broken(Box<Break>),
}

/// Verifies the log in `directory`. Without a key, checkpoints are counted but not checked.
pub fn verify(directory: &Path, key: Option<&PublicKey>) -> Result<Verified, VerifyFault> {
    verify_against(directory, key, &[])
}

/// The same, also against checkpoints that were kept elsewhere: copies of the `head` file.
pub fn verify_against(
    directory: &Path,
    key: Option<&PublicKey>,
    kept: &[PathBuf],
) -> Result<Verified, VerifyFault> {
    let mut verifier = Verifier::new(directory, key);
    verifier.read_heads(kept)?;
    let found = segments(directory)?;
    if found.is_empty() {
        return Err(verifier.broken(directory, 0, Broken::Empty));
    }
    for (index, segment) in found.iter().enumerate() {
        verifier.segment(segment, index + 1 == found.len())?;
    }
    verifier.beginning(found.first())?;
    verifier.end()?;
    Ok(verifier.so_far)
}

struct Verifier<'a> {
    directory: &'a Path,
    key: Option<&'a PublicKey>,
    so_far: Verified,
    last: Option<Position>,
    log_id: Option<String>,
    checkpoint_records: u64,
    /// What the first record names as its predecessor.
    first_previous: Hash,
    /// The newest retention record that a checkpoint vouches for: through which record, with which hash.
    retired: Option<(u64, Option<Hash>)>,
    /// The same, until a checkpoint follows. Anybody can write a record; only the gateway can sign.
    retired_unsigned: Option<(u64, Option<Hash>)>,
    heads: Vec<KeptHead>,
}

/// A checkpoint that was kept in a file, and whether the log has it.
struct KeptHead {
    path: PathBuf,
    record: Stored,
    found: bool,
}

impl<'a> Verifier<'a> {
    fn new(directory: &'a Path, key: Option<&'a PublicKey>) -> Verifier<'a> {
        Verifier {
            directory,
            key,
            so_far: Verified::default(),
            last: None,
            log_id: None,
            checkpoint_records: u64::MAX,
            first_previous: GENESIS,
            retired: None,
            retired_unsigned: None,
            heads: Vec::new(),
        }
    }

    fn broken(&self, file: &Path, line: u64, what: Broken) -> VerifyFault {
        let sequence = self.last.map(|last| last.sequence + 1);
        let (file, before) = (file.to_owned(), self.so_far.clone());
        VerifyFault::Broken(Box::new(Break { file, line, sequence, what, before }))
    }

    fn segment(&mut self, segment: &Segment, is_last: bool) -> Result<(), VerifyFault> {
        let mut lines = Lines::open(&segment.path, 0)?;
        let mut first = true;
        let mut number = 0;
        while let Some(line) = lines.next_line()? {
            number = line.number;
            let checked = self.line(segment, &line, first);
            checked.map_err(|what| self.broken(&segment.path, number, what))?;
            first = false;
        }
        if first {
            return Err(self.broken(&segment.path, 0, Broken::NoSegmentRecord));
        }
        if !is_last && self.so_far.unsigned_tail > 0 {
            return Err(self.broken(&segment.path, number, Broken::UnsignedEnd));
        }
        self.so_far.segments += 1;
        Ok(())
    }

    fn line(&mut self, segment: &Segment, line: &Line, first: bool) -> Result<(), Broken> {
        if !line.complete {
            return Err(Broken::Torn);
        }
        let record = Stored::read(&line.bytes)?;
        self.place(&record)?;
        if first {
            self.segment_record(segment, &record)?;
        }
        self.kind(&record)?;
        self.so_far.records += 1;
        self.so_far.to = record.position.sequence;
        self.so_far.last_hash = Some(record.position.hash);
        self.last = Some(record.position);
        Ok(())
    }

    /// The record must continue the one before.
    fn place(&mut self, record: &Stored) -> Result<(), Broken> {
        let found = record.position.sequence;
        let Some(last) = self.last else {
            self.so_far.from = found;
            self.first_previous = record.previous;
            return Ok(());
        };
        let expected = last.sequence + 1;
        if found > expected {
            return Err(Broken::Missing { expected, found });
        }
        if found < expected {
            return Err(Broken::OutOfPlace { expected, found });
        }
        if record.previous != last.hash {
            return Err(Broken::PreviousReplaced);
        }
        Ok(())
    }

    fn segment_record(&mut self, segment: &Segment, record: &Stored) -> Result<(), Broken> {
        let (named, found) = (segment.first, record.position.sequence);
        if named != found {
            return Err(Broken::WrongName { named, found });
        }
        if record.kind != "segment" {
            return Err(Broken::NoSegmentRecord);
        }
        let id = record.text("log").unwrap_or_default();
        if self.log_id.get_or_insert_with(|| id.to_owned()) != id {
            return Err(Broken::OtherLog);
        }
        self.checkpoint_records = record.number("checkpoint_records").unwrap_or(u64::MAX);
        Ok(())
    }

    fn kind(&mut self, record: &Stored) -> Result<(), Broken> {
        match record.kind.as_str() {
            checkpoint::KIND => self.checkpoint(record)?,
            other => {
                self.so_far.unsigned_tail += 1;
                self.so_far.repairs += u64::from(other == "repair");
                if other == "retention" {
                    let through = record.number("through").unwrap_or_default();
                    self.retired_unsigned = Some((through, record.hash("through_hash")));
                }
            }
        }
        let every = self.checkpoint_records;
        if self.so_far.unsigned_tail > every.saturating_add(CHECKPOINT_SLACK) {
            return Err(Broken::CheckpointMissing { every });
        }
        Ok(())
    }

    fn checkpoint(&mut self, record: &Stored) -> Result<(), Broken> {
        let log_id = self.log_id.as_deref().unwrap_or_default();
        match self.key {
            Some(key) if checkpoint::holds(record, key, log_id) => self.so_far.checkpoints += 1,
            Some(_) => return Err(Broken::CheckpointForged),
            None => self.so_far.checkpoints_unchecked += 1,
        }
        self.so_far.unsigned_tail = 0;
        self.retired = self.retired_unsigned.take().or(self.retired.take());
        for head in &mut self.heads {
            head.found |= head.record.position == record.position;
        }
        Ok(())
    }

    /// A log that does not begin with record 1 must say why.
    fn beginning(&self, first: Option<&Segment>) -> Result<(), VerifyFault> {
        let from = self.so_far.from;
        let explained = match self.retired {
            // A crash may have left segments that were already retired in the record.
            Some((through, hash)) => {
                through + 1 > from || (through + 1 == from && hash == Some(self.first_previous))
            }
            None => false,
        };
        let whole = from == 1 && self.first_previous == GENESIS;
        if whole || explained {
            return Ok(());
        }
        let file = first.map_or(self.directory, |segment| &segment.path);
        Err(self.broken(file, 1, Broken::BeginningMissing { first: from }))
    }

    /// The one beside the segments may be missing, the ones kept elsewhere may not.
    fn read_heads(&mut self, kept: &[PathBuf]) -> Result<(), VerifyFault> {
        let own = checkpoint::read_head(self.directory)?;
        let own = own.map(|record| (checkpoint::head_path(self.directory), record));
        let kept = kept.iter().map(|path| Ok((path.clone(), checkpoint::read_kept(path)?)));
        for (path, record) in kept.collect::<io::Result<Vec<_>>>()?.into_iter().chain(own) {
            let record = record.map_err(|_| self.broken(&path, 1, Broken::HeadForged))?;
            self.heads.push(KeptHead { path, record, found: false });
        }
        Ok(())
    }

    /// Every kept checkpoint must be in the log.
    fn end(&mut self) -> Result<(), VerifyFault> {
        for head in &self.heads {
            self.reaches(head).map_err(|what| self.broken(&head.path, 1, what))?;
        }
        if let Some(reached) = self.heads.iter().map(|head| head.record.position.sequence).max() {
            self.so_far.head = Head::Reached(reached);
        }
        Ok(())
    }

    fn reaches(&self, head: &KeptHead) -> Result<(), Broken> {
        let log_id = self.log_id.as_deref().unwrap_or_default();
        if self.key.is_some_and(|key| !checkpoint::holds(&head.record, key, log_id)) {
            return Err(Broken::HeadForged);
        }
        let (sequence, last) = (head.record.position.sequence, self.so_far.to);
        if sequence > last {
            return Err(Broken::EndMissing { head: sequence, last });
        }
        // One from before the beginning is about records that were retired.
        if !head.found && sequence >= self.so_far.from {
            return Err(Broken::HeadReplaced { head: sequence });
        }
        Ok(())
    }
}
