//! Measuring the classifier against labelled tools.
//!
//! Rows come from files that stay outside of the repository; the caller reads them. Nothing here changes
//! how tools are classified.

mod calibration;
mod metrics;
mod report;
mod rows;
mod run;

pub use calibration::{Band, Calibration};
pub use metrics::{Confusion, Interval, wilson_95};
pub use report::report;
pub(crate) use rows::tool_of_row;
pub use rows::{Labelled, RowFault, Truth, read_rows};
pub use run::{Demanded, Evaluation, Judged, evaluate};
