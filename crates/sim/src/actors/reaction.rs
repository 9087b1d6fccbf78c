//! An agent that emits events and adds reactions to events of others.

use baton_core::reaction::{Add, Command as ReactionCommand, Outcome, Reply as ReactionReply};
use baton_core::{Answer, Command, Rejection, Reply, user_event};
use serde_json::{Value, json};

use crate::actors::inputs::Inputs;
use crate::rng::Rng;

/// The name of a command that does not exist.
pub const UNKNOWN: &str = "state.fly";

/// How often a webhook call is retried.
pub const RETRIES: u64 = 1;

/// Webhook calls that an agent has taken, with the number of the attempt.
#[derive(Default)]
pub struct ReactionActor {
    taken: Vec<(u64, u64)>,
}

impl ReactionActor {
    /// The next command.
    pub fn act(&mut self, inputs: &mut Inputs<'_>) -> Command {
        match inputs.rng.below(12) {
            0..=2 => emit(inputs),
            3 => {
                let name = name(inputs);
                ReactionCommand::Remove { name }.into()
            }
            4 | 5 => switch(inputs),
            6 => ReactionCommand::Take { max: 1 }.into(),
            _ => add(inputs),
        }
    }

    /// Makes webhook calls, as the server does: takes some that are due, or reports the outcome of
    /// one.
    pub fn call(&mut self, rng: &mut Rng) -> Command {
        let Some((call, attempt)) = self.taken.pop() else {
            return ReactionCommand::Take { max: 1 + rng.index(2) }.into();
        };
        let outcome = match rng.below(4) {
            0 => Outcome::Failed { detail: "no".to_owned(), again: true },
            1 => Outcome::Failed { detail: "never".to_owned(), again: false },
            _ => Outcome::Done { status: 200 },
        };
        ReactionCommand::Settle { call, attempt, outcome }.into()
    }

    /// Learns from an answer.
    pub fn learn(&mut self, answer: &Result<Answer, Rejection>) {
        if let Ok(Answer { reply: Reply::Reaction(ReactionReply::Calls { calls, .. }), .. }) =
            answer
        {
            self.taken.extend(calls.iter().map(|call| (call.number, call.attempt)));
        }
    }
}

/// Emits an event.
fn emit(inputs: &mut Inputs<'_>) -> Command {
    let kind = *inputs.rng.pick(&["ping", "pong", "news"]);
    let emit = json!({"type": kind, "payload": {"n": inputs.counter}});
    user_event::Command::Emit(serde_json::from_value(emit).expect("it can be said")).into()
}

fn switch(inputs: &mut Inputs<'_>) -> Command {
    let name = match inputs.rng.below(3) {
        0 => "record-completed-tasks".try_into().expect("a good name"),
        _ => name(inputs),
    };
    match inputs.rng.below(3) {
        0 => ReactionCommand::Disable { name }.into(),
        _ => ReactionCommand::Enable { name }.into(),
    }
}

fn name(inputs: &mut Inputs<'_>) -> baton_core::ReactionName {
    let name = *inputs.rng.pick(&["copy", "half", "ping", "pong", "tell"]);
    name.try_into().expect("a good name")
}

/// Adds one of a few scripts, or replaces it by the same. Some are invalid.
fn add(inputs: &mut Inputs<'_>) -> Command {
    let name = name(inputs);
    let emit = |kind: &str| json!([{"command": "event.emit", "type": kind}]);
    let (on, mut commands) = match name.as_str() {
        "copy" => (
            json!({"type": "state.set", "subject": "state/shared/k*"}),
            json!([{
                "command": "state.set", "namespace": "shared", "key": "copy",
                "value": {"of": "{{about}}", "by": "{{agent}}", "text": "r{{revision}}"},
            }]),
        ),
        "half" => (
            json!({"subject": "state/shared/k*", "where": "event.type == 'state.deleted'"}),
            json!([
                {"command": "state.set", "namespace": "shared", "key": "half", "value": 1},
                {"command": "state.delete", "namespace": "shared", "key": "never"},
            ]),
        ),
        "ping" => (json!({"type": "ping"}), emit("pong")),
        "pong" => (json!({"type": "pong"}), emit("ping")),
        _ => (json!({"type": "ping"}), json!([])),
    };
    if inputs.rng.once_in(12) {
        commands = json!([{ "command": UNKNOWN }]);
    }
    let mut wanted = json!({"name": name.as_str(), "on": on, "do": commands});
    if name.as_str() == "tell" {
        wanted["webhook"] = json!({"url": "http://hooks.example", "retries": RETRIES});
    }
    if inputs.rng.once_in(5) {
        wanted["enabled"] = Value::Bool(false);
    }
    let add: Add = serde_json::from_value(wanted).expect("it can be asked for");
    ReactionCommand::Add(Box::new(add)).into()
}
