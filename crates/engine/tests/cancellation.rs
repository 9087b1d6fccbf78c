//! Futures that are dropped, or held and not polled, harm no other caller: what was decided is
//! written, what was not is not, and every other caller is answered.

use std::future::{Future, IntoFuture};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use baton::clock::ManualClock;
use baton::core::Revision;
use baton::log::MemoryLog;
use baton::{Baton, Options};
use serde_json::json;

use crate::gated_log::GatedLog;
use crate::harness::{
    BEGINNING, calm, eventually, everything, folder, in_memory_with, on_memory, open, set, shared,
    value, workspace,
};

/// Polls this many times. Returns whether it completed.
fn poll_times<F: Future>(mut future: Pin<&mut F>, times: usize) -> Option<F::Output> {
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..times {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
    }
    None
}

/// Small groups are written by a caller, or always by the thread.
fn ways() -> [Options; 2] {
    [calm(), Options { inline_batches_max: 0, ..calm() }]
}

#[tokio::test]
async fn a_write_dropped_after_any_number_of_polls_is_applied_completely_or_not_at_all() {
    for options in ways() {
        for polls in 0..6 {
            let (baton, log, clock) = in_memory_with(options.clone());
            shared(&baton).set("before", 1).await.unwrap();
            let ada = workspace(&baton);
            let transaction = ada.transaction().command(set("a", &json!(1)));
            let commit = transaction.command(set("b", &json!(1))).commit();
            let done = poll_times(pin!(commit), polls).is_some();
            let after = shared(&baton).set("after", 1).await.unwrap();
            let found = everything(&ada, None, 10).await.unwrap();
            let together = found.iter().filter(|entry| ["a", "b"].contains(&entry.key())).count();
            assert!(together == 0 || together == 2, "{polls} polls left {together} of two");
            assert!(
                together == 2 || polls == 0,
                "what was begun in a loaded workspace is finished"
            );
            assert!(!done || together == 2);
            assert_eq!(after.revision(), Revision(2 + together as u64 / 2));
            drop(ada);
            drop(baton);
            let baton = on_memory(&log, &clock, calm());
            assert_eq!(everything(&workspace(&baton), None, 10).await.unwrap(), found);
        }
    }
}

/// The same for a workspace that must be loaded first: dropped while loading, nothing was decided.
#[tokio::test]
async fn a_write_dropped_while_its_workspace_is_loaded_does_not_disturb_the_next() {
    let folder = folder();
    for round in 0..30 {
        let baton = open(folder.path()).await;
        let write = shared(&baton).set("dropped", round).into_future();
        let _ = poll_times(pin!(write), round % 4);
        let counter = shared(&baton).increment("counter", 1).await.unwrap();
        assert_eq!(value(&counter), json!(round + 1));
        baton.close().await;
    }
}

#[tokio::test]
async fn a_submitted_write_is_written_although_no_caller_waits() {
    for options in ways() {
        let (baton, _, _) = in_memory_with(options);
        shared(&baton).set("before", 1).await.unwrap();
        let write = shared(&baton).set("orphan", 1).into_future();
        assert!(poll_times(pin!(write), 1).is_none());
        let tail = workspace(&baton);
        eventually("the orphan is there", async || tail.revision().await.unwrap() == Revision(2))
            .await;
        shared(&baton).get("orphan").await.unwrap();
    }
}

/// A log whose appends can be seen from outside.
fn records(log: &MemoryLog) -> usize {
    let records = baton::log::Log::read(log, baton::log::Log::start(log), usize::MAX);
    records.expect("memory can be read").len()
}

#[tokio::test]
async fn a_submitted_write_reaches_the_log_without_another_call() {
    for options in ways() {
        let (baton, log, _) = in_memory_with(options);
        shared(&baton).set("before", 1).await.unwrap();
        let write = shared(&baton).set("orphan", 1).into_future();
        assert!(poll_times(pin!(write), 1).is_none());
        eventually("it is in the log", async || records(&log) == 2).await;
    }
}

