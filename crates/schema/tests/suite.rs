//! The official test suite of JSON Schema, as far as it is supported.
//!
//! Every group of tests runs, unless its schema is refused for a reason that [`excused`] lists. The
//! numbers of both are asserted, so that the coverage cannot shrink unnoticed.

use std::fs;
use std::path::{Path, PathBuf};

use baton_schema::{Effort, SchemaError, Validator};
use serde_json::Value;

#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    /// Tests that ran.
    tests: usize,
    /// Groups of which all tests ran.
    groups: usize,
    /// Groups whose schema is refused, by what it has.
    references: usize,
    keywords: usize,
    meta_schemas: usize,
}

fn suite() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/json-schema-suite")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the suite is in the repository");
    let mut paths: Vec<_> =
        entries.map(|entry| entry.expect("the suite is well formed").path()).collect();
    paths.sort();
    let nested = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    paths.into_iter().flat_map(nested).collect()
}

/// The count of schemas that are refused like this one; none if it may not be refused.
fn excused<'a>(error: &SchemaError, counts: &'a mut Counts) -> Option<&'a mut usize> {
    match error {
        SchemaError::Reference { .. } => Some(&mut counts.references),
        SchemaError::Keyword { .. } => Some(&mut counts.keywords),
        SchemaError::Invalid { reason, .. } if reason.starts_with("Unknown meta-schema") => {
            Some(&mut counts.meta_schemas)
        }
        SchemaError::Invalid { .. }
        | SchemaError::TooLarge { .. }
        | SchemaError::TooManyRegexes { .. }
        | SchemaError::RegexesTooLarge { .. } => None,
    }
}

fn run(draft: &str, uri: &str) -> (Counts, Vec<String>) {
    let folder = suite().join(draft);
    let mut counts = Counts::default();
    let mut failures = Vec::new();
    for path in files(&folder) {
        let file = path
            .strip_prefix(suite())
            .expect("the suite is well formed")
            .to_str()
            .expect("the suite is well formed")
            .to_owned();
        let groups: Vec<Value> =
            serde_json::from_slice(&fs::read(&path).expect("the suite is well formed"))
                .expect("the suite is well formed");
        for group in groups {
            let name = group["description"].as_str().expect("the suite is well formed");
            let mut schema = group["schema"].clone();
            if let Some(keywords) = schema.as_object_mut()
                && !keywords.contains_key("$schema")
            {
                keywords.insert("$schema".into(), uri.into());
            }
            let validator = match Validator::compile(&schema) {
                Ok(validator) => validator,
                Err(error) => {
                    match excused(&error, &mut counts) {
                        Some(count) => *count += 1,
                        None => failures.push(format!("{file}: {name}: {error}")),
                    }
                    continue;
                }
            };
            counts.groups += 1;
            for test in group["tests"].as_array().expect("the suite is well formed") {
                let title = test["description"].as_str().expect("the suite is well formed");
                counts.tests += 1;
                let effort = Effort::default();
                validator.check_effort(&test["data"], &effort).expect("the effort is small");
                let found = validator.check(&test["data"], &effort);
                if found.is_ok() != test["valid"].as_bool().expect("the suite is well formed") {
                    failures.push(format!("{file}: {name}: {title}: {found:?}"));
                }
            }
        }
    }
    (counts, failures)
}

fn assert_suite(draft: &str, uri: &str, expected: &Counts) {
    let (counts, failures) = run(draft, uri);
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert_eq!(&counts, expected);
}

#[test]
fn draft_6() {
    let expected =
        Counts { tests: 1092, groups: 249, references: 15, keywords: 11, meta_schemas: 0 };
    assert_suite("draft6", "http://json-schema.org/draft-06/schema#", &expected);
}

#[test]
fn draft_7() {
    let expected =
        Counts { tests: 1324, groups: 277, references: 16, keywords: 15, meta_schemas: 0 };
    assert_suite("draft7", "http://json-schema.org/draft-07/schema#", &expected);
}

#[test]
fn draft_2019_09() {
    let expected =
        Counts { tests: 1250, groups: 353, references: 42, keywords: 10, meta_schemas: 2 };
    assert_suite("draft2019-09", "https://json-schema.org/draft/2019-09/schema", &expected);
}

#[test]
fn draft_2020_12() {
    let expected =
        Counts { tests: 1274, groups: 350, references: 57, keywords: 5, meta_schemas: 4 };
    assert_suite("draft2020-12", "https://json-schema.org/draft/2020-12/schema", &expected);
}
