//! An agent that declares which keys it depends on.

use baton_core::contract::{Command as ContractCommand, Declare, OnBreak, Query, Terms};
use baton_core::json::Shape;
use baton_core::{Command, ContractName, Pattern, Query as AnyQuery};

use crate::actors::inputs::Inputs;

/// A field that no value has.
pub const ABSENT: &str = "nowhere";

/// Declares, replaces or deletes one of a few contracts. Most belong to another agent.
pub fn contract(inputs: &mut Inputs<'_>) -> Command {
    let name = name(inputs);
    if inputs.rng.once_in(2) {
        let force = inputs.rng.once_in(2);
        return ContractCommand::Delete { name, force }.into();
    }
    let count = inputs.rng.below(3);
    let keys = (0..count).map(|_| terms(inputs)).collect();
    let on_break = *inputs.rng.pick(&[OnBreak::Warn, OnBreak::Warn, OnBreak::Refuse]);
    ContractCommand::Declare(Box::new(Declare { name, keys, on_break })).into()
}

/// A page of the contracts, from the start or from some contract.
pub fn question(inputs: &mut Inputs<'_>) -> AnyQuery {
    let limit = inputs.rng.once_in(2).then_some(1);
    let cursor = inputs.rng.once_in(3).then(|| name(inputs));
    Query::List { limit, cursor }.into()
}

fn name(inputs: &mut Inputs<'_>) -> ContractName {
    let name = *inputs.rng.pick(&["one", "some", "wild"]);
    ContractName::parse(name).expect("a good name")
}

fn terms(inputs: &mut Inputs<'_>) -> Terms {
    let key = match inputs.rng.below(3) {
        0 => "**/k1*".to_owned(),
        1 => format!("{}/**", inputs.some_namespace()),
        _ => {
            let (namespace, key) = inputs.entry_key();
            format!("{namespace}/{key}")
        }
    };
    let kind = *inputs.rng.pick(&[None, None, Some(Shape::Object), Some(Shape::Number)]);
    let fields = match inputs.rng.below(4) {
        0 => vec!["by".to_owned(), "/n".to_owned()],
        1 => vec![ABSENT.to_owned()],
        _ => Vec::new(),
    };
    let optional = inputs.rng.once_in(2);
    Terms {
        key: Pattern::parse(&key).expect("a good pattern"),
        kind,
        fields,
        schema: None,
        optional,
    }
}
