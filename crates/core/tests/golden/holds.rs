//! Examples of events of locks, semaphores and barriers.

use baton_core::waiting::wait::Left;
use baton_core::{
    BarrierName, Event, Generation, LockName, SemaphoreName, Timestamp, Token, WaitId, barrier,
    lock, semaphore,
};

use crate::ada;

pub(crate) fn locks() -> Vec<(&'static str, Event)> {
    let name = || LockName::parse("repository/main").unwrap();
    let (token, wait, ttl_ms) = (Token(300), WaitId(70_000), 300_000);
    let until = Timestamp(1_794_700_800_123);
    let acquired =
        |wait| lock::Event::Acquired { name: name(), holder: ada(), token, ttl_ms, wait };
    let gave_up = |left| lock::Event::GaveUp { name: name(), waiter: ada(), wait, left };
    let events = vec![
        ("lock.acquired", acquired(None)),
        ("lock.acquired with a wait before it", acquired(Some(wait))),
        ("lock.renewed", lock::Event::Renewed { name: name(), ttl_ms }),
        ("lock.released", lock::Event::Released { name: name(), token }),
        ("lock.expired", lock::Event::Expired { name: name(), token }),
        ("lock.dropped", lock::Event::Dropped { name: name(), token }),
        ("lock.queued", lock::Event::Queued { name: name(), waiter: ada(), wait, ttl_ms, until }),
        ("lock.gave_up", gave_up(Left::Timeout)),
        ("lock.gave_up with the caller gone", gave_up(Left::Gone)),
        ("lock.gave_up with the session ended", gave_up(Left::SessionEnded)),
    ];
    events.into_iter().map(|(name, event)| (name, Event::Lock(event))).collect()
}

pub(crate) fn semaphores() -> Vec<(&'static str, Event)> {
    let name = || SemaphoreName::parse("model/large").unwrap();
    let (token, wait, ttl_ms) = (Token(300), WaitId(70_000), 300_000);
    let until = Timestamp(1_794_700_800_123);
    let acquired = |weight, wait| {
        let (name, holder) = (name(), ada());
        semaphore::Event::Acquired { name, holder, token, ttl_ms, weight, wait }
    };
    let gave_up = |left, weight| {
        let (name, waiter) = (name(), ada());
        semaphore::Event::GaveUp { name, waiter, wait, left, weight }
    };
    let queued = |weight| {
        let (name, waiter) = (name(), ada());
        semaphore::Event::Queued { name, waiter, wait, ttl_ms, until, weight }
    };
    let events = vec![
        ("semaphore.created", semaphore::Event::Created { name: name(), permits: 3 }),
        ("semaphore.acquired", acquired(1, None)),
        ("semaphore.acquired with a wait before it", acquired(1, Some(wait))),
        ("semaphore.acquired with a weight", acquired(300, None)),
        ("semaphore.renewed", semaphore::Event::Renewed { name: name(), token, ttl_ms }),
        ("semaphore.released", semaphore::Event::Released { name: name(), token }),
        ("semaphore.expired", semaphore::Event::Expired { name: name(), token }),
        ("semaphore.dropped", semaphore::Event::Dropped { name: name(), token }),
        ("semaphore.queued", queued(1)),
        ("semaphore.queued with a weight", queued(300)),
        ("semaphore.gave_up", gave_up(Left::Timeout, 1)),
        ("semaphore.gave_up with a weight that never fits", gave_up(Left::TooHeavy, 300)),
        ("semaphore.resized", semaphore::Event::Resized { name: name(), permits: 300 }),
        ("semaphore.forgotten", semaphore::Event::Forgotten { name: name() }),
    ];
    events.into_iter().map(|(name, event)| (name, Event::Semaphore(event))).collect()
}

pub(crate) fn barriers() -> Vec<(&'static str, Event)> {
    let name = || BarrierName::parse("phase/review").unwrap();
    let (generation, wait, count) = (Generation(7), WaitId(70_000), 300);
    let until = Timestamp(1_794_700_800_123);
    let arrived = |wait, until| {
        let (name, party) = (name(), ada());
        barrier::Event::Arrived { name, party, generation, count, wait, until }
    };
    let withdrawn = |wait, left| {
        let (name, party) = (name(), ada());
        barrier::Event::Withdrawn { name, party, generation, count, wait, left }
    };
    let passed = barrier::Event::Passed { name: name(), party: ada(), generation, count, wait };
    let events = vec![
        ("barrier.arrived", arrived(None, None)),
        ("barrier.arrived with a wait", arrived(Some(wait), Some(until))),
        ("barrier.opened", barrier::Event::Opened { name: name(), generation }),
        ("barrier.passed", passed),
        ("barrier.withdrawn", withdrawn(Some(wait), None)),
        ("barrier.withdrawn with the session ended", withdrawn(None, Some(Left::SessionEnded))),
        ("barrier.reset", barrier::Event::Reset { name: name(), generation }),
        ("barrier.forgotten", barrier::Event::Forgotten { name: name(), generation }),
    ];
    events.into_iter().map(|(name, event)| (name, Event::Barrier(event))).collect()
}
