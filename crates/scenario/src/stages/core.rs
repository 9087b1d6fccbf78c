//! The rules alone: a space, and time as an argument.

use std::sync::Arc;

use baton_core::wire::Call;
use baton_core::{AgentId, Answer, Batch, Notice, Outcome, Request, Space, Timestamp, Wish};
use serde_json::Value;

use super::BEGINNING;
use super::reading::{Read, read, refused, told};
use crate::play::Stage;
use crate::script::Said;

/// A space, and what happened in it.
#[derive(Default)]
pub struct CoreStage {
    space: Space,
    now_ms: u64,
    batches: Vec<Arc<Batch>>,
}

impl CoreStage {
    fn now(&self) -> Timestamp {
        BEGINNING.after(self.now_ms)
    }

    fn commit(&mut self, request: Request, agent: &AgentId) -> Value {
        let now = self.now();
        let outcome = self.space.commit(request, agent, now);
        self.space.check();
        match outcome {
            Ok(committed) => {
                self.batches.extend(committed.batch.map(Arc::new));
                match committed.outcome {
                    Outcome::Answered(answer) => told(&answer),
                    Outcome::Waits(_) => panic!("no scenario waits yet"),
                }
            }
            Err(rejection) => refused(&rejection),
        }
    }
}

impl Stage for CoreStage {
    fn name(&self) -> String {
        "the core".to_owned()
    }

    fn pass(&mut self, to_ms: u64) {
        self.now_ms = to_ms;
        loop {
            let due = self.space.due(self.now());
            if due.is_empty() {
                return;
            }
            for command in due {
                self.commit(command.into(), &AgentId::engine());
            }
        }
    }

    fn say(&mut self, said: &Said) -> Option<Value> {
        let Read { agent, idempotency_key, call } = match read(said) {
            Ok(read) => read,
            Err(fault) => return Some(refused(&fault)),
        };
        let wish = match call {
            Call::Command(command) => Wish::Command(command),
            Call::Transaction(wish) => wish,
            Call::Query(query) => {
                let revision = self.space.revision();
                return Some(match self.space.query(&query)? {
                    Ok(reply) => told(&Answer { revision, reply }),
                    Err(rejection) => refused(&rejection),
                });
            }
            Call::Watch(_) | Call::Unwatch { .. } | Call::Ping => return None,
        };
        Some(self.commit(Request { wish, idempotency_key }, &agent))
    }

    fn events(&mut self, after: u64, up_to: u64) -> Vec<Value> {
        let wanted = self
            .batches
            .iter()
            .filter(|batch| batch.revision.0 > after && batch.revision.0 <= up_to);
        let mut events = Vec::new();
        for batch in wanted {
            let shown = (0..batch.events.len()).filter(|index| batch.events[*index].is_public());
            events.extend(shown.map(|index| {
                let notice = Notice::new(Arc::clone(batch), index);
                serde_json::from_slice(&notice.json()).expect("notices are JSON")
            }));
        }
        events
    }
}
