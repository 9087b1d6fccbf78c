//! Scenarios as text: the one place where tests call the API.
//!
//! ```text
//!   milliseconds, agent, request,                            result
//!   (0, "ada", "state.set shared/plan 1",                    "state.set shared/plan v1 = 1"),
//!   (5, "bob", "state.set shared/plan 2 expected_version=7", "refused state.version_conflict"),
//! ```
//!
//! A request is a command or query by its public name, its subject, and its other fields as
//! `name=json`, or `name` alone if it is true. It is parsed through serde, so that the scenarios
//! test the spelling of the vocabulary.
//!
//! | also | is |
//! |---|---|
//! | `all: if entry shared/a version=1 & state.set shared/a 2` | a transaction |
//! | `many 3 state.set shared/k{} {}` | a transaction of three, with 0, 1 and 2 for `{}` |
//! | `#k1 state.set shared/a 1` | a request with the idempotency key `k1` |
//! | `under 7 state.set shared/a 1` | a command with the token 7 |
//! | `gone` | every waiting caller is gone |
//! | `time` | everything that is due by now |
//! | `found {"…":…}` | the workspace starts with the content of another |
//! | `wake` | the server was restarted |
//! | `bytes:9` in place of a value | a JSON string of nine bytes |
//! | `@a` | the id of an artifact whose digest is all `a`; also in results |
//! | `^7` | the place of a blob, whose number ends in 7; also in results |
//!
//! Checked after every step:
//!
//! 1. [`Space::check`] and the checks of the entries pass.
//! 2. A request that was refused, or changed nothing, has no effect.
//! 3. A batch survives encoding, and is not larger than its weight.
//! 4. Replaying all batches, and restoring a snapshot, give an equal space.

mod asked;
mod contents;
mod handoffs;
mod live;
mod pipelines;
mod render;

use std::collections::BTreeSet;
use std::fmt::Write;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::command::{Query, Request};
use crate::event::Event;
use crate::message::LiveRequests;
use crate::messagepack;
use crate::names::AgentId;
use crate::primitive;
use crate::refusals::Refusal;
use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::signal::Signal;
use crate::space::batch::Batch;
use crate::space::{CallOutcome, Committed, Ended, Head, Space};
use crate::state::Entry;
use crate::storage::Entries;
use crate::time::Timestamp;
use crate::{state, task, workspace};
pub(crate) use asked::read_command;
use asked::{read_query, read_request};
use contents::{shortened, written_out};
use render::{rendered, rendered_again, shown};

