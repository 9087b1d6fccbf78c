//! Limits on the length of lines, functions and files.
//!
//! | thing | limit | where |
//! |---|---|---|
//! | line | 100 columns | every Rust file |
//! | function | 70 lines, signature to closing brace | every Rust file |
//! | file | 500 lines of code | Rust files that are not tests |
//! | file | 900 lines of code | tests: `tests.rs` or in a `tests` folder |
//!
//! A function may be excepted in `crates/tidy/ratchet.txt` with its exact length: it may not grow,
//! and when it shrinks the entry must follow, so the list only ever gets shorter.

use std::collections::BTreeMap;

use crate::findings::{Finding, assert_lines, assert_none};
use crate::repository::{File, files, rust_files};
use crate::source::Masked;

const COLUMNS_MAX: usize = 100;
const FUNCTION_LINES_MAX: usize = 70;
const FILE_LINES_MAX: usize = 500;
const TEST_FILE_LINES_MAX: usize = 900;
const RATCHET: &str = "crates/tidy/ratchet.txt";

fn columns(file: &File) -> Vec<Finding> {
    file.lines()
        .filter_map(|(number, line)| {
            let columns = line.chars().count();
            (columns > COLUMNS_MAX).then(|| {
                let message = format!("{columns} columns, break it to fit in {COLUMNS_MAX}");
                Finding::new(&file.path, number, message)
            })
        })
        .collect()
}

fn file_lines(file: &File) -> Option<Finding> {
    let limit = if file.is_test() { TEST_FILE_LINES_MAX } else { FILE_LINES_MAX };
    let lines = Masked::of(&file.text).lines_of_code();
    let message = format!("{lines} lines of code, split the file to stay within {limit}");
    (lines > limit).then(|| Finding::new(&file.path, 1, message))
}

/// An exception: its line in the ratchet, and the length it grants.
struct Exception {
    line: usize,
    lines: usize,
}

/// Exceptions by `path::function`.
fn exceptions(ratchet: &File) -> (BTreeMap<String, Exception>, Vec<Finding>) {
    let mut granted = BTreeMap::new();
    let mut findings = Vec::new();
    for (line, text) in ratchet.lines() {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let parts = text.rsplit_once(' ').map(|(name, lines)| (name, lines.parse()));
        if let Some((name, Ok(lines))) = parts {
            granted.insert(name.trim().to_owned(), Exception { line, lines });
        } else {
            let message = format!("`{text}` is unreadable, write `path::function lines`");
            findings.push(Finding::new(&ratchet.path, line, message));
        }
    }
    (granted, findings)
}

fn functions(files: &[File], ratchet: &File) -> Vec<Finding> {
    let (mut granted, mut findings) = exceptions(ratchet);
    for file in files {
        for function in Masked::of(&file.text).functions() {
            let lines = function.lines;
            if lines <= FUNCTION_LINES_MAX {
                continue;
            }
            let name = format!("{}::{}", file.path, function.name);
            let said = format!("`{}` has {lines} lines", function.name);
            match granted.remove(&name) {
                Some(exception) if exception.lines == lines => {}
                Some(exception) if exception.lines > lines => {
                    let message = format!("{said} now, lower its {} here", exception.lines);
                    findings.push(Finding::new(&ratchet.path, exception.line, message));
                }
                Some(_) | None => {
                    let message = format!("{said}, split it to stay within {FUNCTION_LINES_MAX}");
                    findings.push(Finding::new(&file.path, function.line, message));
                }
            }
        }
    }
    for (name, exception) in granted {
        let message = format!("`{name}` needs no exception, delete this line");
        findings.push(Finding::new(&ratchet.path, exception.line, message));
    }
    findings
}

#[test]
fn lines_fit_in_the_columns() {
    assert_none(rust_files().iter().flat_map(columns).collect());
}

#[test]
fn a_wide_line_is_caught() {
    let widest = "é".repeat(COLUMNS_MAX);
    let file = File::new("a.rs", &format!("{widest}\n{widest}x\n"));
    assert_lines(&columns(&file), &[2]);
}

#[test]
fn files_fit_in_the_lines() {
    assert_none(rust_files().iter().filter_map(file_lines).collect());
}

#[test]
fn a_long_file_is_caught() {
    let text = |lines| "//! Words.\n\n".repeat(9) + &"mod a;\n".repeat(lines);
    let objects = |path, lines| file_lines(&File::new(path, &text(lines))).is_some();
    assert!(!objects("crates/core/src/space.rs", FILE_LINES_MAX));
    assert!(objects("crates/core/src/space.rs", FILE_LINES_MAX + 1));
    assert!(!objects("crates/core/src/lock/tests.rs", TEST_FILE_LINES_MAX));
    assert!(objects("crates/core/src/lock/tests.rs", TEST_FILE_LINES_MAX + 1));
    assert!(objects("crates/log/tests/conformance.rs", TEST_FILE_LINES_MAX + 1));
}

#[test]
fn functions_fit_in_the_lines() {
    let (ratchet, others): (Vec<File>, Vec<File>) =
        files().into_iter().partition(|file| file.path == RATCHET);
    let sources: Vec<File> = others.into_iter().filter(File::is_rust).collect();
    assert_none(functions(&sources, ratchet.first().expect("the ratchet exists")));
}

fn function_of(lines: usize) -> [File; 1] {
    let body = "    step();\n".repeat(lines - 2);
    [File::new("a.rs", &format!("mod b;\nfn long() {{\n{body}}}\n"))]
}

#[test]
fn a_long_function_is_caught() {
    let none = File::new(RATCHET, "# Nothing.\n");
    assert_lines(&functions(&function_of(FUNCTION_LINES_MAX), &none), &[]);
    assert_lines(&functions(&function_of(FUNCTION_LINES_MAX + 1), &none), &[2]);
}

#[test]
fn the_ratchet_only_goes_down() {
    let ratchet = File::new(RATCHET, "# Two words.\n\na.rs::long 80\n");
    assert_lines(&functions(&function_of(80), &ratchet), &[]);
    assert_lines(&functions(&function_of(81), &ratchet), &[2]);
    assert_lines(&functions(&function_of(79), &ratchet), &[3]);
}

#[test]
fn a_stale_or_unreadable_exception_is_caught() {
    let stale = File::new(RATCHET, "a.rs::long 80\n");
    assert_lines(&functions(&function_of(FUNCTION_LINES_MAX), &stale), &[1]);
    assert_lines(&functions(&[], &stale), &[1]);
    assert_lines(&functions(&[], &File::new(RATCHET, "\na.rs::long\n")), &[2]);
}
