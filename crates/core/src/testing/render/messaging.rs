//! Messages, topics and streams as text.

use super::brief;
use crate::json::Json;
use crate::numbers::WaitId;
use crate::primitive::Event as _;
use crate::{message, stream, topic};

fn call(wait: Option<WaitId>) -> String {
    wait.map_or(String::new(), |wait| format!(" call={wait}"))
}

pub(super) fn rendered_message(event: &message::Event) -> String {
    use message::Event;
    let name = event.message().map_or(String::new(), |(to, id)| format!(" {id} to {to}"));
    let line = format!("{}{name}", event.kind());
    match event {
        Event::Sent(sent) => {
            let thread = sent.thread.as_ref().map_or(String::new(), |id| format!(" in {id}"));
            let asked = sent.request.as_ref().map_or(String::new(), |asked| {
                format!(" for {} until {} call={}", asked.address, asked.deadline.0, asked.wait)
            });
            format!("{line}{thread} {}{asked}", brief(&sent.body))
        }
        Event::Delivered { until, wait, .. } => {
            format!("{line} until {}{}", until.0, call(*wait))
        }
        Event::Replied { answer, wait, .. } => {
            let given = |name: &str, json: &Option<Json>| {
                json.as_ref().map_or(String::new(), |json| format!(" {name}{}", brief(json)))
            };
            let (body, error) = (given("", &answer.body), given("error ", &answer.error));
            format!("{line}{body}{error}{}", call(*wait))
        }
        Event::TimedOut { wait, .. } | Event::Lost { wait, .. } => format!("{line}{}", call(*wait)),
        Event::Rerouted { next, .. } => format!("{line} on to {next}"),
        Event::Rejoined { requester, wait, .. } => format!("{line} by {requester} call={wait}"),
        Event::Queued { wait, receiver, until, .. } => {
            format!("{line} {receiver} call={wait} until {}", until.0)
        }
        Event::GaveUp { wait, receiver, left, .. } => {
            format!("{line} {receiver} call={wait} {left:?}")
        }
        Event::HandlerAdded { handler, holder } | Event::HandlerRemoved { handler, holder } => {
            format!("{line} {handler} by {holder}")
        }
        Event::HandlersGone { holder } => format!("{line} of {holder}"),
        Event::Polled { receiver } => format!("{line} {receiver}"),
        Event::Returned { .. }
        | Event::Acked { .. }
        | Event::Died { .. }
        | Event::Expired { .. }
        | Event::Requeued { .. } => line,
    }
}

fn one(message: &message::Message) -> String {
    let message::Message { id, from, to, status, deliveries, thread, .. } = message;
    let times = if *deliveries > 1 { format!(" x{deliveries}") } else { String::new() };
    let thread = if thread == id { String::new() } else { format!(" in {thread}") };
    format!("{id} {from}>{to} {}{times}{thread} {}", status.word(), brief(&message.body))
}

pub(super) fn shown_message(reply: &message::Reply) -> String {
    use message::Reply;
    match reply {
        Reply::Message(message) => one(message),
        Reply::Received { messages } => {
            format!("[{}]", messages.iter().map(one).collect::<Vec<_>>().join(", "))
        }
        Reply::Messages { messages, cursor } => {
            let next = cursor.as_ref().map_or(String::new(), |cursor| format!(" next={cursor}"));
            format!("[{}]{next}", messages.iter().map(one).collect::<Vec<_>>().join(", "))
        }
        Reply::Acked { messages } => {
            let ids: Vec<&str> = messages.iter().map(crate::names::MessageId::as_str).collect();
            format!("acked [{}]", ids.join(", "))
        }
        Reply::Replied(answered) => {
            format!("{} by {}: {}", answered.request, answered.from, brief(&answered.body))
        }
        Reply::Failed(failed) => format!("{} failed {}", failed.request, brief(&failed.error)),
        Reply::Handler(handler) => format!("{} by {}", handler.handler, handler.agent),
        Reply::Handlers { handlers, cursor } => {
            let all = handlers.iter().map(|it| format!("{} by {}", it.handler, it.agent));
            let next = cursor.as_ref().map_or(String::new(), |cursor| format!(" next={cursor}"));
            format!("[{}]{next}", all.collect::<Vec<_>>().join(", "))
        }
    }
}

pub(super) fn rendered_topic(event: &topic::Event) -> String {
    let topic::Event::Posted { topic, body, live, .. } = event;
    let live = if *live { " live" } else { "" };
    format!("{} {topic} {}{live}", event.kind(), brief(body))
}

pub(super) fn shown_topic(reply: &topic::Reply) -> String {
    let one = |topic: &topic::Topic| {
        let topic::Topic { name, posts, last_at, last_by } = topic;
        format!("{name} x{posts} at {} by {last_by}", last_at.0)
    };
    match reply {
        topic::Reply::Published(it) => {
            format!("{} durable={} x{}", it.topic, it.durable, it.posts)
        }
        topic::Reply::Topic(topic) => one(topic),
        topic::Reply::Topics { topics, cursor } => {
            let next = cursor.as_ref().map_or(String::new(), |cursor| format!(" next={cursor}"));
            format!("[{}]{next}", topics.iter().map(one).collect::<Vec<_>>().join(", "))
        }
    }
}

pub(super) fn rendered_stream(event: &stream::Event) -> String {
    use stream::Event;
    let line = format!("{} {}", event.kind(), event.stream());
    match event {
        Event::Created { kept, frames_max, bytes_max, .. } => {
            let kept = if *kept { "" } else { " live" };
            format!("{line} frames={frames_max} bytes={bytes_max}{kept}")
        }
        Event::Sent { offset, frames, live, .. } => {
            let frames: Vec<String> = frames.iter().map(brief).collect();
            let offset = offset.map_or(String::new(), |offset| format!(" {offset}"));
            let live = if *live { " live" } else { "" };
            format!("{line}{offset} [{}]{live}", frames.join(", "))
        }
        Event::Closed { reason, .. } => {
            let reason = reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})"));
            format!("{line}{reason}")
        }
        Event::Deleted { .. } => line,
        Event::Queued { reader, wait, from, until, .. } => {
            format!("{line} by {reader} call={wait} from {from} until {}", until.0)
        }
        Event::Told { reader, wait, from, .. } => {
            format!("{line} by {reader} call={wait} from {from}")
        }
        Event::GaveUp { reader, wait, left, .. } => {
            format!("{line} by {reader} call={wait} {left:?}")
        }
    }
}

pub(super) fn shown_stream(reply: &stream::Reply) -> String {
    let one = |stream: &stream::Stream| {
        let stream::Stream { name, status, first, next, bytes, readers_waiting, .. } = stream;
        format!("{name} {} {first}..{next} bytes={bytes} readers={readers_waiting}", status.word())
    };
    match reply {
        stream::Reply::Stream(stream) => one(stream),
        stream::Reply::Sent(sent) => {
            let offset = sent.offset.map_or("live".into(), |offset| offset.to_string());
            format!("{} {offset} x{} next={}", sent.stream, sent.frames, sent.next)
        }
        stream::Reply::Frames(frames) => {
            let all = frames.frames.iter();
            let all = all.map(|frame| format!("{}:{}", frame.offset, brief(&frame.data)));
            let all = all.collect::<Vec<_>>().join(", ");
            format!("[{all}] next={} {}", frames.next, frames.status.word())
        }
        stream::Reply::Streams { streams, cursor } => {
            let next = cursor.as_ref().map_or(String::new(), |cursor| format!(" next={cursor}"));
            format!("[{}]{next}", streams.iter().map(one).collect::<Vec<_>>().join(", "))
        }
    }
}
