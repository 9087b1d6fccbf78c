//! The core is pure: time, identity and randomness are inputs.
//!
//! | refused in `crates/core` | because |
//! |---|---|
//! | clocks, files, sockets, threads, randomness | replay must give the same space on any machine |
//! | `async`, `.await` | state could change while a rule waits |
//! | hash maps and sets | their order differs from run to run |
//! | `_ =>` in matches over our own enums | a new variant must be considered everywhere |
//!
//! Two hash tables are allowed, in `crates/core/src/storage` and `crates/core/src/search`: they are
//! never iterated.

use crate::findings::{Finding, assert_lines, assert_none};
use crate::repository::{File, rust_files};
use crate::source::{Masked, is_word, words};

const CORE: &str = "crates/core/src/";
const HASHING: [&str; 3] =
    ["crates/core/src/storage/", "crates/core/src/storage.rs", "crates/core/src/search/"];
const POLICY: &str = "crates/core/src/policy/";

/// Paths to the outside, imported or written in full.
const OUTSIDE: [&str; 5] = ["std::time", "std::fs", "std::net", "std::thread", "rand"];

/// Words that are refused anywhere in the code.
const WORDS: [(&str, &str); 8] = [
    ("SystemTime", "take the time from the command"),
    ("Instant", "take the time from the command"),
    ("async", "let the engine wait"),
    (".await", "let the engine wait"),
    ("HashMap", "use a `BTreeMap`, its order is the same everywhere"),
    ("HashSet", "use a `BTreeSet`, its order is the same everywhere"),
    ("hash_map", "use a `BTreeMap`, its order is the same everywhere"),
    ("hash_set", "use a `BTreeSet`, its order is the same everywhere"),
];

/// Files whose matches are over enums of the core. So are those of policies, except the one that
/// lists them: most primitives have none.
const EXHAUSTIVE: [&str; 6] =
    ["command.rs", "event.rs", "rejection.rs", "decide.rs", "table.rs", "space.rs"];

fn starts_path(path: &str, refused: &str) -> bool {
    let path = path.strip_prefix("::").unwrap_or(path);
    path == refused || path.strip_prefix(refused).is_some_and(|rest| rest.starts_with("::"))
}

fn outside(file: &File, masked: &Masked) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut object = |line: usize, refused: &str| {
        let message = format!("`{refused}` in the core, let the engine pass what is needed");
        let finding = Finding::new(&file.path, line, message);
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    };
    for refused in OUTSIDE {
        let imports = masked.imports();
        for import in imports.iter().filter(|import| starts_path(&import.path, refused)) {
            object(import.line, refused);
        }
        let written = format!("{refused}::");
        for offset in words(&masked.code, &written) {
            // `crate::rand::…` is ours, `::rand::…` is not.
            let before = masked.code[..offset].strip_suffix("::").unwrap_or("");
            if !before.bytes().next_back().is_some_and(is_word) {
                object(masked.line_at(offset), refused);
            }
        }
    }
    findings
}

fn refused_words(file: &File, masked: &Masked) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut object = |word: &str, advice: &str| {
        for offset in words(&masked.code, word) {
            let message = format!("`{word}` in the core, {advice}");
            findings.push(Finding::new(&file.path, masked.line_at(offset), message));
        }
    };
    for (word, advice) in WORDS {
        object(word, advice);
    }
    if !HASHING.iter().any(|place| file.path.starts_with(place)) {
        let advice = "only tables of `storage` and `search` may hash, use a `BTreeMap`";
        object("hashbrown", advice);
        object("HashTable", advice);
    }
    findings
}

fn wildcards(file: &File, masked: &Masked) -> Vec<Finding> {
    let is_policy = file.path.starts_with(POLICY) && file.name() != "mod.rs";
    let over_words = EXHAUSTIVE.contains(&file.name()) || is_policy;
    if !over_words || file.is_test() {
        return Vec::new();
    }
    words(&masked.code, "_ =>")
        .map(|offset| {
            let message = "`_ =>` hides the next variant, name every one";
            Finding::new(&file.path, masked.line_at(offset), message)
        })
        .collect()
}

fn impurities(file: &File) -> Vec<Finding> {
    if !file.path.starts_with(CORE) {
        return Vec::new();
    }
    let masked = Masked::of(&file.text);
    let mut findings = outside(file, &masked);
    findings.extend(refused_words(file, &masked));
    findings.extend(wildcards(file, &masked));
    findings.sort();
    findings
}

#[test]
fn the_core_is_pure() {
    assert_none(rust_files().iter().flat_map(impurities).collect());
}

#[track_caller]
fn check(path: &str, text: &str, lines: &[usize]) {
    assert_lines(&impurities(&File::new(path, text)), lines);
}

#[test]
fn reaching_outside_is_caught() {
    let text = "use std::{\n    collections::BTreeMap,\n    fs,\n    time::Duration,\n};\n\
        use rand::Rng;\nuse crate::rand::Other;\nfn a() {\n    std::thread::yield_now();\n\
        \x20   ::std::net::lookup();\n    crate::rand::roll();\n}\n";
    check("crates/core/src/lock/table.rs", text, &[3, 4, 6, 9, 10]);
    check("crates/engine/src/clock.rs", text, &[]);
}

#[test]
fn clocks_and_waiting_are_caught() {
    let text = "fn a(t: SystemTime) {}\nfn b(t: Instant) {}\nasync fn c() {\n    d().await;\n}\n\
        // Instant, async, .await\nfn instantly(asynchronous: bool) {}\n";
    check("crates/core/src/limits.rs", text, &[1, 2, 3, 4]);
}

#[test]
fn hashing_is_caught_outside_the_entries() {
    let maps = "use std::collections::HashMap;\nuse std::collections::hash_set::Iter;\n";
    check("crates/core/src/storage/slab.rs", maps, &[1, 2]);
    let table = "use hashbrown::HashTable;\n";
    check("crates/core/src/lock/table.rs", table, &[1, 1]);
    check("crates/core/src/storage/mod.rs", table, &[]);
    check("crates/core/src/storage/mod.rs", "use hashbrown::HashMap;\n", &[1]);
}

#[test]
fn a_wildcard_over_our_own_words_is_caught() {
    let text =
        "match command {\n    Command::A(_) => a(),\n    (_, b_) => b(),\n    _ => c(),\n}\n";
    for name in EXHAUSTIVE {
        check(&format!("crates/core/src/lock/{name}"), text, &[4]);
        check(&format!("crates/core/src/{name}"), text, &[4]);
    }
    check("crates/core/src/policy/lost_agent.rs", text, &[4]);
    check("crates/core/src/json.rs", text, &[]);
    check("crates/core/src/policy/tests.rs", text, &[]);
    check("crates/engine/src/command.rs", text, &[]);
}
