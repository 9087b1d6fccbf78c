//! Who knows one primitive knows all: every primitive folder of the core has the same files.
//!
//! A folder is a primitive when it has a `vocabulary.rs`.

use std::collections::{BTreeMap, BTreeSet};

use crate::findings::{Finding, assert_lines, assert_none};
use crate::repository::{File, files};

const CORE: &str = "crates/core/src/";
const PARTS: [&str; 5] = ["decide.rs", "mod.rs", "table.rs", "tests.rs", "vocabulary.rs"];

fn primitives(files: &[File]) -> Vec<Finding> {
    let mut folders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for path in files.iter().filter_map(|file| file.path.strip_prefix(CORE)) {
        // A folder inside a folder is a part of the outer one too.
        for (index, _) in path.match_indices('/') {
            let part = path[index + 1..].split('/').next().expect("a path has a last part");
            folders.entry(&path[..index]).or_default().insert(part);
        }
    }
    let mut findings = Vec::new();
    for (folder, parts) in folders.iter().filter(|(_, parts)| parts.contains("vocabulary.rs")) {
        let place = format!("{CORE}{folder}/vocabulary.rs");
        for missing in PARTS.iter().filter(|part| !parts.contains(*part)) {
            let message = format!("primitive `{folder}` has no `{missing}`, add it");
            findings.push(Finding::new(&place, 1, message));
        }
        for extra in parts.iter().filter(|part| !PARTS.contains(part)) {
            let message = format!(
                "primitive `{folder}` has an extra `{extra}`, move it out or fold it into: {}",
                PARTS.join(" ")
            );
            findings.push(Finding::new(&place, 1, message));
        }
    }
    findings
}

#[test]
fn primitives_have_the_same_shape() {
    assert_none(primitives(&files()));
}

fn folder(names: &[&str]) -> Vec<File> {
    names.iter().map(|name| File::new(&format!("crates/core/src/lock/{name}"), "")).collect()
}

#[test]
fn a_misshapen_primitive_is_caught() {
    assert_lines(&primitives(&folder(&PARTS)), &[]);
    assert_lines(&primitives(&folder(&["mod.rs", "vocabulary.rs"])), &[1, 1, 1]);
    let extra = [&PARTS[..], &["waiters.rs", "table/index.rs"]].concat();
    assert_lines(&primitives(&folder(&extra)), &[1, 1]);
    assert_lines(&primitives(&folder(&["mod.rs", "slab.rs"])), &[]);
}
