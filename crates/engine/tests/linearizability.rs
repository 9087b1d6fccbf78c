//! A linearizability checker: is there an order of all calls, each at some point between its start
//! and its end, in which every answer is right?
//!
//! The algorithm is that of Wing and Gong, with Lowe's memoization: it takes the calls that could
//! come first one by one, backtracks when none fits, and never tries the same set of calls in the
//! same state twice. Calls about different objects are checked separately: a history is
//! linearizable if that of each object is.
//!
//! Deliberately absent: calls without an answer. The recorder waits for all of them.

use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The sequential behaviour of one object.
pub(crate) trait Model {
    /// The state of the object.
    type State: Clone + Eq + Hash + Default;
    /// A call and its answer.
    type Call: Clone + Debug;

    /// The state after the call; none if the answer is wrong in this state.
    fn step(state: &Self::State, call: &Self::Call) -> Option<Self::State>;
}

/// A call with its answer, and when it started and ended.
#[derive(Clone, Debug)]
pub(crate) struct Answered<Call> {
    pub(crate) began: u64,
    pub(crate) ended: u64,
    pub(crate) call: Call,
}

/// Logical timestamps in the order in which they are taken, on any thread.
pub(crate) struct Recorder<Call> {
    clock: AtomicU64,
    calls: Mutex<Vec<Answered<Call>>>,
}

impl<Call> Default for Recorder<Call> {
    fn default() -> Self {
        Self { clock: AtomicU64::new(0), calls: Mutex::new(Vec::new()) }
    }
}

impl<Call> Recorder<Call> {
    /// A timestamp later than all before.
    pub(crate) fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// Records a call that started then and has just ended.
    pub(crate) fn note(&self, began: u64, call: Call) {
        let ended = self.now();
        self.calls.lock().unwrap().push(Answered { began, ended, call });
    }

    /// All recorded calls.
    pub(crate) fn history(self) -> Vec<Answered<Call>> {
        self.calls.into_inner().unwrap()
    }
}

/// The starts and ends of calls in order of time, as a linked list from which calls can be removed.
struct Line {
    /// The call of each position, and whether it starts there.
    places: Vec<(usize, bool)>,
    beginning_of: Vec<usize>,
    end_of: Vec<usize>,
    next: Vec<usize>,
    previous: Vec<usize>,
}

impl Line {
    /// Position 0 is before everything; the list is circular.
    fn of<Call>(history: &[Answered<Call>]) -> Self {
        let mut moments: Vec<(u64, usize, bool)> = Vec::new();
        for (index, call) in history.iter().enumerate() {
            assert!(call.began < call.ended, "a call ends after it began");
            moments.extend([(call.began, index, true), (call.ended, index, false)]);
        }
        moments.sort_unstable();
        let mut places = vec![(usize::MAX, false)];
        places.extend(moments.iter().map(|(_, index, begins)| (*index, *begins)));
        let (mut beginning_of, mut end_of) = (vec![0; history.len()], vec![0; history.len()]);
        for (place, (index, begins)) in places.iter().enumerate().skip(1) {
            let of = if *begins { &mut beginning_of } else { &mut end_of };
            of[*index] = place;
        }
        let count = places.len();
        let next = (0..count).map(|place| (place + 1) % count).collect();
        let previous = (0..count).map(|place| (place + count - 1) % count).collect();
        Self { places, beginning_of, end_of, next, previous }
    }

    fn lift(&mut self, call: usize) {
        for place in [self.beginning_of[call], self.end_of[call]] {
            let (previous, next) = (self.previous[place], self.next[place]);
            (self.next[previous], self.previous[next]) = (next, previous);
        }
    }

    /// Reinserts the call that was removed last.
    fn put_back(&mut self, call: usize) {
        for place in [self.end_of[call], self.beginning_of[call]] {
            let (previous, next) = (self.previous[place], self.next[place]);
            (self.next[previous], self.previous[next]) = (place, place);
        }
    }
}

