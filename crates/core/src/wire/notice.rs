//! A notice: a committed event as watches deliver it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::Deserialize;

use crate::event::Event;
use crate::names::AgentId;
use crate::numbers::Revision;
use crate::space::batch::Batch;
use crate::time::Timestamp;
use crate::wire::json_writer::{Omitted, write_own_fields};
use crate::wire::{Fault, Fields, write_number, write_text};

/// The fields around those of the event. A field of the event with the same name is omitted: the
/// subject of an event about an agent names the agent.
const AROUND: Omitted = &["revision", "index", "time", "agent", "type", "subject"];

/// The same without a live token.
const AROUND_AND_TOKEN: Omitted =
    &["revision", "index", "time", "agent", "type", "subject", "token"];

/// A committed event, as watches deliver it.
pub struct Notice {
    batch: Arc<Batch>,
    /// Its index in this batch.
    place: usize,
    /// Its index among all events of the commit.
    index: usize,
    subject: String,
    /// Its author, if that is not the author of the commit.
    author: Option<AgentId>,
    json: OnceLock<Arc<[u8]>>,
}

impl Notice {
    /// The notice of an event, by its index in the batch.
    pub fn new(batch: Arc<Batch>, index: usize) -> Self {
        let subject = batch.events[index].subject();
        let author = Some(batch.author(index)).filter(|author| **author != batch.agent).cloned();
        Self { batch, place: index, index, subject, author, json: OnceLock::new() }
    }

    /// The notices of all public events of a batch.
    pub fn all(batch: &Arc<Batch>) -> Vec<Arc<Self>> {
        let public = batch.events.iter().zip(batch.authors()).enumerate();
        let public = public.filter(|(_, (event, _))| event.is_public());
        let notice = |(index, (event, author)): (usize, (&Event, &AgentId))| {
            let author = (*author != batch.agent).then(|| author.clone());
            let (batch, subject) = (Arc::clone(batch), event.subject());
            Arc::new(Self { batch, place: index, index, subject, author, json: OnceLock::new() })
        };
        public.map(notice).collect()
    }

    /// The revision of the commit it belongs to.
    pub fn revision(&self) -> Revision {
        self.batch.revision
    }

    /// Its index among the events of that commit.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Whether it is in no log: its revision is that of the commit before, and it cannot be read
    /// later.
    pub fn is_live(&self) -> bool {
        self.event().is_live()
    }

    /// The revision to watch from in order to get what follows. If its commit has more events, that
    /// is the same revision again.
    pub fn resume_from(&self) -> Revision {
        if self.is_live() { self.revision().next() } else { self.revision() }
    }

    /// When it happened.
    pub fn time(&self) -> Timestamp {
        self.batch.time
    }

    /// The author.
    pub fn agent(&self) -> &AgentId {
        self.author.as_ref().unwrap_or(&self.batch.agent)
    }

    /// The event.
    pub fn event(&self) -> &Event {
        &self.batch.events[self.place]
    }

    /// Its subject: `state/shared/plan`.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// The event's type: `state.set`.
    pub fn kind(&self) -> &str {
        self.event().kind()
    }

    /// The notice as JSON: `revision`, `index`, `time`, `agent`, `type`, `subject` and the fields
    /// of the event, except a live token: its holder has it from the answer that granted it.
    /// Encoded once, whatever the number of watches.
    pub fn json(&self) -> Arc<[u8]> {
        Arc::clone(self.json.get_or_init(|| self.encode().into()))
    }

    fn encode(&self) -> Vec<u8> {
        let place = (self.revision(), self.index);
        let omitted = if self.event().has_live_token() { AROUND_AND_TOKEN } else { AROUND };
        encoded(self.event(), place, self.time(), self.agent(), &self.subject, omitted)
    }

    /// Parses a notice. Unknown fields, which a newer server may send, are ignored.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let mut fields = Fields::parse(text)?;
        let envelope: Envelope = fields.to()?;
        // Emitted events may have any type; their subject identifies them.
        let emitted = envelope.subject.starts_with("events/").then_some(("event", "emitted"));
        let (primitive, variant) = emitted
            .or_else(|| Event::parts(&envelope.kind))
            .ok_or_else(|| Fault::field("type", "there is no such event"))?;
        // The author is not a field of the event; the agent that an event is about is one.
        fields.take("agent");
        if primitive == "agent"
            && let Some(agent) = envelope.subject.strip_prefix("agents/")
        {
            fields.text("agent", agent.to_owned());
        }
        let event = fields.variant(primitive, variant)?;
        let Envelope { revision, index, time, agent, subject, .. } = envelope;
        let batch = Arc::new(Batch { revision, time, agent, events: vec![event] });
        Ok(Self { batch, place: 0, index, subject, author: None, json: OnceLock::new() })
    }
}

/// A notice as JSON with a live token, even if the event is not in a batch yet.
pub(crate) fn written(
    event: &Event,
    place: (Revision, usize),
    time: Timestamp,
    agent: &AgentId,
    subject: &str,
) -> Vec<u8> {
    encoded(event, place, time, agent, subject, AROUND)
}

fn encoded(
    event: &Event,
    (revision, index): (Revision, usize),
    time: Timestamp,
    agent: &AgentId,
    subject: &str,
    omitted: Omitted,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(event.weight() + 160);
    out.extend_from_slice(b"{\"revision\":");
    write_number(&mut out, revision.0);
    out.extend_from_slice(b",\"index\":");
    write_number(&mut out, index as u64);
    out.extend_from_slice(b",\"time\":\"");
    out.extend_from_slice(&time.text());
    let texts = [
        ("\",\"agent\":", agent.as_str()),
        (",\"type\":", event.kind()),
        (",\"subject\":", subject),
    ];
    for (name, text) in texts {
        out.extend_from_slice(name.as_bytes());
        write_text(&mut out, text);
    }
    write_own_fields(&mut out, event, omitted);
    out.push(b'}');
    out
}

/// The fields of an event as callers see them, as JSON: without a live token.
pub(crate) fn shown_fields(event: &Event) -> Vec<u8> {
    let mut out = Vec::new();
    write_own_fields(&mut out, event, if event.has_live_token() { &["token"] } else { &[] });
    match out.first_mut() {
        // The comma before the first field.
        Some(first) => *first = b'{',
        None => out.push(b'{'),
    }
    out.push(b'}');
    out
}

/// The fields around those of the event.
#[derive(Deserialize)]
struct Envelope {
    revision: Revision,
    index: usize,
    time: Timestamp,
    agent: AgentId,
    #[serde(rename = "type")]
    kind: String,
    subject: String,
}

impl fmt::Debug for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{} {} {}", self.revision(), self.index, self.kind(), self.subject)
    }
}
