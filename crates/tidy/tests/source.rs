//! Rust source as the rules see it: comments blanked out, literals filled in, positions kept.
//!
//! | in the source | in the masked code |
//! |---|---|
//! | code, quotes of literals | unchanged |
//! | comments | spaces |
//! | insides of string and character literals | the byte `1` |
//! | line ends | unchanged |
//!
//! 1. Masked code has as many bytes and lines as the source, so an offset means the same in both.
//! 2. The inside of a literal never looks like code, but its line still counts as code.

/// The placeholder for the inside of a literal. It is neither blank nor part of any word.
const INSIDE: u8 = 1;

/// Source without its comments and literals.
pub(crate) struct Masked {
    /// The masked code.
    pub(crate) code: String,
    /// The string literals, in order.
    pub(crate) literals: Vec<Literal>,
}

/// The inside of a string literal, with its escapes unchanged.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Literal {
    pub(crate) offset: usize,
    pub(crate) text: String,
}

/// A function with a body: from the line of its `fn` to the line of its closing brace.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) lines: usize,
    /// Offsets of the opening and the closing brace.
    pub(crate) body: std::ops::Range<usize>,
}

/// One path of a `use`, with the groups expanded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Import {
    pub(crate) path: String,
    pub(crate) line: usize,
}

pub(crate) fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

/// Offsets where `needle` occurs in `text` and is not part of a longer word.
pub(crate) fn words<'a>(text: &'a str, needle: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = text.as_bytes();
    let word_first = needle.bytes().next().is_some_and(is_word);
    let word_last = needle.bytes().next_back().is_some_and(is_word);
    text.match_indices(needle).map(|(offset, _)| offset).filter(move |&offset| {
        let before = offset.checked_sub(1).map(|index| bytes[index]);
        let after = bytes.get(offset + needle.len()).copied();
        let joined_before = word_first && before.is_some_and(is_word);
        let joined_after = word_last && after.is_some_and(is_word);
        !joined_before && !joined_after
    })
}

/// The line of an offset, counted from one.
pub(crate) fn line_at(text: &str, offset: usize) -> usize {
    1 + text[..offset].matches('\n').count()
}

impl Masked {
    pub(crate) fn of(source: &str) -> Self {
        let mut masking = Masking { code: source.as_bytes().to_vec(), literals: Vec::new(), at: 0 };
        masking.run(source);
        let code = String::from_utf8(masking.code).expect("whole characters are masked");
        Self { code, literals: masking.literals }
    }

    pub(crate) fn line_at(&self, offset: usize) -> usize {
        line_at(&self.code, offset)
    }

