//! Requests: what waits to be sent, what waits for its answer, and whom to tell.
//!
//! ```text
//!   add ──▶ unsent ──outgoing──▶ in flight ──answered──▶ told
//!             ▲                      │
//!             └── broken, if it may ─┤
//!                 be repeated        └── broken, if it may not ──▶ told: unknown
//! ```
//!
//! Calls that ask to wait are counted apart: they may be in flight for an hour.
//!
//! 1. Requests are sent in the order of their numbers, again after a broken connection too.
//! 2. A command whose fate nobody knows is never reported as not done.
//! 3. What is granted to a call that was given up meanwhile is given back.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::wire::Problem;
use baton_core::{Answer, Command, Kind};
use baton_handle::Caller;
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::error::Error;
use crate::frames::{Awaits, EncodedRequest, Expects, ServerFrame};
use crate::options::Options;

/// What sending a request twice would mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing: it is a question.
    Asks,
    /// Nothing: it is a command with an idempotency key.
    ChangesOnce,
    /// A second effect, perhaps.
    Changes,
}

/// What is known about a request that was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It cannot have changed anything.
    Nothing,
    /// It may have been carried out.
    Unknown,
}

pub(super) type Outcome = Result<Answer, Error>;

struct PendingRequest {
    text: Utf8Bytes,
    expects: Expects,
    effect: Effect,
    /// It was in flight when an earlier connection broke.
    is_uncertain: bool,
    awaits: Option<Awaits>,
    sender: oneshot::Sender<Outcome>,
}

/// What the server would say, if it did not hang up.
fn too_large(bytes: usize, max: usize) -> Error {
    let detail = format!("the request has {bytes} bytes; at most {max} are allowed");
    let facts = BTreeMap::from([("given", bytes), ("max", max)]);
    let hint = "split it into several requests";
    let problem = Problem::new("request.too_large", Kind::TooLarge, &detail, hint, &facts);
    Error::Refused(Box::new(problem))
}

/// Every request that has not been answered.
#[derive(Default)]
pub(super) struct Requests {
    pending: BTreeMap<u64, PendingRequest>,
    unsent: BTreeSet<u64>,
    bytes: usize,
    /// How many of those that were sent ask to wait.
    patient: usize,
    /// Calls in flight that asked to wait, and that nobody waits for any longer.
    given_up: BTreeMap<u64, (Expects, Caller)>,
}

/// Something that was granted too late: what gives it back, and in whose name.
pub(super) type Unwanted = (Caller, Command);

impl Requests {
    /// Whether nothing is on its way but calls that wait, which may take for ever.
    pub(super) fn is_idle(&self) -> bool {
        self.unsent.is_empty() && self.pending.len() == self.patient
    }

    pub(super) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Takes a request in, to be sent.
    pub(super) fn add(
        &mut self,
        id: u64,
        encoded: EncodedRequest,
        effect: Effect,
        options: &Options,
    ) -> Result<oneshot::Receiver<Outcome>, Error> {
        if encoded.text.len() > options.request_bytes_max {
            return Err(too_large(encoded.text.len(), options.request_bytes_max));
        }
        if self.unsent.len() >= options.queue_max {
            return Err(Error::Crowded { what: "calls", max: options.queue_max });
        }
        let bytes = self.bytes + encoded.text.len();
        if bytes > options.queue_bytes_max && self.bytes > 0 {
            return Err(Error::Crowded { what: "bytes of calls", max: options.queue_bytes_max });
        }
        let (sender, receiver) = oneshot::channel();
        let EncodedRequest { text, expects, awaits } = encoded;
        let pending = PendingRequest {
            text: text.into(),
            expects,
            effect,
            is_uncertain: false,
            awaits,
            sender,
        };
        self.bytes = bytes;
        self.pending.insert(id, pending);
        self.unsent.insert(id);
        Ok(receiver)
    }

    /// What may be sent now, in order.
    pub(super) fn outgoing(&mut self, in_flight_max: usize, out: &mut Vec<Utf8Bytes>) {
        let mut in_flight = self.pending.len() - self.unsent.len() - self.patient;
        while in_flight < in_flight_max.max(1) {
            let Some(id) = self.unsent.pop_first() else { break };
            let pending = &self.pending[&id];
            out.push(pending.text.clone());
            if pending.awaits.is_some() {
                self.patient += 1;
            } else {
                in_flight += 1;
            }
        }
    }

    fn remove(&mut self, id: u64) -> Option<PendingRequest> {
        let pending = self.pending.remove(&id)?;
        let was_sent = !self.unsent.remove(&id);
        self.patient -= usize::from(was_sent && pending.awaits.is_some());
        self.bytes -= pending.text.len();
        Some(pending)
    }

    /// Tells whoever waits. Nobody may: then the answer came too late, and what it grants must be
    /// given back.
    pub(super) fn answered(&mut self, id: u64, heard: &ServerFrame<'_>) -> Option<Unwanted> {
        if let Some((expects, caller)) = self.given_up.remove(&id) {
            let answer = heard.answer(&expects).ok()?.ok()?;
            return Awaits::let_go(&expects, &answer.reply).map(|command| (caller, command));
        }
        let pending = self.remove(id)?;
        let outcome = heard.answer(&pending.expects).unwrap_or_else(|what| {
            Err(match pending.effect {
                Effect::Asks => Error::Protocol { what },
                Effect::ChangesOnce | Effect::Changes => {
                    Error::Unknown { reason: format!("the response was not understood: {what}") }
                }
            })
        });
        // A receiver that is gone belongs to a call that was given up.
        let _ = pending.sender.send(outcome);
        None
    }

    /// The server refused it because it is going away: it is for the next connection.
    pub(super) fn postponed(&mut self, id: u64) {
        if let Some(pending) = self.pending.get(&id) {
            let was_sent = self.unsent.insert(id);
            self.patient -= usize::from(was_sent && pending.awaits.is_some());
        }
    }

    /// The connection is gone. What may be repeated will be; whoever waits for something else is
    /// told.
    pub(super) fn broken(&mut self, reason: &str) {
        // Whoever is gone waits no longer, and the server knows.
        self.given_up.clear();
        let in_flight = self.pending.keys().filter(|id| !self.unsent.contains(id));
        for id in in_flight.copied().collect::<Vec<_>>() {
            let pending = self.pending.get_mut(&id).expect("its number was found there");
            if pending.effect == Effect::Changes {
                let pending = self.remove(id).expect("its number was found there");
                let reason = format!("the connection broke before the answer came: {reason}");
                let _ = pending.sender.send(Err(Error::Unknown { reason }));
            } else {
                pending.is_uncertain = true;
                self.patient -= usize::from(pending.awaits.is_some());
                self.unsent.insert(id);
            }
        }
    }

    /// Nobody waits for it any longer; what is known about it.
    pub(super) fn withdraw(&mut self, id: u64) -> Option<Fate> {
        let is_in_flight = !self.unsent.contains(&id);
        let pending = self.remove(id)?;
        if let Some(awaits) = pending.awaits.filter(|_| is_in_flight) {
            self.given_up.insert(id, (pending.expects, awaits.caller));
        }
        let may_be_done = is_in_flight || pending.is_uncertain;
        Some(if may_be_done && pending.effect != Effect::Asks {
            Fate::Unknown
        } else {
            Fate::Nothing
        })
    }
}
