//! Events of a workspace: what agents say has happened, what did happen, and who is told.

use std::error::Error as StdError;
use std::future::{Future, IntoFuture, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use baton_core::point::Point;
use baton_core::user_event::{Command, Emit, History, Order, Query, Reply as BusReply};
use baton_core::{AgentId, EventType, Json, Notice, Pattern, Rejection, Reply, Revision};
use futures_core::Stream;
use serde::Serialize;

use crate::carrier::{Carrier, Failure};
use crate::{Item, Prepared, Sent, Workspace};

/// Events of a workspace, as one agent sees them.
#[derive(Clone, Debug)]
pub struct Events<C> {
    workspace: Workspace<C>,
}

impl<C: Carrier> Events<C> {
    pub(crate) fn new(workspace: Workspace<C>) -> Self {
        Self { workspace }
    }

    /// Says that something has happened, such as `deploy.finished`, and what there is to say about
    /// it; `()` if there is nothing. The revision is that of the fact.
    pub async fn emit(&self, kind: &str, payload: impl Serialize) -> Result<Revision, C::Error> {
        let kind = EventType::parse(kind)?;
        let payload = Json::of(&payload).map_err(Rejection::from)?;
        let payload = Some(payload).filter(|payload| *payload != Json::null());
        let command = Command::Emit(Emit { kind, payload });
        let answer = self.workspace.execute(command).await?;
        match answer.reply {
            Reply::UserEvent(BusReply::Emitted { .. }) => Ok(answer.revision),
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// What happened, newest first, of any type. What is wanted in particular may follow before it
    /// is awaited.
    pub fn history(&self) -> AskingHistory<C> {
        AskingHistory { workspace: self.workspace.clone(), asked: Ok(History::default()) }
    }

    /// Calls a handler for every event of a type that matches, such as `task.*`, from now on. More
    /// handlers may follow; nothing is heard before [`listen`](Handling::listen).
    pub fn on<H, F>(&self, types: &str, handler: H) -> Handling<C>
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

/// A page of what happened. It may have fewer events than were asked for, or none, and still not be
/// the last: that is the one without a cursor.
#[derive(Debug)]
pub struct Happened {
    /// Each as watchers were told of it.
    pub events: Vec<Notice>,
    /// What happened up to this revision is no longer kept.
    pub oldest: Revision,
    /// Where to go on, if there is more.
    pub cursor: Option<String>,
}

/// A question that is asked when this is awaited.
#[must_use = "nothing is asked before this is awaited"]
pub struct AskingHistory<C> {
    workspace: Workspace<C>,
    asked: Prepared<History>,
}

impl<C: Carrier> AskingHistory<C> {
    fn with(mut self, change: impl FnOnce(&mut History) -> Prepared<()>) -> Self {
        self.asked = self.asked.and_then(|mut asked| change(&mut asked).map(|()| asked));
        self
    }

    /// Only of types that match, such as `task.*`.
    pub fn kind(self, types: &str) -> Self {
        self.with(|asked| {
            asked.kind = Some(Pattern::parse(types)?);
            Ok(())
        })
    }

    /// Only about subjects that match, such as `tasks/**`.
    pub fn subject(self, subjects: &str) -> Self {
        self.with(|asked| {
            asked.subject = Some(Pattern::parse(subjects)?);
            Ok(())
        })
    }

    /// Only what this agent did.
    pub fn source(self, agent: &str) -> Self {
        self.with(|asked| {
            asked.source = Some(AgentId::parse(agent)?);
            Ok(())
        })
    }

    /// From this revision or moment on.
    pub fn from(self, point: Point) -> Self {
        self.with(|asked| {
            asked.from = Some(point);
            Ok(())
        })
    }

    /// Up to this revision or moment, which is still meant.
    pub fn to(self, point: Point) -> Self {
        self.with(|asked| {
            asked.to = Some(point);
            Ok(())
        })
    }

    /// The oldest first.
    pub fn oldest_first(self) -> Self {
        self.with(|asked| {
            asked.order = Order::Oldest;
            Ok(())
        })
    }

    /// So many at most.
    pub fn limit(self, limit: u64) -> Self {
        self.with(|asked| {
            asked.limit = Some(limit);
            Ok(())
        })
    }

    /// From where the page before ended.
    pub fn after(self, cursor: &str) -> Self {
        self.with(|asked| {
            asked.cursor = Some(cursor.to_owned());
            Ok(())
        })
    }
}

impl<C: Carrier> IntoFuture for AskingHistory<C> {
    type Output = Result<Happened, C::Error>;
    type IntoFuture = Sent<Happened, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let query = Query::History(Box::new(self.asked?));
            match self.workspace.ask(query).await?.reply {
                Reply::UserEvent(BusReply::Events(page)) => {
                    let read = page.events.iter().map(|event| Notice::parse(event.as_str()));
                    let Ok(events) = read.collect::<Result<_, _>>() else {
                        return Err(C::Error::odd(&Reply::UserEvent(BusReply::Events(page))));
                    };
                    Ok(Happened { events, oldest: page.oldest, cursor: page.cursor })
                }
                reply => Err(C::Error::odd(&reply)),
            }
        })
    }
}

/// What a handler says when it is done.
pub type Handled = Result<(), Box<dyn StdError + Send + Sync>>;

type Doing = Pin<Box<dyn Future<Output = Handled> + Send>>;
type Handler = Box<dyn FnMut(Arc<Notice>) -> Doing + Send>;

/// A handler that failed. The others were called all the same.
#[derive(Debug)]
pub struct HandlerFailed {
    /// The types it was for.
    pub types: Pattern,
    /// The event it failed on.
    pub event: Arc<Notice>,
    /// What went wrong: the error, or what it panicked with.
    pub reason: String,
}

/// Handlers that are called when this [listens](Self::listen), each for the types it is for.
#[must_use = "nothing is heard before this listens"]
pub struct Handling<C> {
    workspace: Workspace<C>,
    from: Option<Revision>,
    handlers: Prepared<Vec<(Pattern, Handler)>>,
    failed: Box<dyn FnMut(HandlerFailed) + Send>,
}

impl<C: Carrier> Handling<C> {
    /// Calls another handler for every event of a type that matches.
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

    /// Begins at this revision, in the past or the future, instead of now.
    pub fn from(mut self, revision: impl Into<Revision>) -> Self {
        self.from = Some(revision.into());
        self
    }

    /// Tells of handlers that fail.
    pub fn on_failure(mut self, failed: impl FnMut(HandlerFailed) + Send + 'static) -> Self {
        self.failed = Box::new(failed);
        self
    }

    /// Listens, until the watch ends with an error or this future is dropped. Events come in order,
    /// and the handlers of one are called one after the other, in the order they were given. One
    /// that fails or panics stops neither the others nor the next event.
    pub async fn listen(mut self) -> Result<(), C::Error>
    where
        C::Watch: Stream<Item = Result<Item, C::Error>>,
    {
        let mut handlers = self.handlers?;
        let mut watching = self.workspace.watch("**");
        for (types, _) in &handlers {
            watching = watching.kind(types.as_str());
        }
        if let Some(from) = self.from {
            watching = watching.from(from);
        }
        let mut watch = Box::pin(watching.await?);
        while let Some(item) = poll_fn(|context| watch.as_mut().poll_next(context)).await {
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

/// Calls a handler, and makes a sentence of whatever goes wrong in it.
async fn guarded(handler: &mut Handler, notice: &Arc<Notice>) -> Result<(), String> {
    let begun = catch_unwind(AssertUnwindSafe(|| handler(Arc::clone(notice))));
    let mut doing = begun.map_err(|cause| panicked(&*cause))?;
    let done =
        poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| doing.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(done)) => Poll::Ready(done.map_err(|error| error.to_string())),
            Err(cause) => Poll::Ready(Err(panicked(&*cause))),
        });
    done.await
}

fn panicked(cause: &(dyn std::any::Any + Send)) -> String {
    let text = cause.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| cause.downcast_ref::<String>().cloned());
    text.map_or("it panicked".to_owned(), |text| format!("it panicked: {text}"))
}
