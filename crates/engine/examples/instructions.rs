//! A number of cycles of one kind, in process, on a log in memory and with a clock that stops: for
//! counting instructions, which do not depend on what else the machine does.
//!
//! ```text
//! valgrind --tool=callgrind target/release/examples/instructions task 3000
//! ```
//!
//! The instructions of one cycle are the difference between two runs, divided by the difference of
//! their numbers: this leaves out the start and the warm-up.
#![expect(clippy::print_stderr, reason = "the number of bytes shows that the cycles took place")]

use std::sync::Arc;

use baton::Admission;
use baton::clock::ManualClock;
use baton::core::wire::{Call, FastCall, FastFrame, Frame, write_answer};
use baton::core::{
    AgentId, Answer, IdempotencyKey, Mutation, Pattern, Request, Timestamp, WorkspaceName,
};
use baton::log::MemoryLog;
use baton::shard::Shard;
use baton::waiter::Waiter;
use baton::watch::{Arrival, Filter, Queue};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Agents that take turns; each has a responder.
const AGENTS: u64 = 16;
/// A value of 200 bytes.
const TEXT: &str = "0123456789abcdefghijklmnopqrstuvwxyz 0123456789abcdefghijklmnopqrstuvwxyz \
                    0123456789abcdefghijklmnopqrstuvwxyz 0123456789abcdefghijklmnopqrstuvwxyz \
                    0123456789abcdefghijklmnopqrstuvwxyz 0123456789";

struct Bench {
    shard: Shard<MemoryLog>,
    workspace: WorkspaceName,
    clock: ManualClock,
    watching: Option<Arc<Queue>>,
    out: Vec<u8>,
    bytes: usize,
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, kind, cycles] = arguments.as_slice() else {
        return Err("usage: instructions KIND CYCLES".into());
    };
    let cycles = cycles.parse()?;
    let mut bench = Bench::new()?;
    let (kind, is_watched) = match kind.strip_prefix("watched-") {
        Some(kind) => (kind, true),
        None => (kind.as_str(), false),
    };
    if is_watched {
        bench.watch()?;
    }
    let cycle = match kind {
        "task" | "archive" => Bench::task,
        "lock" => Bench::lock,
        "request" => Bench::request,
        "set" => Bench::set,
        "keyed-set" => Bench::keyed_set,
        "keyed-create" => Bench::keyed_create,
        _ => return Err("task, archive, lock, request, set, keyed-set or keyed-create".into()),
    };
    match kind {
        "request" => bench.register()?,
        // The fast path needs the namespace to be there.
        "set" | "keyed-set" => {
            let first = r#""state.set","namespace":"shared","key":"first","value":1"#;
            bench.ask("agent-0", None, first)?;
        }
        _ => {}
    }
    (0..cycles).try_for_each(|number| cycle(&mut bench, number))?;
    if kind == "archive" {
        bench.shard.archive(&bench.workspace)?;
    }
    eprintln!("{} bytes of answers and events", bench.bytes);
    Ok(())
}

impl Bench {
    fn new() -> Outcome<Self> {
        let clock = ManualClock::at(Timestamp(1_700_000_000_000));
        let options = baton::Options::default();
        let shard = Shard::open(MemoryLog::default(), Arc::new(clock.clone()), options)?;
        let workspace = WorkspaceName::parse("bench")?;
        shard.load(&workspace)?;
        Ok(Self { shard, workspace, clock, watching: None, out: Vec::new(), bytes: 0 })
    }

    fn watch(&mut self) -> Outcome<()> {
        let filter = Filter { pattern: Pattern::parse("**")?, kinds: Vec::new(), waits: false };
        let (queue, _) =
            self.shard.watch(&self.workspace, &filter).ok_or("it is in memory")?.open(u64::MAX);
        self.watching = Some(queue);
        Ok(())
    }

    /// Makes everything durable and encodes what the watcher has.
    fn flush(&mut self) -> u64 {
        self.shard.flush();
        let durable = self.shard.machine().durable();
        while let Some(Arrival::Notice(notice)) =
            self.watching.as_ref().and_then(|it| it.try_next())
        {
            self.bytes += notice.json().len();
        }
        durable
    }

    /// The text of an answer.
    fn answered(&mut self, answer: &Answer) -> Outcome<String> {
        self.out.clear();
        write_answer(&mut self.out, answer);
        self.bytes += self.out.len();
        Ok(String::from_utf8(self.out.clone())?)
    }

    fn ask(&mut self, agent: &str, key: Option<String>, fields: &str) -> Outcome<String> {
        match self.submit(agent, key, fields)? {
            Admission::Answer(held) => {
                let durable = self.flush();
                let answer = held.open(durable)?;
                self.answered(&answer)
            }
            _ => Err("it is answered at once".into()),
        }
    }

