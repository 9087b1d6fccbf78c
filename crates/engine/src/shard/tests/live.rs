//! Live requests: answered without a group, unless they depend on one, and lost with the memory.

use std::sync::Arc;

use baton_core::message::{Rejection as Refused, Reply as MessageReply};
use baton_core::wire::{Call, Frame};
use baton_core::{AgentId, Mutation, Rejection, Reply, Request, Timestamp};
use baton_log::{Log, MemoryLog};

use super::name;
use crate::admission::Admission;
use crate::clock::{Clock, ManualClock};
use crate::error::Error;
use crate::machine::Queued;
use crate::options::Options;
use crate::shard::{Flushed, Shard};
use crate::waiter::{WaitResult, Waiter};

const LONG: u64 = 3_600_000;
const SECRET: &str = "nothing-of-this-is-written";

struct Stage {
    shard: Shard<MemoryLog>,
    clock: ManualClock,
    log: MemoryLog,
}

impl Stage {
    fn new() -> Self {
        Self::on(MemoryLog::default())
    }

    fn on(log: MemoryLog) -> Self {
        let clock = ManualClock::at(Timestamp(1_000_000));
        let shard = Shard::open(log.clone(), Arc::new(clock.clone()), Options::default()).unwrap();
        shard.load(&name()).unwrap();
        Self { shard, clock, log }
    }

    fn submit(&self, agent: &str, command: &str) -> Admission<Queued, Request> {
        let text = format!("{{\"command\":{command}}}");
        let Call::Command(command) = Frame::parse(&text).unwrap().call().unwrap() else {
            panic!("it is a command")
        };
        let agent = AgentId::parse(agent).unwrap();
        let request = Request { mutation: Mutation::Command(command), idempotency_key: None };
        self.shard.submit(&name(), request, &agent)
    }

    /// A call that waits, and the group on which its answer depends.
    #[track_caller]
    fn waits(&self, agent: &str, command: &str) -> (Arc<Waiter>, u64) {
        match self.submit(agent, command) {
            Admission::Wait(Queued { waiter, group, .. }) => (waiter, group),
            Admission::Answer(held) => panic!("it was answered: {:?}", held.open(u64::MAX)),
            Admission::Retry(..) => panic!("it is loaded"),
        }
    }

    /// An answer, and the group that it is held for.
    #[track_caller]
    fn answer(&self, agent: &str, command: &str) -> (Result<Reply, Rejection>, u64) {
        let held = self.submit(agent, command).answer().expect("it does not wait");
        let group = held.group();
        (held.open(u64::MAX).map(|answer| answer.reply), group)
    }

    fn flush(&self) {
        while !matches!(self.shard.flush(), Flushed::Nothing) {}
    }

