//! Follows every workspace, from the last delivered position.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use baton::{Baton, Caller, Error};
use baton_core::access::CLOSED;
use baton_core::message::{Query as MessageQuery, Reply as MessageReply};
use baton_core::task::{Query as TaskQuery, Reply as TaskReply};
use baton_core::{
    AgentId, Batch, MessageId, Query, Reply, Revision, TaskId, Timestamp, WorkspaceName,
};
use bytes::Bytes;
use tokio::time::Instant;

use super::Otel;
use super::endpoint::Sent;
use super::ids::SpanContext;
use super::lifecycles::{Lifecycle, LifecycleId, Request, Seen, Task, begins, ends, task_of};
use super::otlp::encode;
use super::progress::{Progress, ProgressStore};
use super::span::Span;
use crate::access::now;
use crate::server_log::{FieldValue, Level};
use crate::shared::{Shared, Signal};

/// How much of a workspace is read at a time.
const READ_BYTES: usize = 256 << 10;
/// The maximum number of lifecycles in memory. The others are looked up in the log when they end.
const LIFECYCLES_MAX: usize = 50_000;
/// How many commits of a lifecycle are read, newest first. Most have a handful.
const STORY_MAX: usize = 4_096;
/// How long the last request may take at shutdown.
const FAREWELL: Duration = Duration::from_secs(1);

/// The follower of all workspaces.
pub(super) struct Follower {
    shared: Arc<Shared>,
    otel: Otel,
    stop: Arc<Signal>,
    /// The revision of each workspace when the server started.
    first: BTreeMap<WorkspaceName, Revision>,
    /// For other workspaces, only what ended after this is sent.
    since: Timestamp,
    /// How far each workspace is durable.
    seen: BTreeMap<WorkspaceName, Revision>,
    /// How far each has been read: earlier spans are delivered or pending.
    read: BTreeMap<WorkspaceName, Revision>,
    /// How far each is delivered.
    delivered: BTreeMap<WorkspaceName, Revision>,
    /// Workspaces whose position changed since it was stored.
    unwritten: BTreeSet<WorkspaceName>,
    lifecycles: BTreeMap<(WorkspaceName, LifecycleId), Lifecycle>,
    pending: Vec<Span>,
    /// Since when spans are pending.
    pending_since: Option<Instant>,
    /// Whether the collector cannot be reached.
    is_out: bool,
    /// The time at which work must end, once it was asked to stop.
    goes_at: Option<Instant>,
}

/// How a wait ended.
#[derive(PartialEq, Eq)]
enum Waited {
    Over,
    Stopped,
}

impl Follower {
    /// The first export starts at the present.
    pub(super) fn new(shared: Arc<Shared>, otel: Otel, stop: Arc<Signal>) -> Self {
        let first = shared.baton.advanced(&BTreeMap::new()).into_iter().collect();
        // Events within the same millisecond have started after it.
        let since = Timestamp(now().0.saturating_sub(1));
        Self {
            shared,
            otel,
            stop,
            first,
            since,
            seen: BTreeMap::new(),
            read: BTreeMap::new(),
            delivered: BTreeMap::new(),
            unwritten: BTreeSet::new(),
            lifecycles: BTreeMap::new(),
            pending: Vec::new(),
            pending_since: None,
            is_out: false,
            goes_at: None,
        }
    }

    fn is_time_to_go(&mut self) -> bool {
        let is_asked = self.stop.is_raised();
        is_asked && *self.goes_at.get_or_insert_with(|| Instant::now() + FAREWELL) < Instant::now()
    }

    fn baton(&self) -> &Baton {
        &self.shared.baton
    }

    /// Follows until it is asked to stop.
    pub(super) async fn run(mut self) {
        let Ok(store) = ProgressStore::of(self.baton()) else { return };
        while let Err(error) = self.begin(&store).await {
            self.note_trouble(&error);
            if self.wait(self.otel.retry_first).await == Waited::Stopped {
                return;
            }
        }
        let mut written_at = Instant::now();
        loop {
            let ended = self.stop.is_raised();
            self.look();
            self.catch_up().await;
            let is_due = self.pending_since.is_some_and(|it| it.elapsed() >= self.otel.batch_delay);
            if !self.pending.is_empty() && (is_due || ended) {
                self.deliver().await;
            }
            if ended || written_at.elapsed() >= self.otel.keep_every {
                self.write_down(&store).await;
                written_at = Instant::now();
            }
            if ended {
                return;
            }
            let _ = self.wait(self.otel.look_every).await;
        }
    }

