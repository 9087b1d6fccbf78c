//! Regular expressions of ECMA-262, as used by JSON Schema, for an engine with linear time.
//!
//! Syntax with another meaning in the engine is rewritten; expressions that cannot be matched in
//! linear time are refused.
//!
//! | ECMA-262              | rewritten as                                                     |
//! |-----------------------|------------------------------------------------------------------|
//! | `\d` `\w` `\s`        | their classes: ASCII, ASCII, and the white space of ECMA-262     |
//! | `\b` `\B`             | the ASCII word boundary                                          |
//! | `\cX` `\uXXXX` `\0`   | the character                                                    |
//! | `\/` `\-` `\<`        | the character: any except letters and digits may be escaped      |
//! | `(` `(?<name>`        | a non-capturing group: nothing refers to it                      |
//! | `[]` `[^]`            | nothing, anything                                                |
//! | `[[a&&b]`             | plain characters: classes have no nesting and no operators       |
//! | `{`                   | itself, where it does not start a repetition                     |
//!
//! Syntax of the engine that ECMA-262 lacks is accepted too: `\A`, `\z`, `(?i)` and the other
//! flags, `(?P<name>`. Schemas with them may be in logs.
//!
//! `.` excludes the line feed alone, where ECMA-262 excludes four characters.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

use crate::REGEX_BYTES_MAX;
use crate::effort::Effort;
use crate::regex_size::estimate;

const DIGIT: &str = "0-9";
const WORD: &str = "A-Za-z0-9_";
const SPACE: &str = concat!(
    r"\x{9}-\x{d}\x{20}\x{a0}\x{1680}\x{2000}-\x{200a}",
    r"\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}"
);

/// A regular expression. Its automaton is built when it is used, see `automata`.
pub(crate) struct Pattern {
    source: String,
    bytes: usize,
}

impl Pattern {
    /// `None` if it is malformed, or needs more than linear time.
    pub(crate) fn new(source: &str) -> Option<Pattern> {
        let bytes = estimate(&translated(source)?)?;
        Some(Pattern { source: source.to_owned(), bytes })
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// About how much memory its automaton takes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether it matches anywhere in the text.
    pub(crate) fn matches(&self, text: &str, effort: &Effort) -> bool {
        effort.accepts(self, text)
    }
}

/// Whether a text is a regular expression that can be used here.
pub(crate) fn is_usable(source: &str) -> bool {
    Pattern::new(source).is_some_and(|pattern| pattern.bytes <= REGEX_BYTES_MAX)
}

/// The same expression in the syntax of the engine.
pub(crate) fn translated(source: &str) -> Option<String> {
    let mut translation = Translation { rest: source.chars().peekable(), out: String::new() };
    while let Some(character) = translation.rest.next() {
        translation.character(character)?;
    }
    Some(translation.out)
}

struct Translation<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
}

/// One member of a class.
enum Atom {
    Character(char),
    /// Several characters, as the engine writes them inside a class.
    Class(String),
}

