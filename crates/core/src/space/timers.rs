//! Timed transitions of a space, and its waiting calls.

use super::Space;
use crate::numbers::WaitId;
use crate::primitive::{self, Table};
use crate::primitives;
use crate::signal::Signal;
use crate::time::Timestamp;

macro_rules! timers {
    ($($(#[$doc:meta])* $module:ident: $variant:ident = $wire:literal $(, $facts:ident)?;)*) => {
        impl Space {
            /// The next timed transition.
            pub fn next_deadline(&self) -> Option<Timestamp> {
                [$(self.$module.next_deadline()),*].into_iter().flatten().min()
            }

            /// A server has been running since this time.
            pub fn served_since(&mut self, moment: Timestamp) {
                $(self.$module.wake(moment);)*
            }

            /// The signals for the timed transitions that are due.
            pub fn due(&self, now: Timestamp) -> Vec<Signal> {
                let is_due = |next: Option<Timestamp>| next.is_some_and(|moment| moment <= now);
                let mut due = Vec::new();
                $(
                    if is_due(self.$module.next_deadline()) {
                        due.push(Signal::$variant(primitive::Signal::Expire));
                    }
                )*
                due
            }

            /// The signal that ends a waiting call whose caller has gone; none if it no longer
            /// waits.
            pub fn give_up(&self, wait: WaitId) -> Option<Signal> {
                // `agent.next` waits in several queues, and leaves that of tasks last.
                let mut of_task = None;
                $(
                    if self.$module.is_waiting(wait) {
                        match Signal::$variant(primitive::Signal::GiveUp(wait)) {
                            signal @ Signal::Task(_) => of_task = Some(signal),
                            signal => return Some(signal),
                        }
                    }
                )*
                of_task
            }

            /// All waiting calls.
            pub fn waits(&self) -> impl Iterator<Item = WaitId> {
                std::iter::empty()$(.chain(self.$module.wait_ids()))*
            }
        }
    };
}
primitives!(timers);

impl Space {
    /// The server resumed serving the workspace at this time: no session or lease expires for
    /// heartbeats that could not arrive.
    pub fn wake(&mut self, moment: Timestamp) {
        self.served_since(moment.max(self.time));
    }
}
