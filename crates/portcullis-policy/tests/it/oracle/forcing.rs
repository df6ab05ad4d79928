//! `set`: values forced into the arguments before they are judged.

use super::paths::{Path, Step};
use super::value::Val;

/// The arguments with all values set, in the order they are written; none if one cannot be.
pub(crate) fn forced(arguments: &Val, set: &[(Path, Val)]) -> Option<Val> {
    let mut result = arguments.clone();
    for (path, value) in set {
        result = with(&result, &path.steps, value)?;
    }
    Some(result)
}

/// A copy of the value in which what the steps lead to is replaced.
fn with(value: &Val, steps: &[Step], forced: &Val) -> Option<Val> {
    let Some((step, rest)) = steps.split_first() else {
        return Some(forced.clone());
    };
    match (step, value) {
        (Step::Key(key) | Step::Quoted(key), Val::Obj(members)) => {
            let mut members = members.clone();
            if members.iter().all(|(k, _)| k != key) {
                members.push((key.clone(), Val::Obj(Vec::new())));
            }
            let (_, member) = members.iter_mut().find(|(k, _)| k == key)?;
            *member = with(member, rest, forced)?;
            Some(Val::Obj(members))
        }
        (Step::Index(index), Val::Arr(elements)) => {
            let mut elements = elements.clone();
            let element = elements.get_mut(*index)?;
            *element = with(element, rest, forced)?;
            Some(Val::Arr(elements))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::print::compact;
    use crate::oracle::value::read;

    fn check(arguments: &str, path: &str, expected: Option<&str>) {
        let result = forced(&read(arguments), &[(Path::read(path), Val::num("7"))]);
        assert_eq!(result.as_ref().map(compact).as_deref(), expected, "{path}");
    }

    #[test]
    fn missing_parents_are_created_and_others_deny() {
        check("{}", "args.a.b", Some(r#"{"a":{"b":7}}"#));
        check(r#"{"a":1,"b":2}"#, "args.a", Some(r#"{"a":7,"b":2}"#));
        check(r#"{"a":null}"#, "args.a.b", None);
        check(r#"{"a":[1]}"#, "args.a[0]", Some(r#"{"a":[7]}"#));
        check(r#"{"a":[1]}"#, "args.a[1]", None);
        check(r#"{"a":[{}]}"#, "args.a[0].x.y", Some(r#"{"a":[{"x":{"y":7}}]}"#));
        check("{}", "args.a[0]", None);
        check(r#"{"a":{}}"#, "args.a[0]", None);
    }

    #[test]
    fn one_failure_and_none_is_applied() {
        let set = [(Path::read("args.a"), Val::num("1")), (Path::read("args.a.b"), Val::num("2"))];
        assert!(forced(&read("{}"), &set).is_none());
    }
}
