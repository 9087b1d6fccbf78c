//! An agent that saves checkpoints of its tasks and of other units of work.
//!
//! States share most of their text, so that they share chunks; an agent that lost a lease saves
//! anyway, which must be rejected.

use std::collections::BTreeMap;

use baton_core::checkpoint::{
    self, Checkpoint, Command as Ask, Copy, History, List, NewWrite, Prune, Retain, Save, Write,
    encoded,
};
use baton_core::{
    Answer, CheckpointId, CheckpointKey, CheckpointLabel, Command, Json, Rejection, Reply,
    StateType, TaskId, Token,
};

use crate::actors::agent::Action;
use crate::actors::inputs::Inputs;

/// Checkpoints that an agent remembers.
const KNOWN_MAX: usize = 12;

/// The knowledge of an agent about checkpoints.
#[derive(Default)]
pub struct CheckpointActor {
    known: Vec<(CheckpointId, TaskId)>,
    /// The thread it was copied to, and whether the copy has been acknowledged.
    copy: Option<(TaskId, bool)>,
}

impl CheckpointActor {
    /// Its next command, given a lease that it has or had.
    pub fn act(&mut self, inputs: &mut Inputs<'_>, lease: Option<(TaskId, Token)>) -> Action {
        if let Some((copy, _)) = self.copy.take_if(|(_, is_there)| *is_there) {
            let query = checkpoint::Query::History(History::of(&copy));
            return Action::Ask(query.into());
        }
        let thread = thread(inputs);
        let known = (!self.known.is_empty()).then(|| inputs.rng.pick(&self.known).clone());
        let command = match (inputs.rng.below(25), lease, known) {
            (0..=3, Some((task, token)), _) => save(inputs, task, Some(token), None),
            (4, Some((task, token)), Some((parent, _))) => {
                save(inputs, task, Some(token), Some(parent))
            }
            (5, lease, Some((checkpoint, task))) => {
                // The holder of the lease gives its token.
                let token = lease.filter(|(leased, _)| *leased == task).map(|(_, token)| token);
                Ask::Restore { checkpoint, token }
            }
            (6, _, Some((checkpoint, _))) => Ask::Fork { checkpoint, task: thread, token: None },
            (7, _, Some((checkpoint, _))) => {
                let label = CheckpointLabel::parse("kept").expect("a good name");
                Ask::Label { checkpoint, label: inputs.rng.once_in(2).then_some(label) }
            }
            (8, _, Some((_, task))) => {
                let keep = *inputs.rng.pick(&[None, Some(0), Some(1), Some(3)]);
                let older_than_ms = *inputs.rng.pick(&[None, Some(5_000)]);
                let all = inputs.rng.once_in(4);
                Ask::Prune(Prune { keep, older_than_ms, all, ..Prune::of(&task) })
            }
            (9, ..) => {
                let task = inputs.rng.once_in(2).then(|| "thread-*".parse().expect("good"));
                let keep = *inputs.rng.pick(&[None, Some(2), Some(2), Some(3)]);
                let max_age_ms = *inputs.rng.pick(&[None, Some(20_000), Some(600_000)]);
                Ask::Retain(Retain { task, keep, max_age_ms })
            }
            (10 | 11, _, Some(known)) => return Action::Ask(question(inputs, known).into()),
            (12 | 13, _, Some((parent, task))) if task.as_str().starts_with("thread-") => {
                save(inputs, task, None, Some(parent))
            }
            (14 | 15, ..) => keyed_save(inputs),
            (16..=18, ..) => write(inputs),
            (19, ..) => {
                let (task, to) = (keyed(inputs), copied(inputs));
                self.copy = Some((to.clone(), false));
                Ask::Copy(Copy { task, to, token: None })
            }
            (20, ..) => {
                let task = if inputs.rng.once_in(2) { keyed(inputs) } else { copied(inputs) };
                let keys = inputs.rng.once_in(2).then(|| vec![key(inputs), key(inputs)]);
                let metadata = inputs.rng.once_in(3).then(|| metadata(inputs));
                let all = inputs.rng.once_in(2);
                Ask::Prune(Prune { keys, metadata, all, ..Prune::of(&task) })
            }
            (21..=24, ..) => {
                let task = if inputs.rng.once_in(2) { keyed(inputs) } else { copied(inputs) };
                let key = inputs.rng.once_in(2).then(|| key(inputs));
                let prefix = CheckpointKey::parse("k-1").expect("a good name");
                let prefix = inputs.rng.once_in(4).then_some(prefix);
                let query =
                    checkpoint::Query::History(History { key, prefix, ..History::of(&task) });
                return Action::Ask(query.into());
            }
            _ => save(inputs, thread, None, None),
        };
        Action::Submit(Command::from(command).into())
    }

    /// Learns from an answer.
    pub fn learn(&mut self, answer: &Result<Answer, Rejection>) {
        let Ok(Answer { reply: Reply::Checkpoint(reply), .. }) = answer else { return };
        match reply {
            checkpoint::Reply::Checkpoint(checkpoint)
            | checkpoint::Reply::Restored(checkpoint)
            | checkpoint::Reply::Latest(Some(checkpoint)) => self.see(checkpoint),
            checkpoint::Reply::Checkpoints { checkpoints, .. }
            | checkpoint::Reply::History { checkpoints, .. } => {
                checkpoints.iter().take(2).for_each(|checkpoint| self.see(checkpoint));
            }
            checkpoint::Reply::Copied { .. } => {
                if let Some((_, is_there)) = &mut self.copy {
                    *is_there = true;
                }
            }
            checkpoint::Reply::Latest(None)
            | checkpoint::Reply::Pruned { .. }
            | checkpoint::Reply::Written { .. }
            | checkpoint::Reply::Rules { .. } => {}
        }
    }

