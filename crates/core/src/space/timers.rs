//! Timed transitions of a space, and its waiting calls.

use super::Space;
use crate::event::Event;
use crate::names::AgentId;
use crate::numbers::WaitId;
use crate::primitive::{self, Table};
use crate::primitives;
use crate::signal::Signal;
use crate::time::Timestamp;
use crate::waiting::wait::Step;

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

            /// The signals for the timed transitions that are due. The next deadline may have
            /// moved: an agent that waits is not silent.
            pub fn due(&mut self, now: Timestamp) -> Vec<Signal> {
                self.hear_waiting(now);
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

            /// Whether a call of this agent waits.
            pub(super) fn has_caller(&self, agent: &AgentId) -> bool {
                $(self.$module.has_caller(agent))||*
            }

            /// The agent whose waiting call this event ends, before it is applied.
            pub(super) fn caller(&self, event: &Event) -> Option<&AgentId> {
                let wait = event.wait().and_then(Step::ended)?;
                match event {
                    $(Event::$variant(_) => self.$module.caller(wait),)*
                    Event::Receipt(_) | Event::Awaited(_) => None,
                }
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
