//! `portcullis log tail`.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use clap::Args;
use portcullis_state::log::{Begin, Follower};

use super::line::printed;
use crate::admin::{self, Missing};
use crate::exit::Code;
use crate::output::Output;
use crate::reached::{Reached, fail};

/// How often new records are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Records that can be asked for.
const RECORDS_MAX: usize = 100_000;

#[derive(Args, Debug)]
pub(crate) struct Tail {
    /// How many records to start with.
    #[arg(short = 'n', long, default_value_t = 20)]
    records: usize,
    /// Go on as new ones come, until interrupted.
    #[arg(short, long)]
    follow: bool,
    #[command(flatten)]
    reached: Reached,
}

impl Tail {
    pub(crate) fn run(self, output: &mut Output) -> io::Result<Code> {
        let directory = match admin::directory(&self.reached.data_dir, Missing::Refuse) {
            Ok(directory) => directory,
            Err(message) => return fail(output, &message),
        };
        let mut follower = match Follower::open(&directory.log(), Begin::Start) {
            Ok(follower) => follower,
            Err(error) => return fail(output, &format!("cannot read the log: {error}")),
        };
        let mut newest = VecDeque::new();
        loop {
            match follower.next_record() {
                Ok(Some(followed)) => newest.push_back(printed(&followed.record, self.reached.json)),
                Ok(None) => break,
                Err(error) => return fail(output, &broken(&error)),
            }
            if newest.len() > self.records.min(RECORDS_MAX) {
                newest.pop_front();
            }
        }
        newest.iter().try_for_each(|line| output.line(line))?;
        if self.follow { self.go_on(follower, output) } else { Ok(Code::Good) }
    }

    fn go_on(self, mut follower: Follower, output: &mut Output) -> io::Result<Code> {
        loop {
            match follower.next_record() {
                Ok(Some(followed)) => output.text(&(printed(&followed.record, self.reached.json) + "\n"))?,
                Ok(None) => std::thread::sleep(LOOK_EVERY),
                Err(error) => return fail(output, &broken(&error)),
            }
        }
    }
}

fn broken(error: &io::Error) -> String {
    format!("the log cannot be read on: {error}; run `portcullis log verify`")
}
