//! The output of one connection.

use std::cell::RefCell;
use std::sync::Arc;

use baton::Item;
use baton::error::Error;
use baton_core::wire::{Fault, Problem, write_answer, write_number};
use baton_core::{Answer, Entry, Revision};

use super::format::Format;
use super::pushes::Push;
use crate::metrics::Transport;
use crate::shared::Shared;

/// Frames that wait to be sent, and their metrics.
pub(crate) struct Outbox {
    pub(crate) shared: Arc<Shared>,
    pub(crate) format: Format,
    /// The number of the connection.
    pub(crate) connection: u64,
    pub(crate) bytes: Vec<u8>,
}

/// The maximum number of buffers kept for reuse, by all connections of a thread.
const SPARE_MAX: usize = 64;
/// Larger ones are not kept.
const SPARE_BYTES_MAX: usize = 64 << 10;

thread_local! {
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// A buffer to write into: its own, or a reused one that has grown already.
fn room(bytes: &mut Vec<u8>) -> &mut Vec<u8> {
    if bytes.capacity() == 0
        && let Some(spare) = SPARE.with_borrow_mut(Vec::pop)
    {
        *bytes = spare;
    }
    bytes
}

impl Outbox {
    pub(crate) fn new(shared: &Arc<Shared>, format: Format, connection: u64) -> Self {
        Self { shared: Arc::clone(shared), format, connection, bytes: Vec::new() }
    }

    /// Everything was sent: an idle connection keeps no buffer.
    pub(crate) fn recycle(&mut self) {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        SPARE.with_borrow_mut(|spare| {
            if spare.len() < SPARE_MAX && (1..=SPARE_BYTES_MAX).contains(&bytes.capacity()) {
                spare.push(bytes);
            }
        });
    }

    pub(crate) fn answer(&mut self, id: u64, outcome: &Result<Answer, Error>) {
        match outcome {
            Ok(answer) => {
                self.shared.metrics.answered(Transport::WebSocket, None);
                write_frame(room(&mut self.bytes), self.format, id, answer);
            }
            Err(error) => self.refuse(Some(id), &Problem::from(error)),
        }
    }

    /// Adds an answer that was encoded before, by [`frame`].
    pub(crate) fn add_frame(&mut self, mut frame: Vec<u8>) {
        self.shared.metrics.answered(Transport::WebSocket, None);
        if self.bytes.is_empty() {
            self.bytes = frame;
        } else {
            self.bytes.append(&mut frame);
        }
    }

    pub(crate) fn empty_answer(&mut self, id: u64) {
        self.shared.metrics.answered(Transport::WebSocket, None);
        self.format.write(room(&mut self.bytes), |out| {
            begin(out, id);
            out.extend_from_slice(b"\"revision\":0,\"result\":{}}");
        });
    }

    pub(crate) fn refuse(&mut self, id: Option<u64>, problem: &Problem) {
        self.shared.metrics.answered(Transport::WebSocket, Some(problem.kind));
        self.shared.refused(self.connection, &problem.code);
        self.format.write(room(&mut self.bytes), |out| {
            match id {
                Some(id) => begin(out, id),
                None => out.push(b'{'),
            }
            out.extend_from_slice(b"\"error\":");
            serde_json::to_writer(&mut *out, problem).expect("problems can be encoded");
            out.push(b'}');
        });
    }

    /// A message exceeds the limit. It is not read, so the number of its request is unknown.
    pub(crate) fn refuse_size(&mut self, max: usize) {
        let given = max.saturating_add(1);
        let fault = Fault::TooLarge { what: "bytes in its message", given, max };
        self.refuse(None, &Problem::from(&fault));
    }

    pub(crate) fn push(&mut self, push: Push) {
        let Push { watch, item, is_last } = push;
        self.shared.metrics.pushed.add(1);
        self.format.write(room(&mut self.bytes), |out| {
            out.extend_from_slice(format!("{{\"watch\":{watch}").as_bytes());
            match item {
                Ok(Item::Event(notice)) => {
                    let text = notice.json();
                    out.extend_from_slice(b",\"event\":");
                    out.extend_from_slice(&text[..text.len() - 1]);
                    out.extend_from_slice(if is_last { b",\"last\":true}" } else { b"}" });
                }
                Ok(Item::Snapshot { revision, entries }) => write_snapshot(out, revision, &entries),
                Err(error) => {
                    out.extend_from_slice(b",\"error\":");
                    let problem = Problem::from(&error);
                    serde_json::to_writer(&mut *out, &problem).expect("problems can be encoded");
                }
            }
            out.push(b'}');
        });
    }

    /// Adds the snapshot of a watch that was encoded before, by [`snapshot_frame`].
    pub(crate) fn add_snapshot(&mut self, mut frame: Vec<u8>) {
        self.shared.metrics.pushed.add(1);
        self.bytes.append(&mut frame);
    }

    /// A watch has started: at this revision, with events from that one on.
    pub(crate) fn begun(&mut self, id: u64, revision: Revision, from: Revision) {
        self.shared.metrics.answered(Transport::WebSocket, None);
        self.format.write(room(&mut self.bytes), |out| {
            begin(out, id);
            let rest =
                format!("\"revision\":{revision},\"result\":{{\"watch\":{id},\"from\":{from}}}}}");
            out.extend_from_slice(rest.as_bytes());
        });
    }
}

fn write_frame(out: &mut Vec<u8>, format: Format, id: u64, answer: &Answer) {
    format.write(out, |out| {
        begin(out, id);
        write_answer(out, answer);
        out.push(b'}');
    });
}

/// An answer as a frame.
pub(super) fn frame(format: Format, id: u64, answer: &Answer) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_frame(&mut bytes, format, id, answer);
    bytes
}

/// The snapshot that a watch starts with as a frame.
pub(super) fn snapshot_frame(
    format: Format,
    watch: u64,
    revision: Revision,
    entries: &[Entry],
) -> Vec<u8> {
    let mut bytes = Vec::new();
    format.write(&mut bytes, |out| {
        out.extend_from_slice(format!("{{\"watch\":{watch}").as_bytes());
        write_snapshot(out, revision, entries);
        out.push(b'}');
    });
    bytes
}

fn write_snapshot(out: &mut Vec<u8>, revision: Revision, entries: &[Entry]) {
    let head = format!(",\"snapshot\":{{\"revision\":{revision},\"entries\":");
    out.extend_from_slice(head.as_bytes());
    serde_json::to_writer(&mut *out, entries).expect("entries can be encoded");
    out.push(b'}');
}

fn begin(out: &mut Vec<u8>, id: u64) {
    out.extend_from_slice(b"{\"id\":");
    write_number(out, id);
    out.push(b',');
}
