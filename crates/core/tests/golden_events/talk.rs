//! Messages, topics and streams.

use baton_core::message::{Address, Given, Requested, Sent};
use baton_core::waiting::wait::Left;
use baton_core::{
    AgentId, Event, HandlerName, IdempotencyKey, MessageId, StreamName, Timestamp, TopicName,
    Traceparent, WaitId, message, stream, task, topic,
};

use super::{ada, json};

/// The same for events of messages.
pub(super) fn message_variant(event: &message::Event) -> &'static str {
    match event {
        message::Event::Sent(_) => "message sent",
        message::Event::Delivered { .. } => "message delivered",
        message::Event::Returned { .. } => "message returned",
        message::Event::Acked { .. } => "message acked",
        message::Event::Died { .. } => "message died",
        message::Event::Expired { .. } => "message expired",
        message::Event::Requeued { .. } => "message requeued",
        message::Event::Replied { .. } => "message replied",
        message::Event::TimedOut { .. } => "message timed out",
        message::Event::Lost { .. } => "message lost",
        message::Event::Rerouted { .. } => "message rerouted",
        message::Event::Rejoined { .. } => "message rejoined",
        message::Event::Queued { .. } => "message queued",
        message::Event::GaveUp { .. } => "message gave up",
        message::Event::Polled { .. } => "message polled",
        message::Event::HandlerAdded { .. } => "handler added",
        message::Event::HandlerRemoved { .. } => "handler removed",
        message::Event::HandlersGone { .. } => "handlers gone",
    }
}

/// The same for events of streams.
pub(super) fn stream_variant(event: &stream::Event) -> &'static str {
    match event {
        stream::Event::Created { .. } => "stream created",
        stream::Event::Sent { .. } => "stream sent",
        stream::Event::Closed { .. } => "stream closed",
        stream::Event::Deleted { .. } => "stream deleted",
        stream::Event::Queued { .. } => "stream queued",
        stream::Event::Told { .. } => "stream told",
        stream::Event::GaveUp { .. } => "stream gave up",
    }
}

fn id() -> MessageId {
    MessageId::parse("m-0000000007").unwrap()
}

fn bob() -> AgentId {
    AgentId::parse("bob").unwrap()
}

fn handler() -> HandlerName {
    HandlerName::parse("sum").unwrap()
}

pub(super) fn trace() -> Traceparent {
    Traceparent::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").unwrap()
}

/// A task with a trace context.
pub(super) fn traced_task(created: task::Created) -> task::Event {
    task::Event::Created(Box::new(task::Created { traceparent: Some(trace()), ..created }))
}

fn until() -> Timestamp {
    Timestamp(1_794_700_800_123)
}

fn requested(address: Address, key: Option<&str>) -> Requested {
    let key = key.map(|key| IdempotencyKey::parse(key).unwrap());
    Requested { address, deadline: until(), wait: WaitId(70_000), key }
}

