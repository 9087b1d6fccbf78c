//! The parser of scenario files.
//!
//! | line                                           | is                                         |
//! |------------------------------------------------|--------------------------------------------|
//! | `# …`, or empty                                | a comment                                  |
//! | `at TIME AGENT [once KEY] COMMAND NAME=VALUE…` | a step: time, agent and command            |
//! | `at TIME AGENT in WORKSPACE …`                 | a step: the same in another workspace      |
//! | `at TIME AGENT [once KEY] waits COMMAND …`     | a step: the same, and it has to wait       |
//! | `at TIME AGENT hears`                          | a step: the answer to that                 |
//! | `at TIME time passes`                          | a step without a command                   |
//! | `? PRECONDITION`, `+ COMMAND NAME=VALUE…`      | parts of a `transaction`                   |
//! | `= JSON`                                       | the result contains this                   |
//! | `! CODE [JSON]`                                | it is refused with this code and facts     |
//! | `@ NUMBER`                                     | the revision of the answer                 |
//! | `~ TYPE SUBJECT [JSON]`, `~ nothing`           | all events since the previous step         |
//!
//! Words are separated by blanks and contain none: inside a value a blank is written as `\u0020`.
//! So a line can be split in any language before it is parsed.

use serde_json::{Map, Value};
use thiserror::Error;

/// A scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// Its file.
    pub file: String,
    /// Its steps, in order.
    pub steps: Vec<Step>,
}

/// A command, or the passing of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its line.
    pub line: usize,
    /// The time, in milliseconds since the start.
    pub at_ms: u64,
    /// The action.
    pub action: Action,
    /// The expected result.
    pub expected: Expected,
}

/// The action of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Time passes.
    Advance,
    /// An agent sends a command, and gets an answer.
    Call(ScriptedCall),
    /// An agent sends a command that has to wait.
    BlockingCall(ScriptedCall),
    /// A waiting call is answered: the first one of this agent.
    ReceiveAnswer {
        /// The agent.
        agent: String,
    },
}

/// A command of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedCall {
    /// The acting agent.
    pub agent: String,
    /// The idempotency key.
    pub idempotency_key: Option<String>,
    /// The workspace, if it is not that of the scenario.
    pub workspace: Option<String>,
    /// The command.
    pub command: String,
    /// Its fields.
    pub fields: Map<String, Value>,
}

/// The expected result of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expected {
    /// The content of the result, or a refusal; if neither is given, it must not be refused.
    pub answer: Option<Outcome>,
    /// The revision of the answer.
    pub revision: Option<u64>,
    /// All events since the previous step, if given.
    pub events: Option<Vec<ExpectedEvent>>,
}

/// The expected answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The result contains this.
    Result(Value),
    /// It is refused with this code, and the facts contain this.
    Refused {
        /// The code.
        code: String,
        /// The facts.
        facts: Value,
    },
}

/// An expected event.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedEvent {
    /// Its type.
    pub kind: String,
    /// Its subject.
    pub subject: String,
    /// Its content.
    pub fields: Value,
}

/// Why a file is not a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}: {reason}")]
pub struct ScriptError {
    /// The file.
    pub file: String,
    /// The line.
    pub line: usize,
    /// The reason.
    pub reason: String,
}

impl Script {
    /// Parses a scenario.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScriptError> {
        let mut steps: Vec<Step> = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let words: Vec<&str> = text.split_whitespace().collect();
            let wrong = |reason| ScriptError { file: file.to_owned(), line, reason };
            match words.split_first() {
                None => {}
                Some((first, _)) if first.starts_with('#') => {}
                Some((&"at", rest)) => {
                    let step = step(line, rest).map_err(wrong)?;
                    if steps.last().is_some_and(|before| before.at_ms > step.at_ms) {
                        return Err(wrong("time does not go back".to_owned()));
                    }
                    steps.push(step);
                }
                Some((sign, rest)) => {
                    let step = steps.last_mut();
                    let step = step.ok_or_else(|| wrong("no step begins with this".to_owned()))?;
                    detail(step, sign, rest).map_err(wrong)?;
                }
            }
        }
        if steps.is_empty() {
            let reason = "there are no steps".to_owned();
            return Err(ScriptError { file: file.to_owned(), line: 1, reason });
        }
        Ok(Self { file: file.to_owned(), steps })
    }
}

