//! Events of shared state.

use baton_core::Event;
use baton_core::state::{self, Operation, Removal};

use super::{deleted, set, set_with_everything};

pub(super) fn state_variant(event: &state::Event) -> &'static str {
    match event {
        state::Event::Set { operation, .. } => match operation {
            Operation::Set => "set",
            Operation::Patched => "patched",
            Operation::Transferred => "transferred",
            Operation::Copied => "copied",
        },
        state::Event::Deleted { removal, .. } => match removal {
            Removal::Deleted => "deleted",
            Removal::Expired => "expired",
            Removal::LetGo => "let go",
            Removal::TransferredAway => "transferred away",
        },
    }
}

pub(super) fn states() -> Vec<(&'static str, Event)> {
    vec![
        ("state.set", Event::State(set(Operation::Set))),
        ("state.patched", Event::State(set(Operation::Patched))),
        ("state.transferred", Event::State(set(Operation::Transferred))),
        ("state.transferred with everything", Event::State(set_with_everything())),
        ("state.copied", Event::State(set(Operation::Copied))),
        ("state.deleted", Event::State(deleted(Removal::Deleted))),
        ("state.expired", Event::State(deleted(Removal::Expired))),
        ("state.let_go", Event::State(deleted(Removal::LetGo))),
        ("state.transferred_away", Event::State(deleted(Removal::TransferredAway))),
    ]
}
