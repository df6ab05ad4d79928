//! Parameters of notifications that name a request.

use portcullis_json::{Number, Object, Value};

use super::Fields;
use crate::{FieldFault, Id, Problem};

/// `notifications/cancelled`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cancelled<'a> {
    /// The request to stop, by the sender's id.
    pub request_id: Id,
    /// Why, in words.
    pub reason: Option<&'a str>,
}

impl<'a> Cancelled<'a> {
    /// From the parameters of `notifications/cancelled`.
    pub fn read(params: Option<&'a Object>) -> Result<Cancelled<'a>, FieldFault> {
        let fields = Fields::params(params);
        Ok(Cancelled { request_id: fields.require_id("requestId")?, reason: fields.string("reason")? })
    }
}

/// `notifications/progress`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The token of the request that moves on.
    pub token: Id,
    /// How far it is.
    pub progress: Number,
}

impl Progress {
    /// From the parameters of `notifications/progress`.
    pub fn read(params: Option<&Object>) -> Result<Progress, FieldFault> {
        let fields = Fields::params(params);
        let progress = match fields.get("progress") {
            Some(Value::Number(number)) => number.clone(),
            Some(_) => return Err(fields.fault("progress", Problem::Not("a number"))),
            None => return Err(fields.fault("progress", Problem::Missing)),
        };
        Ok(Progress { token: fields.require_id("progressToken")?, progress })
    }
}
