//! The events of a workspace: emit them, query them, and handle them as they occur.

use std::error::Error as StdError;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use baton_core::history::At;
use baton_core::user_event::{self, Command, Emit, History, Order, Page, Query};
use baton_core::{AgentId, EventType, Json, Notice, Pattern, Rejection, Reply, Revision};
use serde::Serialize;

use crate::request::{Prepared, request};
use crate::{Error, Events, Item, Workspace};

impl Events {
    /// Emits an event such as `deploy.finished`, with a payload; `()` if there is none. Returns its
    /// revision.
    pub async fn emit(&self, kind: &str, payload: impl Serialize) -> Result<Revision, Error> {
        let kind = EventType::parse(kind)?;
        let payload = Json::of(&payload).map_err(Rejection::from)?;
        let payload = Some(payload).filter(|payload| *payload != Json::null());
        let answer = self.workspace.execute(Command::Emit(Emit { kind, payload })).await?;
        match answer.reply {
            Reply::UserEvent(user_event::Reply::Emitted { .. }) => Ok(answer.revision),
            reply => Err(Error::unexpected(&reply)),
        }
    }

    /// Queries past events, newest first.
    pub fn history(&self) -> AskingHistory {
        AskingHistory::new(&self.workspace, Ok(History::default()))
    }

    /// Calls a handler for every event whose type matches, such as `task.*`, from now on, once
    /// [`listen`](Handling::listen) is called. More handlers may be added before.
    pub fn on<H, F>(&self, types: &str, handler: H) -> Handling
    where
        H: FnMut(Arc<Notice>) -> F + Send + 'static,
        F: Future<Output = Handled> + Send + 'static,
    {
        let handling = Handling {
            workspace: self.workspace.clone(),
            from: None,
            handlers: Ok(Vec::new()),
            failed: Box::new(|_| {}),
        };
        handling.on(types, handler)
    }
}

/// A page of past events. It may have fewer events than the limit, or none, and still not be the
/// last; the last page has no cursor.
#[derive(Debug)]
pub struct Happened {
    /// The events, as watchers received them.
    pub events: Vec<Notice>,
    /// Events up to this revision are no longer kept.
    pub oldest: Revision,
    /// The cursor of the next page, if there is one.
    pub cursor: Option<String>,
}

request! {
    /// Queries past events when it is awaited.
    AskingHistory(History) -> Happened: |workspace, history| happened(&workspace, history);
    /// Only events whose type matches, such as `task.*`.
    kind(types: &str) |history| history.kind = Some(Pattern::parse(types)?);
    /// Only events whose subject matches, such as `tasks/**`.
    subject(subjects: &str) |history| history.subject = Some(Pattern::parse(subjects)?);
    /// Only events that this agent caused.
    source(agent: &str) |history| history.source = Some(AgentId::parse(agent)?);
    /// Starts at a revision or a time.
    from(point: At) |history| history.from = Some(point);
    /// Ends at a revision or a time, inclusive.
    to(point: At) |history| history.to = Some(point);
    /// Lists the oldest first.
    oldest_first() |history| history.order = Order::Oldest;
    /// Limits how many are listed.
    limit(limit: u64) |history| history.limit = Some(limit);
    /// Continues after the previous page.
    after(cursor: &str) |history| history.cursor = Some(cursor.to_owned());
}

async fn happened(workspace: &Workspace, history: History) -> Result<Happened, Error> {
    let page: Page = workspace.query(Query::History(Box::new(history))).await?;
    let read = page.events.iter().map(|event| Notice::parse(event.as_str()));
    let Ok(events) = read.collect::<Result<_, _>>() else {
        return Err(Error::unexpected(&Reply::UserEvent(user_event::Reply::Events(page))));
    };
    Ok(Happened { events, oldest: page.oldest, cursor: page.cursor })
}

/// The result of a handler.
pub type Handled = Result<(), Box<dyn StdError + Send + Sync>>;

type Running = Pin<Box<dyn Future<Output = Handled> + Send>>;
type Handler = Box<dyn FnMut(Arc<Notice>) -> Running + Send>;

/// The failure of a handler. The other handlers were called nevertheless.
#[derive(Debug)]
pub struct HandlerFailed {
    /// The types that it handles.
    pub types: Pattern,
    /// The event.
    pub event: Arc<Notice>,
    /// The error, or the message of the panic.
    pub reason: String,
}

/// Handlers of events, which are called while this [listens](Self::listen).
#[must_use = "no handler is called before `listen`"]
pub struct Handling {
    workspace: Workspace,
    from: Option<Revision>,
    handlers: Prepared<Vec<(Pattern, Handler)>>,
    failed: Box<dyn FnMut(HandlerFailed) + Send>,
}

impl Handling {
    /// Adds a handler for every event whose type matches.
    pub fn on<H, F>(mut self, types: &str, mut handler: H) -> Self
    where
        H: FnMut(Arc<Notice>) -> F + Send + 'static,
        F: Future<Output = Handled> + Send + 'static,
    {
        self.handlers = self.handlers.and_then(|mut handlers| {
            let handler: Handler = Box::new(move |notice| Box::pin(handler(notice)));
            handlers.push((Pattern::parse(types)?, handler));
            Ok(handlers)
        });
        self
    }

    /// Starts at a revision, a past one or the next, instead of now.
    pub fn from(mut self, revision: impl Into<Revision>) -> Self {
        self.from = Some(revision.into());
        self
    }

    /// Calls this for every failure of a handler.
    pub fn on_failure(mut self, failed: impl FnMut(HandlerFailed) + Send + 'static) -> Self {
        self.failed = Box::new(failed);
        self
    }

    /// Listens until the watch ends with an error or this future is dropped. Events are handled in
    /// order, and the handlers of an event are called one after the other, in the order in which
    /// they were added. A handler that fails or panics stops neither the others nor the next event.
    pub async fn listen(mut self) -> Result<(), Error> {
        let mut handlers = self.handlers?;
        let mut watching = self.workspace.watch("**");
        for (types, _) in &handlers {
            watching = watching.kind(types.as_str());
        }
        if let Some(from) = self.from {
            watching = watching.from(from);
        }
        let mut watch = watching.await?;
        while let Some(item) = watch.next().await {
            let Item::Event(notice) = item? else { continue };
            for (types, handler) in &mut handlers {
                if !types.matches(notice.kind()) {
                    continue;
                }
                if let Err(reason) = guarded(handler, &notice).await {
                    let (types, event) = (types.clone(), Arc::clone(&notice));
                    (self.failed)(HandlerFailed { types, event, reason });
                }
            }
        }
        Ok(())
    }
}

/// Calls a handler, and returns its error or panic as text.
async fn guarded(handler: &mut Handler, notice: &Arc<Notice>) -> Result<(), String> {
    let started = catch_unwind(AssertUnwindSafe(|| handler(Arc::clone(notice))));
    let mut running = started.map_err(|cause| panicked(&*cause))?;
    let done = poll_fn(|context| {
        match catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(done)) => Poll::Ready(done.map_err(|error| error.to_string())),
            Err(cause) => Poll::Ready(Err(panicked(&*cause))),
        }
    });
    done.await
}

fn panicked(cause: &(dyn std::any::Any + Send)) -> String {
    let text = cause.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| cause.downcast_ref::<String>().cloned());
    text.map_or("it panicked".to_owned(), |text| format!("it panicked: {text}"))
}
