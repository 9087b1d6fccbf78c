//! Scenarios of secrets.

use super::Rejection;
use crate::limits;
use crate::testing::{World, check, check_codes, check_coverage, scenarios};

scenarios! {
    a_secret_is_stored_revealed_and_deleted => [
        (0, "ada", r#"secret.put secret:^1 bytes=12 name="key""#,
            "secret.put secret:^1 bytes=12 `key`"),
        (1, "ada", r#"state.set shared/login {"password":{"secret":"secret:^1"}}"#,
            r#"state.set shared/login v1 = {"password":{"secret":"secret:^1"}}"#),
        (2, "bob", "secret.get secret:^1",      "secret:^1 bytes=12 reveals=0"),
        (3, "bob", "secret.reveal secret:^1",   "secret.revealed secret:^1"),
        (4, "ada", "secret.get secret:^1",      "secret:^1 bytes=12 reveals=1 to bob"),
        (5, "ada", "secret.delete secret:^1",   "secret.deleted secret:^1"),
        (6, "bob", "secret.reveal secret:^1",   "refused secret.not_found"),
        (6, "ada", "secret.delete secret:^1",   "refused secret.not_found"),
        (6, "ada", "secret.get secret:^1",      "refused secret.not_found"),
    ]

    a_secret_can_have_a_ttl => [
        (0, "ada", "secret.put secret:^1 bytes=1 ttl_ms=100",
            "secret.put secret:^1 bytes=1 until 100"),
        (0, "ada", "secret.put secret:^2 bytes=1",  "secret.put secret:^2 bytes=1"),
        (99, "ada", "time",                         "nothing"),
        (100, "ada", "time",                        "secret.expired secret:^1"),
        (100, "ada", "secret.list",                 "[secret:^2]"),
    ]

    secrets_are_listed_by_the_page => [
        (0, "ada", "secret.put secret:^1 bytes=1",  "secret.put secret:^1 bytes=1"),
        (0, "ada", "secret.put secret:^2 bytes=1",  "secret.put secret:^2 bytes=1"),
        (0, "ada", "secret.list limit=1",           "[secret:^1] next=secret:^1"),
        (0, "ada", r#"secret.list limit=1 cursor="secret:^1""#, "[secret:^2]"),
        (0, "ada", "secret.list limit=0",           "refused secret.out_of_range"),
    ]

    a_refused_command_leaves_nothing => [
        (0, "ada", "secret.put secret:^1 bytes=65537",          "refused secret.too_large"),
        (0, "ada", "secret.put secret:^1 bytes=1 ttl_ms=0",     "refused secret.out_of_range"),
        (0, "ada", "secret.put secret:^1 bytes=65536",          "secret.put secret:^1 bytes=65536"),
        // A transaction that is refused undoes everything.
        (0, "ada", "all: secret.delete secret:^1 & secret.delete secret:^2",
            "refused transaction.command_refused 1 secret.not_found"),
        (0, "ada", "all: secret.reveal secret:^1 & secret.delete secret:^2",
            "refused transaction.command_refused 1 secret.not_found"),
        (0, "ada", "secret.get secret:^1",      "secret:^1 bytes=65536 reveals=0"),
    ]
}

#[test]
fn there_may_only_be_so_many() {
    let mut world = check(&[]);
    for number in 0..limits::SECRETS_MAX {
        let put = format!("secret.put secret:{number:032x} bytes=1");
        let rendered = world.space.commit(
            crate::testing::read_command(&put).into(),
            &crate::names::AgentId::engine(),
            crate::time::Timestamp(0),
        );
        assert!(rendered.is_ok());
    }
    assert_eq!(
        world.run(0, "ada", &format!("secret.put secret:{:032x} bytes=1", limits::SECRETS_MAX)),
        "refused secret.too_many"
    );
}

#[test]
fn every_word_is_reached() {
    let source = include_str!("vocabulary.rs");
    check_codes(Rejection::REFUSALS, SCENARIOS, &["secret.too_many", "secret.no_key"]);
    check_coverage(source, "kind", SCENARIOS, World::kinds, &[]);
}