    /// Lines with their numbers, counted from one.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.code.lines())
    }

    /// Lines that contain more than comments.
    pub(crate) fn lines_of_code(&self) -> usize {
        self.code.lines().filter(|line| !line.trim().is_empty()).count()
    }

    /// Every function with a body, including nested ones and those in macros.
    pub(crate) fn functions(&self) -> Vec<Function> {
        words(&self.code, "fn").filter_map(|offset| self.function(offset)).collect()
    }

    fn function(&self, offset: usize) -> Option<Function> {
        let rest = self.code[offset..].strip_prefix("fn ")?;
        let name: String = rest.chars().take_while(|&letter| !"(<".contains(letter)).collect();
        let open = self.body_start(offset)?;
        let close = closing(self.code.as_bytes(), open)?;
        let line = self.line_at(offset);
        let lines = self.line_at(close) - line + 1;
        Some(Function { name: name.trim().to_owned(), line, lines, body: open..close })
    }

    /// The opening brace of the body; none for a declaration, which ends with a semicolon.
    fn body_start(&self, offset: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for (index, byte) in self.code.bytes().enumerate().skip(offset) {
            match byte {
                b'(' | b'[' => depth += 1,
                b')' | b']' => depth = depth.checked_sub(1)?,
                b'{' if depth == 0 => return Some(index),
                b';' if depth == 0 => return None,
                _ => {}
            }
        }
        None
    }

    /// The attributes, outer and inner: what is between the brackets, and where it starts.
    pub(crate) fn attributes(&self) -> Vec<(usize, &str)> {
        let openings = ["#[", "#!["].iter().flat_map(|opening| {
            self.code.match_indices(opening).map(|(offset, found)| offset + found.len() - 1)
        });
        let mut attributes: Vec<(usize, &str)> = openings
            .filter_map(|open| {
                let close = closing(self.code.as_bytes(), open)?;
                Some((open, self.code[open + 1..close].trim()))
            })
            .collect();
        attributes.sort_unstable();
        attributes
    }

    /// Every path of every `use`, groups expanded: `std::{fs, io::Read}` is two imports.
    pub(crate) fn imports(&self) -> Vec<Import> {
        let mut imports = Vec::new();
        // The space distinguishes an import from the `use<'a>` of a return type.
        for offset in words(&self.code, "use ") {
            let start = offset + "use ".len();
            if let Some(length) = self.code[start..].find(';') {
                self.expand(start..start + length, "", &mut imports);
            }
        }
        imports
    }

    fn expand(&self, range: std::ops::Range<usize>, prefix: &str, imports: &mut Vec<Import>) {
        let tree = &self.code[range.clone()];
        let Some(open) = tree.find('{') else {
            let path = tree.split(" as ").next().expect("splitting yields at least one part");
            if !path.trim().is_empty() {
                let line = self.line_at(range.start + tree.len() - tree.trim_start().len());
                imports.push(Import { path: format!("{prefix}{}", path.trim()), line });
            }
            return;
        };
        let Some(close) = closing(tree.as_bytes(), open) else { return };
        let prefix = format!("{prefix}{}", tree[..open].trim());
        let mut start = open + 1;
        let mut depth = 0_usize;
        for (index, byte) in tree.bytes().enumerate().take(close).skip(open + 1) {
            match byte {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                b',' if depth == 0 => {
                    self.expand(range.start + start..range.start + index, &prefix, imports);
                    start = index + 1;
                }
                _ => {}
            }
        }
        self.expand(range.start + start..range.start + close, &prefix, imports);
    }
}

/// The bracket that closes the one at `open`.
fn closing(code: &[u8], open: usize) -> Option<usize> {
    let (opening, closing) = match code[open] {
        b'{' => (b'{', b'}'),
        b'[' => (b'[', b']'),
        other => panic!("`{}` is not a bracket", char::from(other)),
    };
    let mut depth = 0_usize;
    for (index, &byte) in code.iter().enumerate().skip(open) {
        if byte == opening {
            depth += 1;
        } else if byte == closing {
            depth -= 1;
            if depth == 0 {
                return Some(index);
            }
        }
    }
    None
}

/// The lexer: scans the source once and overwrites what is not code.
struct Masking {
    code: Vec<u8>,
    literals: Vec<Literal>,
    at: usize,
}

impl Masking {
    fn run(&mut self, source: &str) {
        while self.at < source.len() {
            let rest = &source.as_bytes()[self.at..];
            if rest.starts_with(b"//") {
                let length = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
                self.fill(length, b' ');
            } else if rest.starts_with(b"/*") {
                self.fill(block_comment_length(rest), b' ');
            } else if let Some(hashes) = self.raw_string_hashes(rest) {
                self.raw_string(source, hashes);
            } else if rest[0] == b'"' {
                self.string(source, 1, 1, quoted_length(&rest[1..], b'"'));
            } else if let Some(length) = character_length(rest) {
                self.at += 1;
                self.fill(length, INSIDE);
                self.at += 1;
            } else {
                self.at += 1;
            }
        }
    }

    fn fill(&mut self, length: usize, filler: u8) {
        let end = (self.at + length).min(self.code.len());
        for byte in &mut self.code[self.at..end] {
            if *byte != b'\n' {
                *byte = filler;
            }
        }
        self.at = end;
    }

    fn string(&mut self, source: &str, opening: usize, closing: usize, length: usize) {
        self.at += opening;
        let text = source[self.at..self.at + length].to_owned();
        self.literals.push(Literal { offset: self.at, text });
        self.fill(length, INSIDE);
        self.at += closing;
    }

