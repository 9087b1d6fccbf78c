//! Events of shared state.

use baton_core::state::{self, Operation, Removal};
use baton_core::sync::{Dot, Seen, TakenChange, Written};
use baton_core::{
    CopyId, Event, Key, NamespaceName, Revision, Timestamp, WorkspaceName, workspace,
};

use super::{ada, deleted, set, set_with_everything};

pub(super) fn state_variant(event: &state::Event) -> &'static str {
    match event {
        state::Event::Set { operation, .. } => match operation {
            Operation::Set => "set",
            Operation::Patched => "patched",
            Operation::Transferred => "transferred",
            Operation::Copied => "copied",
            Operation::Synced => "synced",
        },
        state::Event::Deleted { removal, .. } => match removal {
            Removal::Deleted => "deleted",
            Removal::Expired => "expired",
            Removal::LetGo => "let go",
            Removal::TransferredAway => "transferred away",
            Removal::Synced => "sync deleted",
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
        ("state.synced", Event::State(set(Operation::Synced))),
        ("state.deleted", Event::State(deleted(Removal::Deleted))),
        ("state.expired", Event::State(deleted(Removal::Expired))),
        ("state.let_go", Event::State(deleted(Removal::LetGo))),
        ("state.transferred_away", Event::State(deleted(Removal::TransferredAway))),
        ("state.sync_deleted", Event::State(deleted(Removal::Synced))),
        ("workspace.synced", Event::Workspace(workspace::Event::Synced(synced()))),
    ]
}

fn copy_id() -> CopyId {
    CopyId::parse("research.1769850000000").unwrap()
}

fn synced() -> workspace::Synced {
    let (revision, time) = (Revision(57), Timestamp(1_769_860_000_000));
    let dots = vec![Dot { copy: copy_id(), revision: Revision(51) }];
    let written = Written { time, by: ada(), dots };
    let namespace = NamespaceName::shared();
    let key = Some(Key::parse("plan").unwrap());
    let namespace_itself =
        TakenChange { namespace: namespace.clone(), key: None, written: written.clone() };
    workspace::Synced {
        with: WorkspaceName::parse("research").unwrap(),
        copy: copy_id(),
        up_to: revision,
        seen: vec![Seen { copy: copy_id(), revision, time }],
        taken: vec![namespace_itself, TakenChange { namespace, key, written }],
    }
}
