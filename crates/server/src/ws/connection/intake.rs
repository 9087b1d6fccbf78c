//! Requests of one WebSocket, on their way from a frame to the engine.

use std::sync::Arc;

use baton::error::Error;
use baton::{Admission, Caller};
use baton_core::access::Viewer;
use baton_core::wire::{Call, FastFrame, Fault, Fields, Frame, Problem};
use baton_core::{AgentId, IdempotencyKey, Mutation, Query, Request, WorkspaceName};

use super::elsewhere::RawMessage;
use super::{Connection, End, Stop};
use crate::in_flight::query_deferred;
use crate::refusal::Refusal;
use crate::server_log::{FieldValue, Level};
use crate::ws::framing::{Message, Opcode, write};
use crate::ws::jobs::Encoding;

impl Connection {
    pub(super) fn take(&mut self, message: &Message<'_>) -> Result<Option<Stop>, End> {
        match message {
            Message::Text(text) => {
                let message = RawMessage { opcode: Opcode::Text, payload: text.as_bytes() };
                Ok(self.take_document(self.outbox.format.read_text(text), message))
            }
            Message::Binary(bytes) => {
                let text = self.outbox.format.read_bytes(bytes);
                let message = RawMessage { opcode: Opcode::Binary, payload: bytes };
                Ok(self.take_document(text.as_deref().map_err(Fault::clone), message))
            }
            Message::Ping(payload) => {
                write(&mut self.outbox.bytes, Opcode::Pong, payload);
                Ok(None)
            }
            Message::Pong => Ok(None),
            Message::Close(code) => Err(End::Close(code.unwrap_or(1000), "")),
        }
    }

    fn take_document(
        &mut self,
        text: Result<&str, Fault>,
        message: RawMessage<'_>,
    ) -> Option<Stop> {
        match text {
            Ok(text) => self.take_frame(text, message),
            Err(fault) => {
                self.outbox.refuse(None, &Problem::from(&fault));
                None
            }
        }
    }

    fn take_frame(&mut self, text: &str, message: RawMessage<'_>) -> Option<Stop> {
        let is_noted = self.shared.settings.server_log.wants(Level::Debug);
        let fast_frame = if is_noted { None } else { FastFrame::parse(text) };
        if let Some(fast_frame) = fast_frame {
            if self.is_elsewhere(fast_frame.workspace) {
                self.pass_later(message);
                return None;
            }
            if self.submit_fast(&fast_frame, text.len()) {
                return None;
            }
        }
        let mut frame = match Frame::parse(text) {
            Ok(frame) => frame,
            Err(fault) => {
                self.outbox.refuse(Frame::number(text), &Problem::from(&fault));
                return None;
            }
        };
        let Some(id) = frame.id else {
            self.outbox.refuse(None, &Problem::from(&frame.numberless()));
            return None;
        };
        if frame.workspace.as_deref().is_some_and(|workspace| self.is_elsewhere(workspace)) {
            if !ends_watch(text) {
                self.pass_later(message);
                return None;
            }
            // The number of a watch identifies it, whatever workspace is named beside it.
            frame.workspace = None;
        }
        if is_noted {
            self.note_asked(text, &frame);
        }
        match self.submit_frame(id, frame, (text.len(), message)) {
            Ok(stop) => stop,
            Err(problem) => {
                self.outbox.refuse(Some(id), &problem);
                None
            }
        }
    }

