//! Digests that were stored, and receipts that are found again.

use super::*;
use crate::json::Json;
use crate::names::{Key, NamespaceName};
use crate::numbers::{Revision, Token, Version};
use crate::reply::Reply;
use crate::wire::{Call, Frame, OPERATIONS};
use crate::{lock, state};

/// The digest as it was computed from the first version on.
fn of_encoded(mutation: &Mutation) -> u64 {
    let encoded = rmp_serde::to_vec_named(mutation).unwrap();
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    encoded.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

fn set(value: &str) -> Command {
    let key = Key::parse("plan").unwrap();
    let set = state::Set::new(NamespaceName::shared(), key, Json::parse(value).unwrap());
    let set = state::Set { expected_version: Some(Version(3)), ttl_ms: Some(5), ..set };
    state::Command::Set(set).into()
}

/// The example of every command, and a large one.
fn commands() -> Vec<Command> {
    let examples = OPERATIONS.iter().filter_map(|operation| {
        let fields = operation.example.trim().trim_start_matches('{');
        let separator = if fields.trim() == "}" { "" } else { "," };
        let before = r#"{"workspace":"w","command":"#;
        let text = format!("{before}{:?}{separator}{fields}", operation.name);
        match Frame::parse(&text).unwrap().call() {
            Ok(Call::Command(command)) => Some(command),
            _ => None,
        }
    });
    let large = format!("[{:?}, 1.5, null]", "é".repeat(70_000));
    examples.chain([set(r#"{"a":1}"#), set(&large)]).collect()
}

#[test]
fn a_digest_has_the_value_that_is_stored() {
    assert!(commands().len() > 90, "{}", commands().len());
    let mut mutations: Vec<Mutation> = commands().into_iter().map(Mutation::Command).collect();
    let fenced = |command| Mutation::Fenced { token: Token(7), command: Box::new(command) };
    mutations.extend(commands().into_iter().map(fenced));
    mutations.push(Mutation::Transaction {
        require: Vec::new(),
        commands: commands(),
        optional: vec![0, 2],
    });
    mutations.extend(mutations.clone().into_iter().map(|it| Mutation::Minimal(Box::new(it))));
    for mutation in &mut mutations {
        let expected = mutation
            .untraced(|mutation| of_encoded(unplaced(mutation).as_ref().unwrap_or(mutation)));
        assert_eq!(digest(mutation), expected, "{mutation:?}");
    }
}

#[test]
fn a_receipt_is_found_by_its_agent_and_key_until_it_is_forgotten() {
    let agents = ["ada", "bob"].map(|name| AgentId::parse(name).unwrap());
    let key = |number: usize| IdempotencyKey::parse(&format!("key-{number}")).unwrap();
    let mut receipts = Receipts::default();
    let later = limits::RECEIPT_AGE_MS_MAX + 2;
    for number in 0..1_000_usize {
        for agent in &agents {
            let revision = Revision(number as u64);
            let answer = Answer { revision, reply: Reply::Lock(lock::Reply::Hold(None)) };
            let time = Timestamp(if number < 500 { 1 } else { later });
            let receipt = Receipt::of(key(number), number as u64, &answer);
            receipts.evolve(&receipt, &Moment { revision, time, agent });
        }
    }
    let again = Receipts::restore(receipts.all().cloned().collect());
    for receipts in [&receipts, &again] {
        assert_eq!(receipts.all().count(), 1_000);
        for number in 0..1_001 {
            let expected = (500..1_000).contains(&number).then_some(number as u64);
            for agent in &agents {
                let found = receipts.find(agent, &key(number)).map(|it| it.digest);
                assert_eq!(found, expected, "{number}");
            }
        }
        let other = AgentId::parse("eve").unwrap();
        assert!(receipts.find(&other, &key(700)).is_none());
    }
}
