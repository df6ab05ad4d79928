//! What checking against a schema can cost at worst, so that it can be refused before it is tried.
//!
//! Tool schemas come from servers and arguments from agents; neither may keep the other busy. References
//! are followed as the validator would follow them, without a value at hand.

use std::collections::HashMap;

use portcullis_json::Value;

/// A schema that is larger than this when its references are written out is refused.
const EXPANDED_NODES_MAX: u64 = 20_000;
/// So many references are followed to find out what a schema costs.
const FOLLOWED_MAX: u32 = 20_000;
/// More patterns than this in one schema are refused.
const PATTERNS_MAX: usize = 200;
/// Steps that checking may take, as far as they can be foreseen.
const STEPS_MAX: u64 = 100_000_000;
/// Recursion that branches may unfold to so many paths, when only the answer is wanted…
const PATHS_MAX: f64 = 1_048_576.0;
/// … and when every branch is looked at.
const PATHS_IN_FULL_MAX: f64 = 4_096.0;

/// The foreseeable cost of one schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    expanded_nodes: u64,
    /// Into how many branches each level of recursion can split; 1 or less: none.
    branching: f64,
}

impl Cost {
    /// The cost, or why the schema is refused.
    pub(super) fn of(schema: &Value) -> Result<Cost, String> {
        if count_patterns(schema) > PATTERNS_MAX {
            return Err(format!("a JSON Schema may have at most {PATTERNS_MAX} patterns"));
        }
        let mut survey =
            Survey { root: schema, targets: HashMap::new(), open: Vec::new(), branching: 0.0, followed: 0 };
        let expanded_nodes = survey.expand(schema)?;
        if expanded_nodes > EXPANDED_NODES_MAX {
            return Err(format!(
                "a JSON Schema may have at most {EXPANDED_NODES_MAX} parts when its references are written out"
            ));
        }
        Ok(Cost { expanded_nodes, branching: survey.branching })
    }

    /// Whether checking this value stays within bounds.
    pub(super) fn is_bearable(&self, value: &Value) -> bool {
        self.within(value, PATHS_MAX)
    }

    /// Whether looking at every branch does, too.
    pub(super) fn is_bearable_in_full(&self, value: &Value) -> bool {
        self.within(value, PATHS_IN_FULL_MAX)
    }

    fn within(&self, value: &Value, paths_max: f64) -> bool {
        let (nodes, depth) = extent(value);
        let steps = self.expanded_nodes.saturating_mul(nodes);
        steps <= STEPS_MAX && (self.branching <= 1.0 || self.branching.powf(depth) <= paths_max)
    }
}

/// How many values there are, and how deep they are nested.
fn extent(value: &Value) -> (u64, f64) {
    let below = |values: &mut dyn Iterator<Item = &Value>| {
        values.map(extent).fold((1, 0.0), |(nodes, depth): (u64, f64), (more, deep)| {
            (nodes.saturating_add(more), depth.max(deep + 1.0))
        })
    };
    match value {
        Value::Array(elements) => below(&mut elements.iter()),
        Value::Object(object) => below(&mut object.iter().map(|member| &member.value)),
        _ => (1, 0.0),
    }
}

fn count_patterns(schema: &Value) -> usize {
    match schema {
        Value::Array(elements) => elements.iter().map(count_patterns).sum(),
        Value::Object(object) => object
            .iter()
            .map(|member| match (member.key.as_str(), &member.value) {
                ("pattern", Value::String(_)) => 1,
                ("patternProperties", Value::Object(patterns)) => {
                    patterns.len() + count_patterns(&member.value)
                }
                (_, value) => count_patterns(value),
            })
            .sum(),
        _ => 0,
    }
}

/// A walk over a schema along its references.
struct Survey<'a> {
    root: &'a Value,
    /// What each target of a reference comes to, once it is known.
    targets: HashMap<String, u64>,
    /// The targets that the walk is inside of, with how many references lead back into them.
    open: Vec<(String, f64)>,
    branching: f64,
    followed: u32,
}

impl<'a> Survey<'a> {
    fn expand(&mut self, schema: &'a Value) -> Result<u64, String> {
        let mut nodes = 1_u64;
        match schema {
            Value::Array(elements) => {
                for element in elements {
                    nodes = nodes.saturating_add(self.expand(element)?);
                }
            }
            Value::Object(object) => {
                for member in object {
                    let more = match (member.key.as_str(), &member.value) {
                        ("$ref", Value::String(reference)) => self.follow(reference)?,
                        ("$dynamicRef" | "$recursiveRef", Value::String(_)) => {
                            return Err("`$dynamicRef` and `$recursiveRef` are not followed".to_owned());
                        }
                        // What is only defined costs where it is referred to.
                        ("$defs" | "definitions", _) => 1,
                        (_, value) => self.expand(value)?,
                    };
                    nodes = nodes.saturating_add(more);
                }
            }
            _ => {}
        }
        Ok(nodes)
    }

    fn follow(&mut self, reference: &str) -> Result<u64, String> {
        self.followed += 1;
        if self.followed > FOLLOWED_MAX {
            return Err("the references of the JSON Schema are too entangled to be followed".to_owned());
        }
        let Some(pointer) =
            reference.strip_prefix('#').filter(|rest| rest.is_empty() || rest.starts_with('/'))
        else {
            return Err(format!(
                "the reference `{reference}` is not followed; only those that start with `#/` are"
            ));
        };
        if let Some(position) = self.open.iter().position(|(open, _)| open == pointer) {
            self.note_return(position);
            return Ok(1);
        }
        if let Some(nodes) = self.targets.get(pointer) {
            return Ok(*nodes);
        }
        let target =
            find(self.root, pointer).ok_or_else(|| format!("the reference `{reference}` leads nowhere"))?;
        self.open.push((pointer.to_owned(), 0.0));
        let nodes = self.expand(target);
        self.open.pop();
        let nodes = nodes?;
        // A target inside a circle is walked again wherever it is met, so that every way round is counted.
        if self.open.iter().all(|(_, returns)| *returns == 0.0) {
            self.targets.insert(pointer.to_owned(), nodes);
        }
        if nodes > EXPANDED_NODES_MAX {
            return Err(format!(
                "a JSON Schema may have at most {EXPANDED_NODES_MAX} parts when its references are written out"
            ));
        }
        Ok(nodes)
    }

    /// The more ways lead back to the same part, the faster recursion branches.
    fn note_return(&mut self, position: usize) {
        if let Some((_, returns)) = self.open.get_mut(position) {
            *returns += 1.0;
            self.branching = self.branching.max(*returns);
        }
    }
}

/// What a JSON Pointer, percent-encoded or not, leads to.
fn find<'a>(root: &'a Value, pointer: &str) -> Option<&'a Value> {
    pointer.split('/').skip(1).try_fold(root, |value, step| {
        let step = step.replace("%24", "$").replace("%25", "%").replace("~1", "/").replace("~0", "~");
        match value {
            Value::Object(object) => object.get(&step),
            Value::Array(elements) => elements.get(step.parse::<usize>().ok()?),
            _ => None,
        }
    })
}