/// Milliseconds, agent, request, result.
pub(crate) type Step = (u64, &'static str, &'static str, &'static str);

/// Names scenarios, makes a test of each, and lists them for the coverage tests.
macro_rules! scenarios {
    ($($(#[$doc:meta])* $name:ident => [$($step:tt),* $(,)?])*) => {
        $(
            $(#[$doc])*
            #[test]
            fn $name() {
                $crate::testing::check(&[$($step),*]);
            }
        )*
        const SCENARIOS: &[&[$crate::testing::Step]] = &[$(&[$($step),*]),*];
    };
}
pub(crate) use scenarios;

/// Runs the steps in order, in a new workspace.
#[track_caller]
pub(crate) fn check(steps: &[Step]) -> World {
    let mut world = World::new(Space::default());
    world.check(steps);
    world
}

/// The log of the steps, as text.
#[track_caller]
pub(crate) fn story(steps: &[Step]) -> String {
    let world = check(steps);
    let mut story = String::new();
    for batch in &world.batches {
        let Batch { revision, time, agent, events } = batch;
        writeln!(story, "r{revision} at {}, {agent}:", time.0).unwrap();
        for event in events {
            writeln!(story, "    {}", rendered(event)).unwrap();
        }
    }
    story
}

/// Every string that a function of a source file returns.
pub(crate) fn literals(source: &str, function: &str) -> BTreeSet<String> {
    let start = source.find(&format!("fn {function}(")).expect("the function exists");
    let end = start + source[start..].find("\n    }").expect("the function ends");
    let arms = source[start..end].lines().filter_map(|line| line.split_once("=> \""));
    arms.map(|(_, rest)| rest.split('"').next().unwrap().to_owned()).collect()
}

/// Fails unless the scenarios reach exactly the event types of a vocabulary, except those that
/// other tests reach.
#[track_caller]
pub(crate) fn check_coverage(
    source: &str,
    function: &str,
    scenarios: &[&[Step]],
    reached: fn(World) -> BTreeSet<String>,
    elsewhere: &[&str],
) {
    check_reached(literals(source, function), scenarios, reached, elsewhere);
}

/// Fails unless the scenarios reach exactly the codes of these refusals, except those that other
/// tests reach.
#[track_caller]
pub(crate) fn check_codes(refusals: &[Refusal], scenarios: &[&[Step]], elsewhere: &[&str]) {
    let codes = refusals.iter().map(|refusal| refusal.code.to_owned()).collect();
    check_reached(codes, scenarios, World::codes, elsewhere);
}

#[track_caller]
fn check_reached(
    mut missing: BTreeSet<String>,
    scenarios: &[&[Step]],
    reached: fn(World) -> BTreeSet<String>,
    elsewhere: &[&str],
) {
    assert!(!missing.is_empty(), "the vocabulary has words");
    for word in elsewhere {
        assert!(missing.remove(*word), "`{word}` is not in the vocabulary");
    }
    for steps in scenarios {
        for word in reached(check(steps)) {
            assert!(!elsewhere.contains(&word.as_str()), "`{word}` is reached by a scenario");
            missing.remove(&word);
        }
    }
    assert_eq!(missing, BTreeSet::new(), "no scenario reaches these");
}

/// A space and its batches.
pub(crate) struct World {
    pub(crate) space: Space,
    /// The open live requests, which no batch is about.
    live: LiveRequests,
    is_new: bool,
    batches: Vec<Batch>,
    codes: BTreeSet<String>,
}

/// The complete state of a space.
#[derive(Debug, PartialEq)]
pub(crate) struct Picture {
    head: Head,
    entries: Vec<Entry>,
}

impl Picture {
    pub(crate) fn of(space: &Space) -> Self {
        Self { head: space.head(), entries: space.state.everything(None, None).collect() }
    }
}

/// The same, encoded and decoded as in the log.
fn encoded<T: Serialize + DeserializeOwned>(value: &T) -> T {
    messagepack::from_slice(&rmp_serde::to_vec_named(value).unwrap()).unwrap()
}

impl World {
    pub(crate) fn new(space: Space) -> Self {
        space.check();
        let is_new = space.head() == Space::default().head();
        let (live, batches, codes) = (LiveRequests::default(), Vec::new(), BTreeSet::new());
        Self { space, live, is_new, batches, codes }
    }

    /// Every code with which a step was refused.
    pub(crate) fn codes(self) -> BTreeSet<String> {
        self.codes
    }

    /// The batches.
    pub(crate) fn batches(&self) -> &[Batch] {
        &self.batches
    }

    /// The types of all events.
    pub(crate) fn kinds(self) -> BTreeSet<String> {
        let events = self.batches.iter().flat_map(|batch| &batch.events);
        events.map(|event| event.kind().to_owned()).collect()
    }

    #[track_caller]
    pub(crate) fn check(&mut self, steps: &[Step]) {
        for (number, (time, agent, asked, expected)) in steps.iter().enumerate() {
            let answer = self.run(*time, agent, asked);
            assert_eq!(answer, *expected, "step {number} at {time}, {agent}: {asked}");
        }
        self.check_memory();
    }

    /// Runs one step; returns its result as text.
    pub(crate) fn run(&mut self, time: u64, agent: &str, asked: &str) -> String {
        shortened(&self.run_written(time, agent, &written_out(asked)))
    }

    fn run_written(&mut self, time: u64, agent: &str, asked: &str) -> String {
        let (agent, now) = (AgentId::parse(agent).unwrap(), Timestamp(time));
        match asked {
            "time" => {
                let mut rendered = self.expire_live(now);
                while let Some(signal) = self.space.due(now).into_iter().next() {
                    let answer = self.signal(signal, now);
                    assert!(!answer.starts_with("refused"), "what time causes: {answer}");
                    rendered.push(answer);
                }
                if rendered.is_empty() { "nothing".into() } else { rendered.join(" | ") }
            }
            "gone" => {
                self.give_up_live();
                let waits: Vec<_> = self.space.waits().collect();
                let mut rendered = Vec::new();
                for wait in waits {
                    // A call that waits in several queues leaves all of them at once.
                    let Some(signal) = self.space.give_up(wait) else { continue };
                    rendered.push(self.signal(signal, now));
                }
                rendered.join(" | ")
            }
            found if found.starts_with("found ") => {
                let origin = serde_json::from_str(&found["found ".len()..]).unwrap();
                let found = primitive::Signal::Own(workspace::Signal::Found { origin });
                self.signal(Signal::Workspace(found), now)
            }
            "wake" => {
                self.space.wake(now);
                self.space.check();
                "awake".into()
            }
            _ => match read_query(asked) {
                Some(query) => self.query(&query),
                None => self.submit(read_request(asked), &agent, now),
            },
        }
    }

    fn query(&mut self, query: &Query) -> String {
        match self.space.query(query) {
            None => "about the past".into(),
            Some(Ok(reply)) => {
                check_encoding(&reply);
                shown(&reply)
            }
            Some(Err(rejection)) => self.refused(&rejection),
        }
    }

    fn signal(&mut self, signal: Signal, now: Timestamp) -> String {
        self.change(|space| Ok(space.signal(vec![signal], now)?.map(|()| None)))
    }

    pub(crate) fn commit(&mut self, request: Request, agent: &AgentId, now: Timestamp) -> String {
        self.change(|space| Ok(space.commit(request, agent, now)?.map(Some)))
    }

    fn change(
        &mut self,
        change: impl FnOnce(&mut Space) -> Result<Committed<Option<CallOutcome>>, Rejection>,
    ) -> String {
        let before = Picture::of(&self.space);
        let deadline = self.space.next_deadline();
        let committed = change(&mut self.space);
        self.space.check();
        for (_, entries) in self.space.state.namespaces() {
            entries.check();
        }
        if committed.as_ref().is_ok_and(|committed| committed.batch.is_some()) {
            let committed = committed.unwrap();
            return self.happened(committed, before.head.time);
        }
        assert_eq!(Picture::of(&self.space), before, "what did not happen left a trace");
        assert_eq!(self.space.next_deadline(), deadline, "a deadline moved");
        match committed {
            Ok(Committed { outcome: Some(CallOutcome::Answered(_)), live, .. })
                if !live.is_empty() =>
            {
                let batch = &live[0];
                assert_eq!(batch.revision, self.space.revision(), "told after what was");
                let lines: Vec<String> = batch.events.iter().map(rendered).collect();
                format!("told {}", lines.join("; "))
            }
            Ok(Committed { outcome: Some(CallOutcome::Answered(answer)), .. }) => {
                rendered_again(&answer)
            }
            Ok(Committed { outcome: Some(CallOutcome::Waits(wait)), .. }) => {
                format!("call {wait} waits on")
            }
            Ok(Committed { outcome: None, .. }) => "nothing".into(),
            Err(rejection) => self.refused(&rejection),
        }
    }

    fn happened(&mut self, committed: Committed<Option<CallOutcome>>, before: Timestamp) -> String {
        let Committed { outcome, batch, ended, live, .. } = committed;
        let (batch, at) = (batch.expect("something happened"), self.batches.len());
        assert_eq!(batch.revision, self.space.revision());
        assert!(batch.time >= before, "time ran backwards");
        assert!(!batch.events.is_empty());
        assert_eq!(encoded(&batch), batch);
        for event in &batch.events {
            let bytes = rmp_serde::to_vec_named(event).unwrap().len();
            assert!(bytes <= event.weight(), "{} weighs {bytes}", rendered(event));
        }
        let mut lines: Vec<String> = batch.events.iter().map(rendered).collect();
        if lines.len() > 9 {
            let kinds: BTreeSet<&str> = batch.events.iter().map(Event::kind).collect();
            let count = |kind: &str| batch.events.iter().filter(|e| e.kind() == kind).count();
            lines = kinds.into_iter().map(|kind| format!("{} {kind}", count(kind))).collect();
        }
        for batch in live {
            assert_eq!(batch.revision, self.space.revision(), "told after what was");
            lines.extend(batch.events.iter().map(|event| format!("told {}", rendered(event))));
        }
        match &outcome {
            Some(CallOutcome::Answered(answer)) => {
                assert_eq!(answer.revision, self.space.revision());
                check_encoding(&answer.reply);
                if let Reply::State(state::Reply::Entry(entry)) = &answer.reply {
                    let warnings = entry.warnings().iter();
                    lines.extend(warnings.map(|warning| format!("warning {}", warning.code)));
                    self.check_entry(entry, &batch);
                }
                if let Reply::Task(task::Reply::Task(task)) = &answer.reply {
                    let warnings = task.warnings.iter();
                    lines.extend(warnings.map(|warning| format!("warning {}", warning.code)));
                }
            }
            Some(CallOutcome::Waits(wait)) => lines.push(format!("call {wait} waits")),
            None => {}
        }
        for Ended { wait, reply, .. } in ended {
            let reply = match reply {
                Ok(reply) => {
                    check_encoding(&reply);
                    shown(&reply)
                }
                Err(rejection) => self.refused(&rejection),
            };
            lines.push(format!("call {wait}: {reply}"));
        }
        let followed = self.follow_live(&batch);
        // What follows is committed afterwards, and recorded separately.
        let following = self.batches.split_off(at);
        self.batches.push(batch);
        self.batches.extend(following);
        lines.extend(followed);
        lines.join("; ")
    }

    /// The reply to a write is the current entry; the reply to a deletion is the deleted one.
    fn check_entry(&self, entry: &Entry, batch: &Batch) {
        let Event::State(event) = &batch.events[0] else {
            panic!("an entry is answered with although none changed first")
        };
        let (name, key) = event.entry_key();
        assert_eq!((entry.namespace(), entry.key()), (name, key.as_str()));
        let now = self.space.state.entry(name, key);
        if batch.events[0].kind() == "state.deleted" {
            assert_eq!(now, None);
            assert!(entry.revision() < batch.revision);
        } else {
            assert_eq!(now.as_ref(), Some(entry));
            assert_eq!((entry.revision(), entry.updated_at()), (batch.revision, batch.time));
            assert_eq!(*entry.updated_by(), batch.agent);
        }
    }

    fn refused(&mut self, rejection: &Rejection) -> String {
        self.codes.insert(rejection.code().to_owned());
        let text = rejection.to_string();
        assert!(!text.is_empty() && !text.ends_with('.'), "{text}");
        assert!(!rejection.hint().is_empty() && !rejection.hint().ends_with('.'));
        assert!(json!(rejection).is_object(), "the facts of {rejection:?} are fields");
        match rejection {
            Rejection::InTransaction { index, cause_code, cause } => {
                assert_eq!(*cause_code, cause.code());
                assert_eq!(rejection.kind(), cause.kind());
                self.codes.insert(cause.code().to_owned());
                format!("refused {} {index} {cause_code}", rejection.code())
            }
            Rejection::PreconditionFailed { index, .. } => {
                format!("refused {} {index}", rejection.code())
            }
            Rejection::TooLarge { what, .. } => format!("refused {} {what}", rejection.code()),
            _ => format!("refused {}", rejection.code()),
        }
    }

    /// The space restored from a snapshot.
    pub(crate) fn restored(&self) -> Space {
        let tables = self.space.state.namespaces().map(|(name, entries)| {
            (name.clone(), Entries::from_sorted(entries.iter().cloned().collect()))
        });
        Space::restore(encoded(&self.space.head()), tables.collect())
    }

    /// The space replayed from the batches, for a world that started empty.
    pub(crate) fn replayed(&self) -> Space {
        let mut replayed = Space::default();
        for batch in &self.batches {
            replayed.replay(&encoded(batch));
            replayed.check();
        }
        replayed
    }

    /// Asserts that a replay and a snapshot give the committed space.
    #[track_caller]
    pub(crate) fn check_memory(&self) {
        let picture = Picture::of(&self.space);
        let restored = self.restored();
        restored.check();
        assert_eq!(Picture::of(&restored), picture, "a snapshot gives another space");
        if self.is_new {
            assert_eq!(Picture::of(&self.replayed()), picture, "a replay gives another space");
        }
    }
}

/// Asserts that answers survive encoding: they are stored in receipts and sent to clients.
fn check_encoding(reply: &Reply) {
    assert_eq!(encoded(reply), *reply);
    let text = serde_json::to_string(reply).unwrap();
    assert_eq!(serde_json::from_str::<Reply>(&text).unwrap(), *reply, "{text}");
}
