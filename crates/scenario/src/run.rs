//! Executes each step on a backend, and compares the result with the expected one.

use baton_core::wire::{Effect, operation};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::backends::WORKSPACE;
use crate::matching::difference;
use crate::script::{Action, Expected, ExpectedEvent, Outcome, Script, ScriptedCall, Step};

/// A backend: it executes commands, and has a clock and a history.
pub trait Backend {
    /// Its name, for failures.
    fn name(&self) -> String;

    /// Moves the clock to this many milliseconds after the start. When this returns, everything
    /// that was due by then is done.
    fn advance_clock(&mut self, to_ms: u64);

    /// Executes a command. The answer is `{"revision":…,"result":…}`, with `results` for a
    /// transaction, or `{"error":…}`; none if this backend does not support such queries.
    fn call(&mut self, scripted: &ScriptedCall) -> Option<Value>;

    /// Executes a command that has to wait. When this returns, it waits, and others can see it; the
    /// answer, if it has one already.
    fn call_blocking(&mut self, scripted: &ScriptedCall) -> Option<Value>;

    /// The answer to the first waiting call of this agent; none if no call waits, or it is not
    /// answered in time.
    fn receive_answer(&mut self, agent: &str) -> Option<Value>;

    /// The revision of the last change.
    fn revision(&mut self) -> u64 {
        let (agent, command) = ("onlooker".to_owned(), "workspace.get".to_owned());
        let (idempotency_key, workspace, fields) = (None, None, Map::new());
        let scripted = ScriptedCall { agent, idempotency_key, workspace, command, fields };
        let answer = self.call(&scripted).expect("every backend knows its revision");
        answer["revision"].as_u64().expect("the workspace can always be asked for")
    }

    /// The events after one revision and up to another, as watches deliver them.
    fn events(&mut self, after: u64, up_to: u64) -> Vec<Value>;
}

/// A step with an unexpected result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}: on {backend}: {what}")]
pub struct StepFailure {
    /// The file.
    pub file: String,
    /// The line of the step.
    pub line: usize,
    /// The backend.
    pub backend: String,
    /// The expected and the actual result.
    pub what: String,
}

/// Runs a scenario to its end, and returns all failures.
pub fn run(script: &Script, backend: &mut dyn Backend) -> Vec<StepFailure> {
    let mut failed = Vec::new();
    let mut seen = 0;
    for step in &script.steps {
        backend.advance_clock(step.at_ms);
        let outcome = perform(step, backend);
        let present = backend.revision();
        let outcome = outcome.and_then(|()| match &step.expected.events {
            Some(expected) => check_events(expected, &backend.events(seen, present)),
            None => Ok(()),
        });
        seen = present;
        if let Err(what) = outcome {
            let (file, line) = (script.file.clone(), step.line);
            failed.push(StepFailure { file, line, backend: backend.name(), what });
        }
    }
    failed
}

/// Executes a step, and checks the answer.
fn perform(step: &Step, backend: &mut dyn Backend) -> Result<(), String> {
    match &step.action {
        Action::Advance => Ok(()),
        Action::Call(scripted) => match backend.call(scripted) {
            Some(answer) => check_answer(&step.expected, &answer),
            // Not every backend answers everything; the events are checked nevertheless.
            None => Ok(()),
        },
        Action::BlockingCall(scripted) => match backend.call_blocking(scripted) {
            Some(answer) => Err(format!("expected to wait\n  the answer was {answer}")),
            None => Ok(()),
        },
        Action::ReceiveAnswer { agent } => match backend.receive_answer(agent) {
            Some(answer) => check_answer(&step.expected, &answer),
            None => Err(format!("`{agent}` is not answered")),
        },
    }
}

fn check_answer(expected: &Expected, answer: &Value) -> Result<(), String> {
    let answered = || format!("\n  the answer was {answer}");
    let error = answer.get("error");
    match (&expected.answer, error) {
        (Some(Outcome::Refused { code, facts }), Some(error)) => {
            if error["code"] != code.as_str() {
                return Err(format!("expected to be refused with `{code}`{}", answered()));
            }
            let differs = difference(facts, error);
            differs.map_or(Ok(()), |differs| Err(format!("fact {differs}{}", answered())))?;
        }
        (Some(Outcome::Refused { code, .. }), None) => {
            return Err(format!("expected to be refused with `{code}`{}", answered()));
        }
        (None | Some(Outcome::Result(_)), Some(_)) => {
            return Err(format!("expected not to be refused{}", answered()));
        }
        (Some(Outcome::Result(expected)), None) => {
            let nothing = Value::Null;
            let result = answer.get("result").or_else(|| answer.get("results"));
            let differs = difference(expected, result.unwrap_or(&nothing));
            differs.map_or(Ok(()), |differs| Err(format!("{differs}{}", answered())))?;
        }
        (None, None) => {}
    }
    match expected.revision {
        Some(revision) if answer["revision"] != revision => {
            Err(format!("expected revision {revision}{}", answered()))
        }
        _ => Ok(()),
    }
}

fn check_events(expected: &[ExpectedEvent], actual: &[Value]) -> Result<(), String> {
    let rendered = |kind: &str, subject: &str| format!("\n    {kind} {subject}");
    let listed = |name: &str, lines: Vec<String>| {
        let lines = if lines.is_empty() { "\n    nothing".to_owned() } else { lines.concat() };
        format!("\n  {name}:{lines}")
    };
    let text = |event: &Value, name: &str| event[name].as_str().unwrap_or_default().to_owned();
    let wanted: Vec<_> = expected.iter().map(|it| rendered(&it.kind, &it.subject)).collect();
    let given: Vec<_> = actual
        .iter()
        .map(|event| rendered(&text(event, "type"), &text(event, "subject")))
        .collect();
    if wanted != given {
        let (wanted, given) = (listed("expected", wanted), listed("came", given));
        return Err(format!("other events than expected{wanted}{given}"));
    }
    for (expected, event) in expected.iter().zip(actual) {
        if let Some(differs) = difference(&expected.fields, event) {
            return Err(format!("event {} {}: {differs}", expected.kind, expected.subject));
        }
    }
    Ok(())
}

impl ScriptedCall {
    /// The workspace of the command.
    pub fn workspace_name(&self) -> &str {
        self.workspace.as_deref().unwrap_or(WORKSPACE)
    }

    /// The frame without its envelope: the command and its fields.
    pub fn body_fields(&self) -> Map<String, Value> {
        let mut frame = self.fields.clone();
        if self.command != "transaction" {
            frame.insert("command".to_owned(), self.command.clone().into());
        }
        frame
    }

    /// The frame for a WebSocket, without id and workspace. An `agent` among the fields is the
    /// subject of the command, and the acting agent.
    pub fn frame(&self) -> Map<String, Value> {
        let mut frame = self.body_fields();
        frame.insert("command".to_owned(), self.command.clone().into());
        // If it would filter a list, no acting agent is given.
        let is_narrowed = operation(&self.command).is_some_and(|it| it.narrows_by_agent);
        if !is_narrowed {
            frame.entry("agent").or_insert_with(|| self.agent.clone().into());
        }
        // A query about another agent names both.
        let asks = operation(&self.command).is_some_and(|it| it.effect == Effect::Asks);
        let about = self.fields.get("agent").and_then(Value::as_str);
        if asks && about.is_some_and(|about| about != self.agent) {
            frame.insert("caller".to_owned(), self.agent.clone().into());
        }
        if let Some(key) = &self.idempotency_key {
            frame.insert("idempotency_key".to_owned(), key.clone().into());
        }
        frame
    }
}
