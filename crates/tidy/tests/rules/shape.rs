//! Every primitive folder of the core has the same files, and primitives are independent.
//!
//! Further files are parts of the primitive. Effects of one primitive on another are policies; a
//! primitive that uses another's types is listed in [`IMPORTS`].

use std::collections::{BTreeMap, BTreeSet};

use crate::findings::{Finding, assert_lines, assert_none};
use crate::repository::{File, files};

const PRIMITIVES: &str = "crates/core/src/primitives/";
const PARTS: [&str; 7] = [
    "decide.rs",
    "mod.rs",
    "operations.rs",
    "refusals.rs",
    "table.rs",
    "tests.rs",
    "vocabulary.rs",
];

/// Which primitive imports which, and why.
const IMPORTS: [(&str, &str); 13] = [
    // A checkpoint belongs to the task whose token saves it.
    ("checkpoint", "task"),
    // A hand-off moves a task and keys, after rules were evaluated.
    ("handoff", "rule"),
    ("handoff", "state"),
    ("handoff", "task"),
    // A join depends on the statuses of its tasks.
    ("join", "task"),
    // A message may reference artifacts.
    ("message", "artifact"),
    // The rules of a namespace define how its values merge, and a write obeys them.
    ("namespace", "state"),
    ("state", "namespace"),
    // A stage is a task.
    ("pipeline", "task"),
    // A result may have warnings about the keys that it wrote.
    ("task", "state"),
    // A call waits for the status of a task or a hand-off, or for the next of these.
    ("wait", "handoff"),
    ("wait", "message"),
    ("wait", "task"),
];

fn folders(files: &[File]) -> BTreeMap<&str, Vec<(&str, &File)>> {
    let mut folders: BTreeMap<&str, Vec<(&str, &File)>> = BTreeMap::new();
    for file in files {
        let inside = file.path.strip_prefix(PRIMITIVES).and_then(|path| path.split_once('/'));
        if let Some((folder, part)) = inside {
            folders.entry(folder).or_default().push((part, file));
        }
    }
    folders
}

fn shapes(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, parts) in folders(files) {
        let names: BTreeSet<&str> = parts.iter().map(|(part, _)| *part).collect();
        for missing in PARTS.iter().filter(|part| !names.contains(*part)) {
            let message = format!("primitive `{folder}` has no `{missing}`, add it");
            findings.push(Finding::new(&format!("{PRIMITIVES}{folder}/mod.rs"), 1, message));
        }
    }
    findings
}

/// The names that follow `crate::`, one or a list of them, each with its line. Comments are
/// skipped.
fn imported(file: &File) -> Vec<(usize, &str)> {
    let mut names = Vec::new();
    for (index, found) in file.text.match_indices("crate::") {
        let start = file.text[..index].rfind('\n').map_or(0, |end| end + 1);
        if file.text[start..].trim_start().starts_with("//") {
            continue;
        }
        let line = file.text[..index].lines().count().max(1);
        let rest = &file.text[index + found.len()..];
        let paths = match rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
            Some((list, _)) => list.split(',').collect(),
            None => vec![rest],
        };
        for path in paths {
            let path = path.trim_start();
            let end = path.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
            names.push((line, &path[..end.unwrap_or(path.len())]));
        }
    }
    names
}

fn imports(files: &[File], allowed: &[(&str, &str)]) -> Vec<Finding> {
    let folders = folders(files);
    let mut findings = Vec::new();
    let mut used = BTreeSet::new();
    for (folder, parts) in &folders {
        for (_, file) in parts.iter().filter(|(_, file)| !file.is_test()) {
            for (line, name) in imported(file) {
                if name == *folder || !folders.contains_key(name) {
                    continue;
                }
                if allowed.contains(&(*folder, name)) {
                    used.insert((*folder, name));
                } else {
                    let what = format!("`{folder}` imports `{name}`: use a trait or a policy");
                    findings.push(Finding::new(&file.path, line, what));
                }
            }
        }
    }
    for (folder, name) in allowed.iter().filter(|pair| !used.contains(*pair)) {
        let what = format!("`{folder}` no longer imports `{name}`, take it off the list");
        findings.push(Finding::new(PRIMITIVES, 1, what));
    }
    findings
}

#[test]
fn primitives_have_the_same_shape() {
    let files = files();
    assert!(folders(&files).len() > 15, "the primitives were not found");
    assert_none(shapes(&files));
}

#[test]
fn primitives_do_not_import_each_other() {
    assert_none(imports(&files(), &IMPORTS));
}

fn folder(names: &[&str]) -> Vec<File> {
    names.iter().map(|name| File::new(&format!("{PRIMITIVES}lock/{name}"), "")).collect()
}

#[test]
fn a_primitive_with_missing_files_is_caught() {
    assert_lines(&shapes(&folder(&PARTS)), &[]);
    assert_lines(&shapes(&folder(&["mod.rs", "vocabulary.rs"])), &[1, 1, 1, 1, 1]);
    let more = [&PARTS[..], &["waiters.rs", "table/index.rs"]].concat();
    assert_lines(&shapes(&folder(&more)), &[]);
}

#[test]
fn an_import_of_a_sibling_is_caught() {
    let lock = "use crate::json::Json;\nuse crate::task::Task;\n// use crate::task::Task;\n";
    let files = [
        File::new(&format!("{PRIMITIVES}lock/table.rs"), lock),
        File::new(&format!("{PRIMITIVES}lock/tests.rs"), lock),
        File::new(&format!("{PRIMITIVES}task/table.rs"), "use crate::{json, lock, words};\n"),
    ];
    assert_lines(&imports(&files, &[]), &[2, 1]);
    assert_lines(&imports(&files, &[("lock", "task"), ("task", "lock")]), &[]);
    assert_lines(&imports(&files[..1], &[("lock", "rule")]), &[1]);
}
