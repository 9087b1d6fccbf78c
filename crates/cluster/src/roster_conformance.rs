//! What every roster must do, as functions that each store runs against itself.

use std::sync::Arc;

use crate::roster::{DrainOutcome, Location, Roster, wait};
use crate::view::{ServerRow, Shards, View};

/// The id of no server. It has the form of the ids of every store.
const NOBODY: &str = "00000000-0000-0000-0000-000000000000";
/// Heartbeats of a server after which nothing that is recorded about it was lost.
const BEATS: i64 = 3;

/// What a server sees when it looks next, and the condition holds.
fn seen(roster: &Arc<dyn Roster>, is_it: impl Fn(&View) -> bool) -> Arc<View> {
    let mut views = roster.view();
    wait(views.wait_for(|view| is_it(view))).expect("it beats").clone()
}

fn row<'a>(view: &'a View, server: &str) -> Option<&'a ServerRow> {
    view.servers.iter().find(|row| row.id == server)
}

/// Waits until a server is seen as drained, or not, and remains so while it beats.
fn remains(by: &Arc<dyn Roster>, server: &str, is_drained: bool) {
    let is_so = |row: &ServerRow| (row.is_draining, row.is_leaving) == (is_drained, false);
    let view = seen(by, |view| row(view, server).is_some_and(is_so));
    let last = row(&view, server).expect("it was just seen").beat + BEATS;
    let later = seen(by, |view| row(view, server).is_some_and(|row| row.beat >= last));
    assert!(row(&later, server).is_some_and(is_so), "{later:?}");
}

/// Any server drains any other one, and undoes it; all see it, and heartbeats do not undo it.
pub fn a_drain_is_recorded_and_undone_by_any_server(location: &dyn Location) {
    let join = |name: &str| location.join(name, Shards::Exactly(3)).expect("it can be joined");
    let (a, b) = (join("http://a:4747"), join("http://b:4747"));
    let set = |by: &Arc<dyn Roster>, server: &str, is_drained| {
        by.set_drained(server, is_drained).expect("the log answers")
    };
    assert_eq!(set(&b, NOBODY, true), DrainOutcome::Unknown);
    for (by, is_drained) in [(&b, true), (&b, true), (&a, false), (&a, true), (&b, false)] {
        assert_eq!(set(by, a.id(), is_drained), DrainOutcome::Recorded);
        remains(&a, a.id(), is_drained);
        remains(&b, a.id(), is_drained);
    }
    assert!(seen(&a, |_| true).servers.iter().all(|row| !row.is_draining), "b was never drained");
}

/// A server that leaves takes no shards, whatever an operator wishes, and is unknown afterwards.
pub fn a_server_that_leaves_is_not_undrained(location: &dyn Location) {
    let join = |name: &str| location.join(name, Shards::Exactly(3)).expect("it can be joined");
    let (a, b) = (join("http://a:4747"), join("http://b:4747"));
    a.announce_leaving();
    let is_leaving = |row: &ServerRow| row.is_leaving && row.is_draining;
    seen(&b, |view| row(view, a.id()).is_some_and(is_leaving));
    for is_drained in [false, true] {
        let set = b.set_drained(a.id(), is_drained).expect("the log answers");
        assert_eq!(set, DrainOutcome::Leaving);
    }
    let later = row(&seen(&b, |_| true), a.id()).expect("it is there").beat + BEATS;
    let view = seen(&b, |view| row(view, a.id()).is_some_and(|row| row.beat >= later));
    assert!(row(&view, a.id()).is_some_and(is_leaving), "{view:?}");
    a.leave();
    assert_eq!(b.set_drained(a.id(), false).expect("the log answers"), DrainOutcome::Unknown);
}

/// Runs every law against the location of an expression, which is none if no store was started.
#[macro_export]
macro_rules! roster_conformance {
    ($name:ident, $location:expr) => {
        $crate::roster_conformance! { @laws $name, $location,
            a_drain_is_recorded_and_undone_by_any_server
            a_server_that_leaves_is_not_undrained
        }
    };
    (@laws $name:ident, $location:expr, $($law:ident)*) => {
        mod $name {
            use super::*;
            $(
                #[test]
                fn $law() {
                    if let Some(location) = $location {
                        $crate::roster_conformance::$law(&location);
                    }
                }
            )*
        }
    };
}