    fn submit(
        &self,
        agent: &str,
        key: Option<String>,
        fields: &str,
    ) -> Outcome<Admission<baton::machine::Queued, Request>> {
        let text =
            format!(r#"{{"id":1,"workspace":"bench","agent":"{agent}","command":{fields}}}"#);
        let mutation = match Frame::parse(&text)?.call()? {
            Call::Command(command) => Mutation::Command(command),
            _ => return Err("it is a command".into()),
        };
        let idempotency_key = key.map(|key| IdempotencyKey::parse(&key)).transpose()?;
        let request = Request { mutation, idempotency_key };
        Ok(self.shard.submit(&self.workspace, request, &AgentId::parse(agent)?))
    }

    /// A call that waits.
    fn begin(&self, agent: &str, fields: &str) -> Outcome<Arc<Waiter>> {
        match self.submit(agent, None, fields)? {
            Admission::Wait(queued) => Ok(queued.waiter),
            _ => Err("it waits".into()),
        }
    }

    fn end(&mut self, waiter: &Waiter) -> Outcome<String> {
        let answer = waiter.result().ok_or("it was answered")???;
        self.answered(&answer)
    }

    fn task(&mut self, number: u64) -> Outcome<()> {
        let agent = agent(number);
        let kind = format!("type-{}", number % AGENTS);
        let create = format!(r#""task.create","type":"{kind}","definition":"{TEXT}""#);
        self.ask(&agent, None, &create)?;
        let claimed = self.ask(&agent, None, &format!(r#""task.claim","types":["{kind}"]"#))?;
        let (id, token) = (field(&claimed, r#""id":"#)?, field(&claimed, r#""token":"#)?);
        let complete = format!(r#""task.complete","task":{id},"token":{token}"#);
        self.ask(&agent, None, &complete)?;
        Ok(())
    }

    fn lock(&mut self, number: u64) -> Outcome<()> {
        let (agent, name) = (agent(number), format!("lock-{}", number % AGENTS));
        let acquire = format!(r#""lock.acquire","name":"{name}","ttl_ms":30000"#);
        let acquired = self.ask(&agent, None, &acquire)?;
        let token = field(&acquired, r#""token":"#)?;
        let release = format!(r#""lock.release","name":"{name}","token":{token}"#);
        self.ask(&agent, None, &release)?;
        Ok(())
    }

    fn register(&mut self) -> Outcome<()> {
        for number in 0..AGENTS {
            for agent in [agent(number), responder(number)] {
                self.ask(&agent, None, r#""agent.register","ttl_ms":3600000"#)?;
            }
            self.ask(&responder(number), None, r#""handler.register","handler":"bench""#)?;
        }
        Ok(())
    }

    fn request(&mut self, number: u64) -> Outcome<()> {
        let (agent, to) = (agent(number), responder(number));
        let receiving = self.begin(&to, r#""inbox.receive","limit":1,"wait_ms":60000"#)?;
        let request =
            format!(r#""message.request","to":"{to}","body":"{TEXT}","timeout_ms":60000"#);
        let requesting = self.begin(&agent, &request)?;
        self.flush();
        let received = self.end(&receiving)?;
        let id = field(&received, r#""id":"#)?;
        self.ask(&to, None, &format!(r#""message.reply","request":{id},"body":"{TEXT}""#))?;
        self.end(&requesting)?;
        Ok(())
    }

    fn set(&mut self, number: u64) -> Outcome<()> {
        self.fast_set(number, "")
    }

    fn keyed_set(&mut self, number: u64) -> Outcome<()> {
        self.clock.advance(1);
        self.fast_set(number, &format!(r#","idempotency_key":"request-{number}""#))
    }

    fn fast_set(&mut self, number: u64, more: &str) -> Outcome<()> {
        let (agent, key) = (agent(number), number % 1000);
        let place = format!(r#""namespace":"shared","key":"key-{key}","value":"{TEXT}"{more}"#);
        let begin = format!(r#""id":1,"workspace":"bench","agent":"{agent}""#);
        let text = format!(r#"{{{begin},"command":"state.set",{place}}}"#);
        let frame = FastFrame::parse(&text).ok_or("it is a plain set")?;
        let FastCall::Set(set) = frame.call else { return Err("it is a set".into()) };
        let (agent, now) = (AgentId::parse(frame.agent.ok_or("it has one")?)?, Timestamp(0));
        let held = self.shard.machine().fast_set(&self.workspace, &set, &agent, now);
        let durable = self.flush();
        let answer = held.ok_or("it takes the fast path")?.open(durable)?;
        self.answered(&answer)?;
        Ok(())
    }

    fn keyed_create(&mut self, number: u64) -> Outcome<()> {
        let create = format!(r#""task.create","type":"bench","definition":"{TEXT}""#);
        self.ask(&agent(number), Some(format!("request-{number}")), &create)?;
        Ok(())
    }
}

fn agent(number: u64) -> String {
    format!("agent-{}", number % AGENTS)
}

fn responder(number: u64) -> String {
    format!("responder-{}", number % AGENTS)
}

/// The first value after this text, as it is written.
fn field<'a>(answer: &'a str, name: &str) -> Outcome<&'a str> {
    let begin = answer.find(name).ok_or_else(|| format!("no {name} in {answer}"))? + name.len();
    let end = answer[begin..].find([',', '}']).ok_or("it ends")?;
    Ok(&answer[begin..begin + end])
}
