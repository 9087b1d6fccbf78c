//! Work of a server that waits for the database.
//!
//! The engine blocks while it waits, and other servers must go on. So work that may wait runs on a
//! thread of its own, which parks at the database until the world resumes it. Only one thread of a
//! world runs at a time, and the seed decides which: the same seed gives the same order.
//!
//! Work that cannot meet a fault needs no thread and runs at once.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// A fault that one of the next statements of a job meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The request is lost.
    LoseRequest,
    /// It is executed, and its answer is lost.
    LoseAnswer,
    /// It is executed after this many milliseconds.
    DelayRequest(u64),
    /// It is executed, and answered after this many milliseconds.
    DelayAnswer(u64),
    /// The server gives up waiting; it may be executed later.
    Late,
}

enum Go {
    On,
    Die,
}

enum Report<T> {
    Parked(u64),
    Done(T),
    Panicked(Box<dyn std::any::Any + Send>),
}

/// What a thread of a job knows.
struct Context {
    park: Box<dyn Fn(u64)>,
    /// The fault, and the number of statements before it.
    fault: Option<(u64, Fault)>,
}

thread_local! {
    static CONTEXT: RefCell<Option<Context>> = const { RefCell::new(None) };
}

/// The payload with which the thread of a killed server unwinds.
struct Killed;

/// Waits until the clock of the server has reached this time.
pub(super) fn park(until_ms: u64) {
    CONTEXT.with_borrow(|context| {
        let context = context.as_ref().expect("a server waits although nothing fails");
        (context.park)(until_ms);
    });
}

/// The present job meets a fault from here on.
pub(super) fn plan_fault(fault: (u64, Fault)) {
    CONTEXT.with_borrow_mut(|context| {
        context.as_mut().expect("it runs as a job").fault = Some(fault);
    });
}

/// The fault that the present statement meets.
pub(super) fn take_fault() -> Option<Fault> {
    CONTEXT.with_borrow_mut(|context| {
        let planned = &mut context.as_mut()?.fault;
        let (before, fault) = planned.as_mut()?;
        if *before > 0 {
            *before -= 1;
            return None;
        }
        let fault = *fault;
        *planned = None;
        Some(fault)
    })
}

/// A job that waits.
pub(super) struct Job<T> {
    go: Sender<Go>,
    reports: Receiver<Report<T>>,
    thread: Option<JoinHandle<()>>,
    /// When it continues, by the clock of its server.
    pub(super) until_ms: u64,
}

/// A job that was started or resumed.
pub(super) enum Progress<T> {
    Done(T),
    Waits(Job<T>),
}

impl<T: Send + 'static> Job<T> {
    /// Runs work on a thread, until it waits or is done.
    pub(super) fn start(
        fault: Option<(u64, Fault)>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Progress<T> {
        let (go, gone) = channel();
        let (sender, reports) = channel();
        let plant = planted();
        let thread = std::thread::spawn(move || {
            plant();
            let parked = sender.clone();
            let park = move |until_ms| {
                drop(parked.send(Report::Parked(until_ms)));
                if !matches!(gone.recv(), Ok(Go::On)) {
                    resume_unwind(Box::new(Killed));
                }
            };
            CONTEXT.set(Some(Context { park: Box::new(park), fault }));
            let report = match catch_unwind(AssertUnwindSafe(work)) {
                Ok(done) => Report::Done(done),
                Err(panic) => Report::Panicked(panic),
            };
            drop(sender.send(report));
        });
        let job = Self { go, reports, thread: Some(thread), until_ms: 0 };
        job.wait()
    }

    /// Goes on until it waits again or is done.
    pub(super) fn resume(self) -> Progress<T> {
        drop(self.go.send(Go::On));
        self.wait()
    }

    fn wait(mut self) -> Progress<T> {
        match self.reports.recv() {
            Ok(Report::Parked(until_ms)) => {
                self.until_ms = until_ms;
                Progress::Waits(self)
            }
            Ok(Report::Done(done)) => Progress::Done(done),
            Ok(Report::Panicked(panic)) => resume_unwind(panic),
            Err(_) => unreachable!("a thread reports before it ends"),
        }
    }
}

impl<T> Drop for Job<T> {
    /// The process is killed: whatever the job would have done does not happen.
    fn drop(&mut self) {
        drop(self.go.send(Go::Die));
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Switches on, in another thread, the bug that is switched on here.
#[cfg(feature = "planted")]
fn planted() -> impl FnOnce() + Send {
    let name = baton_log::planted::active();
    move || {
        baton_core::planted::set(name);
        baton_log::planted::set(name);
    }
}

#[cfg(not(feature = "planted"))]
fn planted() -> impl FnOnce() + Send {
    || {}
}
