//! The work of a check, counted before it starts.
//!
//! The count is an upper bound: a real check stops early, at the first branch that matches or the
//! first that does not. The traversals have their own stack, so that no schema can exhaust that of
//! the thread.

use serde_json::Value;

use crate::effort::{Effort, MEETINGS_MAX};
use crate::keyword::{At, Keyword, Node};

/// The work that every check may cost, in pairs of a schema part and a value part.
const MEETINGS_BASE: usize = 10_000;

/// The additional work that a check may cost for each part of the value. A union of twenty objects
/// needs some forty.
const MEETINGS_PER_PART: usize = 64;

/// The usual number of meetings for each part of the value under a small schema.
const MEETINGS_PER_PART_USUAL: usize = 4;

/// So many operands of a part, or bytes of a text, take as long as a meeting.
const OPERANDS_PER_MEETING: usize = 16;
const BYTES_PER_MEETING: usize = 64;

/// How many parts of a schema may be at work inside each other. Each takes some stack.
const LEVELS_MAX: usize = 1_000;

/// The parts of a value that a subpart applies to, relative to its parent.
#[derive(Clone, Copy)]
enum Target<'a> {
    Same,
    Field(&'a str),
    Fields,
    FieldNames,
    Element(usize),
    Elements,
}

/// Calls `visit` for each direct subpart of this part of the schema.
fn parts<'a>(node: &'a Node, visit: &mut dyn FnMut(Target<'a>, At)) {
    let (Node::Keywords(keywords) | Node::Scope(keywords)) = node else { return };
    for keyword in keywords {
        match keyword {
            Keyword::Ref(part) | Keyword::Not(part, _) => visit(Target::Same, *part),
            Keyword::If(condition, then, otherwise) => {
                visit(Target::Same, *condition);
                for part in then.iter().chain(otherwise) {
                    visit(Target::Same, *part);
                }
            }
            Keyword::AllOf(parts) | Keyword::AnyOf(parts) | Keyword::OneOf(parts) => {
                for part in parts {
                    visit(Target::Same, *part);
                }
            }
            Keyword::DependentSchemas(parts) => {
                for (_, part) in parts {
                    visit(Target::Same, *part);
                }
            }
            Keyword::Properties(keyword) => {
                keyword.named.iter().for_each(|(name, part)| visit(Target::Field(name), *part));
                keyword.patterns.iter().for_each(|(_, part)| visit(Target::Fields, *part));
                keyword.additional.iter().for_each(|part| visit(Target::Fields, *part));
            }
            Keyword::UnevaluatedProperties(part) => visit(Target::Fields, *part),
            Keyword::PropertyNames(part) => visit(Target::FieldNames, *part),
            Keyword::Items(keyword) => {
                let prefix = keyword.prefix.iter().enumerate();
                prefix.for_each(|(at, part)| visit(Target::Element(at), *part));
                keyword.rest.iter().for_each(|part| visit(Target::Elements, *part));
            }
            Keyword::Contains(keyword) => visit(Target::Elements, keyword.part),
            Keyword::UnevaluatedItems(part) => visit(Target::Elements, *part),
            _ => {}
        }
    }
}

/// How many meetings one meeting counts for: a part may have many operands, and may read a text
/// from beginning to end several times.
fn weight(node: &Node, instance: Option<&Value>) -> usize {
    let (Node::Keywords(keywords) | Node::Scope(keywords)) = node else { return 1 };
    let (mut operands, mut readers) = (0, 0);
    for keyword in keywords {
        match keyword {
            Keyword::Required(names) => operands += names.len(),
            Keyword::DependentRequired(all) => {
                operands += all.iter().map(|(_, names)| 1 + names.len()).sum::<usize>();
            }
            Keyword::DependentSchemas(parts) => operands += parts.len(),
            Keyword::Properties(keyword) => operands += keyword.named.len(),
            Keyword::Items(keyword) => operands += keyword.prefix.len(),
            Keyword::MinLength(_)
            | Keyword::MaxLength(_)
            | Keyword::Pattern(_)
            | Keyword::Format(_)
            | Keyword::ContentEncoding(_)
            | Keyword::ContentJson(_)
            | Keyword::Const(_)
            | Keyword::Enum(_) => readers += 1,
            _ => {}
        }
    }
    let bytes = instance.and_then(Value::as_str).map_or(0, str::len);
    1 + operands / OPERANDS_PER_MEETING + readers * (bytes / BYTES_PER_MEETING)
}

/// Whether the schema, with references followed, has so few parts that no value can make it work
/// too much. True of most schemas, whose checks are therefore never counted.
pub(crate) fn is_small(nodes: &[Node]) -> bool {
    !nodes.iter().any(|node| matches!(node, Node::Scope(_)))
        && size(nodes, MEETINGS_PER_PART).is_some()
}