    /// Reads the delivered positions. The first export starts at the present, not at the beginning
    /// of the history.
    async fn begin(&mut self, store: &ProgressStore) -> Result<(), Error> {
        let kept = store.read().await?;
        for (workspace, Progress { delivered, seen }) in kept.progress {
            self.seen.insert(workspace.clone(), seen);
            self.read.insert(workspace.clone(), delivered);
            self.delivered.insert(workspace, delivered);
        }
        if let Some(since) = kept.since {
            self.since = since;
            return Ok(());
        }
        for (workspace, revision) in std::mem::take(&mut self.first) {
            if workspace.as_str() != CLOSED {
                self.seen.insert(workspace.clone(), revision);
                self.read.insert(workspace.clone(), revision);
                self.delivered.insert(workspace.clone(), revision);
                self.unwritten.insert(workspace);
            }
        }
        self.try_to_write(store).await?;
        store.begin(self.since).await
    }

    /// Waits, and observes new commits in the meantime.
    async fn wait(&mut self, time: Duration) -> Waited {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if self.stop.is_raised() {
                return Waited::Stopped;
            }
            if left.is_zero() {
                return Waited::Over;
            }
            let stop = Arc::clone(&self.stop);
            let _ = tokio::time::timeout(left.min(self.otel.look_every), stop.raised()).await;
            self.look();
        }
    }

    fn look(&mut self) {
        let news = self.baton().advanced(&self.seen);
        // The commits that store delivered positions need not be followed.
        self.seen.extend(news.into_iter().filter(|(workspace, _)| workspace.as_str() != CLOSED));
        let behind = self.seen.iter().map(|(workspace, seen)| {
            let delivered = self.delivered.get(workspace).copied().unwrap_or_default();
            seen.0.saturating_sub(delivered.0)
        });
        self.shared.metrics.otel.behind.set(behind.sum());
    }

    /// Reads all new commits, and delivers spans whenever there are enough for a request.
    async fn catch_up(&mut self) {
        let is_behind = |(name, seen): &(&WorkspaceName, &Revision)| {
            self.read.get(*name).is_none_or(|read| read < *seen)
        };
        let behind = self.seen.iter().filter(is_behind);
        let behind: Vec<_> = behind.map(|(name, seen)| (name.clone(), *seen)).collect();
        for (workspace, seen) in behind {
            let mut read = match self.read.get(&workspace) {
                Some(read) => *read,
                // It existed before spans were first exported, or was created since: its times
                // decide.
                None => match self.baton().revision_at(&workspace, self.since, seen).await {
                    Ok(revision) => {
                        self.read.insert(workspace.clone(), revision);
                        revision
                    }
                    Err(error) => {
                        self.note_trouble(&error.into());
                        continue;
                    }
                },
            };
            while read < seen && !self.is_time_to_go() {
                match self.read_some(&workspace, read, seen).await {
                    Ok(next) => read = next,
                    Err(error) => {
                        self.note_trouble(&error);
                        break;
                    }
                }
                self.read.insert(workspace.clone(), read);
                if self.pending.len() >= self.otel.batch_spans_max && !self.deliver().await {
                    return;
                }
            }
        }
        if self.pending.is_empty() {
            self.all_delivered();
        }
    }

    /// Reads a part of a workspace; returns how far.
    async fn read_some(
        &mut self,
        workspace: &WorkspaceName,
        after: Revision,
        last: Revision,
    ) -> Result<Revision, Error> {
        let happened = self.baton().happened(workspace, after, last, READ_BYTES).await?;
        if happened.floor > after && after > Revision(0) {
            let fields = [("workspace", FieldValue::Text(workspace.as_str()))];
            self.shared.settings.server_log.write_throttled(Level::Warn, "otel.gone", &fields);
        }
        let mut read = happened.floor.max(after);
        for batch in &happened.batches {
            let taken = self.take_in(workspace, batch).await;
            if taken.is_err() {
                // Some lifecycles have seen a part of it: all of them are looked up again.
                self.lifecycles.clear();
            }
            taken?;
            read = batch.revision;
        }
        // Nothing more is stored: the following commits are read next time.
        Ok(if happened.batches.is_empty() { last } else { read })
    }

    /// Produces the spans that end with a commit: all of them or none.
    async fn take_in(&mut self, workspace: &WorkspaceName, batch: &Batch) -> Result<(), Error> {
        let mut spans = Vec::new();
        for index in 0..batch.events.len() {
            let seen = Seen { workspace, batch, index };
            let event = seen.event();
            let Some(lifecycle_id) = LifecycleId::of(event) else { continue };
            let name = (workspace.clone(), lifecycle_id.clone());
            let mut lifecycle = match self.lifecycles.remove(&name) {
                Some(lifecycle) if !begins(event) => lifecycle,
                Some(_) | None if begins(event) => lifecycle_id.lifecycle(),
                Some(_) | None => self.recall(&seen, &lifecycle_id).await?,
            };
            let of_task = self.context_of_task(&seen).await?;
            lifecycle.observe(&seen, of_task, &mut spans);
            if ends(event) {
                if !lifecycle.is_known() {
                    self.dropped(1, "its beginning is not known");
                }
            } else {
                self.remember(name, lifecycle);
            }
        }
        spans.retain(|span| span.context.is_sampled);
        if !spans.is_empty() {
            self.pending_since.get_or_insert_with(Instant::now);
            self.pending.append(&mut spans);
        }
        Ok(())
    }

    fn remember(&mut self, name: (WorkspaceName, LifecycleId), lifecycle: Lifecycle) {
        // A dropped lifecycle is looked up again if it is needed.
        while self.lifecycles.len() >= LIFECYCLES_MAX {
            self.lifecycles.pop_first();
        }
        self.lifecycles.insert(name, lifecycle);
    }

    /// A lifecycle before an event, from the log.
    async fn recall(
        &self,
        seen: &Seen<'_>,
        lifecycle_id: &LifecycleId,
    ) -> Result<Lifecycle, Error> {
        let subject = seen.event().subject();
        self.recall_before(seen.workspace, &subject, lifecycle_id, seen.batch.revision).await
    }

    async fn recall_before(
        &self,
        workspace: &WorkspaceName,
        subject: &str,
        lifecycle_id: &LifecycleId,
        before: Revision,
    ) -> Result<Lifecycle, Error> {
        let story = self.baton().story(workspace, subject, before, STORY_MAX).await?;
        let mut lifecycle = lifecycle_id.lifecycle();
        for batch in &story {
            for index in 0..batch.events.len() {
                let seen = Seen { workspace, batch, index };
                if LifecycleId::of(seen.event()).as_ref() == Some(lifecycle_id) {
                    let of_task = match task_of(seen.event()) {
                        Some(task) => self.recalled_place(workspace, task, before).await?,
                        None => None,
                    };
                    // Spans that ended then were delivered then.
                    lifecycle.observe(&seen, of_task, &mut Vec::new());
                }
            }
        }
        let is_known = lifecycle.is_known();
        Ok(match (lifecycle, lifecycle_id) {
            (Lifecycle::Task(lifecycle), LifecycleId::Task(task)) if !is_known => {
                Lifecycle::Task(Box::new(self.task_of_record(workspace, *lifecycle, task).await))
            }
            (Lifecycle::Request(None), LifecycleId::Request(message)) => {
                Lifecycle::Request(self.request_of_record(workspace, message).await.map(Box::new))
            }
            (lifecycle, _) => lifecycle,
        })
    }

    /// The parent of a hand-off that starts, if it is about a task.
    async fn context_of_task(&mut self, seen: &Seen<'_>) -> Result<Option<SpanContext>, Error> {
        let Some(task) = task_of(seen.event()) else { return Ok(None) };
        let name = (seen.workspace.clone(), LifecycleId::Task(task.clone()));
        if let Some(Lifecycle::Task(lifecycle)) = self.lifecycles.get(&name) {
            return Ok(lifecycle.inside(seen.workspace, task));
        }
        self.recalled_place(seen.workspace, task, seen.batch.revision.next()).await
    }

    async fn recalled_place(
        &self,
        workspace: &WorkspaceName,
        task: &TaskId,
        before: Revision,
    ) -> Result<Option<SpanContext>, Error> {
        let (subject, lifecycle_id) = (format!("tasks/{task}"), LifecycleId::Task(task.clone()));
        // A task is not a hand-off, so that the recursion is one level deep.
        let recalling = Box::pin(self.recall_before(workspace, &subject, &lifecycle_id, before));
        match recalling.await? {
            Lifecycle::Task(lifecycle) => Ok(lifecycle.inside(workspace, task)),
            Lifecycle::Handoff(_) | Lifecycle::Request(_) | Lifecycle::Pipeline(_) => Ok(None),
        }
    }

    async fn ask(&self, workspace: &WorkspaceName, query: Query) -> Option<Reply> {
        let (workspace, agent) = (workspace.clone(), AgentId::engine());
        let caller = Caller { workspace, agent, idempotency_key: None, sees_tokens: false };
        Some(self.baton().ask(&caller, query).await.ok()?.reply)
    }

    async fn task_of_record(
        &self,
        workspace: &WorkspaceName,
        lifecycle: Task,
        id: &TaskId,
    ) -> Task {
        let query = Query::Task(TaskQuery::Get { task: id.clone() });
        match self.ask(workspace, query).await {
            Some(Reply::Task(TaskReply::Task(task))) => {
                lifecycle.begun_as(Task::of_record(workspace, &task))
            }
            Some(_) | None => lifecycle,
        }
    }

    async fn request_of_record(
        &self,
        workspace: &WorkspaceName,
        id: &MessageId,
    ) -> Option<Request> {
        let query = Query::Message(MessageQuery::Get { message: id.clone() });
        match self.ask(workspace, query).await? {
            Reply::Message(MessageReply::Message(message)) => {
                Some(Request::of_record(workspace, &message))
            }
            _ => None,
        }
    }

    /// Sends pending spans until they are accepted or finally rejected; false if it must stop.
    async fn deliver(&mut self) -> bool {
        let mut patience = self.otel.retry_first;
        while !self.pending.is_empty() {
            if self.is_time_to_go() {
                return false;
            }
            let count = self.pending.len().min(self.otel.batch_spans_max);
            let body = Bytes::from(encode(&self.pending[..count]));
            let is_last = self.stop.is_raised();
            let deadline = if is_last { FAREWELL } else { self.otel.deadline };
            let endpoint = Arc::clone(&self.otel.endpoint);
            match endpoint.send(body, deadline).await {
                Sent::Taken { rejected } => {
                    let taken = (count as u64).saturating_sub(rejected);
                    self.shared.metrics.otel.exported.add(taken);
                    if rejected > 0 {
                        self.dropped(rejected, "the collector did not take them");
                    }
                    self.note_well();
                }
                Sent::Refused { why } => self.dropped(count as u64, &why),
                Sent::Again { why, after } => {
                    self.shared.metrics.otel.failures.add(1);
                    self.note_out(&why);
                    let pause = patience.max(after.unwrap_or_default());
                    patience = (patience * 2).min(self.otel.retry_max);
                    if is_last {
                        return false;
                    }
                    // At shutdown it makes one more attempt.
                    let _ = self.wait(pause).await;
                    continue;
                }
            }
            patience = self.otel.retry_first;
            self.pending.drain(..count);
        }
        self.all_delivered();
        true
    }

    /// Everything that was read is delivered, or was finally rejected.
    fn all_delivered(&mut self) {
        self.pending_since = None;
        for (workspace, read) in &self.read {
            if self.delivered.get(workspace) != Some(read) {
                self.delivered.insert(workspace.clone(), *read);
                self.unwritten.insert(workspace.clone());
            }
        }
    }

    async fn write_down(&mut self, store: &ProgressStore) {
        if let Err(error) = self.try_to_write(store).await {
            self.note_trouble(&error);
        }
    }

    async fn try_to_write(&mut self, store: &ProgressStore) -> Result<(), Error> {
        // Also for workspaces that are behind: their positions are known nowhere else after a
        // restart.
        let progress = |workspace: &WorkspaceName| Progress {
            delivered: self.delivered.get(workspace).copied().unwrap_or_default(),
            seen: self.seen.get(workspace).copied().unwrap_or_default(),
        };
        let behind = self.read.keys().filter(|workspace| {
            let Progress { delivered, seen } = progress(workspace);
            delivered < seen
        });
        let names: BTreeSet<_> = self.unwritten.iter().chain(behind).cloned().collect();
        let all: Vec<_> = names.into_iter().map(|name| (name.clone(), progress(&name))).collect();
        store.write(&all).await?;
        self.unwritten.clear();
        Ok(())
    }

    fn dropped(&self, count: u64, why: &str) {
        self.shared.metrics.otel.dropped.add(count);
        let fields = [("spans", FieldValue::Number(count)), ("why", FieldValue::Text(why))];
        self.shared.settings.server_log.write_throttled(Level::Warn, "otel.dropped", &fields);
    }

    fn note_out(&mut self, why: &str) {
        if !std::mem::replace(&mut self.is_out, true) {
            let fields = [("why", FieldValue::Text(why))];
            self.shared.settings.server_log.write(Level::Warn, "otel.unreachable", &fields);
        }
    }

    fn note_well(&mut self) {
        if std::mem::take(&mut self.is_out) {
            self.shared.settings.server_log.write(Level::Info, "otel.well", &[]);
        }
    }

    fn note_trouble(&self, error: &Error) {
        let why = error.to_string();
        let fields = [("code", FieldValue::Text(error.code())), ("why", FieldValue::Text(&why))];
        self.shared.settings.server_log.write_throttled(Level::Warn, "otel.trouble", &fields);
    }
}
