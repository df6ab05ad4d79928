//! Forcing values into arguments.

use portcullis_json::{Object, Value};

use crate::path::Step;
use crate::policy::Assignment;

/// The arguments with all assignments applied in order; or the path that could not be set.
pub(super) fn apply(assignments: &[Assignment], arguments: &Value) -> Result<Value, String> {
    let mut changed = arguments.clone();
    for assignment in assignments {
        let place = place(&mut changed, &assignment.path.steps).ok_or_else(|| assignment.path.to_string())?;
        *place = assignment.value.clone();
    }
    Ok(changed)
}

/// Where the steps lead; missing objects on the way are made, missing elements are not.
fn place<'v>(value: &'v mut Value, steps: &[Step]) -> Option<&'v mut Value> {
    let Some((step, rest)) = steps.split_first() else {
        return Some(value);
    };
    let next = match (step, value) {
        (Step::Key(key), Value::Object(object)) => {
            if !object.contains_key(key) {
                // What an index would step into is not made: it would have to be an array with such an element.
                if matches!(rest.first(), Some(Step::Index(_) | Step::Each)) {
                    return None;
                }
                object.insert(key, Value::Object(Object::new()));
            }
            object.get_mut(key)?
        }
        (Step::Index(index), Value::Array(elements)) => elements.get_mut(*index)?,
        _ => return None,
    };
    place(next, rest)
}
