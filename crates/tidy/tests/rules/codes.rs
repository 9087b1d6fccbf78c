//! Every stable error code is declared and documented, and every documented code exists.
//!
//! A code is declared in `refusals!`, with its documentation. It is documented by a heading of
//! `docs/errors.md`, which is generated. A function named `code` outside of tests returns no string
//! literal:
//!
//! ```text
//!   refusals! { … code: "lock.held", … }  ◀──▶  ## `lock.held`
//!   Self::Held { .. } => "lock.held",     is refused: it has no row
//! ```
//!
//! Each client lists the refusals that another server of a cluster may lift, in its own language:
//! the lists are the same, and name codes that exist.

use std::collections::BTreeMap;

use crate::findings::{Finding, assert_lines, assert_none};
use crate::repository::{File, files};
use crate::source::Masked;

const CRATES: &str = "crates/";
const DOCUMENT: &str = "docs/errors.md";

/// Codes in a file, and their lines.
#[derive(Default)]
struct Codes {
    /// The operations that have a row.
    declared: Vec<(String, usize)>,
    /// The operations that a function returns without a row.
    loose: Vec<(String, usize)>,
}

impl Codes {
    fn of(file: &File) -> Self {
        let masked = Masked::of(&file.text);
        let functions = masked.functions();
        let is_code = |offset: usize| {
            let mut code = functions.iter().filter(|function| function.name == "code");
            code.any(|function| function.body.contains(&offset))
        };
        let declarations = masked.code.find("refusals! {").unwrap_or(masked.code.len());
        let mut codes = Self::default();
        for literal in &masked.literals {
            let before = &masked.code[..literal.offset];
            let found = || (literal.text.clone(), masked.line_at(literal.offset));
            if literal.offset > declarations && is_field(before) {
                codes.declared.push(found());
            } else if is_code(literal.offset) && is_answer(before) {
                codes.loose.push(found());
            }
        }
        codes
    }
}

/// Whether the code that follows is the `code` of a declared refusal.
fn is_field(before: &str) -> bool {
    before.trim_end_matches('"').trim_end().ends_with(" code:")
}

/// Whether what follows is the value of an arm or a block, not a pattern or an argument.
fn is_answer(before: &str) -> bool {
    let before = before.trim_end_matches('"').trim_end();
    before.ends_with("=>") || before.ends_with('{') || before.ends_with("return")
}

/// The documented codes, and their lines.
fn documented(document: &File) -> Vec<(&str, usize)> {
    document
        .lines()
        .filter_map(|(number, line)| {
            let code = line.strip_prefix("## `")?.trim_end().strip_suffix('`')?;
            Some((code, number))
        })
        .collect()
}

fn codes(files: &[File]) -> Vec<Finding> {
    let sources = files
        .iter()
        .filter(|file| file.path.starts_with(CRATES) && file.is_rust() && !file.is_test());
    let mut missing: BTreeMap<String, Finding> = BTreeMap::new();
    let mut findings = Vec::new();
    for file in sources {
        let Codes { declared, loose } = Codes::of(file);
        for (code, line) in declared {
            let message = format!("`{code}` is not in {DOCUMENT}: list its enum in `baton-spec`");
            missing.entry(code).or_insert_with(|| Finding::new(&file.path, line, message));
        }
        for (code, line) in loose {
            let message = format!("`{code}` has no row, declare it with `refusals!`");
            findings.push(Finding::new(&file.path, line, message));
        }
    }
    let known: Vec<String> = missing.keys().cloned().collect();
    let document = files.iter().find(|file| file.path == DOCUMENT);
    let mut seen = Vec::new();
    for (code, line) in document.map(documented).unwrap_or_default() {
        missing.remove(code);
        if seen.contains(&code) {
            let message = format!("`{code}` is documented twice, delete one");
            findings.push(Finding::new(DOCUMENT, line, message));
        } else if !known.iter().any(|known| known == code) {
            let message = format!("`{code}` is declared nowhere, delete its section");
            findings.push(Finding::new(DOCUMENT, line, message));
        }
        seen.push(code);
    }
    findings.extend(missing.into_values());
    findings
}

/// The lists of refusals that another server may lift, and the line before each.
const PASSING: [(&str, &str); 3] = [
    ("crates/client/src/net/multiplexer/mod.rs", "const PASSING: [(&str, bool); 8] = ["),
    ("sdk/python/src/baton/_requests.py", "ELSEWHERE = {"),
    ("sdk/js/src/errors.js", "const PASSING = new Map(["),
];

/// A row of such a list: its code, and whether the request may have been executed.
fn passing(line: &str) -> Option<(&str, bool)> {
    let mut parts = line.split('"');
    let (code, flag) = (parts.nth(1)?, parts.next()?);
    Some((code, flag.to_lowercase().contains("true")))
}

