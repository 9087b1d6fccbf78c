//! Checkpoints as text.

use std::fmt::Write;

use super::brief;
use crate::checkpoint::{Checkpoint, Event, PendingWrite, Piece, Recipe, Reply, Rule};
use crate::primitive::Event as _;

/// How many chunks of a state come from the parent, from other checkpoints, and are new.
fn parts(recipe: &Recipe) -> String {
    let mut counts = [0, 0, 0];
    for piece in &recipe.0 {
        match piece {
            Piece::Keep(_, count) => counts[0] += *count as usize,
            Piece::Known(numbers) => counts[1] += numbers.len(),
            Piece::New(new) => counts[2] += new.len(),
        }
    }
    let named = counts.into_iter().zip(["kept", "known", "new"]).filter(|(count, _)| *count > 0);
    named.map(|(count, name)| format!(" {name}={count}")).collect::<Vec<_>>().concat()
}

fn ruled(rule: &Rule) -> String {
    let bound = |name: &str, bound: Option<u64>| {
        bound.map_or(String::new(), |bound| format!(" {name}={bound}"))
    };
    format!("{}{}{}", rule.task, bound("keep", rule.keep), bound("age", rule.max_age_ms))
}

pub(super) fn rendered(event: &Event) -> String {
    let kind = event.kind();
    match event {
        Event::Saved(saved) => {
            let after =
                saved.parent.as_ref().map_or(String::new(), |parent| format!(" after {parent}"));
            let label = saved.label.as_ref().map_or(String::new(), |label| format!(" `{label}`"));
            let key = saved.key.as_ref().map_or(String::new(), |key| format!(" key={key}"));
            let of = saved.content_type.as_ref().map_or(String::new(), |it| format!(" ({it})"));
            let (id, task) = (&saved.checkpoint, &saved.task);
            format!("{kind} {id} of {task}{key}{of}{label}{after}{}", parts(&saved.recipe))
        }
        Event::Restored { checkpoint, task } => format!("{kind} {checkpoint} of {task}"),
        Event::Forked { checkpoint, task, source } => {
            format!("{kind} {checkpoint} of {task} from {source}")
        }
        Event::Written { task, key, writes } => {
            let writes: Vec<_> = writes.iter().map(|it| written(&it.shown())).collect();
            format!("{kind} {task} {key} [{}]", writes.join(", "))
        }
        Event::Copied { task, source, checkpoint, count } => {
            format!("{kind} {count} of {source} to {task} from {checkpoint}")
        }
        Event::Labelled { checkpoint, label, .. } => {
            let label = label.as_ref().map_or("nothing".to_owned(), |label| format!("`{label}`"));
            format!("{kind} {checkpoint} {label}")
        }
        Event::Pruned { task, numbers, bytes, why } => {
            format!("{kind} {task} {numbers:?} bytes={bytes} {why:?}")
        }
        Event::Retained { rule } => format!("{kind} {}", ruled(rule)),
    }
}

pub(super) fn shown(reply: &Reply) -> String {
    match reply {
        Reply::Checkpoint(checkpoint) | Reply::Restored(checkpoint) => one(checkpoint),
        Reply::Latest(checkpoint) => checkpoint.as_deref().map_or("null".into(), one),
        Reply::Checkpoints { checkpoints, cursor } => {
            let names: Vec<_> = checkpoints.iter().map(|it| it.id.to_string()).collect();
            let next = cursor.as_ref().map_or(String::new(), |cursor| format!(" next={cursor}"));
            format!("[{}]{next}", names.join(", "))
        }
        Reply::History { checkpoints, cursor } => {
            let found: Vec<_> = checkpoints.iter().map(keyed).collect();
            let next = cursor.as_ref().map_or(String::new(), |cursor| format!(" next={cursor}"));
            format!("[{}]{next}", found.join(", "))
        }
        Reply::Written { written } => format!("written={written}"),
        Reply::Copied { copied } => format!("copied={copied}"),
        Reply::Pruned { pruned, bytes } => format!("pruned={pruned} bytes={bytes}"),
        Reply::Rules { rules } => {
            format!("[{}]", rules.iter().map(ruled).collect::<Vec<_>>().join(", "))
        }
    }
}

fn written(write: &PendingWrite) -> String {
    format!("{}.{}:{}={}", write.writer, write.index, write.channel, brief(&write.value))
}

fn keyed(checkpoint: &Checkpoint) -> String {
    let key = checkpoint.key.as_ref().map_or("", |key| key.as_str());
    let state = checkpoint.state.as_ref().map_or(String::new(), brief);
    let after = checkpoint.parent_key.as_ref().map_or(String::new(), |it| format!(" after {it}"));
    let writes: Vec<String> = checkpoint.writes.iter().map(written).collect();
    let writes = if writes.is_empty() { String::new() } else { format!(" {}", writes.join(" ")) };
    format!("{key}={state}{after}{writes}")
}

fn one(checkpoint: &Checkpoint) -> String {
    let Checkpoint { id, task, number, parent, label, state, .. } = checkpoint;
    let mut line = format!("{id} of {task} #{number}");
    if let Some(label) = label {
        write!(line, " `{label}`").unwrap();
    }
    if let Some(parent) = parent {
        write!(line, " after {parent}").unwrap();
    }
    if let Some(state) = state {
        write!(line, " = {}", brief(state)).unwrap();
    }
    line
}
