//! Nothing is left for later, switched off or silenced.
//!
//! Missing features are issues, not comments. A lint is expected with a reason, so that the
//! exception disappears with its cause. A test that does not run is deleted.

use crate::findings::{Finding, assert_lines, assert_none};
use crate::repository::{File, files, rust_files};
use crate::source::{Masked, words};

// Spelled in two halves, because this file is judged by its own rule.
const LEFT_FOR_LATER: [&str; 4] =
    [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX"), concat!("HA", "CK")];

const MACROS: [&str; 3] = ["todo!", "unimplemented!", "dbg!"];

fn left_for_later(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        for marker in LEFT_FOR_LATER {
            if words(line, marker).next().is_some() {
                let message = format!("`{marker}` leaves work behind, do it or open an issue");
                findings.push(Finding::new(&file.path, number, message));
            }
        }
    }
    findings
}

fn macros(file: &File) -> Vec<Finding> {
    let masked = Masked::of(&file.text);
    let mut findings = Vec::new();
    for (number, line) in masked.lines() {
        for name in MACROS {
            if words(line, name).next().is_some() {
                let message = format!("`{name}` is for the desk only, finish the code");
                findings.push(Finding::new(&file.path, number, message));
            }
        }
    }
    findings
}

fn attributes(file: &File) -> Vec<Finding> {
    let masked = Masked::of(&file.text);
    let mut findings = Vec::new();
    for (offset, attribute) in masked.attributes() {
        let line = masked.line_at(offset);
        let conditional = attribute.starts_with("cfg_attr");
        let has = |name: &str| words(attribute, name).any(|place| place == 0 || conditional);
        if has("allow") {
            let message = "lint silenced with `allow`, use `#[expect(lint, reason = \"…\")]`";
            findings.push(Finding::new(&file.path, line, message));
        }
        if has("ignore") {
            let message = "ignored test, make it run or delete it";
            findings.push(Finding::new(&file.path, line, message));
        }
    }
    findings
}

#[test]
fn nothing_is_left_for_later() {
    let mut findings: Vec<Finding> = files().iter().flat_map(left_for_later).collect();
    findings.extend(rust_files().iter().flat_map(macros));
    assert_none(findings);
}

#[test]
fn a_marker_is_caught_in_any_file() {
    for marker in LEFT_FOR_LATER {
        let file = File::new("docs/guide.md", &format!("# Guide\n\n{marker}: say more.\n"));
        assert_lines(&left_for_later(&file), &[3]);
        let longer = File::new("docs/guide.md", &format!("# Guide\n\n{marker}S\n"));
        assert_lines(&left_for_later(&longer), &[]);
    }
}

#[test]
fn an_unfinished_macro_is_caught() {
    let text = "fn a() {\n    todo!()\n}\n\n// dbg!\nfn b() {\n    dbg!(unimplemented!());\n}\n";
    assert_lines(&macros(&File::new("a.rs", text)), &[2, 7, 7]);
}

#[test]
fn nothing_is_silenced_or_ignored() {
    assert_none(rust_files().iter().flat_map(attributes).collect());
}

#[test]
fn a_silenced_lint_is_caught() {
    let text = "#![allow(dead_code)]\n#[expect(dead_code, reason = \"allow(x)\")]\nmod a;\n\
        #[allow(\n    unused,\n)]\nmod b;\n#[cfg_attr(test, allow(unused))]\nmod c;\n";
    assert_lines(&attributes(&File::new("a.rs", text)), &[1, 4, 8]);
}

#[test]
fn an_ignored_test_is_caught() {
    let text = "#[test]\n#[ignore]\nfn a() {}\n#[ignore = \"slow\"]\nfn b() {}\n\
        #[cfg_attr(planted, ignore)]\nfn c() {}\n#[command(ignore)]\nfn d() {}\n";
    assert_lines(&attributes(&File::new("a.rs", text)), &[2, 4, 6]);
}