    fn receives(&self) -> Arc<Waiter> {
        self.waits("bob", &format!(r#""inbox.receive","wait_ms":{LONG}"#)).0
    }

    fn requests(&self) -> (Arc<Waiter>, u64) {
        let fields = format!(r#""to":"bob","body":"{SECRET}","keep":false,"timeout_ms":5000"#);
        self.waits("ada", &format!(r#""message.request",{fields}"#))
    }

    fn replies(&self) -> (Result<Reply, Rejection>, u64) {
        self.answer("bob", &format!(r#""message.reply","request":"{ID}","body":"{SECRET}""#))
    }
}

const ID: &str = "live-1000000";

fn reply(result: Option<WaitResult>) -> MessageReply {
    match result.expect("it is answered").expect("no storage is involved") {
        Ok(answer) => match answer.reply {
            Reply::Message(reply) => reply,
            reply => panic!("it is about a message, not {reply:?}"),
        },
        Err(rejection) => panic!("it was refused: {rejection}"),
    }
}

fn refusal(result: Option<WaitResult>) -> &'static str {
    match result.expect("it is answered").expect("no storage is involved") {
        Ok(answer) => panic!("it was answered: {answer:?}"),
        Err(rejection) => rejection.code(),
    }
}

/// The bytes of all groups that are not written yet, which are written.
fn written(stage: &Stage) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let Some((position, bytes)) = stage.shard.machine().take_group() else { return all };
        all.extend_from_slice(&bytes);
        let tail = stage.log.append(position, &bytes).unwrap();
        let wakers = stage.shard.machine().confirm(tail, bytes);
        wakers.wake();
    }
}

#[test]
fn a_live_request_and_its_reply_wait_for_no_group_and_are_not_written() {
    let stage = Stage::new();
    let receiver = stage.receives();
    let (requester, group) = stage.requests();
    assert_eq!(group, 0, "it depends on nothing that could be lost");
    let MessageReply::Received { messages } = reply(receiver.result()) else {
        panic!("it received")
    };
    assert_eq!((messages[0].id.as_str(), messages[0].keep), (ID, Some(false)));
    let (replied, group) = stage.replies();
    assert_eq!(group, 0);
    assert!(matches!(replied, Ok(Reply::Message(MessageReply::Message(_)))));
    let MessageReply::Replied(answered) = reply(requester.result()) else {
        panic!("it is answered")
    };
    assert_eq!((answered.from.as_str(), answered.request.as_str()), ("bob", ID));
    let bytes = written(&stage);
    assert!(bytes.windows(6).any(|it| it == b"GaveUp" || it == b"gave_u"), "the wait has ended");
    let holds = |text: &str| bytes.windows(text.len()).any(|it| it == text.as_bytes());
    assert!(!holds(SECRET) && !holds(ID), "nothing of it is written");
}

/// What the request has read must not be shown before it is durable: here that bob has a session.
#[test]
fn answers_about_live_requests_are_held_for_what_they_depend_on() {
    let stage = Stage::new();
    let _ = stage.answer("bob", r#""agent.register","agent":"bob""#);
    let receiver = stage.receives();
    let (requester, group) = stage.requests();
    assert!(group > 0, "the session could be lost");
    assert!(receiver.result().is_none(), "so could what the receiver is shown");
    let (_, group) = stage.replies();
    assert!(group > 0);
    assert!(requester.result().is_none());
    stage.flush();
    assert!(matches!(reply(receiver.result()), MessageReply::Received { .. }));
    assert!(matches!(reply(requester.result()), MessageReply::Replied(_)));
}

/// The record that a call waits, and that it no longer does, is not what anybody relies on; what
/// the call did before it began to wait is.
#[test]
fn a_call_that_replies_before_it_waits_shows_the_reply() {
    let stage = Stage::new();
    let first = stage.receives();
    let kept = r#""message.request","to":"bob","body":1,"timeout_ms":5000"#;
    let _ = stage.waits("eve", kept);
    stage.flush();
    let MessageReply::Received { messages } = reply(first.result()) else { panic!("it received") };
    let id = &messages[0].id;
    let replies = format!(r#""message.reply","request":"{id}","body":2,"wait_ms":{LONG}"#);
    let (second, _) = stage.waits("bob", &replies);
    let (_, group) = stage.requests();
    assert!(group > 0, "the receiver would see that its reply was accepted");
    assert!(second.result().is_none());
    stage.flush();
    assert!(matches!(reply(second.result()), MessageReply::Received { .. }));
}

#[test]
fn a_group_that_fails_takes_live_requests_with_it() {
    let stage = Stage::new();
    stage.receives();
    let (requester, _) = stage.requests();
    let mut machine = stage.shard.machine();
    let _ = machine.take_group();
    let (_, wakers) = machine.abandon(stage.clock.now(), &Error::Full);
    assert_eq!(machine.next_deadline(), None, "nothing is left of it");
    drop(machine);
    wakers.wake();
    assert!(matches!(requester.result(), Some(Err(Error::Full))));
}

#[test]
fn a_live_request_times_out() {
    let stage = Stage::new();
    stage.receives();
    stage.flush();
    let _ = stage.shard.machine().set_alarm(stage.clock.now());
    let (requester, _) = stage.requests();
    assert!(stage.shard.machine().needs_wakeup(), "it would never look");
    stage.clock.advance(4_999);
    stage.shard.expire();
    assert!(requester.result().is_none());
    stage.clock.advance(1);
    stage.shard.expire();
    assert_eq!(refusal(requester.result()), "message.timed_out");
    let (late, _) = stage.replies();
    assert!(matches!(late, Err(Rejection::Message(Refused::LiveOver { .. }))));
    assert!(stage.shard.machine().due(stage.clock.now()).is_empty(), "nothing is left to do");
}

#[test]
fn a_workspace_with_a_live_request_is_not_evicted() {
    let stage = Stage::new();
    stage.receives();
    let (requester, _) = stage.requests();
    let idle_ms = u64::try_from(Options::default().idle.as_millis()).unwrap();
    let do_everything = || {
        stage.clock.advance(idle_ms);
        while stage.shard.next_compaction_job().is_some() {
            stage.flush();
            assert!(stage.shard.compact_next().unwrap());
        }
    };
    do_everything();
    assert!(stage.shard.is_resident(&name()), "a live request is open in it");
    stage.shard.machine().give_up(&requester, stage.clock.now());
    let (late, _) = stage.replies();
    assert!(matches!(late, Err(Rejection::Message(Refused::LiveOver { .. }))));
    do_everything();
    assert!(!stage.shard.is_resident(&name()), "no request is open any more");
}

#[test]
fn a_restart_loses_live_requests_and_their_callers_learn_it() {
    let stage = Stage::new();
    stage.receives();
    let (requester, _) = stage.requests();
    stage.flush();
    stage.shard.close_waiters();
    assert!(matches!(requester.result(), Some(Err(Error::Closed))));
    let again = Stage::on(stage.log.clone());
    let (late, _) = again.replies();
    assert!(matches!(late, Err(Rejection::Message(Refused::LiveOver { .. }))));
}

#[test]
fn the_end_of_a_session_ends_its_live_requests_when_it_is_durable() {
    let stage = Stage::new();
    let _ = stage.answer("bob", r#""agent.register","agent":"bob""#);
    stage.receives();
    let (requester, _) = stage.requests();
    stage.flush();
    let (second, _) = stage.requests();
    let _ = stage.answer("bob", r#""agent.leave","agent":"bob""#);
    assert!(requester.result().is_none() && second.result().is_none(), "it could still be lost");
    stage.flush();
    assert_eq!(refusal(requester.result()), "message.handler_lost");
    assert_eq!(refusal(second.result()), "message.handler_lost");
}

/// While a reader has the tables, a live request waits like any other call.
#[test]
fn a_live_request_waits_for_tables_that_are_away() {
    let stage = Stage::new();
    stage.receives();
    let lent = stage.shard.machine().lend(&name()).expect("they are here");
    let request = r#""message.request","to":"bob","body":1,"keep":false"#;
    assert!(stage.submit("ada", request).is_retry());
    let _ = stage.shard.machine().take_back_lent(lent, (), stage.clock.now());
    let (_, group) = stage.waits("ada", request);
    assert_eq!(group, 0);
}
