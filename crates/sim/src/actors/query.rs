//! The queries of readers, about the present and the past.

use baton_core::state::{Diff, Get, History, List, Query as StateQuery, Snapshot};
use baton_core::{Pattern, Query, Revision, agent, namespace, workspace};

use crate::actors::artifact;
use crate::actors::contract;
use crate::actors::fork::fork;
use crate::actors::inputs::Inputs;
use crate::actors::rule;
use crate::actors::search;

/// A query of an agent that knows revisions up to this one.
pub fn question(inputs: &mut Inputs<'_>, heard_of: u64) -> Query {
    let at = if inputs.rng.once_in(3) { None } else { Some(moment(inputs, heard_of)) };
    match inputs.rng.below(11) {
        0..=2 => {
            let (namespace, key) = inputs.entry_key();
            StateQuery::Get(Get { namespace, key, at }).into()
        }
        3 => {
            let pattern = *inputs.rng.pick(&["k*", "task:*", "**"]);
            let pattern = Pattern::parse(pattern).expect("a good pattern");
            let list = List {
                namespace: inputs.some_namespace(),
                prefix: inputs.rng.once_in(3).then(|| "k1".to_owned()),
                pattern: inputs.rng.once_in(3).then_some(pattern),
                at,
                limit: inputs.rng.once_in(2).then_some(2),
                cursor: inputs.rng.once_in(4).then(|| "k2".to_owned()),
            };
            StateQuery::List(list).into()
        }
        4 => {
            let namespace = inputs.rng.once_in(2).then(|| inputs.some_namespace());
            let limit = inputs.rng.once_in(2).then_some(3);
            StateQuery::Snapshot(Snapshot { namespace, at, limit, cursor: None }).into()
        }
        5 | 6 => StateQuery::History(history(inputs, heard_of)).into(),
        7 => {
            let namespace = inputs.rng.once_in(2).then(|| inputs.some_namespace());
            let (from, to) = (moment(inputs, heard_of), moment(inputs, heard_of));
            let to = inputs.rng.once_in(2).then_some(to);
            StateQuery::Diff(Diff { namespace, from, to }).into()
        }
        8 => match inputs.rng.below(6) {
            5 => contract::question(inputs),
            4 => artifact::question(inputs),
            0 => workspace::Query::Get.into(),
            1 => rule::question(inputs),
            2 => namespace::Query::List { limit: None, cursor: None }.into(),
            _ => namespace::Query::Get { name: inputs.some_namespace() }.into(),
        },
        9 => search::question(inputs),
        _ => match inputs.rng.below(4) {
            0 => fork(inputs, heard_of),
            1 => agent::Query::Get { agent: inputs.agent.clone() }.into(),
            _ => agent::Query::List { capability: None, status: None, limit: None, cursor: None }
                .into(),
        },
    }
}

/// A revision that the reader knows, or one that may not have happened.
fn moment(inputs: &mut Inputs<'_>, heard_of: u64) -> Revision {
    Revision(inputs.rng.below(heard_of + 3))
}

fn history(inputs: &mut Inputs<'_>, heard_of: u64) -> History {
    let from = Some(moment(inputs, heard_of));
    let mut history = History { from, ..History::default() };
    match inputs.rng.below(5) {
        0 => {
            let (namespace, key) = inputs.entry_key();
            (history.namespace, history.key) = (Some(namespace), Some(key));
        }
        1 => history.namespace = Some(inputs.some_namespace()),
        2 => history.author = Some(inputs.agent.clone()),
        3 => history.pattern = Some(Pattern::parse("k*").expect("a good pattern")),
        _ => {}
    }
    if inputs.rng.once_in(3) {
        history.to = Some(moment(inputs, heard_of));
    }
    if inputs.rng.once_in(2) {
        history.limit = Some(3);
    }
    history
}
