//! Scenarios of the workspace itself.

use super::Rejection;
use crate::testing::{World, check_codes, check_coverage, scenarios};

scenarios! {
    settings_that_are_not_given_stay_unchanged => [
        (0, "ada", "workspace.get",
            "count=10000000 age=2592000000 entries=0 namespaces=1 agents=0"),
        (0, "ada", "workspace.configure history_count=5",
            "workspace.configured count=5 age=2592000000"),
        (0, "ada", "workspace.configure history_age_ms=7", "workspace.configured count=5 age=7"),
        (0, "ada", "workspace.configure history_count=5 history_age_ms=7",
            "r2: count=5 age=7 entries=0 namespaces=1 agents=0"),
        (0, "ada", "workspace.configure", "r2: count=5 age=7 entries=0 namespaces=1 agents=0"),
        (0, "ada", "workspace.configure history_count=1 history_age_ms=1",
            "workspace.configured count=1 age=1"),
    ]

    something_is_always_kept => [
        (0, "ada", "workspace.configure history_count=0", "refused workspace.nothing_kept"),
        (0, "ada", "workspace.configure history_age_ms=0", "refused workspace.nothing_kept"),
        (0, "ada", "workspace.configure history_count=1 history_age_ms=0",
            "refused workspace.nothing_kept"),
    ]

    it_counts_what_it_has => [
        (0, "ada", "agent.register ada",
            "agent.joined ada token=1 ttl=60000; namespace.created agent:ada"),
        (0, "ada", "state.set shared/a 1",    "state.set shared/a v1 = 1"),
        (0, "ada", "state.set agent:ada/a 1", "state.set agent:ada/a v1 = 1"),
        (0, "ada", "workspace.get",
            "count=10000000 age=2592000000 entries=2 namespaces=2 agents=1"),
    ]

    it_names_its_origin => [
        (0, "ada", "workspace.configure history_count=5",
            "workspace.configured count=5 age=2592000000"),
        (0, "ada", "found {\"manner\":\"fork\",\"workspace\":\"research\",\"revision\":7,\
            \"time\":\"2026-01-31T12:00:00.000Z\",\"by\":\"ada\"}",
            "workspace.founded research@7 by ada"),
        (0, "ada", "workspace.get",
            "count=5 age=2592000000 entries=0 namespaces=1 agents=0 from research@7"),
    ]
}

#[test]
fn every_refusal_is_reached() {
    // Only the engine can refuse these, since they are about the past or about other workspaces.
    let elsewhere = [
        "workspace.exists",
        "workspace.not_found",
        "workspace.in_use",
        "workspace.deleted",
        "workspace.no_common_revision",
        // The tests of `sync` reach these.
        "workspace.same_copy",
        "workspace.sync_conflict",
        "workspace.sync_stale",
        "workspace.unknown_subject",
        "workspace.bad_filter",
        "workspace.too_large",
        "workspace.bad_field",
        "workspace.out_of_range",
    ];
    check_codes(Rejection::REFUSALS, SCENARIOS, &elsewhere);
}

#[test]
fn every_event_happens() {
    check_coverage(
        include_str!("vocabulary.rs"),
        "kind",
        SCENARIOS,
        World::kinds,
        &["workspace.synced"],
    );
}
