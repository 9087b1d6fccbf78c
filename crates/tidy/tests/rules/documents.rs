//! Documents can be found and read: they have titles, and decisions have a fixed form.
//!
//! ```text
//!   docs/adr/0001-one-writer-per-shard.md
//!            │    └ words in lower case, joined by hyphens
//!            └ a number that no other decision has
//! ```
//!
//! A decision has its `Context`, its `Decision` and what is given up: a decision without a cost was
//! not one.

use std::collections::BTreeMap;
use std::slice;

use crate::findings::{Finding, assert_lines, assert_none};
use crate::repository::{File, files};

const DECISIONS: &str = "docs/adr/";

fn title(file: &File) -> Option<Finding> {
    let untitled = file.has_extension("md")
        && file.text.strip_prefix("# ").is_none_or(|rest| rest.trim_start().is_empty());
    untitled.then(|| Finding::new(&file.path, 1, "no title, start with `# ` and the title"))
}

/// The number of a file named `NNNN-title.md`.
fn number(name: &str) -> Option<&str> {
    let (number, title) = name.strip_suffix(".md")?.split_once('-')?;
    let numbered = number.len() == 4 && number.bytes().all(|byte| byte.is_ascii_digit());
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let titled = title.split('-').all(|word| !word.is_empty() && word.bytes().all(plain));
    (numbered && titled).then_some(number)
}

/// The headings below the title, in lower case.
fn sections(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut sections = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        if let Some(heading) = line.strip_prefix("## ").filter(|_| !fenced) {
            sections.push(heading.trim().to_lowercase());
        }
    }
    sections
}

fn decisions(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut numbers: BTreeMap<&str, &str> = BTreeMap::new();
    for file in files {
        let Some(name) = file.path.strip_prefix(DECISIONS) else { continue };
        if name == "README.md" {
            continue;
        }
        let mut object = |message: String| findings.push(Finding::new(&file.path, 1, message));
        let Some(number) = number(name) else {
            object(format!("`{name}` is no name of a decision, use `NNNN-title.md`"));
            continue;
        };
        if let Some(first) = numbers.insert(number, name) {
            object(format!("`{first}` has the number {number} too, take the next free one"));
        }
        let sections = sections(&file.text);
        for section in ["context", "decision"] {
            if !sections.iter().any(|heading| heading == section) {
                object(format!("no section on the {section}, add it as a `## ` heading"));
            }
        }
        if !sections.iter().any(|heading| heading.contains("given up")) {
            object("no section on the price, add `## What is given up`".to_owned());
        }
    }
    findings
}

#[test]
fn documents_have_titles() {
    assert_none(files().iter().filter_map(title).collect());
}

#[test]
fn an_untitled_document_is_caught() {
    for text in ["", "Words.\n", "## Too deep\n", "#Baton\n", "# \n", "\n# Late\n"] {
        assert!(title(&File::new("docs/guide.md", text)).is_some(), "{text:?}");
    }
    assert!(title(&File::new("docs/guide.md", "# Guide\n")).is_none());
    assert!(title(&File::new("docs/guide.txt", "Words.\n")).is_none());
}

#[test]
fn decisions_have_their_form() {
    assert_none(decisions(&files()));
}

const DECISION: &str = "# One writer\n\n## Context\n\n## Decision\n\n## What is given up\n";

#[test]
fn a_misnamed_decision_is_caught() {
    let bad = ["1-a.md", "0001.md", "0001-.md", "0001-A.md", "0001-a_b.md", "0001-a.txt", "b/c.md"];
    for name in bad {
        let file = File::new(&format!("{DECISIONS}{name}"), DECISION);
        assert_lines(&decisions(&[file]), &[1]);
    }
    let first = File::new("docs/adr/0001-one-writer.md", DECISION);
    let second = File::new("docs/adr/0001-two-writers.md", DECISION);
    assert_lines(&decisions(slice::from_ref(&first)), &[]);
    assert_lines(&decisions(&[first, second]), &[1]);
}

#[test]
fn a_decision_without_its_sections_is_caught() {
    for section in ["## Context\n", "## Decision\n", "## What is given up\n"] {
        let text = DECISION.replace(section, "");
        assert_lines(&decisions(&[File::new("docs/adr/0001-a.md", &text)]), &[1]);
        let fenced = DECISION.replace(section, &format!("```text\n{section}```\n"));
        assert_lines(&decisions(&[File::new("docs/adr/0001-a.md", &fenced)]), &[1]);
    }
}
