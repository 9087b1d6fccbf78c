//! The table of user events: none, since they change nothing but the history.

use super::vocabulary::Event;
use crate::primitive;
use crate::space::batch::Moment;

/// Emitted events are kept in the history of the workspace only.
#[derive(Default)]
pub struct Table;

impl primitive::Table for Table {
    type Event = Event;
    type Undo = ();
    type Facts = ();

    fn evolve(&mut self, _event: &Event, _moment: &Moment<'_>) {}

    fn undo(&mut self, _undo: ()) {}

    fn facts(&self) {}

    fn restore(_facts: ()) -> Self {
        Self
    }

    fn check(&self) {}
}
