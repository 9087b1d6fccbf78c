//! Durable publishing: sixty-four publishers, each with one message in flight.
//!
//! | server | a message | a success |
//! |---|---|---|
//! | Baton | `topic.publish` | an answer with a revision |
//! | Redis, `always` | `XADD` | the entry's id |
//! | NATS, `JetStream`, `always` | `PUB` on a subject of a stream | the stream's sequence |

use std::time::Duration;

use crate::Outcome;
use crate::peers::driver::{self, TurnResult};
use crate::peers::processes::Server;
use crate::peers::redis::{Resp, array};
use crate::peers::{Bench, Kind, baton, nats, throughput};
use crate::report::{Report, Target};
use crate::samples::value;
use crate::work::cycle::FirstRequest;

pub(crate) const NAME: &str = "durable posts, 64 publishers";
const PUBLISHERS: usize = 64;
const TOPIC: &str = "news";
const AGAINST: [(Kind, &str, f64); 2] =
    [(Kind::Redis, "Redis Streams", 1.5), (Kind::Nats, "NATS JetStream", 3.0)];

/// Measures all of them, in rounds.
pub(crate) fn run(bench: &Bench<'_>, report: &mut Report) -> Outcome<()> {
    let mut servers = vec![bench.start_ours()?];
    let mut rivals = Vec::new();
    for (kind, name, least) in AGAINST {
        if let Some(server) = bench.start(kind)? {
            if kind == Kind::Nats {
                server.blame(make_stream(&server))?;
            }
            servers.push(server);
            rivals.push((name, Target::AtLeast(least)));
        }
    }
    if rivals.is_empty() {
        return Ok(());
    }
    let turns = bench.options.turns;
    let taken = throughput::alternate(NAME, servers.len(), turns, |which, number| {
        let server = &servers[which];
        server.blame(turn(server, bench.options.turn, number))
    })?;
    let (ours, theirs) = taken.split_first().ok_or("we take part")?;
    for ((name, target), theirs) in rivals.into_iter().zip(theirs) {
        report.add(throughput::line(NAME, name, ours, theirs).target(target));
    }
    Ok(())
}

/// A stream that stores what is published on the topic.
fn make_stream(server: &Server) -> Outcome<()> {
    let mut stream = nats::connect(server.port())?;
    nats::subscribe(&mut stream, "_INBOX.made")?;
    let settings = format!(r#"{{"name":"{TOPIC}","subjects":["{TOPIC}"],"storage":"file"}}"#);
    let subject = format!("$JS.API.STREAM.CREATE.{TOPIC}");
    let request = nats::publish(&subject, "_INBOX.made", &settings);
    let made = driver::ask(&mut stream, &request, &mut nats::Messages, 1)?;
    let made = String::from_utf8_lossy(&made);
    if made.contains(r#""error""#) { Err(made.into_owned().into()) } else { Ok(()) }
}

fn turn(server: &Server, turn: Duration, number: usize) -> Outcome<TurnResult> {
    let (port, pid) = (server.port(), server.pid());
    match server.kind() {
        Kind::Baton => {
            let open = |publisher: usize| {
                let body = value(publisher);
                let post = format!(r#""topic.publish","topic":"{TOPIC}","body":{body}"#);
                let post = baton::command(&format!("agent-{publisher}"), &post);
                Ok((baton::connect(port)?, FirstRequest(post), baton::Json))
            };
            let opened = (0..PUBLISHERS).map(open).collect::<Outcome<Vec<_>>>()?;
            driver::measure(opened, 1, turn, pid)
        }
        Kind::Redis => {
            let open = |publisher: usize| {
                let post = array(&["XADD", TOPIC, "*", "body", &value(publisher)]);
                Ok((driver::connect(port)?, FirstRequest(post), Resp))
            };
            let opened = (0..PUBLISHERS).map(open).collect::<Outcome<Vec<_>>>()?;
            driver::measure(opened, 1, turn, pid)
        }
        Kind::Nats => {
            let open = |publisher: usize| {
                let inbox = format!("_INBOX.{number}.{publisher}");
                let mut stream = nats::connect(port)?;
                nats::subscribe(&mut stream, &inbox)?;
                let post = nats::publish(TOPIC, &inbox, &value(publisher));
                Ok((stream, FirstRequest(post), nats::Messages))
            };
            let opened = (0..PUBLISHERS).map(open).collect::<Outcome<Vec<_>>>()?;
            driver::measure(opened, 1, turn, pid)
        }
        kind @ (Kind::Postgres | Kind::Etcd | Kind::Floor) => {
            Err(format!("no load publishes to {}", kind.name()).into())
        }
    }
}
