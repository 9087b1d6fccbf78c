//! Publishing to many subscribers, and frames to one: rounds in which all must receive everything.
//!
//! Ten messages are written at once, so that a server can send several in one write, as it does
//! under load. The rate is that of delivered events, over the time of all rounds.

use std::net::TcpStream;

use serde_json::json;

use crate::Outcome;
use crate::peers::driver::{self, Answers, Element};
use crate::peers::fanout::{FanoutProtocol, FanoutServer};
use crate::peers::processes::Server;
use crate::peers::redis::{self, Resp, array};
use crate::peers::{Bench, baton};
use crate::report::{Comparison, Report, Target, median, rate};
use crate::resources::count;
use crate::samples::{mark, value};

const BATCH: usize = 10;
const ROUNDS: usize = 30;
const ROUNDS_WARM_UP: usize = 3;
const TOPIC: &str = "news";
const FRAME_BYTES: usize = 64;
/// Longer than a reader has to wait in a round.
const WAIT_MS: u32 = 60_000;

/// A load of rounds.
pub(crate) struct Load {
    pub(crate) name: &'static str,
    against: &'static str,
    /// The `appendfsync` of the peer.
    sync: &'static str,
    sides: fn() -> (FanoutProtocol, FanoutProtocol),
    /// Events in a round, for all listeners together.
    events: u32,
    least: f64,
}

pub(crate) const LOADS: [Load; 3] = [
    Load {
        name: "live posts to 100 subscribers",
        against: "Redis pub/sub",
        sync: "always",
        sides: || posts(100),
        events: 1_000,
        least: 1.0,
    },
    Load {
        name: "live posts to 1,000 subscribers",
        against: "Redis pub/sub",
        sync: "always",
        sides: || posts(1_000),
        events: 10_000,
        least: 1.0,
    },
    Load {
        name: "stream of 64-byte frames, 10 at a time",
        against: "Redis Streams, everysec",
        sync: "everysec",
        sides: || (OUR_FRAMES, THEIR_FRAMES),
        events: 10,
        least: 1.0,
    },
];

/// Measures both, round by round.
pub(crate) fn run(bench: &Bench<'_>, load: &Load, report: &mut Report) -> Outcome<()> {
    let Some(program) = &bench.programs.redis else { return Ok(()) };
    let redis = redis::start_with(program, bench.options.folder.as_path(), load.sync)?;
    let ours = bench.start_ours()?;
    if load.name.contains("stream") {
        ours.blame(make_stream(&ours))?;
    }
    let (our_speech, their_speech) = (load.sides)();
    let mut sides = [FanoutServer::new(ours, our_speech)?, FanoutServer::new(redis, their_speech)?];
    let mut rates = [Vec::new(), Vec::new()];
    let mut cpus = [Vec::new(), Vec::new()];
    for turn in 0..=bench.options.turns {
        let rounds = if turn == 0 { ROUNDS_WARM_UP } else { ROUNDS };
        let before: Vec<f64> = sides.iter().map(FanoutServer::cpu_seconds).collect();
        let mut seconds = [0.0; 2];
        for round in 0..rounds {
            for (side, seconds) in sides.iter_mut().zip(&mut seconds) {
                *seconds += side.round((turn * ROUNDS + round) * BATCH)?.as_secs_f64();
            }
        }
        if turn > 0 {
            let delivered = f64::from(load.events) * count(rounds as u64);
            for which in 0..2 {
                rates[which].push(delivered / seconds[which]);
                let cpu = sides[which].cpu_seconds() - before[which];
                cpus[which].push(cpu / delivered * 1e6);
            }
        }
    }
    report.add(line(load, &rates, &cpus).target(Target::AtLeast(load.least)));
    Ok(())
}

fn line(load: &Load, rates: &[Vec<f64>; 2], cpus: &[Vec<f64>; 2]) -> Comparison {
    let [ours, theirs] = rates;
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    let text = |which: usize| {
        format!("{}, CPU {:.2} µs", rate(median(&rates[which])), median(&cpus[which]))
    };
    let name = format!("{}, against {}", load.name, load.against);
    let facts = json!({ "ours": ours, "theirs": theirs, "ratios": ratios, "cpu_us": cpus });
    Comparison { facts, ..Comparison::of_ratios(&name, &ratios, (text(0), text(1))) }
}

fn posts(listeners: usize) -> (FanoutProtocol, FanoutProtocol) {
    let ours = FanoutProtocol {
        listeners,
        events: BATCH,
        listen: |server| baton::watch(server, &format!("topics/{TOPIC}")),
        event: || Box::new(baton::Event),
        connect: baton::connect,
        answer: || Box::new(baton::Json),
        answers: BATCH,
        write: |round| batch(round, our_post),
        last: |round| mark(round + BATCH - 1),
    };
    let theirs = FanoutProtocol {
        listeners,
        events: BATCH,
        listen: |server| redis::subscribe(server, TOPIC),
        event: || Box::new(Resp),
        connect: driver::connect,
        answer: || Box::new(Resp),
        answers: BATCH,
        write: |round| batch(round, |number| array(&["PUBLISH", TOPIC, &value(number)])),
        last: |round| mark(round + BATCH - 1),
    };
    (ours, theirs)
}

