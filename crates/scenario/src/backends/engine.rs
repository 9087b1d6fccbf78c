//! An engine in this process, reopened before every step, so that everything is read from its log.
//! Callers do not survive that, so it stays open while a call waits.

use baton::Caller;
use baton::clock::ManualClock;
use baton::core::wire::Watch as Wanted;
use baton::core::{AgentId, Pattern, Revision};
use baton::log::{FileLog, MemoryLog, Options as FileOptions};
use baton::{Admission, Baton, Item, Options, Waiting};
use baton_core::wire::Call;
use baton_core::{Mutation, Request};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::codec::{DecodedCall, decode, refused, rendered};
use super::harness::{advance_clock, caller, caller_in};
use super::{ANSWER_TIMEOUT, BEGINNING, WORKSPACE};
use crate::run::Backend;
use crate::script::ScriptedCall;

/// The kind of log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// In memory.
    Memory,
    /// In files.
    Files,
}

enum Data {
    Memory(MemoryLog),
    Files(TempDir),
}

impl Data {
    fn open(&self, clock: &ManualClock) -> Baton {
        // Small enough that scenarios also use archives and snapshots, not only the log.
        let options = Options { tail_batches_max: 2, snapshot_bytes_min: 1, ..Options::default() };
        let opened = match self {
            Self::Memory(log) => Baton::on(log.clone(), clock.clone(), options),
            Self::Files(folder) => {
                // Default segments are large, and preparing one takes longer than a scenario.
                let small = FileOptions::new(folder.path());
                let log = FileLog::open(FileOptions { segment_bytes: 64 << 10, ..small });
                let log = log.expect("the folder is ours alone");
                Baton::on(log, clock.clone(), options)
            }
        };
        opened.expect("an engine can be opened on what it wrote")
    }
}

/// An engine that is reopened before every step.
pub struct EngineBackend {
    runtime: Runtime,
    data: Data,
    clock: ManualClock,
    passed_ms: u64,
    baton: Option<Baton>,
    opened: usize,
    waits: Vec<(String, Waiting)>,
}

impl EngineBackend {
    /// An engine on an empty log.
    pub fn new(storage: Storage) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("there is room for a runtime");
        let data = match storage {
            Storage::Memory => Data::Memory(MemoryLog::default()),
            Storage::Files => Data::Files(tempfile::tempdir().expect("there is room for a folder")),
        };
        let clock = ManualClock::at(BEGINNING);
        let baton = Some(data.open(&clock));
        Self { runtime, data, clock, passed_ms: 0, baton, opened: 1, waits: Vec::new() }
    }

    /// Closes the engine and opens it again, every second time with a snapshot.
    fn open_anew(&mut self) {
        let baton = self.baton.take().expect("one is always open");
        let compacts = self.opened.is_multiple_of(2);
        self.runtime.block_on(async {
            if compacts {
                let workspace = baton.workspace(WORKSPACE).expect("the name is valid");
                baton.compact(&workspace).await.expect("memory and an empty disk suffice");
            }
            baton.close().await;
        });
        self.baton = Some(self.data.open(&self.clock));
        self.opened += 1;
    }

    fn baton(&self) -> &Baton {
        self.baton.as_ref().expect("one is always open")
    }
}

impl Backend for EngineBackend {
    fn name(&self) -> String {
        let storage = match self.data {
            Data::Memory(_) => "memory",
            Data::Files(_) => "files",
        };
        format!("the engine on {storage}, opened anew before every step")
    }

    fn advance_clock(&mut self, to_ms: u64) {
        if self.waits.is_empty() {
            self.open_anew();
        }
        let baton = self.baton.as_ref().expect("one is always open");
        self.runtime.block_on(advance_clock(baton, &self.clock, &mut self.passed_ms, to_ms));
    }

    fn call(&mut self, scripted: &ScriptedCall) -> Option<Value> {
        let DecodedCall { agent, idempotency_key, call } = match decode(scripted) {
            Ok(decoded) => decoded,
            Err(fault) => return Some(refused(&fault)),
        };
        let caller = Caller { idempotency_key, ..caller_in(scripted.workspace_name(), &agent) };
        let baton = self.baton();
        let outcome = match call {
            Call::Command(command) => {
                self.runtime.block_on(baton.mutate(&caller, Mutation::Command(command)))
            }
            Call::Transaction(mutation) => self.runtime.block_on(baton.mutate(&caller, mutation)),
            Call::Query(query) => self.runtime.block_on(baton.ask(&caller, query)),
            Call::Watch(_) | Call::Unwatch { .. } | Call::Ping => return None,
        };
        Some(match outcome {
            Ok(answer) => rendered(&answer),
            Err(error) => refused(&error),
        })
    }

    fn call_blocking(&mut self, scripted: &ScriptedCall) -> Option<Value> {
        let DecodedCall { agent, idempotency_key, call } = match decode(scripted) {
            Ok(decoded) => decoded,
            Err(fault) => return Some(refused(&fault)),
        };
        let mutation = match call {
            Call::Command(command) => Mutation::Command(command),
            Call::Transaction(mutation) => mutation,
            Call::Query(_) | Call::Watch(_) | Call::Unwatch { .. } | Call::Ping => return None,
        };
        let workspace = caller_in(scripted.workspace_name(), &agent).workspace;
        let request = Request { mutation, idempotency_key };
        let loaded = self.runtime.block_on(self.baton().load(&workspace));
        loaded.expect("the workspace can be loaded");
        match self.baton().submit(&workspace, request, &agent) {
            Ok(Admission::Wait(waiting)) => {
                self.waits.push((scripted.agent.clone(), waiting));
                None
            }
            Ok(Admission::Answer(held)) => {
                let durable = self.runtime.block_on(self.baton().wait_durable(held.group()));
                Some(match held.open(durable.expect("memory and an empty disk suffice")) {
                    Ok(answer) => rendered(&answer),
                    Err(rejection) => refused(&rejection),
                })
            }
            Ok(Admission::Retry(..)) => panic!("there is room for it"),
            Err(error) => Some(refused(&error)),
        }
    }

    fn receive_answer(&mut self, agent: &str) -> Option<Value> {
        let index = self.waits.iter().position(|(waits, _)| waits == agent)?;
        let (_, waiting) = self.waits.remove(index);
        let answer = async { tokio::time::timeout(ANSWER_TIMEOUT, waiting.answer()).await };
        Some(match self.runtime.block_on(answer).ok()? {
            Ok(answer) => rendered(&answer),
            Err(error) => refused(&error),
        })
    }

    fn events(&mut self, after: u64, up_to: u64) -> Vec<Value> {
        let mut events = Vec::new();
        if after == up_to {
            return events;
        }
        let pattern = Pattern::parse("**").expect("it is valid");
        let from = Some(Revision(after + 1));
        let wanted = Wanted { pattern, types: Vec::new(), from, snapshot: false, waits: true };
        self.runtime.block_on(async {
            let caller = caller(&AgentId::engine());
            let mut watch = self.baton().watch(&caller, wanted).await.expect("it can be watched");
            while watch.resume_from() <= Revision(up_to) {
                match watch.next().await {
                    Some(Ok(Item::Event(notice))) => {
                        let event = serde_json::from_slice(&notice.json());
                        events.push(event.expect("notices are JSON"));
                    }
                    other => panic!("an event was expected, not {other:?}"),
                }
            }
        });
        events
    }
}