impl Translation<'_> {
    fn character(&mut self, character: char) -> Option<()> {
        match character {
            '\\' => self.escape(),
            '[' => self.class(),
            '(' => self.group(),
            '{' if !self.is_repetition() => {
                self.out.push_str("\\{");
                Some(())
            }
            ']' => {
                self.out.push_str("\\]");
                Some(())
            }
            _ => {
                self.out.push(character);
                Some(())
            }
        }
    }

    /// Whether `{` was followed by `n}`, `n,}` or `n,m}`.
    fn is_repetition(&self) -> bool {
        let rest: String = self.rest.clone().take_while(|character| *character != '}').collect();
        let closed = self.rest.clone().nth(rest.chars().count()) == Some('}');
        let (least, most) = rest.split_once(',').unwrap_or((&rest, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        closed && !least.is_empty() && digits(least) && digits(most)
    }

    fn group(&mut self) -> Option<()> {
        if self.rest.next_if_eq(&'?').is_none() {
            self.out.push_str("(?:");
            return Some(());
        }
        let kind = self.rest.next()?;
        self.group_after(kind)
    }

    /// Reads the group after `(?`.
    fn group_after(&mut self, kind: char) -> Option<()> {
        match kind {
            ':' => self.out.push_str("(?:"),
            '<' => {
                if matches!(self.rest.peek(), Some('=' | '!')) {
                    return None;
                }
                let name: String = self.rest.by_ref().take_while(|next| *next != '>').collect();
                if name.is_empty() {
                    return None;
                }
                self.out.push_str("(?:");
            }
            'P' => {
                let bracket = self.rest.next_if_eq(&'<')?;
                return self.group_after(bracket);
            }
            flag @ ('i' | 'm' | 's' | 'x' | 'u' | 'U' | 'R' | '-') => {
                self.out.push_str("(?");
                self.out.push(flag);
            }
            _ => return None,
        }
        Some(())
    }

    fn escape(&mut self) -> Option<()> {
        match self.rest.next()? {
            'b' => self.out.push_str(r"(?-u:\b)"),
            'B' => self.out.push_str(r"(?-u:\B)"),
            'A' => self.out.push_str(r"\A"),
            'z' => self.out.push_str(r"\z"),
            '1'..='9' | 'k' => return None,
            escaped => match self.escaped(escaped)? {
                Atom::Character(character) => push(&mut self.out, character),
                Atom::Class(class) => {
                    self.out.push('[');
                    self.out.push_str(&class);
                    self.out.push(']');
                }
            },
        }
        Some(())
    }

    /// The meaning of an escape that is the same inside and outside of a class.
    fn escaped(&mut self, escaped: char) -> Option<Atom> {
        let class = |inside: &str| Some(Atom::Class(inside.into()));
        let other = |inside: &str| Some(Atom::Class(format!("[^{inside}]")));
        match escaped {
            'd' => class(DIGIT),
            'D' => other(DIGIT),
            'w' => class(WORD),
            'W' => other(WORD),
            's' => class(SPACE),
            'S' => other(SPACE),
            'p' | 'P' => self.property(escaped),
            't' => Some(Atom::Character('\t')),
            'n' => Some(Atom::Character('\n')),
            'v' => Some(Atom::Character('\u{b}')),
            'f' => Some(Atom::Character('\u{c}')),
            'r' => Some(Atom::Character('\r')),
            '0' if !self.rest.peek().is_some_and(char::is_ascii_digit) => {
                Some(Atom::Character('\0'))
            }
            'c' => {
                let letter = self.rest.next().filter(char::is_ascii_alphabetic)?;
                Some(Atom::Character(char::from(u8::try_from(letter).ok()? % 32)))
            }
            'x' | 'u' if self.rest.peek() == Some(&'{') => self.braced(),
            'x' => self.hex(2).and_then(char::from_u32).map(Atom::Character),
            'u' => self.unit().map(Atom::Character),
            _ if escaped.is_alphanumeric() => None,
            _ => Some(Atom::Character(escaped)),
        }
    }

    fn property(&mut self, escaped: char) -> Option<Atom> {
        let mut text = format!("\\{escaped}");
        match self.rest.next()? {
            '{' => {
                text.push('{');
                text.extend(self.rest.by_ref().take_while(|next| *next != '}'));
                text.push('}');
            }
            letter => text.push(letter),
        }
        Some(Atom::Class(text))
    }

    fn braced(&mut self) -> Option<Atom> {
        self.rest.next();
        let digits: String = self.rest.by_ref().take_while(|next| *next != '}').collect();
        u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32).map(Atom::Character)
    }

    fn hex(&mut self, digits: usize) -> Option<u32> {
        (0..digits).try_fold(0, |value, _| Some(value * 16 + self.rest.next()?.to_digit(16)?))
    }

    /// Four digits, or twice four for a character beyond them.
    fn unit(&mut self) -> Option<char> {
        let first = self.hex(4)?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first);
        }
        if self.rest.next() != Some('\\') || self.rest.next() != Some('u') {
            return None;
        }
        let second = self.hex(4)?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
        char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + second)
    }

    fn class(&mut self) -> Option<()> {
        let negated = self.rest.next_if_eq(&'^').is_some();
        let mut inside = String::new();
        while let Some(from) = self.atom()? {
            let mut ahead = self.rest.clone();
            let is_range =
                ahead.next() == Some('-') && ahead.next().is_some_and(|next| next != ']');
            match from {
                Atom::Character(from) if is_range => {
                    self.rest.next();
                    match self.atom()?? {
                        Atom::Character(to) => {
                            push(&mut inside, from);
                            inside.push('-');
                            push(&mut inside, to);
                        }
                        // A class is not the bound of a range: the hyphen is literal.
                        Atom::Class(class) => {
                            push(&mut inside, from);
                            push(&mut inside, '-');
                            inside.push_str(&class);
                        }
                    }
                }
                Atom::Character(character) => push(&mut inside, character),
                Atom::Class(class) => {
                    inside.push_str(&class);
                    if is_range {
                        self.rest.next();
                        push(&mut inside, '-');
                    }
                }
            }
        }
        let all = r"[\x{0}-\x{10ffff}]";
        match (inside.is_empty(), negated) {
            (true, false) => self.out.push_str(r"[^\x{0}-\x{10ffff}]"),
            (true, true) => self.out.push_str(all),
            (false, _) => {
                self.out.push_str(if negated { "[^" } else { "[" });
                self.out.push_str(&inside);
                self.out.push(']');
            }
        }
        Some(())
    }

    /// The next member of a class: `Some(None)` at its end, `None` if there is no end.
    #[expect(clippy::option_option, reason = "malformed, ended, and a member are three answers")]
    fn atom(&mut self) -> Option<Option<Atom>> {
        match self.rest.next()? {
            ']' => Some(None),
            '\\' => match self.rest.next()? {
                'b' => Some(Some(Atom::Character('\u{8}'))),
                escaped => self.escaped(escaped).map(Some),
            },
            character => Some(Some(Atom::Character(character))),
        }
    }
}