fn passing_lists(files: &[File]) -> Vec<Finding> {
    let document = files.iter().find(|file| file.path == DOCUMENT);
    let known = document.map(documented).unwrap_or_default();
    let mut findings = Vec::new();
    let mut first: Option<Vec<(&str, bool)>> = None;
    for (path, before) in PASSING {
        let file = files.iter().find(|file| file.path == path);
        let lines = file.into_iter().flat_map(File::lines);
        let mut rest = lines.skip_while(|(_, line)| *line != before);
        let Some((start, _)) = rest.next() else {
            findings.push(Finding::new(path, 1, format!("`{before}` is missing")));
            continue;
        };
        let rows = rest.map_while(|(number, line)| Some((number, passing(line)?)));
        let (numbers, rows): (Vec<usize>, Vec<_>) = rows.unzip();
        for (number, (code, _)) in numbers.iter().zip(&rows) {
            if !known.iter().any(|(known, _)| known == code) {
                findings.push(Finding::new(path, *number, format!("`{code}` is not a code")));
            }
        }
        if first.get_or_insert_with(|| rows.clone()) != &rows {
            findings.push(Finding::new(path, start, format!("it differs from {}", PASSING[0].0)));
        }
    }
    findings
}

#[test]
fn every_error_code_is_documented_and_exists() {
    assert_none(codes(&files()));
}

#[test]
fn clients_go_to_another_server_for_the_same_reasons() {
    assert_none(passing_lists(&files()));
}

#[test]
fn lists_that_differ_are_caught() {
    let document = File::new(DOCUMENT, "## `a.b`\n");
    let rows =
        ["    (\"a.b\", true),\n];\n", "    \"a.b\": True,\n}\n", "  [\"a.b\", true],\n]);\n"];
    let file = |index: usize, rows: &str| {
        let (path, before) = PASSING[index];
        File::new(path, &format!("first line\n{before}\n{rows}"))
    };
    let with = |last: &str| {
        let lists = [file(0, rows[0]), file(1, rows[1]), file(2, last)];
        passing_lists(&[&lists[..], std::slice::from_ref(&document)].concat())
    };
    assert_lines(&with(rows[2]), &[]);
    assert_lines(&with("  [\"a.b\", false],\n]);\n"), &[2]);
    assert_lines(&with("  [\"a.c\", true],\n]);\n"), &[3, 2]);
    assert_lines(&passing_lists(&[document]), &[1, 1, 1]);
}

const SOURCE: &str = r#"
impl Rejection {
    /// Stable: "doc.comment".
    pub fn code(&self) -> &'static str {
        match self {
            Self::Held { .. } => "lock.held",
            Self::Named("pattern") => {
                "lock.named"
            }
            Self::Json(inner) => inner.code(),
            Self::Never => unreachable!("argument"),
        }
    }

    fn decode(&self) -> &'static str {
        "other"
    }
}
"#;

const DECLARED: &str = r#"
refusals! {
    pub enum Rejection {
        /// Another agent holds it. Stable: code: "doc.comment".
        #[error("lock `{name}` is held")]
        Held { name: LockName } => {
            code: "lock.held",
            kind: Conflict,
            hint: "wait",
            cause: "code: none",
        }
        /// It has a name.
        #[error("named")]
        Named {} => {
            code: "lock.named",
            kind: Conflict,
            hint: "wait",
        }
    }
}
"#;

#[test]
fn an_undocumented_declaration_is_caught() {
    let source = || File::new("crates/core/src/lock/refusals.rs", DECLARED);
    assert_lines(&codes(&[source()]), &[7, 15]);
    let half = File::new(DOCUMENT, "# Errors\n\n## `lock.held`\n");
    assert_lines(&codes(&[source(), half]), &[15]);
    let whole = File::new(DOCUMENT, "# Errors\n\n## `lock.held`\n\n## `lock.named`\n");
    assert_lines(&codes(&[source(), whole]), &[]);
}

#[test]
fn a_code_without_a_row_is_caught() {
    let source = File::new("crates/core/src/lock/vocabulary.rs", SOURCE);
    assert_lines(&codes(&[source]), &[6, 8]);
    let test = File::new("crates/core/src/lock/tests.rs", SOURCE);
    assert_lines(&codes(&[test]), &[]);
    assert_lines(&codes(&[]), &[]);
}

#[test]
fn a_documented_code_that_is_gone_is_caught() {
    let single = "refusals! {\n    X => {\n        code: \"a.b\",\n    }\n}\n";
    let source = File::new("crates/log/src/error.rs", single);
    let document = File::new(DOCUMENT, "# Errors\n\n## `a.b`\n\n## `a.c`\n\n## `a.b`\n");
    assert_lines(&codes(&[source, document]), &[5, 7]);
}
