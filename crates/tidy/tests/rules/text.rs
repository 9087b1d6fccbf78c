//! Clean text: no trailing blanks, a newline at the end of files, no machine-specific paths.
//!
//! A path on one machine or the address of a registry works for its author only.

use crate::findings::{Finding, assert_lines, assert_none};
use crate::repository::{File, files};

const EXTENSIONS: [&str; 4] = ["md", "rs", "sh", "toml"];

// Spelled in two halves, because this file is judged by its own rule.
const ADDRESSES: [&str; 3] =
    [concat!("index.", "crates.io"), concat!("py", "pi.org"), concat!("registry.", "npmjs.org")];
const MACHINE_PATHS: [&str; 2] = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];

fn blanks(file: &File) -> Vec<Finding> {
    if !file.is_script() && !EXTENSIONS.iter().any(|extension| file.has_extension(extension)) {
        return Vec::new();
    }
    let mut findings: Vec<Finding> = (1..)
        .zip(file.text.split('\n'))
        .filter(|(_, line)| line.ends_with(char::is_whitespace))
        .map(|(number, _)| Finding::new(&file.path, number, "blanks at the end, remove them"))
        .collect();
    let lines = file.text.lines().count();
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        findings.push(Finding::new(&file.path, lines, "no newline at the end of file, add one"));
    }
    if file.text.ends_with("\n\n") {
        findings.push(Finding::new(&file.path, lines, "empty last line, remove it"));
    }
    findings
}

/// `/v1/…` of a web address is not a local path: the path must not start within a word.
fn has_machine_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(offset, _)| {
        let before = line[..offset].chars().next_back();
        !before.is_some_and(|letter| letter.is_alphanumeric() || "._-}*".contains(letter))
    })
}

fn machines(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        for address in ADDRESSES.iter().filter(|address| line.contains(*address)) {
            let message = format!("`{address}` is a registry's address, leave it to the tool");
            findings.push(Finding::new(&file.path, number, message));
        }
        for path in MACHINE_PATHS.iter().filter(|path| has_machine_path(line, path)) {
            let message = format!("`{path}` is a path of one machine, make it relative");
            findings.push(Finding::new(&file.path, number, message));
        }
    }
    findings
}

#[test]
fn text_ends_cleanly() {
    assert_none(files().iter().flat_map(blanks).collect());
}

#[test]
fn blanks_at_the_end_are_caught() {
    for path in ["a.rs", "a.md", "a.toml", "a.sh"] {
        assert_lines(&blanks(&File::new(path, "a \nb\nc\t\n")), &[1, 3]);
        assert_lines(&blanks(&File::new(path, "a\r\nb\n")), &[1]);
        assert_lines(&blanks(&File::new(path, "a\nb")), &[2]);
        assert_lines(&blanks(&File::new(path, "a\nb\n\n")), &[3]);
        assert_lines(&blanks(&File::new(path, "a\n\nb\n")), &[]);
    }
    assert_lines(&blanks(&File::new("test", "#!/bin/sh\ntrue ")), &[2, 2]);
    assert_lines(&blanks(&File::new("a.snap", "a ")), &[]);
}

#[test]
fn no_machine_is_mentioned() {
    assert_none(files().iter().flat_map(machines).collect());
}

#[test]
fn a_machine_is_caught() {
    for place in ADDRESSES.iter().chain(&MACHINE_PATHS) {
        let file = File::new("docs/guide.md", &format!("# Guide\n\nSee `{place}x`.\n"));
        assert_lines(&machines(&file), &[3]);
    }
    let [path, _] = MACHINE_PATHS;
    assert_lines(&machines(&File::new("a.md", &format!("GET /v1{path}items\n"))), &[]);
}
