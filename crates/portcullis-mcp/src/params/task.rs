//! Parameters that name a task. Who owns the task is the gateway's to know.

use portcullis_json::Object;

use super::{Fields, TASK_ID_BYTES_MAX};
use crate::FieldFault;

/// The task that a request or notification is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaskId<'a>(pub &'a str);

impl<'a> TaskId<'a> {
    /// From the parameters of a request or notification about a task.
    pub fn read(params: Option<&'a Object>) -> Result<TaskId<'a>, FieldFault> {
        Fields::params(params).require_bounded("taskId", TASK_ID_BYTES_MAX).map(TaskId)
    }

    /// From an object that describes the task itself.
    pub(crate) fn of(place: &'static str, task: &'a Object) -> Result<TaskId<'a>, FieldFault> {
        Fields::new(place, task).require_bounded("taskId", TASK_ID_BYTES_MAX).map(TaskId)
    }
}
