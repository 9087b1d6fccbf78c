//! Requests and replies: sixteen requesters, each with its own responder.
//!
//! ```text
//!   requester ─request─▶ server ──▶ responder     one connection each, one request in flight;
//!             ◀─────────        ◀── reply         counted and timed at the requester
//! ```
//!
//! | server | requester | responder |
//! |---|---|---|
//! | Baton | `message.request` | `inbox.receive`, then `message.reply`, which receives the next |
//! | NATS | `PUB` with an inbox | `SUB`, then `PUB` to the inbox |
//!
//! Baton stores a request and its reply, unless it is live, with `keep: false`. NATS core stores
//! neither.

use std::time::Duration;

use crate::Outcome;
use crate::peers::driver::{self, Answers, Element, Requests, TurnResult};
use crate::peers::processes::Server;
use crate::peers::{Bench, Kind, baton, nats, throughput};
use crate::report::{Report, Target};
use crate::samples::value;

/// One kind of requests of Baton. Those of NATS core are the same.
pub(crate) struct Load {
    pub(crate) name: &'static str,
    /// Further fields of a request.
    fields: &'static str,
    least: f64,
}

pub(crate) const LOADS: [Load; 2] = [
    Load { name: "request and reply, 16 pairs", fields: "", least: 1.0 },
    Load { name: "request and reply, live, 16 pairs", fields: r#","keep":false"#, least: 0.8 },
];
const PAIRS: usize = 16;
/// Longer than any wait in a round.
const WAIT_MS: u32 = 60_000;

/// Measures both, in rounds.
pub(crate) fn run(bench: &Bench<'_>, load: &Load, report: &mut Report) -> Outcome<()> {
    let (Some(ours), Some(theirs)) = (bench.start(Kind::Baton)?, bench.start(Kind::Nats)?) else {
        return Ok(());
    };
    let servers = [ours, theirs];
    let turns = bench.options.turns;
    let taken = throughput::alternate(load.name, servers.len(), turns, |which, number| {
        let server = &servers[which];
        server.blame(turn(server, load, bench.options.turn, number))
    })?;
    let line = throughput::line(load.name, "NATS core", &taken[0], &taken[1]);
    report.add(line.target(Target::AtLeast(load.least)));
    Ok(())
}

fn turn(server: &Server, load: &Load, turn: Duration, number: usize) -> Outcome<TurnResult> {
    let mut opened = Vec::with_capacity(2 * PAIRS);
    for pair in 0..PAIRS {
        // Every round has its own responders: those of the previous round have disconnected.
        let name = format!("answerer-{number}-{pair}");
        let is_ours = server.kind() == Kind::Baton;
        let both = if is_ours { ours(server, load, &name) } else { theirs(server, &name) };
        opened.extend(both?);
    }
    driver::measure(opened, 1, turn, server.pid())
}

type Party = (std::net::TcpStream, Asking, Box<dyn Answers>);

fn ours(server: &Server, load: &Load, name: &str) -> Outcome<[Party; 2]> {
    let mut answerer = baton::connect(server.port())?;
    let register = baton::command(name, r#""agent.register","ttl_ms":600000"#);
    driver::ask(&mut answerer, &register, &mut baton::Json, 1)?;
    let handles = baton::command(name, r#""handler.register","handler":"bench""#);
    driver::ask(&mut answerer, &handles, &mut baton::Json, 1)?;
    let receive = format!(r#""inbox.receive","limit":1,"wait_ms":{WAIT_MS}"#);
    let receive = baton::command(name, &receive);
    let (body, fields) = (value(1), load.fields);
    let to = format!(r#""to":"{name}","body":{body},"timeout_ms":{WAIT_MS}"#);
    let request = format!(r#""message.request",{to}{fields}"#);
    let asker = baton::connect(server.port())?;
    let asking = Asking(Some(baton::command("asker", &request)));
    // Its answer is not awaited: it is the first request.
    std::io::Write::write_all(&mut answerer, &receive)?;
    let answering = Answering { agent: name.to_owned(), body };
    Ok([(asker, asking, Box::new(baton::Json)), (answerer, Asking(None), Box::new(answering))])
}

fn theirs(server: &Server, name: &str) -> Outcome<[Party; 2]> {
    let mut answerer = nats::connect(server.port())?;
    nats::subscribe(&mut answerer, name)?;
    let mut asker = nats::connect(server.port())?;
    let inbox = format!("_INBOX.{name}");
    nats::subscribe(&mut asker, &inbox)?;
    let asking = Asking(Some(nats::publish(name, &inbox, &value(1))));
    Ok([
        (asker, asking, Box::new(nats::Messages)),
        (answerer, Asking(None), Box::new(Echo { body: value(1) })),
    ])
}

/// The constant request of requesters.
struct Asking(Option<Vec<u8>>);

impl Requests for Asking {
    fn next(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_deref().unwrap_or_default());
    }

    fn asks(&self) -> bool {
        self.0.is_some()
    }
}

/// Replies to what it receives, and receives the next in the same call.
pub(crate) struct Answering {
    pub(crate) agent: String,
    pub(crate) body: String,
}

impl Answers for Answering {
    fn take(&mut self, bytes: &[u8], replies: &mut Vec<u8>) -> Result<Option<Element>, String> {
        let Some(taken) = baton::Json.take(bytes, replies)? else { return Ok(None) };
        let answer = &bytes[..taken.bytes];
        if let Some(id) = baton::field(answer, &[r#""messages":["#, r#""id":"#]) {
            let body = &self.body;
            let reply =
                format!(r#""message.reply","request":{id},"body":{body},"wait_ms":{WAIT_MS}"#);
            replies.extend_from_slice(&baton::command(&self.agent, &reply));
        }
        Ok(Some(Element::other(taken.bytes)))
    }
}

/// Replies to every message at its reply subject.
pub(crate) struct Echo {
    pub(crate) body: String,
}

impl Answers for Echo {
    fn take(&mut self, bytes: &[u8], replies: &mut Vec<u8>) -> Result<Option<Element>, String> {
        let Some(taken) = nats::Messages.take(bytes, replies)? else { return Ok(None) };
        if taken.is_answer {
            let to = nats::answer_to(bytes).ok_or("a request that wants no answer")?;
            replies.extend_from_slice(&nats::publish(to, "", &self.body));
        }
        Ok(Some(Element::other(taken.bytes)))
    }
}
