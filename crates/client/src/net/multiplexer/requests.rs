//! Requests: those to be sent, those in flight, and their callers.
//!
//! ```text
//!   add ──▶ unsent ──outgoing──▶ in flight ──answered──▶ done
//!             ▲                      │
//!             └── broken, if it may ─┤
//!                 be repeated, or    └── broken, if it may not ──▶ done: unknown
//!                 left to the next
//!                 server
//! ```
//!
//! Calls that wait are counted separately: they may be in flight for an hour.
//!
//! 1. Requests are sent in the order of their numbers, also after a reconnect.
//! 2. A command whose outcome is unknown is never reported as not executed.
//! 3. Anything that is granted to a cancelled call is released.

use std::collections::{BTreeMap, BTreeSet};

use crate::Caller;
use baton_core::wire::Problem;
use baton_core::{Answer, Command, Kind};
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::Error;
use crate::net::frames::{Awaits, EncodedRequest, Expects, ServerFrame};
use crate::net::options::Options;

/// The effect of sending a request twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// None: it is a query.
    Asks,
    /// None: it is a command with an idempotency key.
    ChangesOnce,
    /// It may be executed twice.
    Changes,
}

/// The known state of a cancelled request.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fate {
    /// It cannot have changed anything.
    Nothing,
    /// It cannot have changed anything, and this is why a server refused it last.
    Refused(Error),
    /// It may have been executed.
    Unknown,
}

pub(super) type Outcome = Result<Answer, Error>;

struct PendingRequest {
    text: Utf8Bytes,
    expects: Expects,
    effect: Effect,
    /// It may have been executed by an earlier server, or over an earlier connection.
    is_uncertain: bool,
    /// How many servers have refused it for a reason that may pass, and the last reason.
    refusals: u32,
    refusal: Option<Error>,
    awaits: Option<Awaits>,
    sender: oneshot::Sender<Outcome>,
}

/// The problem that the server would report if it did not close the connection.
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
    /// How many of those that were sent wait.
    patient: usize,
    /// Calls in flight that wait and were cancelled.
    given_up: BTreeMap<u64, (Expects, Caller)>,
}

/// A grant for a cancelled call: the command that releases it, and its caller.
pub(super) type Unwanted = (Caller, Command);

impl Requests {
    /// Whether only calls that wait are in flight.
    pub(super) fn is_idle(&self) -> bool {
        self.unsent.is_empty() && self.pending.len() == self.patient
    }

    pub(super) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Adds a request.
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
            refusals: 0,
            refusal: None,
            awaits,
            sender,
        };
        self.bytes = bytes;
        self.pending.insert(id, pending);
        self.unsent.insert(id);
        Ok(receiver)
    }

    /// The requests to send now, in order.
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

    /// Passes an answer to its caller. If the call was cancelled, returns how to release what it
    /// grants.
    pub(super) fn answered(&mut self, id: u64, heard: &ServerFrame<'_>) -> Vec<Unwanted> {
        if let Some((expects, caller)) = self.given_up.remove(&id) {
            let Ok(Ok(answer)) = heard.answer(&expects) else { return Vec::new() };
            let commands = Awaits::let_go(&expects, &answer.reply).into_iter();
            return commands.map(|command| (caller.clone(), command)).collect();
        }
        let Some(pending) = self.remove(id) else { return Vec::new() };
        let outcome = heard.answer(&pending.expects).unwrap_or_else(|what| {
            Err(match pending.effect {
                Effect::Asks => Error::Protocol { what },
                Effect::ChangesOnce | Effect::Changes => {
                    Error::Unknown { reason: format!("the response was not understood: {what}") }
                }
            })
        });
        // If the receiver is gone, the call was cancelled.
        let _ = pending.sender.send(outcome);
        Vec::new()
    }

    /// The server refused it because it is shutting down: it is sent over the next connection. Not
    /// if it does something before it waits and has no key: that may have been done.
    pub(super) fn postponed(&mut self, id: u64) {
        let Some(pending) = self.pending.get(&id) else { return };
        let acts_first = pending.awaits.as_ref().is_some_and(|awaits| !awaits.is_all);
        if pending.effect == Effect::Changes && acts_first {
            let pending = self.remove(id).expect("its number was found there");
            let reason = "the server was shut down before the answer came".to_owned();
            let _ = pending.sender.send(Err(Error::Unknown { reason }));
            return;
        }
        let was_sent = self.unsent.insert(id);
        self.patient -= usize::from(was_sent && pending.awaits.is_some());
    }

    /// Whether everything in flight may be sent again.
    pub(super) fn can_be_repeated(&self) -> bool {
        let in_flight = self.pending.iter().filter(|(id, _)| !self.unsent.contains(id));
        in_flight.into_iter().all(|(_, pending)| pending.effect != Effect::Changes)
    }

    /// The server refused it for a reason that may pass: it is sent to the next one. Returns how
    /// many have refused it; 0 if it is not in flight.
    pub(super) fn refused(&mut self, id: u64, problem: &Problem, may_be_done: bool) -> u32 {
        let Some(pending) = self.pending.get_mut(&id) else { return 0 };
        if !self.unsent.insert(id) {
            return 0;
        }
        self.patient -= usize::from(pending.awaits.is_some());
        pending.refusals += 1;
        pending.refusal = Some(Error::Refused(Box::new(problem.clone())));
        pending.is_uncertain |= may_be_done;
        pending.refusals
    }

    /// The connection is lost. Requests that may be repeated are sent again; the others fail.
    pub(super) fn broken(&mut self, reason: &str) {
        // The server has cancelled these too.
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

    /// The servers refuse this client: everything ends with the error, except commands that may
    /// have been executed. A call that only waits has no other effect than what it was granted, and
    /// the server has cancelled it with its connection.
    pub(super) fn denied(&mut self, error: &Error) {
        self.given_up.clear();
        self.unsent.clear();
        self.bytes = 0;
        self.patient = 0;
        for (_, pending) in std::mem::take(&mut self.pending) {
            let only_waits = pending.awaits.is_some_and(|awaits| awaits.is_all);
            let may_be_done = pending.is_uncertain && pending.effect != Effect::Asks && !only_waits;
            let error = if may_be_done {
                let reason =
                    format!("the connection broke before the answer came, and then: {error}");
                Error::Unknown { reason }
            } else {
                error.clone()
            };
            let _ = pending.sender.send(Err(error));
        }
    }

    /// Cancels a request. Returns what is known about it.
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
            pending.refusal.map_or(Fate::Nothing, Fate::Refused)
        })
    }
}
