//! A space as a snapshot stores it, and its invariants.

use serde::{Deserialize, Serialize};

use super::{Space, TablesView};
use crate::handoff::{List, Status};
use crate::history::Origin;
use crate::names::{AgentId, Key, NamespaceName};
use crate::numbers::{Revision, Token};
use crate::primitive::Table;
use crate::space::receipt::{Kept, Receipts};
use crate::state::{Ending, RetiredVersions};
use crate::storage::Entries;
use crate::sync::Seen;
use crate::task::budgets;
use crate::time::Timestamp;
use crate::wait::{Present, Target};
use crate::waiting::wait::{Keyed, KeyedWaits};
use crate::{primitives, state, user_event, workspace};

macro_rules! head {
    ($($(#[$doc:meta])* $module:ident: $variant:ident = $wire:literal $(, $facts:ident)?;)*) => {
        /// Everything of a space but the entries: small, and therefore copied at once.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub struct Head {
            /// The revision of the last change.
            pub revision: Revision,
            /// When it was decided.
            pub time: Timestamp,
            /// The revision of the last removal of an entry.
            pub last_removal: Revision,
            /// Authors of entries, by number.
            pub authors: Vec<AgentId>,
            /// When entries expire, and with which session.
            pub endings: Vec<(NamespaceName, Key, Ending)>,
            /// The last versions of keys that are gone.
            #[serde(default, skip_serializing_if = "RetiredVersions::is_empty")]
            pub retired: RetiredVersions,
            /// How much of the past is kept.
            pub retention: workspace::Retention,
            /// The origin of the workspace, if it was forked or imported.
            #[serde(default)]
            pub origin: Option<Origin>,
            /// The revision at which the previous workspace of this name was deleted, if there was
            /// one.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub began: Option<Revision>,
            /// The start of the workspace, if it was forked or imported.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub founding: Option<workspace::Founding>,
            /// The revisions of other copies that it includes, by id.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub seen: Vec<Seen>,
            /// Stored answers, oldest first.
            pub receipts: Vec<Kept>,
            /// The last granted token.
            #[serde(default)]
            pub token: Token,
            /// Waiting calls with an idempotency key.
            #[serde(default)]
            pub keyed_waits: Vec<Keyed>,
            $($(
                #[doc = concat!("The facts of `", $wire, "`.")]
                #[serde(default)]
                pub $facts: <crate::$module::Table as Table>::Facts,
            )?)*
        }

        impl Space {
            /// The current state without the entries.
            pub fn head(&self) -> Head {
                let state::Facts { last_removal, authors, endings, retired } = self.state.facts();
                let workspace::Facts { retention, origin, began, founding, seen } =
                    self.workspace.facts();
                Head {
                    revision: self.revision,
                    time: self.time,
                    last_removal,
                    authors,
                    endings,
                    retired,
                    retention,
                    origin,
                    began,
                    founding,
                    seen,
                    receipts: self.receipts.all().cloned().collect(),
                    token: self.token,
                    keyed_waits: self.keyed_waits.all().cloned().collect(),
                    $($($facts: self.$module.facts(),)?)*
                }
            }

            /// Assembles a space from a snapshot.
            pub fn restore(head: Head, entries: Vec<(NamespaceName, Entries)>) -> Self {
                let Head { last_removal, authors, endings, retired, .. } = head;
                let facts = state::Facts { last_removal, authors, endings, retired };
                let mut state = state::Table::restore(facts);
                state.restore_entries(entries);
                #[cfg(feature = "planted")]
                let forgets_token = crate::planted::is("head.forgets_token");
                #[cfg(not(feature = "planted"))]
                let forgets_token = false;
                Self {
                    state,
                    user_event: user_event::Table,
                    workspace: workspace::Table::restore(workspace::Facts {
                        retention: head.retention,
                        origin: head.origin,
                        began: head.began,
                        founding: head.founding,
                        seen: head.seen,
                    }),
                    receipts: Receipts::restore(head.receipts),
                    keyed_waits: KeyedWaits::restore(&head.keyed_waits),
                    $($($module: <crate::$module::Table as Table>::restore(head.$facts),)?)*
                    token: if forgets_token { Token::default() } else { head.token },
                    revision: head.revision,
                    time: head.time,
                    undo_log: Vec::new(),
                    quota: None,
                }
            }
        }
    };
}
primitives!(head);

impl Space {
    /// Asserts the invariants of the space.
    pub fn check(&self) {
        assert!(self.undo_log.is_empty(), "nothing is left to take back between commits");
        self.check_tables();
        self.state.check_revision(self.revision);
        self.check_stages();
        self.check_mentions();
        self.check_offers();
        self.check_awaited();
        let startable = budgets::startable(&self.task, &TablesView::of(self));
        assert!(startable.is_empty(), "no claim waits for a task that may start: {startable:?}");
        for (namespace, _) in self.state.namespaces() {
            assert!(self.namespace.get(namespace).is_some(), "entries live in a namespace");
        }
        for (_, _, ending) in self.state.endings() {
            let bound_to = ending.bound_to.as_ref();
            let alive = bound_to.is_none_or(|agent| self.agent.is_active(agent));
            assert!(alive, "what is bound to a session ends with it");
        }
    }

    /// Asserts that exactly the calls whose status is reached are due.
    fn check_awaited(&self) {
        for waiter in self.wait.waits() {
            let present = match waiter.goal.target() {
                Target::Task(id) => Present::Task(self.task.get(&id).map(|it| it.status)),
                Target::Handoff(id) => Present::Handoff(self.handoff.get(&id).map(|it| it.status)),
            };
            assert_eq!(waiter.goal.is_reached(present), waiter.is_due, "{:?}", waiter.goal);
        }
    }

    /// Asserts that a task is offered by exactly the open hand-off that its lease names.
    fn check_offers(&self) {
        for handoff in self.handoff.after(&List::default()) {
            let task = handoff.task.as_ref().and_then(|task| self.task.get(task));
            let lease = task.and_then(|record| record.lease.as_ref());
            let offers = lease.is_some_and(|lease| lease.handoff.as_ref() == Some(&handoff.id));
            let is_open = handoff.status.is_open() && handoff.task.is_some();
            assert_eq!(offers, is_open, "`{}` and its task agree", handoff.id);
            if handoff.status == Status::Accepted && handoff.task.is_some() {
                let holder = lease.map(|lease| &lease.holder);
                assert_eq!(holder, handoff.receiver.as_ref(), "who accepted holds the task");
            }
        }
    }
}