/// About how many parts of the schema can meet each part of a value: all of them, with references
/// followed. One that refers to itself has as many as any check may cost.
pub(crate) fn meetings_per_part(nodes: &[Node]) -> usize {
    size(nodes, MEETINGS_BASE).unwrap_or(MEETINGS_BASE)
}

/// The weight of all parts, with references followed; none if it is more than this.
fn size(nodes: &[Node], max: usize) -> Option<usize> {
    let mut pending = vec![0];
    let mut met = 0;
    while let Some(at) = pending.pop() {
        met += weight(&nodes[at], None);
        parts(&nodes[at], &mut |_, part| pending.push(part));
        if met + pending.len() > max {
            return None;
        }
    }
    Some(met)
}

/// About how many meetings a check of a value of this many bytes takes at most.
pub(crate) fn estimate(meetings_per_part: usize, bytes: usize) -> usize {
    const BYTES_PER_PART: usize = 8;
    let parts = 1 + bytes / BYTES_PER_PART;
    (meetings_per_part * parts).min(MEETINGS_BASE + MEETINGS_PER_PART * parts)
}

/// Counts the work of a check, and returns an error if it is too much.
///
/// The work of a small schema is not counted part by part: it is in proportion to the value.
pub(crate) fn check_effort(
    nodes: &[Node],
    instance: &Value,
    is_counted: bool,
    effort: &Effort,
) -> Result<(), String> {
    // Counting the parts of the value takes time too.
    if effort.meetings() == 0 {
        return Err(too_much_together());
    }
    let parts = parts_of(instance);
    let usual_max = MEETINGS_BASE.saturating_add(MEETINGS_PER_PART * parts);
    let meetings_max = usual_max.min(effort.meetings());
    let met = if is_counted {
        count(nodes, instance, meetings_max)
    } else {
        Ok(MEETINGS_PER_PART_USUAL * parts)
    };
    match met {
        Ok(met) if met <= meetings_max => {
            effort.spend(met);
            return Ok(());
        }
        Err(Excess::Levels) => {
            effort.spend(meetings_max);
            return Err(format!("the schema nests beyond {LEVELS_MAX} levels on this value"));
        }
        Ok(_) | Err(Excess::Meetings) => effort.spend(meetings_max),
    }
    if meetings_max < usual_max {
        return Err(too_much_together());
    }
    Err(format!("the schema takes more than {meetings_max} steps on this value"))
}

/// The limit that a check exceeds.
enum Excess {
    Meetings,
    Levels,
}

/// The schema may be harmless: other checks have spent the effort.
fn too_much_together() -> String {
    format!("all checks of a commit take more than {MEETINGS_MAX} steps: send fewer values at once")
}

/// Counts the meetings of a check, and returns an error if there are too many.
fn count(nodes: &[Node], instance: &Value, meetings_max: usize) -> Result<usize, Excess> {
    let mut met = 0;
    let mut pending = vec![(0, instance, 0)];
    while let Some((at, instance, level)) = pending.pop() {
        met += weight(&nodes[at], Some(instance));
        if level > LEVELS_MAX {
            return Err(Excess::Levels);
        }
        // The fields that a part evaluates are recorded for each scope that needs them. That is
        // counted as if the part were visited again for every field or element.
        let times = match &nodes[at] {
            Node::Scope(_) => 1 + children(instance).count(),
            Node::Keywords(_) | Node::Always(_) => 1,
        };
        let mut add = |part, value| {
            // Nothing beyond the limit is stored: one item more is enough to know that there are
            // too many.
            if met + pending.len() <= meetings_max {
                pending.push((part, value, level + 1));
            }
        };
        parts(&nodes[at], &mut |target, part| match target {
            Target::Same => (0..times).for_each(|_| add(part, instance)),
            Target::Field(name) => {
                instance.get(name).into_iter().for_each(|value| add(part, value));
            }
            Target::Element(at) => {
                instance.get(at).into_iter().for_each(|value| add(part, value));
            }
            Target::Fields if instance.is_object() => {
                children(instance).for_each(|value| add(part, value));
            }
            Target::FieldNames if instance.is_object() => {
                children(instance).for_each(|_| add(part, &Value::Null));
            }
            Target::Elements if instance.is_array() => {
                children(instance).for_each(|value| add(part, value));
            }
            Target::Fields | Target::FieldNames | Target::Elements => {}
        });
        if met + pending.len() > meetings_max {
            return Err(Excess::Meetings);
        }
    }
    Ok(met)
}

fn children(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(elements) => Box::new(elements.iter()),
        Value::Object(fields) => Box::new(fields.values()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Box::new(std::iter::empty())
        }
    }
}

fn parts_of(value: &Value) -> usize {
    let bytes = value.as_str().map_or(0, str::len);
    1 + bytes / BYTES_PER_MEETING + children(value).map(parts_of).sum::<usize>()
}