fn step(line: usize, words: &[&str]) -> Result<Step, String> {
    let [time, rest @ ..] = words else { return Err("a step needs a time".to_owned()) };
    let (action, expected) = (Action::Advance, Expected::default());
    let mut step = Step { line, at_ms: milliseconds(time)?, action, expected };
    let (workspace, rest) = match rest {
        [agent, "in", workspace, command_words @ ..] => {
            (Some((*workspace).to_owned()), [&[*agent], command_words].concat())
        }
        rest => (None, rest.to_vec()),
    };
    let (agent, idempotency_key, command_words) = match &rest[..] {
        ["time", "passes"] => return Ok(step),
        [agent, "hears"] => {
            step.action = Action::ReceiveAnswer { agent: (*agent).to_owned() };
            return Ok(step);
        }
        [agent, "once", key, command_words @ ..] => (agent, Some((*key).to_owned()), command_words),
        [agent, command_words @ ..] => (agent, None, command_words),
        [] => return Err("a step needs an agent and a command".to_owned()),
    };
    let (waits, command_words) = match command_words {
        ["waits", command_words @ ..] => (true, command_words),
        command_words => (false, command_words),
    };
    let (command, fields) = command(command_words)?;
    let scripted =
        ScriptedCall { agent: (*agent).to_owned(), idempotency_key, workspace, command, fields };
    step.action = if waits { Action::BlockingCall(scripted) } else { Action::Call(scripted) };
    Ok(step)
}

fn milliseconds(time: &str) -> Result<u64, String> {
    let digits = time.trim_end_matches(char::is_alphabetic);
    let unit = match &time[digits.len()..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(format!("`{time}` has no unit: `ms`, `s`, `m` or `h`")),
    };
    let number: u64 = digits.parse().map_err(|_| format!("`{time}` is no time"))?;
    Ok(number.saturating_mul(unit))
}

fn command(words: &[&str]) -> Result<(String, Map<String, Value>), String> {
    let [command, rest @ ..] = words else { return Err("a command is missing".to_owned()) };
    let mut fields = Map::new();
    for word in rest {
        let (name, value) =
            word.split_once('=').ok_or_else(|| format!("`{word}` is not `name=value`"))?;
        if fields.insert(name.to_owned(), value_of(value)).is_some() {
            return Err(format!("`{name}` is given twice"));
        }
    }
    Ok(((*command).to_owned(), fields))
}

/// The JSON value, or the text itself if it is not JSON.
fn value_of(word: &str) -> Value {
    serde_json::from_str(word).unwrap_or_else(|_| Value::from(word))
}

fn json(words: &[&str]) -> Result<Value, String> {
    match words {
        [word] => serde_json::from_str(word).map_err(|error| format!("`{word}`: {error}")),
        _ => Err("one JSON value without blanks is expected".to_owned()),
    }
}

fn facts(words: &[&str]) -> Result<Value, String> {
    if words.is_empty() { Ok(Value::Object(Map::new())) } else { json(words) }
}

fn detail(step: &mut Step, sign: &str, words: &[&str]) -> Result<(), String> {
    let twice = || Err(format!("`{sign}` cannot be expected again"));
    if matches!((&step.action, sign), (Action::BlockingCall(_) | Action::Advance, "=" | "!" | "@"))
    {
        return Err("nothing is answered here".to_owned());
    }
    let expected = &mut step.expected;
    match sign {
        "?" => part(step, "require", json(words)?),
        "+" => {
            let (name, mut fields) = command(words)?;
            fields.insert("command".to_owned(), name.into());
            part(step, "commands", fields.into())
        }
        "=" | "!" if expected.answer.is_some() => twice(),
        "=" => {
            expected.answer = Some(Outcome::Result(json(words)?));
            Ok(())
        }
        "!" => {
            let [code, rest @ ..] = words else { return Err("a code is missing".to_owned()) };
            let (code, facts) = ((*code).to_owned(), facts(rest)?);
            expected.answer = Some(Outcome::Refused { code, facts });
            Ok(())
        }
        "@" if expected.revision.is_some() => twice(),
        "@" => {
            let revision = json(words)?.as_u64();
            expected.revision = Some(revision.ok_or("a revision is a number")?);
            Ok(())
        }
        "~" => {
            let events = expected.events.get_or_insert_default();
            match words {
                ["nothing"] if events.is_empty() => Ok(()),
                [kind, subject, rest @ ..] => {
                    let (kind, fields) = ((*kind).to_owned(), facts(rest)?);
                    let subject = value_of(subject).as_str().unwrap_or(subject).to_owned();
                    events.push(ExpectedEvent { kind, subject, fields });
                    Ok(())
                }
                _ => Err("an event has a type and a subject".to_owned()),
            }
        }
        other => Err(format!("`{other}` means nothing at the beginning of a line")),
    }
}

