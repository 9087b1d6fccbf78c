//! Answers that take long to encode, such as a page of large values: another thread encodes them,
//! so that other workspaces are served meanwhile.

use std::io::{ErrorKind, Result, Write};

use baton_core::message::{self, Message};
use baton_core::task::{self, Task};
use baton_core::wait::{self, Work};
use baton_core::{Answer, Entry, Reply, handoff, state};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Larger answers are encoded by another thread: that costs about as much as encoding a tenth of
/// this.
const LARGE_BYTES: usize = 64 << 10;
/// The cost of an entry or a message in a list, besides its text: a few numbers and names. So more
/// than a thousand take long, however small they are.
const ITEM_BYTES: usize = 64;
/// A single entry is copied as it is stored, which is this many times as fast as encoding.
const COPY_SPEEDUP: usize = 8;

/// Whether an answer takes long to encode. It takes no longer to find out than to encode one that
/// does not.
pub(crate) fn is_large(answer: &Answer) -> bool {
    match payload_bytes(&answer.reply) {
        Some(bytes) => bytes > LARGE_BYTES,
        None => serde_json::to_writer(Measure { left: LARGE_BYTES }, &answer.reply).is_err(),
    }
}

/// Whether an answer to a write takes long to encode. Without measuring, because encoding most of
/// them twice would show.
pub(crate) fn is_large_written(answer: &Answer) -> bool {
    match &answer.reply {
        Reply::Transaction(replies) => {
            replies.iter().filter_map(payload_bytes).sum::<usize>() > LARGE_BYTES
        }
        reply => payload_bytes(reply).is_some_and(|bytes| bytes > LARGE_BYTES),
    }
}

/// Whether entries take long to encode.
pub(crate) fn are_large(entries: &[Entry]) -> bool {
    entries_bytes(entries) > LARGE_BYTES
}

/// The size of what the caller once gave, which most of the time is what takes long to encode; none
/// if only measuring shows it.
fn payload_bytes(reply: &Reply) -> Option<usize> {
    let bytes = match reply {
        Reply::State(state::Reply::Entry(entry)) => entry.value().len() / COPY_SPEEDUP,
        Reply::State(state::Reply::Entries(page)) => entries_bytes(&page.entries),
        Reply::State(state::Reply::Moved { .. })
        | Reply::Namespace(_)
        | Reply::Agent(_)
        | Reply::Lock(_)
        | Reply::Semaphore(_)
        | Reply::Barrier(_)
        | Reply::Minimal(_) => 0,
        Reply::Message(message::Reply::Replied(answered)) => answered.body.as_bytes().len(),
        Reply::Message(message::Reply::Message(message)) => message_bytes(message),
        Reply::Message(message::Reply::Received { messages }) => {
            messages.iter().map(message_bytes).sum()
        }
        Reply::Task(task::Reply::Task(task)) => task.bytes(),
        Reply::Task(task::Reply::Claimed(task)) | Reply::Wait(wait::Reply::Task(task)) => {
            task.as_deref().map_or(0, Task::bytes)
        }
        Reply::Task(task::Reply::ClaimedTasks { tasks } | task::Reply::Tasks { tasks, .. }) => {
            tasks.iter().map(Task::bytes).sum()
        }
        Reply::Task(task::Reply::Completed { task, next }) => {
            task.bytes() + next.as_deref().map_or(0, Task::bytes)
        }
        Reply::Handoff(handoff::Reply::Handoff(handoff)) => handoff.bytes(),
        Reply::Handoff(handoff::Reply::Received(handoff))
        | Reply::Wait(wait::Reply::Handoff(handoff)) => {
            handoff.as_ref().map_or(0, |handoff| handoff.bytes())
        }
        Reply::Handoff(handoff::Reply::Accepted { handoff, task, values }) => {
            let values: usize = values.values().map(|value| value.as_bytes().len()).sum();
            handoff.bytes() + task.as_deref().map_or(0, Task::bytes) + values
        }
        Reply::Wait(wait::Reply::Next(work)) => match work {
            Some(Work::Handoff(handoff)) => handoff.bytes(),
            Some(Work::Message(message)) => message_bytes(message),
            Some(Work::Task(task)) => task.bytes(),
            None => 0,
        },
        _ => return None,
    };
    Some(bytes)
}

fn entries_bytes(entries: &[Entry]) -> usize {
    entries.iter().map(|entry| entry.key().len() + entry.value().len() + ITEM_BYTES).sum()
}

fn message_bytes(message: &Message) -> usize {
    message.body.as_bytes().len() + ITEM_BYTES
}

/// Counts what is written, up to a limit.
struct Measure {
    left: usize,
}

