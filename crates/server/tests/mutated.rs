//! The fuzz targets, driven by seeds: some thousand valid inputs, damaged in many ways.

use baton_server::ws::messagepack;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::json;

use crate::callers::socket::{BINARY, CLOSE, PING, PONG, TEXT, frame};
use crate::commands::vocabulary;

#[path = "../../../fuzz/targets.rs"]
mod targets;

const ROUNDS: u64 = 4_000;

fn any_bytes(random: &mut StdRng, bytes_max: usize) -> Vec<u8> {
    (0..random.random_range(0..bytes_max)).map(|_| random.random()).collect()
}

/// Flips, cuts, doubles and joins.
fn damage(random: &mut StdRng, mut bytes: Vec<u8>, others: &[Vec<u8>]) -> Vec<u8> {
    for _ in 0..random.random_range(0..4) {
        let length = bytes.len().max(1);
        let (from, to) = (random.random_range(0..length), random.random_range(0..length));
        let (from, to) = (from.min(to).min(bytes.len()), from.max(to).min(bytes.len()));
        match random.random_range(0..7) {
            0 if from < bytes.len() => bytes[from] ^= 1 << random.random_range(0..8),
            1 if from < bytes.len() => bytes[from] = random.random(),
            2 => bytes.truncate(to),
            3 => drop(bytes.drain(from..to)),
            4 => {
                let part = bytes[from..to].to_vec();
                bytes.extend(part);
            }
            5 => {
                let more = any_bytes(random, 40);
                bytes.splice(from..to, more);
            }
            _ => bytes.extend(others.choose(random).into_iter().flatten()),
        }
    }
    bytes
}

fn drive(good: &[Vec<u8>], target: impl Fn(&[u8])) {
    for input in good {
        target(input);
    }
    for seed in 0..ROUNDS {
        let mut random = StdRng::seed_from_u64(seed);
        let input = if seed.is_multiple_of(10) {
            any_bytes(&mut random, 300)
        } else {
            let begun = good.choose(&mut random).cloned().unwrap_or_default();
            damage(&mut random, begun, good)
        };
        target(&input);
    }
}

fn texts() -> Vec<String> {
    let mut texts: Vec<String> = vocabulary().iter().map(|(one, _)| one.to_string()).collect();
    let commands: Vec<_> = vocabulary().into_iter().map(|(one, _)| one).collect();
    texts.extend([
        json!({"id": 1, "workspace": "w", "command": "transaction", "commands": commands,
               "require": [{"revision": 7}]})
        .to_string(),
        json!({"id": 2, "workspace": "w", "command": "watch", "pattern": "**", "from": 1,
               "types": ["state.set"], "snapshot": true})
        .to_string(),
        json!({"id": 3, "command": "unwatch", "watch": 2}).to_string(),
        r#"{"id":4,"a":-1.5e-3,"b":"\ud83d\ude00\u0000","c":[[],{}],"command":"ping"}"#.to_owned(),
    ]);
    texts
}

#[test]
fn frames_hold_for_every_input() {
    let mut good = vec![vec![]];
    for text in texts() {
        for first in [TEXT, BINARY, 0x01, 0x80, 0x00, PING, PONG, CLOSE] {
            let payload = if first & 0x08 == 0 { text.as_bytes() } else { &text.as_bytes()[..20] };
            good.push([vec![7], frame(first, payload)].concat());
        }
    }
    good.push([vec![1], frame(0x01, b"\xC3"), frame(PING, b"x"), frame(0x80, b"\xA4")].concat());
    good.push([vec![3], frame(CLOSE, &[3, 232])].concat());
    drive(&good, targets::frames);
}

#[test]
fn messagepack_holds_for_every_input() {
    let good: Vec<Vec<u8>> = texts()
        .iter()
        .map(|text| {
            let mut packed = Vec::new();
            messagepack::from_json(text.as_bytes(), &mut packed);
            packed
        })
        .collect();
    drive(&good, targets::messagepack);
}

/// Every event of the golden file, in every edition.
fn stored_events() -> Vec<Vec<u8>> {
    let golden = include_str!("../../../spec/events.json");
    let golden: serde_json::Value = serde_json::from_str(golden).expect("the golden file is JSON");
    let examples = golden["examples"].as_array().expect("it has examples");
    let unhex = |text: &str| {
        let pairs = (0..text.len()).step_by(2).map(|at| &text[at..at + 2]);
        pairs.map(|pair| u8::from_str_radix(pair, 16).expect("these are digits")).collect()
    };
    let bytes = |example: &serde_json::Value| example["bytes"].as_str().map(unhex);
    examples.iter().map(|example| bytes(example).expect("an example has bytes")).collect()
}

#[test]
fn stored_holds_for_every_input() {
    let good = stored_events();
    drive(&good, targets::stored);
    // The states with a comparison as well.
    let state: Vec<Vec<u8>> = good
        .iter()
        .filter_map(|event| Some(event.strip_prefix(b"\x81\xa5state")?.to_vec()))
        .collect();
    assert!(!state.is_empty());
    drive(&state, targets::stored);
}

#[test]
fn wire_holds_for_every_input() {
    let good: Vec<Vec<u8>> = texts().into_iter().map(String::into_bytes).collect();
    drive(&good, targets::wire);
}