/// Escapes a character so that it is literal inside and outside of a class.
fn push(out: &mut String, character: char) {
    if character.is_ascii_alphanumeric() || !character.is_ascii() {
        out.push(character);
    } else {
        // Writing to a string cannot fail.
        let _ = write!(out, "\\x{{{:x}}}", u32::from(character));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(source: &str, text: &str) -> bool {
        let pattern = Pattern::new(source).unwrap_or_else(|| panic!("{source}"));
        pattern.matches(text, &Effort::default())
    }

    #[test]
    fn differences_between_the_dialects_are_rewritten() {
        for (source, fits, not) in [
            (r"^\d$", "7", "\u{0966}"),
            (r"^\w$", "_", "é"),
            (r"^\W$", "é", "a"),
            (r"^\s$", "\u{feff}", "\u{85}"),
            (r"^[^\S]$", "\u{a0}", "a"),
            (r"\bc\b", "éc", "ac"),
            (r"^a\Bc$", "ac", "a c"),
            (r"^\cA\x41\u0042\u{43}\0$", "\u{1}ABC\0", "ABC"),
            (r"^\uD83D\uDE00$", "😀", "x"),
            (r"^\/\-\<\_\}$", "/-<_}", "/"),
            (r"^(?<a>x)(?<a>y)$", "xy", "x"),
            (r"^[^]$", "\n", ""),
            (r"^[]*$", "", "a"),
            (r"^[[a&&b~~c]+$", "[a&b~c", "]"),
            (r"^[a-z--b]$", "0", "{"),
            (r"^[\w--z]+$", "a-", "+"),
            (r"^[\b\-\]]+$", "\u{8}-]", "b"),
            (r"^{a}{2}$", "{a}}", "a"),
            (r"^a{2,}$", "aaa", "a"),
            (r"^x{,2}$", "x{,2}", "xx"),
            (r"^\p{L}+\P{L}$", "né1", "né"),
            (r"^[\p{Lu}0-9]+$", "É1", "é"),
            (r"^(?i:é)$", "É", "e"),
            (r"a$", "a", "a\n"),
            (r"\Aa\d\z", "a1", "a1\n"),
            (r"^(?i)a(?P<b>c)$", "AC", "a"),
        ] {
            assert!(matches(source, fits), "{source} {fits:?}");
            assert!(!matches(source, not), "{source} {not:?}");
        }
    }

    #[test]
    fn invalid_and_nonlinear_patterns_are_refused() {
        for source in [
            "(?=a)",
            "(?!a)",
            "(?<=a)b",
            "(?<!a)b",
            r"(a)\1",
            r"(?<a>x)\k<a>",
            "(",
            ")",
            "[a",
            r"\",
            r"\a",
            r"\Z",
            r"\c1",
            r"\uD83D",
            r"\u12",
            r"\x1",
            "[z-a]",
            "a{3,2}",
            "*a",
            r"\p{Nonsense}",
            r"\p{L}{99}",
            "((a{100}){100}){100}",
            "(?P=a)",
            "(?#a)",
        ] {
            assert!(!is_usable(source), "{source}");
        }
    }
}
