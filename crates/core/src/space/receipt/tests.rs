//! Digests that were stored, answers in both forms, and receipts that are found again.

use proptest::prelude::*;

use super::*;
use crate::command::Request;
use crate::json::Json;
use crate::messagepack;
use crate::names::{Key, NamespaceName};
use crate::numbers::{Revision, Token, Version};
use crate::reply::Reply;
use crate::state::Warning;
use crate::storage::{self, WriteHead};
use crate::wire::{Call, Frame, OPERATIONS, write_answer};
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
fn a_plain_set_has_the_digest_of_its_command() {
    let long = format!("\"{}\"", "é".repeat(70_000));
    for value in ["1", r#"{"a":[1, "ä"]}"#, &long] {
        for expected_version in [None, Some(Version(0)), Some(Version(70_000))] {
            for key in ["plan", &"k".repeat(300), "schlüssel"] {
                let (namespace, name) = (NamespaceName::shared(), Key::parse(key).unwrap());
                let set = state::Set::new(namespace, name, Json::parse(value).unwrap());
                let set = state::Set { expected_version, ..set };
                let mut request = Request::from(Command::from(state::Command::Set(set)));
                let plain = digest_of_set(&FastSet::of(&request).unwrap());
                assert_eq!(plain, digest(&mut request.mutation), "{key} {value}");
            }
        }
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

/// An entry with a value of this length, and whether it expires and is bound to a session.
fn entry(revision: u64, key: &str, bytes: usize, (expires_at, ephemeral): (u64, bool)) -> Entry {
    let value = Json::of(&"v".repeat(bytes)).unwrap();
    let version = u32::try_from(revision / 2 + 1).unwrap_or(u32::MAX);
    let head = WriteHead { revision, time_ms: revision >> 16, version, author: 7 };
    let packed = storage::Entry::new(head, key, value.as_bytes());
    let entry = Entry::new(packed, NamespaceName::shared(), AgentId::parse("ada").unwrap());
    entry.ending(Some(Timestamp(expires_at)).filter(|moment| moment.0 > 0), ephemeral)
}

fn answer_with(entry: Entry) -> Answer {
    Answer { revision: entry.revision(), reply: state::Reply::Entry(entry).into() }
}

fn text(answer: &Answer) -> Vec<u8> {
    let mut text = Vec::new();
    write_answer(&mut text, answer);
    text
}

/// The same receipt as it is read from a snapshot.
fn read_back(receipt: &Receipt) -> Receipt {
    messagepack::from_slice(&rmp_serde::to_vec_named(receipt).unwrap()).unwrap()
}

fn any_number() -> impl Strategy<Value = u64> {
    prop_oneof![1..0x102_u64, 0xfff0..0x1_0010_u64, 0xffff_fff0..0x1_0000_0010_u64, any::<u64>()]
}

proptest! {
    #[test]
    fn an_entry_is_answered_and_counted_like_its_bytes(
        revision in any_number(),
        key in prop_oneof!["[a-zé]{1,12}", "k{28,36}", "k{250,260}"],
        bytes in prop_oneof![0..300_usize, 0xfff0..0x1_0010_usize],
        ending in (prop_oneof![Just(0), any_number()], any::<bool>()),
    ) {
        let answer = answer_with(entry(revision, &key, bytes, ending));
        let receipt = Receipt::of(IdempotencyKey::parse("k").unwrap(), 9, &answer);
        prop_assert!(matches!(receipt.answer, StoredAnswer::Written(_)));
        let again = read_back(&receipt);
        let StoredAnswer::Encoded(encoded) = &again.answer else { panic!("it is read as bytes") };
        let expected = rmp_serde::to_vec_named(&answer).unwrap();
        prop_assert!(**encoded == expected[..], "the form of earlier versions");
        for receipt in [&receipt, &again] {
            prop_assert_eq!(receipt.answer.bytes(), expected.len());
            prop_assert!(receipt.answer() == answer);
            prop_assert_eq!(text(&receipt.answer()), text(&answer));
        }
        prop_assert_eq!(&receipt, &again);
    }
}

#[test]
fn only_an_entry_that_the_request_wrote_is_not_encoded() {
    let written = answer_with(entry(7, "plan", 3, (0, false)));
    let is_written = |answer: &Answer| matches!(StoredAnswer::of(answer), StoredAnswer::Written(_));
    assert!(is_written(&written));
    // A deleted one, one with warnings, and an answer of another type.
    let deleted = Answer { revision: Revision(8), ..written.clone() };
    let warning = Warning { code: "state.nested_value".to_owned(), detail: String::new() };
    let warned = answer_with(entry(7, "plan", 3, (0, false)).warned(vec![warning]));
    let hold = Answer { revision: Revision(7), reply: Reply::Lock(lock::Reply::Hold(None)) };
    let transaction =
        Answer { revision: Revision(7), reply: Reply::Transaction(vec![written.reply.clone()]) };
    for answer in [deleted, warned, hold, transaction] {
        assert!(!is_written(&answer), "{answer:?}");
        let stored = StoredAnswer::of(&answer);
        assert_eq!(text(&stored.answer()), text(&answer));
        assert_ne!(stored, StoredAnswer::of(&written));
    }
    assert_ne!(
        StoredAnswer::of(&written),
        StoredAnswer::of(&answer_with(entry(7, "plan", 4, (0, false))))
    );
}

#[test]
fn receipts_that_were_loaded_are_forgotten_like_those_that_were_kept() {
    let ada = AgentId::parse("ada").unwrap();
    let (mut live, bytes) = (Receipts::default(), limits::RECEIPTS_BYTES_MAX / 10);
    let keep = |receipts: &mut Receipts, revision: u64| {
        let entry = entry(revision, "plan", bytes, (0, false));
        let key = IdempotencyKey::parse(&format!("key-{revision}")).unwrap();
        let moment = Moment { revision: Revision(revision), time: Timestamp(1), agent: &ada };
        receipts.evolve(&Receipt::written(key, revision, entry), &moment);
    };
    (1..=7).for_each(|revision| keep(&mut live, revision));
    let kept: Vec<Kept> = live.all().cloned().collect();
    let read = |kept: Kept| Kept { receipt: read_back(&kept.receipt), ..kept };
    let mut loaded = Receipts::restore(kept.into_iter().map(read).collect());
    for receipts in [&mut live, &mut loaded] {
        (8..=30).for_each(|revision| keep(receipts, revision));
    }
    let digests = |receipts: &Receipts| -> Vec<u64> {
        receipts.all().map(|kept| kept.receipt.digest).collect()
    };
    assert_eq!(digests(&live), (22..=30).collect::<Vec<_>>(), "nine of them fit");
    assert_eq!(digests(&loaded), digests(&live));
    assert_eq!(loaded.bytes, live.bytes);
}

/// A receipt of an entry shares the entry's bytes with the table, and the others are as small as
/// before there was another form.
#[test]
fn a_receipt_takes_no_more_memory_than_its_bytes() {
    assert_eq!(size_of::<StoredAnswer>(), size_of::<Arc<[u8]>>());
    let entry = entry(7, "plan", 200, (0, false));
    let value = entry.value().as_ptr();
    let receipt = Receipt::written(IdempotencyKey::parse("k").unwrap(), 9, entry);
    let StoredAnswer::Written(kept) = &receipt.clone().answer else { panic!("it is an entry") };
    assert_eq!(kept.value().as_ptr(), value);
}
