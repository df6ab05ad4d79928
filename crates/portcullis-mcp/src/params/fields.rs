//! Reading one field at a time, with a fault that names it.

use portcullis_json::{Object, Value};

use super::{NAME_BYTES_MAX, URI_BYTES_MAX};
use crate::{FieldFault, Id, Problem};

/// The members of one object, with the path it has in messages to the sender.
pub(crate) struct Fields<'a> {
    place: &'static str,
    object: Option<&'a Object>,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(place: &'static str, object: &'a Object) -> Fields<'a> {
        Fields { place, object: Some(object) }
    }

    /// Absent parameters are parameters without members.
    pub(crate) fn params(object: Option<&'a Object>) -> Fields<'a> {
        Fields { place: "params", object }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a Value> {
        self.object?.get(key)
    }

    pub(crate) fn fault(&self, key: &'static str, problem: Problem) -> FieldFault {
        FieldFault { place: self.place, key, problem }
    }

    fn read<T>(
        &self,
        key: &'static str,
        wanted: &'static str,
        take: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, FieldFault> {
        match self.get(key) {
            None => Ok(None),
            Some(value) => match take(value) {
                Some(taken) => Ok(Some(taken)),
                None => Err(self.fault(key, Problem::Not(wanted))),
            },
        }
    }

    fn require<T>(&self, key: &'static str, found: Option<T>) -> Result<T, FieldFault> {
        found.ok_or_else(|| self.fault(key, Problem::Missing))
    }

    pub(crate) fn string(&self, key: &'static str) -> Result<Option<&'a str>, FieldFault> {
        self.read(key, "a string", Value::as_str)
    }

    /// For what servers write: `null` counts as absent.
    pub(crate) fn nullable_string(&self, key: &'static str) -> Result<Option<&'a str>, FieldFault> {
        match self.get(key) {
            Some(Value::Null) => Ok(None),
            _ => self.string(key),
        }
    }

    pub(crate) fn require_string(&self, key: &'static str) -> Result<&'a str, FieldFault> {
        self.require(key, self.string(key)?)
    }

    pub(crate) fn bounded_string(
        &self,
        key: &'static str,
        bytes_max: usize,
    ) -> Result<Option<&'a str>, FieldFault> {
        match self.string(key)? {
            Some(text) if text.len() > bytes_max => Err(self.fault(key, Problem::LongerThan(bytes_max))),
            found => Ok(found),
        }
    }

    pub(crate) fn require_bounded(&self, key: &'static str, bytes_max: usize) -> Result<&'a str, FieldFault> {
        self.require(key, self.bounded_string(key, bytes_max)?)
    }

    pub(crate) fn name(&self) -> Result<&'a str, FieldFault> {
        self.require_bounded("name", NAME_BYTES_MAX)
    }

    pub(crate) fn uri(&self) -> Result<&'a str, FieldFault> {
        self.require_bounded("uri", URI_BYTES_MAX)
    }

    pub(crate) fn boolean(&self, key: &'static str) -> Result<Option<bool>, FieldFault> {
        self.read(key, "a boolean", Value::as_bool)
    }

    pub(crate) fn object(&self, key: &'static str) -> Result<Option<&'a Object>, FieldFault> {
        self.read(key, "an object", Value::as_object)
    }

    pub(crate) fn require_object(&self, key: &'static str) -> Result<&'a Object, FieldFault> {
        self.require(key, self.object(key)?)
    }

    pub(crate) fn id(&self, key: &'static str) -> Result<Option<Id>, FieldFault> {
        self.read(key, "a string or an integer", Id::from_value)
    }

    pub(crate) fn require_id(&self, key: &'static str) -> Result<Id, FieldFault> {
        self.require(key, self.id(key)?)
    }

    pub(crate) fn fields(
        &self,
        key: &'static str,
        place: &'static str,
    ) -> Result<Option<Fields<'a>>, FieldFault> {
        Ok(self.object(key)?.map(|object| Fields::new(place, object)))
    }

    pub(crate) fn require_fields(
        &self,
        key: &'static str,
        place: &'static str,
    ) -> Result<Fields<'a>, FieldFault> {
        self.require(key, self.fields(key, place)?)
    }

    /// An array of strings; absent is empty.
    pub(crate) fn strings(
        &self,
        key: &'static str,
        count_max: usize,
        bytes_max: usize,
    ) -> Result<Vec<&'a str>, FieldFault> {
        let elements = self.read(key, "an array of strings", Value::as_array)?;
        let elements = elements.unwrap_or_default();
        if elements.len() > count_max {
            return Err(self.fault(key, Problem::LongerThan(count_max)));
        }
        elements
            .iter()
            .map(|element| match element.as_str() {
                None => Err(self.fault(key, Problem::Not("an array of strings"))),
                Some(text) if text.len() > bytes_max => Err(self.fault(key, Problem::LongerThan(bytes_max))),
                Some(text) => Ok(text),
            })
            .collect()
    }
}