    fn see(&mut self, checkpoint: &Checkpoint) {
        let there = (checkpoint.id.clone(), checkpoint.task.clone());
        if !self.known.contains(&there) {
            self.known.push(there);
        }
        if self.known.len() > KNOWN_MAX {
            self.known.remove(0);
        }
    }
}

/// A query about a known checkpoint.
fn question(inputs: &mut Inputs<'_>, known: (CheckpointId, TaskId)) -> checkpoint::Query {
    let (checkpoint, task) = known;
    match inputs.rng.below(3) {
        0 => checkpoint::Query::Get { checkpoint },
        1 => checkpoint::Query::Latest { task },
        _ => {
            let task = inputs.rng.once_in(2).then_some(task);
            checkpoint::Query::List(List { task, ..List::default() })
        }
    }
}

fn thread(inputs: &mut Inputs<'_>) -> TaskId {
    let name = format!("thread-{}", inputs.rng.below(3));
    TaskId::parse(&name).expect("a good name")
}

fn save(
    inputs: &mut Inputs<'_>,
    task: TaskId,
    token: Option<Token>,
    parent: Option<CheckpointId>,
) -> Ask {
    let label = CheckpointLabel::parse("kept").expect("a good name");
    let label = inputs.rng.once_in(12).then_some(label);
    let state = state(inputs);
    let (content_type, key, parent_key, description, metadata) = (None, None, None, None, None);
    Ask::Save(Save {
        task,
        state,
        content_type,
        key,
        parent_key,
        description,
        parent,
        label,
        metadata,
        token,
    })
}

/// A unit of work whose checkpoints have keys.
fn keyed(inputs: &mut Inputs<'_>) -> TaskId {
    let name = format!("keyed-{}", inputs.rng.below(2));
    TaskId::parse(&name).expect("a good name")
}

/// A unit of work that has copies.
fn copied(inputs: &mut Inputs<'_>) -> TaskId {
    let name = format!("copied-{}", inputs.rng.below(3));
    TaskId::parse(&name).expect("a good name")
}

/// Few of them, so that they are saved again, and one is the prefix of others.
fn key(inputs: &mut Inputs<'_>) -> CheckpointKey {
    let name = *inputs.rng.pick(&["k-1", "k-10", "k-2"]);
    CheckpointKey::parse(name).expect("a good name")
}

fn metadata(inputs: &mut Inputs<'_>) -> Json {
    Json::of(&[("run", inputs.rng.below(3))].into_iter().collect::<BTreeMap<_, _>>())
        .expect("numbers are JSON")
}

/// A value as JSON, or as bytes that are no text.
fn typed(inputs: &mut Inputs<'_>, value: Json) -> (Json, Option<StateType>) {
    if inputs.rng.once_in(2) {
        return (value, None);
    }
    let bytes = [&[0xff, 0x00], value.as_bytes(), &[0xc3]].concat();
    let text = Json::of(&encoded(&bytes)).expect("texts are JSON");
    (text, Some(StateType::parse("raw").expect("a good name")))
}

fn keyed_save(inputs: &mut Inputs<'_>) -> Ask {
    let task = keyed(inputs);
    let Ask::Save(save) = save(inputs, task, None, None) else { unreachable!("it is a save") };
    let (state, content_type) = typed(inputs, save.state.clone());
    let key = Some(key(inputs));
    let parent_key = inputs.rng.once_in(2).then(|| self::key(inputs));
    let metadata = Some(metadata(inputs));
    Ask::Save(Save { state, content_type, key, parent_key, metadata, ..save })
}

fn write(inputs: &mut Inputs<'_>) -> Ask {
    let (task, key) = (keyed(inputs), key(inputs));
    let writer = format!("w-{}", inputs.rng.below(2));
    let path = if inputs.rng.once_in(2) { String::new() } else { "a/b".to_owned() };
    let count = 1 + inputs.rng.below(3);
    let new = |_| {
        let value = Json::of(&inputs.rng.below(1_000)).expect("numbers are JSON");
        let (value, content_type) = typed(inputs, value);
        let index = i32::try_from(inputs.rng.below(2)).expect("it is small") - 1;
        let replace = inputs.rng.once_in(3);
        NewWrite { index, channel: "c".to_owned(), value, content_type, replace }
    };
    let writes = (0..count).map(new).collect();
    Ask::Write(Write { task, key, writer, path, writes, token: None })
}

/// A few paragraphs, each in one of a few editions: most of them were saved before.
fn state(inputs: &mut Inputs<'_>) -> Json {
    let paragraph = |place: u64| {
        let edition = inputs.rng.below(3);
        let word = |at: u64| ((place * 7 + edition * 101 + at) * 2_654_435_761).to_string();
        (0..14).map(word).collect::<Vec<_>>().join(" ")
    };
    let paragraphs: Vec<String> = (0..6).map(paragraph).collect();
    let state = (inputs.agent.as_str(), paragraphs);
    Json::of(&state).expect("texts are JSON")
}
