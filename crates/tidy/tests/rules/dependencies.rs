//! Dependencies: permissive licences, one registry, and no open versions.
//!
//! `cargo metadata` lists every package of the lock file for our [`PLATFORMS`]. Advisories are not
//! checked: their database has to be fetched, and a test must not fail because the network does.

use std::process::Command;

use serde_json::Value;

use crate::findings::{Finding, assert_lines, assert_none};
use crate::repository::root;

/// Licences found in the dependency tree. A new one is a decision, not an accident.
const ALLOWED: [&str; 7] =
    ["Apache-2.0", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "Unicode-3.0", "Zlib"];

/// The supported platforms.
const PLATFORMS: [&str; 4] = [
    "aarch64-apple-darwin",
    "aarch64-unknown-linux-gnu",
    "x86_64-pc-windows-msvc",
    "x86_64-unknown-linux-gnu",
];

/// Whether a licence expression (SPDX, or the older form with a slash) is allowed. `AND` binds more
/// tightly than `OR`.
fn allowed(expression: &str) -> bool {
    let expression = expression.trim();
    let inner = expression.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    if let Some(inner) = inner.filter(|inner| balanced(inner)) {
        return allowed(inner);
    }
    if let Some(choices) = split(expression, " OR ").or_else(|| split(expression, "/")) {
        return choices.iter().any(|choice| allowed(choice));
    }
    if let Some(parts) = split(expression, " AND ") {
        return parts.iter().all(|part| allowed(part));
    }
    ALLOWED.contains(&expression)
}

fn balanced(text: &str) -> bool {
    let mut depth = 0;
    for letter in text.chars() {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        if depth < 0 {
            return false;
        }
    }
    depth == 0
}

/// The parts between separators outside of parentheses, if there is more than one.
fn split<'a>(text: &'a str, separator: &str) -> Option<Vec<&'a str>> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (index, _) in text.match_indices(separator) {
        if balanced(&text[start..index]) {
            parts.push(&text[start..index]);
            start = index + separator.len();
        }
    }
    parts.push(&text[start..]);
    (parts.len() > 1).then_some(parts)
}

fn dependencies(metadata: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    let packages = metadata["packages"].as_array().expect("metadata lists packages");
    let registry = packages.iter().find_map(|package| package["source"].as_str());
    for package in packages {
        let name = package["name"].as_str().expect("a package has a name");
        let mut object = |message: String| findings.push(Finding::new("Cargo.lock", 1, message));
        let license = package["license"].as_str().unwrap_or("no licence");
        if !allowed(license) {
            object(format!("`{name}` is under `{license}`: replace it, or allow the licence"));
        }
        let source = package["source"].as_str();
        let foreign = |source: &str| !source.starts_with("registry+") || Some(source) != registry;
        if source.is_some_and(foreign) {
            object(format!("`{name}` comes from {source:?}: use the registry"));
        }
        let needs = package["dependencies"].as_array().into_iter().flatten();
        for open in needs.filter(|need| source.is_none() && need["req"] == "*") {
            if open["path"].is_null() {
                object(format!("`{name}` takes any version of {}: name one", open["name"]));
            }
        }
    }
    findings
}

#[test]
fn dependencies_are_permissive_and_from_one_registry() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--all-features"])
        .args(PLATFORMS.iter().flat_map(|platform| ["--filter-platform", platform]))
        .current_dir(root())
        .output()
        .expect("cargo can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata = serde_json::from_slice(&output.stdout).expect("metadata is JSON");
    assert_none(dependencies(&metadata));
}

#[test]
fn a_bad_dependency_is_caught() {
    let package = |license: &str, source: Option<&str>, req: &str| {
        let needs = [serde_json::json!({"name": "b", "req": req})];
        let mut package = serde_json::json!({"name": "a", "license": license, "source": source});
        package["dependencies"] = needs.to_vec().into();
        package
    };
    let found = |packages: &[Value]| dependencies(&serde_json::json!({"packages": packages}));
    let registry = Some("registry+here");
    assert_lines(&found(&[package("MIT OR GPL-3.0", registry, "*")]), &[]);
    assert_lines(&found(&[package("(MIT OR GPL-3.0) AND Unicode-3.0", registry, "^1")]), &[]);
    assert_lines(&found(&[package("MIT/Apache-2.0", None, "^1")]), &[]);
    assert_lines(&found(&[package("MIT AND GPL-3.0", registry, "^1")]), &[1]);
    assert_lines(&found(&[package("MIT OR Zlib AND GPL-3.0", registry, "^1")]), &[]);
    assert_lines(&found(&[package("GPL-3.0", registry, "^1")]), &[1]);
    assert_lines(&found(&[package("MIT", Some("git+there"), "^1")]), &[1]);
    let two = [package("MIT", registry, "^1"), package("MIT", Some("registry+there"), "^1")];
    assert_lines(&found(&two), &[1]);
    assert_lines(&found(&[package("MIT", None, "*")]), &[1]);
}
