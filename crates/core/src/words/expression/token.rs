//! The tokenizer.

use super::ExpressionError;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Lexeme {
    Integer(i128),
    Double(f64),
    Text(String),
    /// A name or a keyword.
    Name(String),
    Sign(&'static str),
    End,
}

/// Longer ones before their prefixes.
const SIGNS: [&str; 24] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "+", "-", "*", "/", "%", "(", ")", "[", "]",
    ".", ",", "?", ":", "{", "}",
];

pub(super) fn fault<T>(offset: usize, reason: impl Into<String>) -> Result<T, ExpressionError> {
    Err(ExpressionError { offset, reason: reason.into() })
}

/// Reads tokens one after the other.
pub(super) struct Lexer<'a> {
    source: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self { source, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    /// Takes characters while a predicate holds.
    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|sign| !fits(sign)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn skip_blanks_and_comments(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if !self.rest().starts_with("//") {
                return;
            }
            self.take_while(|sign| sign != '\n');
        }
    }

    /// The next token, and its position.
    pub(super) fn next(&mut self) -> Result<(usize, Lexeme), ExpressionError> {
        self.skip_blanks_and_comments();
        let start = self.at;
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok((start, Lexeme::End)) };
        let is_fraction =
            rest.starts_with('.') && rest[1..].starts_with(|c: char| c.is_ascii_digit());
        let token = if first.is_ascii_digit() || is_fraction {
            self.number(start)?
        } else if matches!(first, '"' | '\'') {
            self.text(start, first, false)?
        } else if first == 'r' && rest[1..].starts_with(['"', '\'']) {
            self.at += 1;
            let quote = if rest[1..].starts_with('"') { '"' } else { '\'' };
            self.text(start, quote, true)?
        } else if first.is_ascii_alphabetic() || first == '_' {
            let name = self.take_while(|sign| sign.is_ascii_alphanumeric() || sign == '_');
            Lexeme::Name(name.to_owned())
        } else if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            self.at += sign.len();
            Lexeme::Sign(sign)
        } else {
            return fault(start, format!("`{}` means nothing here", first.escape_default()));
        };
        Ok((start, token))
    }

    fn number(&mut self, start: usize) -> Result<Lexeme, ExpressionError> {
        let too_large = || fault(start, "the number is too large");
        if self.rest().starts_with("0x") {
            self.at += 2;
            let digits = self.take_while(|sign| sign.is_ascii_hexdigit());
            if digits.is_empty() {
                return fault(start, "`0x` needs digits");
            }
            return match u64::from_str_radix(digits, 16) {
                Ok(number) => Ok(Lexeme::Integer(number.into())),
                Err(_) => too_large(),
            };
        }
        self.take_while(|sign| sign.is_ascii_digit());
        let mut is_double = false;
        let rest = self.rest();
        if rest.starts_with('.') && rest[1..].starts_with(|sign: char| sign.is_ascii_digit()) {
            is_double = true;
            self.at += 1;
            self.take_while(|sign| sign.is_ascii_digit());
        }
        if self.rest().starts_with(['e', 'E']) {
            is_double = true;
            self.at += 1;
            if self.rest().starts_with(['+', '-']) {
                self.at += 1;
            }
            if self.take_while(|sign| sign.is_ascii_digit()).is_empty() {
                return fault(self.at, "an exponent needs digits");
            }
        }
        if self.rest().starts_with(|sign: char| sign.is_ascii_alphanumeric() || sign == '_') {
            return fault(self.at, "a number must not go on with letters");
        }
        let digits = &self.source[start..self.at];
        if is_double {
            return match digits.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(Lexeme::Double(number)),
                Ok(_) | Err(_) => too_large(),
            };
        }
        match digits.parse::<u64>() {
            Ok(number) => Ok(Lexeme::Integer(number.into())),
            Err(_) => too_large(),
        }
    }

    fn text(&mut self, start: usize, quote: char, is_raw: bool) -> Result<Lexeme, ExpressionError> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let at = self.at;
            let Some(sign) = self.rest().chars().next() else {
                return fault(start, "the text does not end");
            };
            self.at += sign.len_utf8();
            match sign {
                '\n' | '\r' => return fault(start, "the text does not end on its line"),
                '\\' if !is_raw => text.push(self.escaped(at)?),
                sign if sign == quote => return Ok(Lexeme::Text(text)),
                sign => text.push(sign),
            }
        }
    }

    /// The character of an escape.
    fn escaped(&mut self, at: usize) -> Result<char, ExpressionError> {
        let sign = self.rest().chars().next();
        self.at += sign.map_or(0, char::len_utf8);
        match sign {
            Some('n') => Ok('\n'),
            Some('r') => Ok('\r'),
            Some('t') => Ok('\t'),
            Some(sign @ ('\\' | '"' | '\'')) => Ok(sign),
            Some('u') => {
                let digits = self.rest().get(..4).unwrap_or_default();
                let is_hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
                let code = u32::from_str_radix(digits, 16).ok().filter(|_| is_hexadecimal);
                let Some(sign) = code.and_then(char::from_u32) else {
                    return fault(at, "`\\u` needs four digits of a character");
                };
                self.at += 4;
                Ok(sign)
            }
            Some(_) | None => fault(at, "only \\n \\r \\t \\\\ \\\" \\' and \\u are known"),
        }
    }
}