fn sent(request: Option<Requested>) -> message::Event {
    message::Event::Sent(Box::new(Sent {
        message: id(),
        to: bob(),
        body: json(r#"{"text":"hé"}"#),
        holds: false,
        thread: None,
        reply_to: None,
        expires_at: None,
        traceparent: None,
        request,
    }))
}

fn answered() -> message::Event {
    message::Event::Sent(Box::new(Sent {
        message: id(),
        to: bob(),
        body: json("1"),
        holds: false,
        thread: Some(MessageId::parse("m-0000000001").unwrap()),
        reply_to: Some(MessageId::parse("m-0000000002.00003").unwrap()),
        expires_at: Some(until()),
        traceparent: None,
        request: None,
    }))
}

/// A trace context.
fn traced() -> message::Event {
    let message::Event::Sent(mut sent) = sent(None) else { panic!("it is sent") };
    sent.traceparent = Some(trace());
    message::Event::Sent(sent)
}

/// A body that may reference an artifact.
fn holding() -> message::Event {
    message::Event::Sent(Box::new(Sent {
        message: id(),
        to: bob(),
        body: json(r#"{"artifact":"sha256:0123"}"#),
        holds: true,
        thread: None,
        reply_to: None,
        expires_at: None,
        traceparent: None,
        request: None,
    }))
}

pub(super) fn messages() -> Vec<(&'static str, Event)> {
    use message::Event as Fact;
    let (message, to, wait) = (id, bob, Some(WaitId(70_000)));
    let capability = Address::Capability { capability: "sum".to_owned() };
    let body = |body: &str| Given { body: Some(json(body)), error: None };
    let error = Given { body: None, error: Some(json(r#"{"code":"overflow"}"#)) };
    let held = body(r#"{"artifact":"sha256:0123"}"#);
    let replied =
        |answer, holds, wait| Fact::Replied { message: id(), to: bob(), answer, holds, wait };
    let requester = ada();
    vec![
        ("message.sent", sent(None)),
        ("message.sent with a thread", answered()),
        ("message.sent with a trace", traced()),
        ("message.sent with an artifact held", holding()),
        ("message.sent with an agent asked", sent(Some(requested(Address::Agent(bob()), None)))),
        (
            "message.sent with a handler asked",
            sent(Some(requested(Address::Handler { handler: handler() }, Some("request 1")))),
        ),
        ("message.sent with a capability asked", sent(Some(requested(capability, None)))),
        (
            "message.delivered",
            Fact::Delivered { message: message(), to: to(), until: until(), wait: None },
        ),
        (
            "message.delivered with a wait",
            Fact::Delivered { message: message(), to: to(), until: until(), wait },
        ),
        ("message.returned", Fact::Returned { message: message(), to: to() }),
        ("message.acked", Fact::Acked { message: message(), to: to() }),
        ("message.died", Fact::Died { message: message(), to: to() }),
        ("message.expired", Fact::Expired { message: message(), to: to() }),
        ("message.requeued", Fact::Requeued { message: message(), to: to() }),
        ("message.replied", replied(body("3"), false, wait)),
        ("message.replied with an artifact", replied(held, true, None)),
        ("message.replied with an error", replied(error, false, None)),
        ("message.timed_out", Fact::TimedOut { message: message(), to: to(), wait }),
        ("message.lost", Fact::Lost { message: message(), to: to(), wait }),
        ("message.rerouted", Fact::Rerouted { message: message(), to: to(), next: ada() }),
        (
            "message.rejoined",
            Fact::Rejoined { message: message(), to: to(), requester, wait: WaitId(70_001) },
        ),
        (
            "message.queued",
            Fact::Queued { wait: WaitId(9), receiver: bob(), until: until(), redeliver_ms: 500 },
        ),
        ("message.polled", Fact::Polled { receiver: bob() }),
        (
            "message.gave_up",
            Fact::GaveUp { wait: WaitId(9), receiver: bob(), left: Left::Gone, message: None },
        ),
        (
            "message.gave_up with a request",
            Fact::GaveUp {
                wait: WaitId(9),
                receiver: ada(),
                left: Left::Gone,
                message: Some(message()),
            },
        ),
        ("message.handler_added", Fact::HandlerAdded { handler: handler(), holder: bob() }),
        ("message.handler_removed", Fact::HandlerRemoved { handler: handler(), holder: bob() }),
        ("message.handlers_gone", Fact::HandlersGone { holder: bob() }),
    ]
    .into_iter()
    .map(|(name, event)| (name, Event::Message(event)))
    .collect()
}

pub(super) fn topics() -> Vec<(&'static str, Event)> {
    let posted = |traceparent, live| {
        let topic = TopicName::parse("news/tech").unwrap();
        Event::Topic(topic::Event::Posted { topic, body: json(r#"["a",1]"#), traceparent, live })
    };
    vec![
        ("topic.posted", posted(None, false)),
        ("topic.posted with nothing kept", posted(None, true)),
        ("topic.posted with a trace", posted(Some(trace()), false)),
    ]
}

pub(super) fn streams() -> Vec<(&'static str, Event)> {
    use stream::Event as Fact;
    let stream = || StreamName::parse("tokens/7").unwrap();
    let frames = || vec![json(r#""to""#), json(r#""ken""#)];
    let (wait, from, limit) = (WaitId(70_000), 300, 10);
    vec![
        (
            "stream.created",
            Fact::Created { stream: stream(), kept: true, frames_max: 100, bytes_max: 70_000 },
        ),
        (
            "stream.sent",
            Fact::Sent { stream: stream(), offset: Some(300), frames: frames(), live: false },
        ),
        (
            "stream.sent with nothing kept",
            Fact::Sent { stream: stream(), offset: None, frames: frames(), live: true },
        ),
        ("stream.closed", Fact::Closed { stream: stream(), reason: None }),
        (
            "stream.closed with a reason",
            Fact::Closed { stream: stream(), reason: Some("done".to_owned()) },
        ),
        ("stream.deleted", Fact::Deleted { stream: stream() }),
        (
            "stream.queued",
            Fact::Queued { stream: stream(), reader: ada(), wait, from, limit, until: until() },
        ),
        ("stream.told", Fact::Told { stream: stream(), reader: ada(), wait, from, limit }),
        (
            "stream.gave_up",
            Fact::GaveUp { stream: stream(), reader: ada(), wait, from, left: Left::Timeout },
        ),
    ]
    .into_iter()
    .map(|(name, event)| (name, Event::Stream(event)))
    .collect()
}
