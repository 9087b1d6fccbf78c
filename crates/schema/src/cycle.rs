//! Finds parts of a schema that apply themselves to the same value: checking them would not end.

use crate::keyword::{At, Keyword, Node};

/// A part that leads back to itself without going into the value; none if there is no such part.
pub(crate) fn find(nodes: &[Node]) -> Option<At> {
    let mut states = vec![State::New; nodes.len()];
    // Parts on the way from the root, with their successors that were not followed yet.
    let mut path: Vec<(At, Vec<At>)> = Vec::new();
    for start in 0..nodes.len() {
        if states[start] != State::New {
            continue;
        }
        let mut next = Some(start);
        loop {
            if let Some(at) = next.take() {
                match states[at] {
                    State::OnPath => return Some(at),
                    State::Done => {}
                    State::New => {
                        states[at] = State::OnPath;
                        path.push((at, on_the_same_value(&nodes[at])));
                    }
                }
            }
            let Some((at, rest)) = path.last_mut() else { break };
            next = rest.pop();
            if next.is_none() {
                states[*at] = State::Done;
                path.pop();
            }
        }
    }
    None
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    OnPath,
    Done,
}

/// The parts that a part applies to the value itself, rather than to its fields or elements.
fn on_the_same_value(node: &Node) -> Vec<At> {
    let keywords = match node {
        Node::Always(_) => return Vec::new(),
        Node::Keywords(keywords) | Node::Scope(keywords) => keywords,
    };
    let mut parts = Vec::new();
    for keyword in keywords {
        match keyword {
            Keyword::AllOf(all) | Keyword::AnyOf(all) | Keyword::OneOf(all) => parts.extend(all),
            Keyword::DependentSchemas(all) => parts.extend(all.iter().map(|(_, at)| *at)),
            Keyword::Not(at, _) | Keyword::Ref(at) => parts.push(*at),
            Keyword::If(condition, then, otherwise) => {
                parts.push(*condition);
                parts.extend([then, otherwise].into_iter().copied().flatten());
            }
            Keyword::Type(_)
            | Keyword::Const(_)
            | Keyword::Enum(_)
            | Keyword::Minimum(_)
            | Keyword::Maximum(_)
            | Keyword::ExclusiveMinimum(_)
            | Keyword::ExclusiveMaximum(_)
            | Keyword::MultipleOf(_)
            | Keyword::MinLength(_)
            | Keyword::MaxLength(_)
            | Keyword::MinItems(_)
            | Keyword::MaxItems(_)
            | Keyword::MinProperties(_)
            | Keyword::MaxProperties(_)
            | Keyword::Required(_)
            | Keyword::DependentRequired(_)
            | Keyword::Pattern(_)
            | Keyword::Format(_)
            | Keyword::ContentEncoding(_)
            | Keyword::ContentJson(_)
            | Keyword::UniqueItems
            | Keyword::Properties(_)
            | Keyword::PropertyNames(_)
            | Keyword::Items(_)
            | Keyword::Contains(_)
            | Keyword::UnevaluatedProperties(_)
            | Keyword::UnevaluatedItems(_) => {}
        }
    }
    parts
}