fn part(step: &mut Step, field: &str, value: Value) -> Result<(), String> {
    let scripted = match &mut step.action {
        Action::Call(scripted) if scripted.command == "transaction" => scripted,
        _ => return Err("only a transaction has parts".to_owned()),
    };
    let list = scripted.fields.entry(field).or_insert_with(|| Value::Array(Vec::new()));
    list.as_array_mut().ok_or_else(|| format!("`{field}` is given already"))?.push(value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(text: &str) -> Result<Script, String> {
        Script::parse("a.txt", text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_step_is_read_with_all_its_parts() {
        let text = "# Why.\n\n\
            at 1500ms ada once k1 transaction\n  ? {\"revision\":1}\n  + state.set key=a value=1\n\
            \x20 = [{\"version\":1}]\n  @ 2\n  ~ state.set state/shared/a {\"version\":1}\n\
            at 2m time passes\n  ~ nothing\n";
        let script = parse(text).unwrap();
        let [first, second] = &script.steps[..] else { panic!("{script:?}") };
        assert_eq!((first.line, first.at_ms, second.at_ms), (3, 1_500, 120_000));
        let Action::Call(scripted) = &first.action else { panic!("{first:?}") };
        assert_eq!(scripted.idempotency_key.as_deref(), Some("k1"));
        let fields = json!({"require": [{"revision": 1}],
            "commands": [{"command": "state.set", "key": "a", "value": 1}]});
        assert_eq!(Value::Object(scripted.fields.clone()), fields);
        assert_eq!(first.expected.revision, Some(2));
        assert_eq!(first.expected.events.as_ref().unwrap()[0].subject, "state/shared/a");
        let events = second.expected.events.as_deref();
        assert_eq!((&second.action, events), (&Action::Advance, Some(&[][..])));
    }

    #[test]
    fn a_call_may_wait_and_be_answered_later() {
        let text = "at 0s bob once k waits lock.acquire name=a\nat 1s bob hears\n= null\n";
        let script = parse(text).unwrap();
        let Action::BlockingCall(scripted) = &script.steps[0].action else { panic!("{script:?}") };
        assert_eq!(
            (scripted.command.as_str(), scripted.idempotency_key.as_deref()),
            ("lock.acquire", Some("k"))
        );
        assert_eq!(script.steps[1].action, Action::ReceiveAnswer { agent: "bob".to_owned() });
        assert_eq!(script.steps[1].expected.answer, Some(Outcome::Result(Value::Null)));
    }

    #[test]
    fn a_value_is_json_if_it_can_be() {
        let script = parse(r#"at 0s ada x a=1 b=one c="1" d={"e":[true]} f=a=b g="a\u0020b" h="#);
        let Action::Call(scripted) = script.unwrap().steps[0].action.clone() else {
            panic!("it is said")
        };
        let fields = scripted.fields;
        let expected = json!({"a": 1, "b": "one", "c": "1", "d": {"e": [true]}, "f": "a=b",
            "g": "a b", "h": ""});
        assert_eq!(Value::Object(fields), expected);
    }

    #[test]
    fn an_invalid_scenario_is_refused_with_its_line() {
        let cases = [
            ("", "a.txt:1: there are no steps"),
            ("= 1", "a.txt:1: no step begins with this"),
            ("at 1 ada x", "a.txt:1: `1` has no unit: `ms`, `s`, `m` or `h`"),
            ("at 1.5s ada x", "a.txt:1: `1.5s` is no time"),
            ("at", "a.txt:1: a step needs a time"),
            ("at 1s", "a.txt:1: a step needs an agent and a command"),
            ("at 1s ada", "a.txt:1: a command is missing"),
            ("at 1s ada x y", "a.txt:1: `y` is not `name=value`"),
            ("at 1s ada x y=1 y=2", "a.txt:1: `y` is given twice"),
            ("at 2s ada x\nat 1s ada x", "a.txt:2: time does not go back"),
            ("at 1s ada x\n= 1\n! a.b", "a.txt:3: `!` cannot be expected again"),
            ("at 1s ada x\n= 1 2", "a.txt:2: one JSON value without blanks is expected"),
            ("at 1s ada waits x\n= 1", "a.txt:2: nothing is answered here"),
            ("at 1s time passes\n= 1", "a.txt:2: nothing is answered here"),
            ("at 1s ada waits", "a.txt:1: a command is missing"),
            ("at 1s ada x\n? 1", "a.txt:2: only a transaction has parts"),
            ("at 1s ada x\n~ a.b", "a.txt:2: an event has a type and a subject"),
            ("at 1s ada x\n* 1", "a.txt:2: `*` means nothing at the beginning of a line"),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text).unwrap_err(), expected, "{text}");
        }
    }
}
