//! Names without meaning are not allowed for files, folders and modules.
//!
//! A file with such a name collects unrelated things. Shared code is named after what it is.

use std::collections::BTreeSet;

use crate::findings::{Finding, assert_lines, assert_none};
use crate::repository::{File, files};
use crate::source::{Masked, words};

const REFUSED: [&str; 5] = ["common", "helpers", "manager", "misc", "utils"];

fn paths(files: &[File]) -> Vec<Finding> {
    let mut findings = BTreeSet::new();
    for file in files {
        for part in file.path.split('/') {
            let stem = part.split('.').next().expect("splitting yields at least one part");
            if REFUSED.contains(&stem) {
                let message = format!("`{stem}` says nothing, name it after what it holds");
                findings.insert(Finding::new(&file.path, 1, message));
            }
        }
    }
    findings.into_iter().collect()
}

fn modules(file: &File) -> Vec<Finding> {
    let masked = Masked::of(&file.text);
    words(&masked.code, "mod ")
        .filter_map(|offset| {
            let name = masked.code[offset + "mod ".len()..].split([' ', ';', '{', '\n']).next()?;
            let message = format!("module `{name}` says nothing, name it after what it holds");
            let finding = Finding::new(&file.path, masked.line_at(offset), message);
            REFUSED.contains(&name).then_some(finding)
        })
        .collect()
}

#[test]
fn files_and_modules_have_names_that_mean_something() {
    let files = files();
    let mut findings = paths(&files);
    findings.extend(files.iter().filter(|file| file.is_rust()).flat_map(modules));
    assert_none(findings);
}

#[test]
fn a_file_that_could_hold_anything_is_caught() {
    let at = |path| File::new(path, "");
    let bad = [at("crates/core/src/utils.rs"), at("crates/log/tests/common/mod.rs")];
    assert_lines(&paths(&bad), &[1, 1]);
    assert_lines(&paths(&[at("docs/misc.md"), at("sdks/python/helpers.py")]), &[1, 1]);
    assert_lines(&paths(&[at("crates/core/src/storage/common_prefix.rs")]), &[]);
}

#[test]
fn a_module_that_could_hold_anything_is_caught() {
    let file = File::new("a.rs", "mod lock;\n// mod misc;\npub mod manager;\nmod utils {}\n");
    assert_lines(&modules(&file), &[3, 4]);
}
