//! Lists in results: reading a page, and removing what a caller may not see.
//!
//! Removing keeps the order and everything else. An element that cannot be read cannot be judged, so it
//! never stays.

use portcullis_json::{Object, Value};

use crate::params::{CURSOR_BYTES_MAX, Fields, NAME_BYTES_MAX, TASK_ID_BYTES_MAX, URI_BYTES_MAX};
use crate::tool::ToolDefinition;
use crate::{FieldFault, Problem, Subject, keys};

/// One page of a list has at most this many elements.
pub const LIST_ELEMENTS_MAX: usize = 10_000;

/// What is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// `tools/list`
    Tools,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    ResourceTemplates,
    /// `prompts/list`
    Prompts,
    /// `tasks/list`, legacy only
    Tasks,
}

impl ListKind {
    /// The kind of list that answers a request about `subject`.
    pub fn of(subject: Subject) -> Option<ListKind> {
        match subject {
            Subject::ToolList => Some(ListKind::Tools),
            Subject::ResourceList => Some(ListKind::Resources),
            Subject::ResourceTemplateList => Some(ListKind::ResourceTemplates),
            Subject::PromptList => Some(ListKind::Prompts),
            Subject::TaskList => Some(ListKind::Tasks),
            _ => None,
        }
    }

    /// The key of the array in the result.
    pub fn key(self) -> &'static str {
        match self {
            ListKind::Tools => "tools",
            ListKind::Resources => "resources",
            ListKind::ResourceTemplates => "resourceTemplates",
            ListKind::Prompts => "prompts",
            ListKind::Tasks => "tasks",
        }
    }

    /// The key of an element that it is known by, and how long that may be.
    fn identity(self) -> (&'static str, usize) {
        match self {
            ListKind::Tools | ListKind::Prompts => ("name", NAME_BYTES_MAX),
            ListKind::Resources => ("uri", URI_BYTES_MAX),
            ListKind::ResourceTemplates => ("uriTemplate", URI_BYTES_MAX),
            ListKind::Tasks => ("taskId", TASK_ID_BYTES_MAX),
        }
    }

    fn is_clear(self, definition: &Object) -> bool {
        match self {
            ListKind::Tools => keys::tool_is_clear(definition),
            ListKind::Resources | ListKind::ResourceTemplates | ListKind::Prompts | ListKind::Tasks => {
                keys::listed_is_clear(definition)
            }
        }
    }
}

/// One element: what it is known by, and all of it.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'a> {
    /// Name, URI, URI template or task id.
    pub identity: &'a str,
    /// Everything, as it came.
    pub definition: &'a Object,
}

impl<'a> Listed<'a> {
    fn read(kind: ListKind, value: &'a Value) -> Option<Listed<'a>> {
        let definition = value.as_object()?;
        let (key, bytes_max) = kind.identity();
        let identity = definition.get(key)?.as_str()?;
        let fits = !identity.is_empty() && identity.len() <= bytes_max;
        (fits && kind.is_clear(definition)).then_some(Listed { identity, definition })
    }
}

/// One page of a server's list.
#[derive(Clone, Debug)]
pub struct Page<'a, T> {
    /// What could be read, in the server's order.
    pub elements: Vec<T>,
    /// How many elements could not.
    pub unreadable: usize,
    /// Where the next page starts.
    pub next_cursor: Option<&'a str>,
}

/// A page of `tools/list`.
pub fn read_tools(result: &Object) -> Result<Page<'_, ToolDefinition<'_>>, FieldFault> {
    read_page(result, ListKind::Tools, |value| ToolDefinition::read(value).ok())
}

/// A page of any list.
pub fn read_listed(result: &Object, kind: ListKind) -> Result<Page<'_, Listed<'_>>, FieldFault> {
    read_page(result, kind, |value| Listed::read(kind, value))
}

fn read_page<'a, T>(
    result: &'a Object,
    kind: ListKind,
    read: impl Fn(&'a Value) -> Option<T>,
) -> Result<Page<'a, T>, FieldFault> {
    let fields = Fields::new("result", result);
    let values = require_array(&fields, kind)?;
    let elements: Vec<T> = values.iter().filter_map(read).collect();
    Ok(Page { unreadable: values.len() - elements.len(), elements, next_cursor: read_cursor(&fields)? })
}

fn read_cursor<'a>(fields: &Fields<'a>) -> Result<Option<&'a str>, FieldFault> {
    match fields.nullable_string("nextCursor")? {
        Some(cursor) if cursor.len() > CURSOR_BYTES_MAX => {
            Err(fields.fault("nextCursor", Problem::LongerThan(CURSOR_BYTES_MAX)))
        }
        cursor => Ok(cursor),
    }
}

fn require_array<'a>(fields: &Fields<'a>, kind: ListKind) -> Result<&'a [Value], FieldFault> {
    match fields.get(kind.key()) {
        Some(Value::Array(values)) if values.len() > LIST_ELEMENTS_MAX => {
            Err(fields.fault(kind.key(), Problem::LongerThan(LIST_ELEMENTS_MAX)))
        }
        Some(Value::Array(values)) => Ok(values),
        Some(_) => Err(fields.fault(kind.key(), Problem::Not("an array"))),
        None => Err(fields.fault(kind.key(), Problem::Missing)),
    }
}

/// Removes from a result what `keep` does not keep, and what cannot be read. Says how many went.
pub fn filter(
    result: &mut Object,
    kind: ListKind,
    mut keep: impl FnMut(Listed<'_>) -> bool,
) -> Result<usize, FieldFault> {
    let before = require_array(&Fields::new("result", result), kind)?.len();
    let Some(Value::Array(values)) = result.get_mut(kind.key()) else {
        return Ok(0);
    };
    values.retain(|value| Listed::read(kind, value).is_some_and(&mut keep));
    Ok(before - values.len())
}