    fn submit_frame(
        &mut self,
        id: u64,
        mut frame: Frame<'_>,
        (bytes, message): (usize, RawMessage<'_>),
    ) -> Result<Option<Stop>, Problem> {
        let acting = frame.acting().filter(|_| !self.authority.asks_as_itself(&frame));
        self.remember_names(frame.workspace.as_deref(), acting)?;
        self.budget.spend(bytes - self.part_costs.end(bytes));
        let key = frame.idempotency_key.take();
        let call = frame.call().map_err(|fault| Problem::from(&fault))?;
        if let Some(workspace) = &self.workspace {
            self.authority.permits(workspace, &self.agent, &call, bytes)?;
        }
        let mutation = match call {
            Call::Command(command) => Mutation::Command(command),
            Call::Transaction(mutation) => mutation,
            Call::Query(query) => return self.look_up(id, query),
            Call::Watch(wanted) => {
                let caller = self.caller()?;
                return Ok(Some(Stop::Watch { caller, wanted, id }));
            }
            Call::Unwatch { watch } if self.is_watched_elsewhere(watch) => {
                self.pass_later(message);
                return Ok(None);
            }
            Call::Unwatch { watch } => {
                if !self.watches(|pushes| pushes.end(watch)) {
                    let fault = Fault::field("watch", "there is no watch of this number");
                    return Err(Problem::from(&fault));
                }
                self.outbox.empty_answer(id);
                return Ok(None);
            }
            Call::Ping => {
                self.outbox.empty_answer(id);
                return Ok(None);
            }
        };
        let idempotency_key = match key {
            Some(key) => Some(
                IdempotencyKey::parse(&key)
                    .map_err(|error| Problem::from(&Fault::field("idempotency_key", error)))?,
            ),
            None => None,
        };
        let workspace = named(self.workspace.as_ref())?;
        let request = Request { mutation, idempotency_key };
        self.submit(&workspace.clone(), &self.agent.clone(), request, id)
    }

    #[cold]
    fn note_asked(&self, text: &str, frame: &Frame<'_>) {
        let fields = Fields::parse(text).ok();
        let operation = fields.and_then(|mut fields| fields.take("command")).unwrap_or_default();
        let fields = [
            ("connection", FieldValue::Number(self.outbox.connection)),
            ("workspace", FieldValue::Text(frame.workspace.as_deref().unwrap_or_default())),
            ("agent", FieldValue::Text(frame.acting().unwrap_or(self.anonymous.as_str()))),
            ("operation", FieldValue::Text(&operation)),
        ];
        self.shared.settings.server_log.write(Level::Debug, "operation.asked", &fields);
    }

    /// Executes a frame by the fast path; false if it does not apply, and then it had no effect.
    fn submit_fast(&mut self, fast_frame: &FastFrame<'_>, bytes: usize) -> bool {
        if self.remember_names(Some(fast_frame.workspace), fast_frame.agent).is_err() {
            return false;
        }
        let Some(workspace) = &self.workspace else { return false };
        let FastFrame { id, call, .. } = fast_frame;
        let Some(charge) = self.authority.permits_fast(workspace, &self.agent, call, bytes) else {
            return false;
        };
        if !self.in_flight.submit_fast(&self.shared.baton, workspace, &self.agent, call, *id) {
            return false;
        }
        charge.pay();
        self.budget.spend(bytes - self.part_costs.end(bytes));
        self.answer_what_is_ready();
        true
    }

    /// Answers requests that are already durable, unless others wait before them.
    fn answer_what_is_ready(&mut self) {
        while let Some((id, outcome)) = self.in_flight.ready() {
            self.outbox.answer(id, &outcome);
        }
    }

    pub(super) fn submit(
        &mut self,
        workspace: &WorkspaceName,
        agent: &AgentId,
        request: Request,
        id: u64,
    ) -> Result<Option<Stop>, Problem> {
        match self.in_flight.submit(&self.shared.baton, workspace, agent, request, id) {
            Ok(Admission::Answer(())) => Ok(None),
            // It is executed in any case, so it is not refused.
            Ok(Admission::Wait(waiting)) if waiting.is_accepted() => {
                self.jobs.ask(id, self.encoding(), waiting.answer());
                Ok(None)
            }
            Ok(Admission::Wait(waiting)) => {
                let max = self.shared.settings.waits_per_connection_max;
                // Refusing it now loses nothing: dropping a waiting call cancels it.
                if self.jobs.waits() >= max {
                    return Err(Refusal::TooManyWaits { max }.into());
                }
                self.jobs.wait(id, self.encoding(), waiting.answer());
                Ok(None)
            }
            Ok(Admission::Retry(request, after)) => {
                let (workspace, agent) = (workspace.clone(), agent.clone());
                Ok(Some(Stop::RetryRequest { workspace, agent, request, id, after }))
            }
            Err(error) => Err(Problem::from(&error)),
        }
    }

    pub(super) fn look_up(&mut self, id: u64, query: Query) -> Result<Option<Stop>, Problem> {
        let workspace = named(self.workspace.as_ref())?;
        let (baton, agent) = (&self.shared.baton, &self.agent);
        let viewer = Viewer { agent, sees_tokens: self.authority.sees_tokens() };
        match self.in_flight.look_up(baton, workspace, viewer, &query, id) {
            Ok(Admission::Answer(None)) => {
                self.answer_what_is_ready();
                Ok(None)
            }
            Ok(Admission::Answer(Some(large))) => {
                let baton = self.shared.baton.clone();
                let answer = async move {
                    let durable = baton.wait_durable(large.group()).await?;
                    large.open(durable).map_err(Error::Rejected)
                };
                self.jobs.ask(id, self.encoding(), answer);
                Ok(None)
            }
            Ok(Admission::Wait(_)) => {
                let caller = self.caller()?;
                self.start_deferred_query(caller, query, id);
                Ok(None)
            }
            Ok(Admission::Retry((), after)) => {
                let caller = self.caller()?;
                Ok(Some(Stop::RetryQuery { caller, query, id, after }))
            }
            Err(error) => Err(Problem::from(&error)),
        }
    }

    /// It is answered by another thread, so that this one does not block.
    fn start_deferred_query(&mut self, caller: Caller, query: Query, id: u64) {
        let answer = query_deferred(Arc::clone(&self.shared), caller, query);
        self.jobs.ask(id, self.encoding(), answer);
    }

    fn encoding(&self) -> Encoding {
        (Arc::clone(&self.shared), self.outbox.format)
    }

    fn remember_names(
        &mut self,
        workspace: Option<&str>,
        agent: Option<&str>,
    ) -> Result<(), Problem> {
        let bad = |field: &str, error| Problem::from(&Fault::field(field, error));
        match workspace {
            None => self.switch_workspace(None),
            Some(name) if self.workspace.as_ref().is_some_and(|known| known.as_str() == name) => {}
            Some(name) => {
                let name = WorkspaceName::parse(name).map_err(|error| bad("workspace", error))?;
                self.switch_workspace(Some(name));
            }
        }
        match agent {
            None if self.agent == self.anonymous => {}
            None => self.agent = self.anonymous.clone(),
            Some(name) if self.agent.as_str() == name => {}
            Some(name) => {
                self.agent = AgentId::of_caller(name).map_err(|error| bad("agent", error))?;
            }
        }
        Ok(())
    }

    /// Each workspace has its own budget.
    fn switch_workspace(&mut self, workspace: Option<WorkspaceName>) {
        self.end_budget();
        self.workspace = workspace;
        self.begin_budget();
    }

    fn caller(&self) -> Result<Caller, Problem> {
        let workspace = named(self.workspace.as_ref())?.clone();
        let sees_tokens = self.authority.sees_tokens();
        Ok(Caller { workspace, agent: self.agent.clone(), idempotency_key: None, sees_tokens })
    }
}

/// Whether a message ends a watch.
fn ends_watch(text: &str) -> bool {
    let fields = Fields::parse(text);
    fields.is_ok_and(|mut fields| fields.take("command").as_deref() == Some("unwatch"))
}

fn named(workspace: Option<&WorkspaceName>) -> Result<&WorkspaceName, Problem> {
    workspace.ok_or_else(|| Problem::from(&Fault::MissingField { field: "workspace".to_owned() }))
}
