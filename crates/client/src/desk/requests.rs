//! Requests: what waits to be sent, what waits for its answer, and whom to tell.
//!
//! ```text
//!   add ──▶ unsent ──outgoing──▶ in flight ──answered──▶ told
//!             ▲                      │
//!             └── broken, if it may ─┤
//!                 be repeated        └── broken, if it may not ──▶ told: unknown
//! ```
//!
//! 1. Requests are sent in the order of their numbers, again after a broken connection too.
//! 2. A command whose fate nobody knows is never reported as not done.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::wire::Problem;
use baton_core::{Answer, Kind};
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::error::Error;
use crate::frames::{Expects, Heard, Said};
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

struct Waiting {
    text: Utf8Bytes,
    expects: Expects,
    effect: Effect,
    /// It was in flight when an earlier connection broke.
    is_uncertain: bool,
    tell: oneshot::Sender<Outcome>,
}

/// What the server would say, if it did not hang up.
fn too_large(bytes: usize, max: usize) -> Error {
    let detail = format!("the request has {bytes} bytes, at most {max} are allowed");
    let facts = BTreeMap::from([("given", bytes), ("max", max)]);
    let hint = "split it into several requests";
    let problem = Problem::new("request.too_large", Kind::TooLarge, &detail, hint, &facts);
    Error::Refused(Box::new(problem))
}

/// Every request that has not been answered.
#[derive(Default)]
pub(super) struct Requests {
    waiting: BTreeMap<u64, Waiting>,
    unsent: BTreeSet<u64>,
    bytes: usize,
}

impl Requests {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Takes a request in, to be sent.
    pub(super) fn add(
        &mut self,
        id: u64,
        said: Said,
        effect: Effect,
        options: &Options,
    ) -> Result<oneshot::Receiver<Outcome>, Error> {
        if said.text.len() > options.request_bytes_max {
            return Err(too_large(said.text.len(), options.request_bytes_max));
        }
        if self.unsent.len() >= options.queue_max {
            return Err(Error::Crowded { what: "calls", max: options.queue_max });
        }
        let bytes = self.bytes + said.text.len();
        if bytes > options.queue_bytes_max && self.bytes > 0 {
            return Err(Error::Crowded { what: "bytes of calls", max: options.queue_bytes_max });
        }
        let (tell, told) = oneshot::channel();
        let Said { text, expects } = said;
        let waiting = Waiting { text: text.into(), expects, effect, is_uncertain: false, tell };
        self.bytes = bytes;
        self.waiting.insert(id, waiting);
        self.unsent.insert(id);
        Ok(told)
    }

    /// What may be sent now, in order.
    pub(super) fn outgoing(&mut self, in_flight_max: usize, out: &mut Vec<Utf8Bytes>) {
        let in_flight = self.waiting.len() - self.unsent.len();
        for _ in in_flight..in_flight_max.max(1) {
            let Some(id) = self.unsent.pop_first() else { break };
            out.push(self.waiting[&id].text.clone());
        }
    }

    fn remove(&mut self, id: u64) -> Option<Waiting> {
        let waiting = self.waiting.remove(&id)?;
        self.unsent.remove(&id);
        self.bytes -= waiting.text.len();
        Some(waiting)
    }

    /// Tells whoever waits. Nobody may: then the answer came too late.
    pub(super) fn answered(&mut self, id: u64, heard: &Heard<'_>) {
        let Some(waiting) = self.remove(id) else { return };
        let outcome = heard.answer(&waiting.expects).unwrap_or_else(|what| {
            Err(match waiting.effect {
                Effect::Asks => Error::Protocol { what },
                Effect::ChangesOnce | Effect::Changes => {
                    Error::Unknown { reason: format!("the answer cannot be understood: {what}") }
                }
            })
        });
        // A receiver that is gone belongs to a call that was given up.
        let _ = waiting.tell.send(outcome);
    }

    /// The server refused it because it is going away: it is for the next connection.
    pub(super) fn postponed(&mut self, id: u64) {
        if self.waiting.contains_key(&id) {
            self.unsent.insert(id);
        }
    }

    /// The connection is gone. What may be repeated will be; whoever waits for something else is
    /// told.
    pub(super) fn broken(&mut self, reason: &str) {
        let in_flight = self.waiting.keys().filter(|id| !self.unsent.contains(id));
        for id in in_flight.copied().collect::<Vec<_>>() {
            let waiting = self.waiting.get_mut(&id).expect("its number was found there");
            if waiting.effect == Effect::Changes {
                let waiting = self.remove(id).expect("its number was found there");
                let reason = format!("the connection broke before the answer came: {reason}");
                let _ = waiting.tell.send(Err(Error::Unknown { reason }));
            } else {
                waiting.is_uncertain = true;
                self.unsent.insert(id);
            }
        }
    }

    /// Nobody waits for it any longer; what is known about it.
    pub(super) fn withdraw(&mut self, id: u64) -> Option<Fate> {
        let is_in_flight = !self.unsent.contains(&id);
        let waiting = self.remove(id)?;
        let may_be_done = is_in_flight || waiting.is_uncertain;
        Some(if may_be_done && waiting.effect != Effect::Asks {
            Fate::Unknown
        } else {
            Fate::Nothing
        })
    }
}