/// A task may hold a write that it began and wait for something else. Other callers continue.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_future_that_is_not_polled_does_not_delay_others() {
    for options in ways() {
        for polls in 1..4 {
            let folder = folder();
            let baton = baton::open_with(folder.path(), options.clone()).await.unwrap();
            shared(&baton).set("before", 1).await.unwrap();
            for round in 0..40_u64 {
                let mut held = Vec::new();
                for number in 0..6 {
                    let mut write =
                        Box::pin(shared(&baton).set(&format!("held:{number}"), 1).into_future());
                    let done = poll_times(write.as_mut(), polls).is_some();
                    if !done {
                        held.push(write);
                    }
                }
                let mut jobs = Vec::new();
                for number in 0..12 {
                    let state = shared(&baton);
                    let name = format!("other:{number}");
                    jobs.push(tokio::spawn(async move { state.set(&name, round).await.unwrap() }));
                }
                for job in jobs {
                    job.await.unwrap();
                }
                for write in held {
                    write.await.unwrap();
                }
            }
            baton.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_that_give_up_at_random_leave_a_valid_history() {
    let folder = folder();
    let baton = open(folder.path()).await;
    let mut jobs = Vec::new();
    for job in 0..8_usize {
        let baton = baton.clone();
        jobs.push(tokio::spawn(async move {
            for round in 0..60_usize {
                let state = shared(&baton);
                let add = state.increment("counter", 1).into_future();
                let polls = (round * 7 + job) % 5;
                let _ = poll_times(pin!(add), polls);
                tokio::task::yield_now().await;
            }
        }));
    }
    for job in jobs {
        job.await.unwrap();
    }
    let last = shared(&baton).increment("counter", 1).await.unwrap();
    assert_eq!(value(&last), json!(last.version().0), "every version added one");
    assert_eq!(last.revision(), Revision(last.version().0), "and every revision was one of them");
    baton.close().await;
    let baton = open(folder.path()).await;
    assert_eq!(shared(&baton).get("counter").await.unwrap(), last);
}

#[tokio::test]
async fn reads_and_watches_that_are_dropped_leave_nothing_behind() {
    let options =
        Options { idle: Duration::ZERO, compaction_interval: Duration::from_millis(1), ..calm() };
    let (baton, _, _) = in_memory_with(options);
    for polls in 0..5 {
        let ada = workspace(&baton);
        let write = ada.state("shared").set("undurable", polls).into_future();
        let mut write = pin!(write);
        // Hardly ever done by then: the sync thread may be faster.
        let done = poll_times(write.as_mut(), 1);
        let _ = poll_times(pin!(ada.state("shared").get("undurable")), polls);
        let _ = poll_times(pin!(ada.state("shared").get_at("undurable", Revision(1))), polls);
        let _ = poll_times(pin!(ada.watch("**").into_future()), polls);
        let _ = poll_times(pin!(ada.watch("**").with_snapshot().into_future()), polls);
        let _ = poll_times(pin!(ada.watch("**").from(1).into_future()), polls);
        match done {
            Some(written) => written.unwrap(),
            None => write.await.unwrap(),
        };
    }
    eventually("it leaves memory", async || baton.resident_workspaces() == 0).await;
    assert_eq!(workspace(&baton).revision().await.unwrap(), Revision(5));
}

/// Closing while callers wait: each is answered, and every acknowledged write exists.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn closing_answers_everyone() {
    let folder = folder();
    let mut written = 0_u64;
    for round in 0..20 {
        let baton = open(folder.path()).await;
        let before = workspace(&baton).revision().await.unwrap();
        assert!(before.0 >= written, "what was acknowledged is there");
        let mut jobs = Vec::new();
        for number in 0..16 {
            let state = shared(&baton);
            jobs.push(tokio::spawn(async move {
                let mut done = 0_u64;
                loop {
                    match state.set(&format!("key:{number}"), done).await {
                        Ok(_) => done += 1,
                        Err(error) if error.is_unknown() => break done,
                        Err(error) => {
                            assert_eq!(error.code(), "engine.closed");
                            break done;
                        }
                    }
                }
            }));
        }
        for _ in 0..round * 20 {
            tokio::task::yield_now().await;
        }
        baton.close().await;
        written = before.0;
        for job in jobs {
            written += job.await.unwrap();
        }
    }
}

#[tokio::test]
async fn an_engine_that_is_dropped_and_not_closed_has_written_everything() {
    let folder = folder();
    for round in 0..10_u64 {
        let baton = open(folder.path()).await;
        assert_eq!(workspace(&baton).revision().await.unwrap(), Revision(round * 2));
        shared(&baton).set("answered", round).await.unwrap();
        let begun = shared(&baton).set("begun", round).into_future();
        assert!(poll_times(pin!(begun), 1).is_none());
        drop::<Baton>(baton);
    }
}

/// Counts how often it was woken.
#[derive(Default)]
struct WakeCount(AtomicUsize);

impl Wake for WakeCount {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Polls only when woken, as an executor does.
async fn answered<F: Future>(mut future: Pin<&mut F>, wakes: &Arc<WakeCount>) -> F::Output {
    let waker = Waker::from(Arc::clone(wakes));
    let mut output = None;
    eventually("a caller is answered", async || {
        if wakes.0.swap(0, Ordering::SeqCst) > 0
            && let Poll::Ready(ready) = future.as_mut().poll(&mut Context::from_waker(&waker))
        {
            output = Some(ready);
        }
        output.is_some()
    })
    .await;
    output.expect("it was waited for")
}

/// While a group is written, callers join the next one. Its writer may be busy with other things;
/// the callers that joined must not wait for that.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_caller_in_a_group_does_not_depend_on_unpolled_ones() {
    let log = GatedLog::default();
    let baton = Baton::on(log.clone(), ManualClock::at(BEGINNING), calm()).unwrap();
    shared(&baton).set("before", 1).await.unwrap();
    for order in 0..4 {
        log.close();
        let first = shared(&baton);
        let first = tokio::spawn(async move { first.set("first", 1).await });
        eventually("a group is on its way", async || log.waiting() == 1).await;
        let held: Vec<_> = (0..6).map(|_| shared(&baton).set("held", 1).into_future()).collect();
        let mut held: Vec<_> = held.into_iter().map(Box::pin).collect();
        let wakes = Arc::new(WakeCount::default());
        let waker = Waker::from(Arc::clone(&wakes));
        let mut waiting = Box::pin(shared(&baton).set("waiting", 1).into_future());
        let mut poll_waiting = || {
            for _ in 0..2 {
                assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            }
        };
        for (number, write) in held.iter_mut().enumerate() {
            if number == order * 2 {
                poll_waiting();
            }
            assert!(poll_times(write.as_mut(), 2).is_none());
        }
        if order == 3 {
            poll_waiting();
        }
        wakes.0.store(0, Ordering::SeqCst);
        log.open();
        first.await.unwrap().unwrap();
        answered(waiting.as_mut(), &wakes).await.unwrap();
        drop(held);
    }
}
