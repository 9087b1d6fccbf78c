//! What a reader may ask, about the present and about the past.

use baton_core::state::{Diff, Get, History, List, Query as StateQuery, Snapshot};
use baton_core::{Pattern, Query, Revision, agent, namespace, workspace};

use crate::forking::fork;
use crate::ruling;
use crate::searching;
use crate::storing;
use crate::things::Things;

/// A question of somebody who has heard of revisions up to this one.
pub fn question(things: &mut Things<'_>, heard_of: u64) -> Query {
    let at = if things.chance.once_in(3) { None } else { Some(moment(things, heard_of)) };
    match things.chance.below(11) {
        0..=2 => {
            let (namespace, key) = things.place();
            StateQuery::Get(Get { namespace, key, at }).into()
        }
        3 => {
            let pattern = *things.chance.pick(&["k*", "task:*", "**"]);
            let pattern = Pattern::parse(pattern).expect("a good pattern");
            let list = List {
                namespace: things.some_namespace(),
                prefix: things.chance.once_in(3).then(|| "k1".to_owned()),
                pattern: things.chance.once_in(3).then_some(pattern),
                at,
                limit: things.chance.once_in(2).then_some(2),
                cursor: things.chance.once_in(4).then(|| "k2".to_owned()),
            };
            StateQuery::List(list).into()
        }
        4 => {
            let namespace = things.chance.once_in(2).then(|| things.some_namespace());
            let limit = things.chance.once_in(2).then_some(3);
            let cursor = things.chance.once_in(4).then(|| "notes/k2".to_owned());
            StateQuery::Snapshot(Snapshot { namespace, at, limit, cursor }).into()
        }
        5 | 6 => StateQuery::History(history(things, heard_of)).into(),
        7 => {
            let namespace = things.chance.once_in(2).then(|| things.some_namespace());
            let (from, to) = (moment(things, heard_of), moment(things, heard_of));
            let to = things.chance.once_in(2).then_some(to);
            StateQuery::Diff(Diff { namespace, from, to }).into()
        }
        8 => match things.chance.below(5) {
            4 => storing::question(things),
            0 => workspace::Query::Get.into(),
            1 => ruling::question(things),
            2 => namespace::Query::List { limit: None, cursor: None }.into(),
            _ => namespace::Query::Get { name: things.some_namespace() }.into(),
        },
        9 => searching::question(things),
        _ => match things.chance.below(4) {
            0 => fork(things, heard_of),
            1 => agent::Query::Get { agent: things.agent.clone() }.into(),
            _ => agent::Query::List { capability: None, status: None, limit: None, cursor: None }
                .into(),
        },
    }
}

/// A revision that the reader has heard of, or one that may not have happened.
fn moment(things: &mut Things<'_>, heard_of: u64) -> Revision {
    Revision(things.chance.below(heard_of + 3))
}

fn history(things: &mut Things<'_>, heard_of: u64) -> History {
    let from = Some(moment(things, heard_of));
    let mut history = History { from, ..History::default() };
    match things.chance.below(5) {
        0 => {
            let (namespace, key) = things.place();
            (history.namespace, history.key) = (Some(namespace), Some(key));
        }
        1 => history.namespace = Some(things.some_namespace()),
        2 => history.author = Some(things.agent.clone()),
        3 => history.pattern = Some(Pattern::parse("k*").expect("a good pattern")),
        _ => {}
    }
    if things.chance.once_in(3) {
        history.to = Some(moment(things, heard_of));
    }
    if things.chance.once_in(2) {
        history.limit = Some(3);
    }
    history
}
