//! One meaning per type name: a type that other files can see has its name for itself in its crate.
//!
//! Each primitive names its own types, and its module says whose they are: `task::Create`,
//! `join::Create`. The arguments of the program's commands are named after the commands. Every
//! other name that is shared is in [`SHARED`], with the reason.

use std::collections::{BTreeMap, BTreeSet};

use crate::findings::{Finding, assert_lines, assert_none};
use crate::repository::{File, rust_files};
use crate::source::Masked;

/// The crates of the product.
const PRODUCT: [&str; 14] = [
    "a2a", "cli", "client", "cluster", "core", "engine", "log", "mcp", "nats", "postgres", "s3",
    "schema", "server", "tls",
];

/// A folder for each primitive.
const PRIMITIVES: &str = "crates/core/src/primitives/";

/// Arguments of commands, and code that only tests use.
const EXCEPTED: [&str; 2] = ["crates/cli/src/commands/", "crates/core/src/testing"];

/// Names with more than one definition in a crate, and why.
const SHARED: [(&str, &str, &str); 19] = [
    ("core", "Cause", "what led to an event; who reported that an attempt failed"),
    ("core", "Command", "of all primitives and of each; what every primitive's provides"),
    ("core", "Decided", "the outcome of a command; in a primitive, that of its own"),
    ("core", "Entry", "of shared state; the same, packed, as the table of keys stores it"),
    ("core", "Event", "of all primitives and of each; what every primitive's provides"),
    ("core", "Frame", "of a stream; of a connection, as on the wire"),
    ("core", "Operation", "a row of the operations; how an entry got its value"),
    ("core", "Query", "of all primitives and of each; about contexts"),
    ("core", "Receipt", "of a request with an idempotency key; of a hand-off (see the glossary)"),
    ("core", "Rejection", "of all primitives and of each; about contexts"),
    ("core", "Reply", "of all primitives and of each; about contexts"),
    ("core", "Request", "any command or query with its caller; a message that asks for a reply"),
    ("core", "Rules", "of a namespace, of checkpoints; the rules of every primitive, as a trait"),
    ("core", "Signal", "of all primitives and of each; what every primitive's provides"),
    ("core", "Step", "of a hand-off; what an event does to a waiting call"),
    ("core", "Table", "of each primitive; what every primitive's provides"),
    ("core", "Trouble", "what is wrong with a key in a contract; with the last run of a reaction"),
    ("core", "Undo", "of all primitives and of each"),
    ("core", "Waiter", "of any wait queue; in a primitive, that of its own queue"),
];

/// A visible type: its crate, its name, the primitive that it belongs to, if any, and where it is.
struct Definition<'a> {
    home: &'a str,
    name: String,
    primitive: Option<&'a str>,
    file: &'a str,
    line: usize,
}

fn is_product(file: &File) -> bool {
    let home = file.path.strip_prefix("crates/").and_then(|path| path.split('/').next());
    home.is_some_and(|home| PRODUCT.contains(&home))
        && file.path.contains("/src/")
        && !file.is_test()
        && !EXCEPTED.iter().any(|folder| file.path.starts_with(folder))
}

/// The name that a line defines, if other files can see it.
fn visible(line: &str) -> Option<String> {
    let code = line.trim_start();
    let rest = code.strip_prefix("pub")?;
    let rest = match rest.strip_prefix('(') {
        Some(scope) => scope.split_once(')')?.1,
        None => rest,
    };
    let rest = rest.strip_prefix(' ')?;
    let keyword =
        ["struct ", "enum ", "trait ", "type "].iter().find_map(|it| rest.strip_prefix(it));
    let name: String =
        keyword?.chars().take_while(|it| it.is_alphanumeric() || *it == '_').collect();
    // A macro that declares types has a variable there.
    (!name.is_empty()).then_some(name)
}

fn definitions(file: &File) -> Vec<Definition<'_>> {
    let home = file.path.split('/').nth(1).expect("it is in a crate");
    let inside = file.path.strip_prefix(PRIMITIVES).and_then(|path| path.split_once('/'));
    let primitive = inside.map(|(primitive, _)| primitive);
    let masked = Masked::of(&file.text);
    let found = masked.lines().filter_map(|(line, code)| Some((line, visible(code)?)));
    let file = file.path.as_str();
    found.map(|(line, name)| Definition { home, name, primitive, file, line }).collect()
}

fn ambiguous(files: &[File]) -> Vec<Finding> {
    let mut by_name: BTreeMap<(&str, String), Vec<Definition<'_>>> = BTreeMap::new();
    for definition in files.iter().filter(|file| is_product(file)).flat_map(definitions) {
        by_name.entry((definition.home, definition.name.clone())).or_default().push(definition);
    }
    let mut findings = Vec::new();
    for ((home, name), all) in by_name {
        if SHARED.iter().any(|(crate_, shared, _)| *crate_ == home && *shared == name) {
            continue;
        }
        let owners: BTreeSet<_> = all.iter().map(|it| it.primitive).collect();
        let is_clear = all.len() == 1 || owners.len() == all.len() && !owners.contains(&None);
        for definition in all.iter().filter(|_| !is_clear) {
            let message = format!("`{home}` has another type `{name}`, name it after what it is");
            findings.push(Finding::new(definition.file, definition.line, message));
        }
    }
    findings
}

#[test]
fn one_meaning_per_type_name() {
    assert_none(ambiguous(&rust_files()));
}

#[test]
fn a_shared_name_that_is_not_shared_any_more_is_caught() {
    let files = rust_files();
    let all: Vec<_> = files.iter().filter(|file| is_product(file)).flat_map(definitions).collect();
    for (home, name, _) in SHARED {
        let count = all.iter().filter(|it| it.home == home && it.name == name).count();
        assert!(count > 1, "`{name}` of `{home}` has one definition: remove it from the list");
    }
}

#[test]
fn a_second_type_of_the_same_name_is_caught() {
    let one = File::new("crates/engine/src/one.rs", "// struct Place\npub(crate) struct Place;\n");
    let other = File::new("crates/engine/src/two.rs", "\npub enum Place {\n    Here,\n}\n");
    let elsewhere = File::new("crates/log/src/one.rs", "pub struct Place;\n");
    assert_lines(&ambiguous(&[one, other, elsewhere]), &[2, 2]);
    let primitive = |name: &str| {
        let path = format!("crates/core/src/primitives/{name}/vocabulary.rs");
        File::new(&path, "pub struct Create;\nstruct Private;\n")
    };
    assert_lines(&ambiguous(&[primitive("task"), primitive("join")]), &[]);
    let shared = File::new("crates/core/src/space/mod.rs", "pub struct Create;\n");
    assert_lines(&ambiguous(&[primitive("task"), shared]), &[1, 1]);
}