fn our_post(number: usize) -> Vec<u8> {
    let body = value(number);
    let post = format!(r#""topic.publish","topic":"{TOPIC}","durable":false,"body":{body}"#);
    baton::command("ada", &post)
}

/// This many requests, from this number on.
fn batch(first: usize, request: fn(usize) -> Vec<u8>) -> Vec<u8> {
    (first..first + BATCH).flat_map(request).collect()
}

const OUR_FRAMES: FanoutProtocol = FanoutProtocol {
    listeners: 1,
    events: 1,
    listen: |server| {
        let mut stream = baton::connect(server.port())?;
        std::io::Write::write_all(&mut stream, &receive("0"))?;
        Ok(stream)
    },
    event: || Box::new(Reader),
    connect: baton::connect,
    answer: || Box::new(baton::Json),
    answers: 1,
    write: |round| {
        let frames: Vec<String> = (round..round + BATCH).map(frame).collect();
        let frames = frames.join(",");
        baton::command("ada", &format!(r#""stream.send","stream":"{TOPIC}","frames":[{frames}]"#))
    },
    last: |round| mark_of_frame(round + BATCH - 1),
};

const THEIR_FRAMES: FanoutProtocol = FanoutProtocol {
    listeners: 1,
    events: 1,
    listen: |server| {
        let mut stream = driver::connect(server.port())?;
        std::io::Write::write_all(&mut stream, &read_after("$"))?;
        Ok(stream)
    },
    event: || Box::new(Follower { entries: 0 }),
    connect: driver::connect,
    answer: || Box::new(Resp),
    answers: BATCH,
    write: |round| batch(round, |number| array(&["XADD", TOPIC, "*", "d", &frame(number)])),
    last: |round| mark_of_frame(round + BATCH - 1),
};

/// A frame of sixty-four bytes.
fn frame(number: usize) -> String {
    let mark = mark_of_frame(number);
    format!("\"{mark}{}\"", ".".repeat(FRAME_BYTES - 2 - mark.len()))
}

fn mark_of_frame(number: usize) -> String {
    format!("f-{number:08}")
}

fn make_stream(server: &Server) -> Outcome<()> {
    let mut stream: TcpStream = baton::connect(server.port())?;
    let create = baton::command("ada", &format!(r#""stream.create","stream":"{TOPIC}""#));
    driver::ask(&mut stream, &create, &mut baton::Json, 1)?;
    Ok(())
}

fn receive(from: &str) -> Vec<u8> {
    let receive = format!(
        r#""stream.receive","stream":"{TOPIC}","from":{from},"limit":{BATCH},"wait_ms":{WAIT_MS}"#
    );
    baton::command("bob", &receive)
}

/// Reads on from the returned offset; a complete read counts as one.
struct Reader;

impl Answers for Reader {
    fn take(&mut self, bytes: &[u8], replies: &mut Vec<u8>) -> Result<Option<Element>, String> {
        let Some(taken) = baton::Json.take(bytes, replies)? else { return Ok(None) };
        if taken.is_answer {
            let next = baton::field(&bytes[..taken.bytes], &[r#""next":"#]);
            replies.extend_from_slice(&receive(next.ok_or("a read that names no next offset")?));
        }
        Ok(Some(taken))
    }
}

fn read_after(id: &str) -> Vec<u8> {
    array(&["XREAD", "COUNT", "100", "BLOCK", "60000", "STREAMS", TOPIC, id])
}

/// Reads on after the last entry; ten of them count as one.
struct Follower {
    entries: usize,
}

impl Answers for Follower {
    fn take(&mut self, bytes: &[u8], replies: &mut Vec<u8>) -> Result<Option<Element>, String> {
        let Some(taken) = Resp.take(bytes, replies)? else { return Ok(None) };
        let text = String::from_utf8_lossy(&bytes[..taken.bytes]);
        let ids = || text.lines().filter(|line| is_id(line));
        let last = ids().next_back().ok_or("a read without entries")?;
        replies.extend_from_slice(&read_after(last));
        self.entries += ids().count();
        let is_answer = self.entries == BATCH;
        if is_answer {
            self.entries = 0;
        }
        Ok(Some(Element { is_answer, ..taken }))
    }
}

/// Whether a line is the id of an entry: two numbers with a dash between.
fn is_id(line: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    line.split_once('-').is_some_and(|(time, number)| is_number(time) && is_number(number))
}
