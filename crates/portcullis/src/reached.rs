//! What commands about the store share: where it is, and how the answer is shown.

use std::io;
use std::path::PathBuf;

use clap::Args;
use portcullis_catalogue::{inert, inert_json};
use portcullis_json::{Object, Value, pretty};

use crate::admin::{self, Missing};
use crate::config;
use crate::exit::Code;
use crate::output::Output;

/// Where the store is, and for whom to print.
#[derive(Args, Clone, Debug)]
pub(crate) struct Reached {
    /// The data directory; a gateway that runs on it is asked, otherwise it is opened.
    #[arg(long, value_name = "DIR", default_value = config::DATA_DIR)]
    pub(crate) data_dir: PathBuf,
    /// For programs.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Reached {
    /// Runs a command and prints its answer; `show` makes the lines for people.
    pub(crate) fn run(
        &self,
        output: &mut Output,
        missing: Missing,
        command: &str,
        arguments: Object,
        show: impl FnOnce(&Value) -> Vec<String>,
    ) -> io::Result<Code> {
        match admin::request(&self.data_dir, missing, command, arguments) {
            Ok(answer) if self.json => output.line(&inert_json(&pretty(&answer))).map(|()| Code::Good),
            Ok(answer) => {
                // Names come from servers and other people: a terminal must not obey them.
                show(&answer).iter().try_for_each(|line| output.line(&inert(line)))?;
                Ok(Code::Good)
            }
            Err(message) => fail(output, &message),
        }
    }
}

/// Says what went wrong.
pub(crate) fn fail(output: &mut Output, message: &str) -> io::Result<Code> {
    output.error(message)?;
    Ok(Code::Failed)
}

/// A field of an answer as text; `-` where there is nothing.
pub(crate) fn field(value: &Value, key: &str) -> String {
    match value.get(key) {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(list)) if list.is_empty() => "-".to_owned(),
        Some(Value::Array(list)) => {
            list.iter().map(|value| value.as_str().unwrap_or_default()).collect::<Vec<_>>().join(", ")
        }
        Some(other) => other.to_string(),
    }
}

/// A table for people: columns as wide as their widest cell.
pub(crate) fn table(heads: &[&str], rows: &[Vec<String>]) -> Vec<String> {
    let all: Vec<Vec<String>> =
        std::iter::once(heads.iter().map(|head| (*head).to_owned()).collect()).chain(rows.to_vec()).collect();
    let width = |column: usize| {
        all.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    all.iter().map(line).collect()
}

/// The elements of a list in an answer.
pub(crate) fn list<'a>(answer: &'a Value, key: &str) -> &'a [Value] {
    answer.get(key).and_then(Value::as_array).unwrap_or_default()
}

/// `NAME=VALUE`, for options.
pub(crate) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as `NAME=VALUE`".to_owned()),
    }
}

/// Seconds in `90`, `90s`, `15m`, `36h` or `7d`.
pub(crate) fn seconds(text: &str) -> Result<u64, String> {
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h', 'd']) {
        Some(number) => (number, text.chars().last().unwrap_or('s')),
        None => (text, 's'),
    };
    let factor = match unit {
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => 1,
    };
    let number: Option<u64> = number.parse().ok();
    let seconds = number.and_then(|number| number.checked_mul(factor));
    seconds.ok_or_else(|| "write a time as `90s`, `15m`, `36h` or `7d`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn times_have_units() {
        for (text, expected) in [("90", 90), ("90s", 90), ("15m", 900), ("36h", 129_600), ("7d", 604_800)] {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        assert!(seconds("soon").is_err() && seconds("-1m").is_err() && seconds("").is_err());
    }
}
