//! Scenarios of spending.

use super::Rejection;
use crate::testing::{World, check, check_codes, check_coverage, scenarios};
use crate::{AgentId, Timestamp, limits};

scenarios! {
    a_record_is_charged_to_everything_above => [
        (0, "ada", "task.create g id=\"top\" budget={\"tokens\":100,\"calls\":9}",
            "task.created top g ready"),
        (0, "ada", "task.create g id=\"part\" parent=\"top\"", "task.created part g ready"),
        (0, "ada", "spend.record task=\"part\" tokens=30 cost_micros=7 model=\"m1\" note=\"n\"",
            "spend.recorded #1 by ada part<top: 30/7/1"),
        (0, "bob", "spend.record tokens=5", "spend.recorded #2 by bob : 5/0/1"),
        (0, "ada", "spend.get task=\"top\"",  "task `top`: 30/7/1 left 70/-/8"),
        (0, "ada", "spend.get task=\"part\"",
            "task `part`: 30/7/1; task `top`: 30/7/1 left 70/-/8"),
        (0, "ada", "spend.get agent=\"bob\"", "agent `bob`: 5/0/1"),
        (0, "ada", "spend.get agent=\"cem\"", "agent `cem`: 0/0/0"),
        (0, "ada", "spend.get",               "the workspace: 35/7/2"),
        (0, "ada", "spend.list",              "#2 bob, #1 ada of 2 from Some(1) cursor=None"),
        (0, "ada", "spend.list limit=1",      "#2 bob of 2 from Some(1) cursor=Some(2)"),
        (0, "ada", "spend.list cursor=2",     "#1 ada of 2 from Some(1) cursor=None"),
        (0, "ada", "spend.list agent=\"bob\"", "#2 bob of 2 from Some(1) cursor=None"),
        (0, "ada", "spend.list task=\"part\"", "#1 ada of 2 from Some(1) cursor=None"),
        (0, "ada", "spend.list limit=0",      "refused spend.out_of_range"),
    ]

    nothing_starts_under_a_budget_that_is_used_up => [
        (0, "ada", "task.create g id=\"top\" budget={\"tokens\":100}", "task.created top g ready"),
        (0, "ada", "task.create g id=\"part\" parent=\"top\"", "task.created part g ready"),
        (0, "ada", "task.create g id=\"other\"", "task.created other g ready"),
        (0, "ada", "task.claim", "task.claimed top by ada token=4"),
        // Spending is recorded, even if it exceeds the budget.
        (0, "ada", "spend.record task=\"part\" tokens=130",
            "spend.recorded #1 by ada part<top: 130/0/1; \
             spend.exhausted task `top` 130/100 tokens"),
        (0, "ada", "spend.record task=\"top\" tokens=1", "spend.recorded #2 by ada top: 1/0/1"),
        (0, "ada", "task.create g parent=\"top\"",  "refused task.budget_exhausted"),
        (0, "ada", "task.create g parent=\"part\"", "refused task.budget_exhausted"),
        (0, "bob", "task.claim task=\"part\"",      "refused task.budget_exhausted"),
        (0, "bob", "task.claim",                    "task.claimed other by bob token=7"),
        (0, "cem", "task.claim",                    "r7: null"),
        // Work that has started can go on.
        (0, "ada", "task.heartbeat top token=4 lease_ms=900000", "task.renewed top lease=900000"),
        (0, "cem", "task.claim task=\"part\" wait_ms=1000",
            "task.queued cem call=9 until 1000; call 9 waits"),
        (0, "ada", "spend.limit of={\"task\":\"top\"} budget={\"tokens\":200}",
            "spend.limited task `top` 200/-/-; task.claimed part by cem token=10 call=9; \
             call 9: part in_progress by cem token=10 until 300000 attempts=1 retries=0"),
    ]

    a_used_up_agent_claims_nothing => [
        (0, "ada", "task.create g id=\"a\"", "task.created a g ready"),
        (0, "ada", "spend.limit of={\"agent\":\"bob\"} budget={\"calls\":2}",
            "spend.limited agent `bob` -/-/2"),
        (0, "bob", "spend.record calls=1", "spend.recorded #1 by bob : 0/0/1"),
        (0, "bob", "spend.record", "spend.recorded #2 by bob : 0/0/1; \
            spend.exhausted agent `bob` 2/2 calls"),
        (0, "bob", "task.claim", "refused task.budget_exhausted"),
        (0, "ada", "spend.limit of=\"workspace\" budget={\"cost_micros\":0}",
            "spend.limited the workspace -/0/-; spend.exhausted the workspace 0/0 cost_micros"),
        (0, "ada", "task.claim", "refused task.budget_exhausted"),
        (0, "ada", "spend.limit", "spend.limited the workspace -/-/-"),
        (0, "ada", "spend.limit", "r6: the workspace: 0/0/2"),
        (0, "ada", "task.claim", "task.claimed a by ada token=7"),
    ]

    a_strict_record_fits_or_is_refused => [
        (0, "ada", "spend.limit budget={\"tokens\":10,\"calls\":3}",
            "spend.limited the workspace 10/-/3"),
        (0, "ada", "spend.record tokens=11 strict=true", "refused spend.exhausted"),
        (0, "ada", "spend.record tokens=4 strict=true",  "spend.recorded #1 by ada : 4/0/1"),
        (0, "ada", "spend.record tokens=7 strict=true",  "refused spend.exhausted"),
        (0, "ada", "spend.record tokens=6 strict=true",  "spend.recorded #2 by ada : 6/0/1; \
            spend.exhausted the workspace 10/10 tokens"),
        (0, "ada", "spend.record calls=1 strict=true",   "refused spend.exhausted"),
    ]

    invalid_fields_of_a_handoff_are_refused => [
        (0, "ada", "spend.record calls=0", "refused spend.bad_field"),
        (0, "ada", "spend.record tokens=1000000000001", "refused spend.out_of_range"),
        (0, "ada", "spend.record task=\"none\"", "refused spend.unknown_task"),
        (0, "ada", "spend.record model=bytes:300", "refused spend.too_large"),
        (0, "ada", "spend.get task=\"none\"", "refused spend.unknown_task"),
        (0, "ada", "spend.get task=\"a\" agent=\"b\"", "refused spend.bad_field"),
        (0, "ada", "spend.limit of={\"task\":\"none\"} budget={}", "refused spend.unknown_task"),
        (0, "ada", "spend.limit budget={\"calls\":9007199254740992}", "refused spend.out_of_range"),
        (0, "ada", "task.create g budget={\"calls\":9007199254740992}",
            "refused task.out_of_range"),
        // A transaction that is refused undoes everything.
        (0, "ada", "all: spend.record & spend.limit budget={\"calls\":1} & spend.record calls=0",
            "refused transaction.command_refused 2 spend.bad_field"),
        (0, "ada", "spend.get", "the workspace: 0/0/0"),
        (0, "ada", "all: task.create g id=\"a\" budget={\"calls\":0} & spend.record calls=0",
            "refused transaction.command_refused 1 spend.bad_field"),
        (0, "ada", "task.create g id=\"a\"", "task.created a g ready"),
        (0, "ada", "task.claim", "task.claimed a by ada token=2"),
    ]
}