/// Whether the history is linearizable.
pub(crate) fn is_linearizable<M: Model>(history: &[Answered<M::Call>]) -> bool {
    let mut line = Line::of(history);
    let mut state = M::State::default();
    let mut taken = vec![0_u64; history.len() / 64 + 1];
    let mut tried: HashSet<(Vec<u64>, M::State)> = HashSet::new();
    let mut order: Vec<(usize, M::State)> = Vec::new();
    let mut place = line.next[0];
    while line.next[0] != 0 {
        let (call, begins) = line.places[place];
        if begins {
            let after = M::step(&state, &history[call].call);
            place = line.next[place];
            let Some(after) = after else { continue };
            taken[call / 64] |= 1 << (call % 64);
            if tried.insert((taken.clone(), after.clone())) {
                order.push((call, std::mem::replace(&mut state, after)));
                line.lift(call);
                place = line.next[0];
            } else {
                taken[call / 64] &= !(1 << (call % 64));
            }
        } else {
            // This call has ended: an earlier choice was wrong.
            let Some((last, before)) = order.pop() else { return false };
            state = before;
            taken[last / 64] &= !(1 << (last % 64));
            line.put_back(last);
            place = line.next[line.beginning_of[last]];
        }
    }
    true
}

/// A register.
struct Register;

#[derive(Clone, Debug)]
enum Access {
    Write(u64),
    Read(u64),
}

impl Model for Register {
    type State = u64;
    type Call = Access;

    fn step(state: &u64, call: &Access) -> Option<u64> {
        match call {
            Access::Write(value) => Some(*value),
            Access::Read(value) => (state == value).then_some(*state),
        }
    }
}

fn register(calls: &[(u64, u64, Access)]) -> bool {
    let calls = calls.iter().cloned();
    let history: Vec<_> =
        calls.map(|(began, ended, call)| Answered { began, ended, call }).collect();
    is_linearizable::<Register>(&history)
}

#[test]
fn a_linearizable_history_is_accepted() {
    use Access::{Read, Write};
    assert!(register(&[]));
    assert!(register(&[(1, 2, Write(7)), (3, 4, Read(7))]));
    // The read may come before or after the write, since they are concurrent.
    assert!(register(&[(1, 4, Write(7)), (2, 3, Read(0))]));
    assert!(register(&[(1, 4, Write(7)), (2, 3, Read(7))]));
    // Only one order explains both reads: 5, then 7.
    assert!(register(&[
        (1, 10, Write(7)),
        (2, 11, Write(5)),
        (3, 4, Read(5)),
        (5, 6, Read(7)),
        (12, 13, Read(7)),
    ]));
}

#[test]
fn a_history_that_is_not_linearizable_is_refused() {
    use Access::{Read, Write};
    assert!(!register(&[(1, 2, Read(7))]), "it was never written");
    assert!(!register(&[(1, 2, Write(7)), (3, 4, Read(0))]), "it was written before");
    assert!(!register(&[(1, 2, Write(7)), (3, 4, Write(5)), (5, 6, Read(7))]), "it is older");
    // Once one reader has seen the new value, no reader may see the old one.
    assert!(!register(&[(1, 10, Write(7)), (2, 3, Read(7)), (4, 5, Read(0))]));
    let both = [(1, 10, Write(7)), (2, 11, Write(5)), (3, 4, Read(5)), (5, 6, Read(7))];
    let again = [both.as_slice(), &[(7, 8, Read(5))]].concat();
    assert!(!register(&again), "it goes back and forth");
}

#[test]
fn long_histories_are_checked() {
    use Access::{Read, Write};
    let both = (0..500).flat_map(|number| {
        let began = 10 * number;
        [(began, began + 15, Write(number)), (began + 5, began + 14, Read(number))]
    });
    let mut calls: Vec<_> = both.collect();
    assert!(register(&calls));
    calls[801].2 = Read(395);
    assert!(!register(&calls), "what is long gone is read");
}