impl Write for Measure {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let left = self.left.checked_sub(bytes.len());
        self.left = left.ok_or_else(|| std::io::Error::from(ErrorKind::StorageFull))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Encodes something large on another thread; only so many at once.
pub(crate) async fn encode_apart<T: Send + 'static>(
    slots: &Semaphore,
    encode: impl FnOnce() -> T + Send + 'static,
) -> T {
    let _permit = slots.acquire().await.expect("the places are never closed");
    match spawn_blocking(encode).await {
        Ok(encoded) => encoded,
        // It is never cancelled, so it has panicked.
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

#[cfg(test)]
mod tests {
    use baton_core::state::Page;
    use baton_core::storage::{Entry as Packed, WriteHead};
    use baton_core::{AgentId, Entry, NamespaceName, Revision};

    use super::*;

    fn page(entries: usize, bytes: usize) -> Answer {
        let entry = |number: usize| {
            let head = WriteHead { revision: 1, time_ms: 1, version: 1, author: 0 };
            let value = format!("\"{}\"", "x".repeat(bytes));
            let packed = Packed::new(head, &format!("k{number}"), value.as_bytes());
            Entry::new(packed, NamespaceName::shared(), AgentId::parse("ada").unwrap())
        };
        let entries = (0..entries).map(entry).collect();
        let page = Page { revision: Revision(1), entries, cursor: None };
        let reply = Reply::State(state::Reply::Entries(page));
        Answer { revision: Revision(1), reply }
    }

    #[test]
    fn a_page_is_large_by_its_values_and_by_their_number() {
        assert!(!is_large(&page(8, 100)));
        assert!(is_large(&page(8, 1 << 20)));
        let several = |count: usize| {
            let reply = Reply::Transaction(vec![page(1, 1_000).reply; count]);
            Answer { revision: Revision(1), reply }
        };
        assert!(!is_large(&several(5)));
        assert!(is_large(&several(100)));
    }

    #[test]
    fn messages_are_large_by_their_bodies() {
        let message = |bytes: usize| -> Message {
            let (body, sent_at) = ("x".repeat(bytes), "2026-01-01T00:00:00.000Z");
            let text = format!(
                r#"{{"id": "m-1", "from": "ada", "to": "bob", "body": "{body}", "thread": "m-1",
                    "sent_at": "{sent_at}", "status": "waiting", "deliveries": 0}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        let is_large = |reply: message::Reply| {
            is_large(&Answer { revision: Revision(1), reply: Reply::Message(reply) })
        };
        for (bytes, expected) in [(200, false), (LARGE_BYTES, true)] {
            let Message { id: request, body, from, .. } = message(bytes);
            let replied = message::Answered { request, body, from };
            assert_eq!(is_large(message::Reply::Replied(replied)), expected);
            assert_eq!(is_large(message::Reply::Message(Box::new(message(bytes)))), expected);
            let messages = vec![message(bytes)];
            assert_eq!(is_large(message::Reply::Received { messages }), expected);
        }
        let messages = vec![message(LARGE_BYTES / 10); 11];
        assert!(is_large(message::Reply::Received { messages }));
    }

    #[test]
    fn tasks_are_large_by_what_they_carry() {
        let task = |name: &str, bytes: usize| -> Task {
            let (text, time) = ("x".repeat(bytes), "2026-01-01T00:00:00.000Z");
            let task = format!(
                r#"{{"id": "t-1", "type": "review", "status": "pending", "requested_by": "ada",
                    "capabilities": [], "priority": 0, "depends_on": [], "waiting_for": [],
                    "max_retries": 0, "on_exhausted": "fail", "review": false, "attempts": 0,
                    "backoff": {{"initial_ms": 0, "multiplier": 1.0, "max_ms": 0, "jitter": 0.0}},
                    "retries": 0, "created_at": "{time}", "updated_at": "{time}", "revision": 1,
                    "{name}": "{text}"}}"#
            );
            serde_json::from_str(&task).unwrap()
        };
        let is_large = |reply: Reply| is_large(&Answer { revision: Revision(1), reply });
        for name in ["definition", "description", "result", "error", "reason", "metadata"] {
            for (bytes, expected) in [(200, false), (LARGE_BYTES, true)] {
                let task = Box::new(task(name, bytes));
                let replies: [Reply; 4] = [
                    task::Reply::Claimed(Some(task.clone())).into(),
                    task::Reply::ClaimedTasks { tasks: vec![(*task).clone()] }.into(),
                    wait::Reply::Task(Some(task.clone())).into(),
                    wait::Reply::Next(Some(Work::Task(task))).into(),
                ];
                for reply in replies {
                    assert_eq!(is_large(reply), expected, "{bytes} bytes of {name}");
                }
            }
        }
        assert!(!is_large(task::Reply::Claimed(None).into()));
    }

    #[test]
    fn a_single_entry_is_large_if_copying_it_takes_long() {
        let entry = |bytes: usize| {
            let Reply::State(state::Reply::Entries(page)) = page(1, bytes).reply else {
                panic!("it is a page")
            };
            let entry = page.entries.into_iter().next().expect("it has one");
            Reply::State(state::Reply::Entry(entry))
        };
        for (bytes, expected) in [(LARGE_BYTES, false), (1_000_000, true)] {
            let replies = [entry(bytes), Reply::Transaction(vec![entry(bytes)])];
            for reply in replies {
                let answer = Answer { revision: Revision(1), reply };
                assert_eq!(is_large_written(&answer), expected, "{bytes}");
            }
            let answer = Answer { revision: Revision(1), reply: entry(bytes) };
            assert_eq!(is_large(&answer), expected, "{bytes}");
        }
    }

    /// While something large is encoded, the serving thread continues.
    #[tokio::test]
    async fn something_large_is_encoded_by_another_thread() {
        let (slots, serving) = (Semaphore::new(1), std::thread::current().id());
        let (go_on, wait) = std::sync::mpsc::channel();
        let encoding = encode_apart(&slots, move || {
            wait.recv().expect("the serving thread continues");
            std::thread::current().id()
        });
        let serve = async {
            tokio::task::yield_now().await;
            go_on.send(()).expect("it is being encoded");
        };
        let (encoded_by, ()) = tokio::join!(encoding, serve);
        assert_ne!(encoded_by, serving);
    }
}