    /// `Some(2)` where `r##"` starts; raw identifiers such as `r#type` are not strings.
    fn raw_string_hashes(&self, rest: &[u8]) -> Option<usize> {
        if self.at > 0 && is_word(self.code[self.at - 1]) {
            return None;
        }
        let prefix =
            [&b"br"[..], b"cr", b"r"].into_iter().find(|prefix| rest.starts_with(prefix))?;
        let tail = &rest[prefix.len()..];
        let hashes = tail.iter().take_while(|&&byte| byte == b'#').count();
        (tail.get(hashes) == Some(&b'"')).then_some(hashes)
    }

    fn raw_string(&mut self, source: &str, hashes: usize) {
        let rest = &source[self.at..];
        let opening = 1 + rest.find('"').expect("a raw string has an opening quote");
        let end = format!("\"{}", "#".repeat(hashes));
        let length = rest[opening..].find(&end).unwrap_or(rest.len() - opening);
        self.string(source, opening, end.len(), length);
    }
}

fn block_comment_length(rest: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut index = 0;
    while index < rest.len() {
        if rest[index..].starts_with(b"/*") {
            depth += 1;
            index += 2;
        } else if rest[index..].starts_with(b"*/") {
            depth -= 1;
            index += 2;
            if depth == 0 {
                return index;
            }
        } else {
            index += 1;
        }
    }
    rest.len()
}

/// How many bytes there are before the closing quote, escapes skipped.
fn quoted_length(rest: &[u8], quote: u8) -> usize {
    let mut index = 0;
    while index < rest.len() && rest[index] != quote {
        index += if rest[index] == b'\\' { 2 } else { 1 };
    }
    index.min(rest.len())
}

/// The length of the inside of a character literal; none for a lifetime.
fn character_length(rest: &[u8]) -> Option<usize> {
    let tail = rest.strip_prefix(b"'")?;
    if tail.first() == Some(&b'\\') {
        return Some(quoted_length(tail, b'\''));
    }
    let width = tail.iter().skip(1).take_while(|&&byte| byte & 0xC0 == 0x80).count() + 1;
    (tail.get(width) == Some(&b'\'')).then_some(width)
}

#[test]
fn masking_keeps_code_and_positions() {
    let source =
        "let a = \"x // y\"; // z\nlet b = r#\"q\"w\"#; /* m /* n */ o */ f('\"', '\\'', 'é');\n";
    let masked = Masked::of(source);
    assert_eq!(masked.code.len(), source.len());
    let code = masked.code.replace('\u{1}', ".");
    let expected = [
        "let a = \"......\";     ",
        "let b = r#\"...\"#;                   f('.', '..', '..');",
        "",
    ];
    assert_eq!(code.split('\n').collect::<Vec<_>>(), expected);
    let texts: Vec<&str> = masked.literals.iter().map(|literal| literal.text.as_str()).collect();
    assert_eq!(texts, ["x // y", "q\"w"]);
}

#[test]
fn lifetimes_and_raw_names_are_code() {
    let source = "fn r#type<'a>(value: &'a str, label: &'static str) -> &'a str { value }";
    assert_eq!(Masked::of(source).code, source);
}

#[test]
fn functions_are_measured_from_signature_to_brace() {
    let source =
        "trait T {\n    fn a(&self, b: [u8; 4]);\n    fn c<X>(x: fn(X)) {\n        d();\n    }\n}";
    let functions = Masked::of(source).functions();
    assert_eq!(functions.len(), 1);
    assert_eq!((functions[0].name.as_str(), functions[0].line, functions[0].lines), ("c", 3, 3));
}

#[test]
fn imports_are_written_out() {
    let source =
        "use std::{\n    collections::{BTreeMap, HashMap as Map},\n    fs,\n};\nuse a::b;\n";
    let imports = Masked::of(source).imports();
    let found: Vec<(usize, &str)> =
        imports.iter().map(|import| (import.line, import.path.as_str())).collect();
    let expected = [
        (2, "std::collections::BTreeMap"),
        (2, "std::collections::HashMap"),
        (3, "std::fs"),
        (5, "a::b"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn words_are_matched_completely() {
    assert_eq!(words("rand random operand rand", "rand").collect::<Vec<_>>(), [0, 20]);
    assert_eq!(words("x.await", ".await").collect::<Vec<_>>(), [1]);
}