#[test]
fn only_the_latest_records_are_kept() {
    let mut world = check(&[]);
    for _ in 0..limits::SPEND_RECORDS_MAX + 5 {
        world.run(0, "ada", "spend.record tokens=2");
    }
    assert_eq!(
        world.run(0, "ada", "spend.list limit=1"),
        "#25 ada of 25 from Some(6) cursor=Some(25)"
    );
    assert_eq!(world.run(0, "ada", "spend.get"), "the workspace: 50/0/25");
    world.space.check();
}

#[test]
fn agents_with_a_budget_are_kept_and_others_are_forgotten() {
    let mut world = check(&[]);
    let at_once = |world: &mut World, agent: String, command: &str| {
        let agent = AgentId::parse(&agent).unwrap();
        world.space.commit(crate::testing::read_command(command).into(), &agent, Timestamp(0))
    };
    for number in 0..limits::SPEND_AGENTS_MAX {
        let limit = format!("spend.limit of={{\"agent\":\"l{number}\"}} budget={{\"calls\":9}}");
        assert!(at_once(&mut world, "ada".to_owned(), &limit).is_ok());
    }
    for number in 0..limits::SPEND_AGENTS_MAX + 3 {
        assert!(at_once(&mut world, format!("a{number}"), "spend.record").is_ok());
    }
    assert_eq!(
        world.run(0, "ada", "spend.limit of={\"agent\":\"more\"} budget={\"calls\":9}"),
        "refused spend.too_many"
    );
    assert_eq!(world.run(0, "ada", "spend.get agent=\"a0\""), "agent `a0`: 0/0/0");
    assert_eq!(world.run(0, "ada", "spend.get agent=\"a9\""), "agent `a9`: 0/0/1");
    world.space.check();
}

#[test]
fn every_word_is_reached() {
    check_codes(Rejection::REFUSALS, SCENARIOS, &["spend.too_many"]);
    check_coverage(include_str!("vocabulary.rs"), "kind", SCENARIOS, World::kinds, &[]);
}
