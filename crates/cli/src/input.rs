//! Command-line values: JSON and text from arguments, files and stdin; durations; words.

use std::convert::Infallible;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::str::FromStr;

use baton_core::Json;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::de::{DeserializeOwned, Deserializer, Error, Visitor};
use serde::forward_to_deserialize_any;

use crate::failure::{Failure, Fault};
use crate::output::plain;
use crate::stdin::Stdin;

/// More input than this is a mistake: no request may be so large.
const BYTES_MAX: u64 = 64 << 20;
/// What to do if there is no such file, where text is usual: it may begin with an agent's name.
const MENTION: &str =
    "name a file that exists, or write text that begins with `@` as a JSON string";

/// The source of a value: the command line, stdin for `-`, or a file for `@FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Here(String),
    Stdin,
    File(PathBuf),
}

impl FromStr for Source {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text.strip_prefix('@') {
            Some(path) => Self::File(PathBuf::from(path)),
            None if text == "-" => Self::Stdin,
            None => Self::Here(text.to_owned()),
        })
    }
}

impl Source {
    /// Reads the raw bytes.
    pub(crate) fn read(&self) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Here(text) => Ok(text.clone().into_bytes()),
            Self::Stdin => self.read_from(Stdin::open()),
            Self::File(path) => {
                self.read_from(File::open(path).map_err(|error| self.unreadable(&error))?)
            }
        }
    }

    fn read_from(&self, from: impl Read) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        let read = from.take(BYTES_MAX + 1).read_to_end(&mut bytes);
        let read = read.map_err(|error| self.unreadable(&error))?;
        if read as u64 > BYTES_MAX {
            return Err(Fault::TooLong { given: self.to_string(), bytes_max: BYTES_MAX }.into());
        }
        Ok(bytes)
    }

    fn unreadable(&self, error: &std::io::Error) -> Failure {
        Fault::Unreadable { given: self.to_string(), reason: error.to_string() }.into()
    }

    /// Parses a JSON value.
    pub(crate) fn json(&self) -> Result<Json, Failure> {
        self.parsed(false)
    }

    /// A JSON value; text if it is not JSON and does not look like JSON. A body, note or result is
    /// usually text, and quotes for the shell and for JSON are easily forgotten.
    pub(crate) fn json_or_text(&self) -> Result<Json, Failure> {
        let parsed = self.json();
        let Err(refused) = parsed else { return parsed };
        match self {
            Self::Here(text) if !looks_like_json(text) => self.string(),
            Self::File(path) if !path.exists() => Err(refused.hinting(MENTION)),
            Self::Here(_) | Self::Stdin | Self::File(_) => Err(refused),
        }
    }

    /// A JSON value, or text if the command has the option `--string`.
    pub(crate) fn json_or_string(&self, is_string: bool) -> Result<Json, Failure> {
        if is_string { self.string() } else { self.parsed(true) }
    }

    fn parsed(&self, has_string_option: bool) -> Result<Json, Failure> {
        let given = self.to_string();
        let refuse = |reason| Fault::NotJson { given, reason, has_string_option };
        Ok(Json::parse(self.read()?).map_err(refuse)?)
    }

    /// The text, as a JSON string.
    pub(crate) fn string(&self) -> Result<Json, Failure> {
        let text = String::from_utf8(self.read()?).map_err(|error| Fault::Unreadable {
            given: self.to_string(),
            reason: error.to_string(),
        })?;
        let given = self.to_string();
        let refuse = |reason| Fault::NotJson { given, reason, has_string_option: false };
        Ok(Json::of(&text).map_err(refuse)?)
    }

    /// Parses a JSON value of a given type.
    pub(crate) fn to<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        self.form(&self.json()?)
    }

    /// Converts a value from this source to a given type.
    pub(crate) fn form<T: DeserializeOwned>(&self, json: &Json) -> Result<T, Failure> {
        let refuse = |reason| Fault::Misshapen { given: self.to_string(), reason };
        Ok(json.to().map_err(refuse)?)
    }
}

/// Whether a text was probably meant as JSON: `[1, 2` was, `[urgent] call back` was not.
fn looks_like_json(text: &str) -> bool {
    let text = text.trim_start();
    let Some(inner) = text.strip_prefix('[') else { return text.starts_with(['{', '"']) };
    let inner = inner.trim_start();
    let is_value = |sign: char| sign.is_ascii_digit() || "{[\"-]".contains(sign);
    inner.is_empty()
        || inner.starts_with(is_value)
        || ["true", "false", "null"].iter().any(|word| inner.starts_with(word))
}

impl std::fmt::Display for Source {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Here(text) => {
                let shown: String = text.chars().take(40).collect();
                let cut = if shown.len() < text.len() { "…" } else { "" };
                write!(formatter, "`{}{cut}`", plain(&shown))
            }
            Self::Stdin => formatter.write_str("stdin"),
            Self::File(path) => write!(formatter, "`{}`", path.display()),
        }
    }
}

/// Parses a duration such as `250ms`, `30s` or `1h30m`, in milliseconds.
pub(crate) fn milliseconds(text: &str) -> Result<u64, String> {
    let form =
        || "expected a number and a unit (ms, s, m, h or d), such as 30s or 1h30m".to_owned();
    let mut rest = text;
    let mut sum: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|sign: char| !sign.is_ascii_digit()).ok_or_else(form)?;
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|sign: char| sign.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let unit_ms = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(form()),
        };
        let number: u64 = number.parse().map_err(|_| form())?;
        let part =
            number.checked_mul(unit_ms).ok_or_else(|| "the duration is too long".to_owned())?;
        sum = sum.checked_add(part).ok_or_else(|| "the duration is too long".to_owned())?;
        rest = after;
    }
    if text.is_empty() { Err(form()) } else { Ok(sum) }
}

/// Parses a word of an enumeration by its name on the wire, such as a status. The help and the
/// completion list all of them.
pub(crate) fn words<T>() -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    let mut names = VariantNames::default();
    // It fails after the names were noted.
    drop(T::deserialize(&mut names));
    PossibleValuesParser::new(names.0).try_map(|word| serde_json::from_value::<T>(word.into()))
}

/// Notes the names of an enumeration that is to be read, and has no value for it.
#[derive(Default)]
struct VariantNames(&'static [&'static str]);

impl<'de> Deserializer<'de> for &mut VariantNames {
    type Error = serde::de::value::Error;

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Self::Error> {
        self.0 = variants;
        Err(Self::Error::custom("only the names were asked for"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(Self::Error::custom("not an enumeration"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use baton_core::task::Verdict;

    use super::*;

    #[test]
    fn durations_are_understood() {
        let cases = [("250ms", 250), ("30s", 30_000), ("1h30m", 5_400_000), ("2d", 172_800_000)];
        for (text, expected) in cases {
            assert_eq!(milliseconds(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn everything_else_is_rejected() {
        for text in ["", "30", "s", "-1s", "1.5s", "1 s", "1y", "99999999999999999999s", "1sm"] {
            assert!(milliseconds(text).is_err(), "{text:?}");
        }
        assert_eq!(milliseconds("213503982335d"), Err("the duration is too long".to_owned()));
    }

    #[test]
    fn text_is_text_unless_it_looks_like_json() {
        let read = |text: &str| Source::Here(text.to_owned()).json_or_text();
        for (text, expected) in [
            ("hello", r#""hello""#),
            ("it's done, \"really\"", r#""it's done, \"really\"""#),
            ("42", "42"),
            ("true", "true"),
            (r#"{"step": 1}"#, r#"{"step": 1}"#),
            (r#""quoted""#, r#""quoted""#),
            ("[urgent] call back", r#""[urgent] call back""#),
            ("[1, 2]", "[1, 2]"),
        ] {
            assert_eq!(read(text).unwrap().as_str(), expected, "{text}");
        }
        for text in ["{step: 1}", "[1,", "[", "[true or", "[ {a", "\"half"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_value_is_shown_as_it_was_typed() {
        let shown = |text: &str| Source::Here(text.to_owned()).to_string();
        assert_eq!(shown(r#"o'x {"a": 1"#), r#"`o'x {"a": 1`"#);
        assert_eq!(shown("a\nb\u{1b}"), "`a b\\u{1b}`");
    }

    #[test]
    fn every_word_of_an_enumeration_is_listed() {
        let parser = words::<Verdict>();
        let names: Vec<String> =
            parser.possible_values().unwrap().map(|value| value.get_name().to_owned()).collect();
        assert_eq!(names, ["retry", "complete", "fail"]);
        let command = clap::Command::new("x").arg(clap::Arg::new("it").value_parser(parser));
        let parsed = command.try_get_matches_from(["x", "fail"]).unwrap();
        assert_eq!(parsed.get_one::<Verdict>("it"), Some(&Verdict::Fail));
    }

    #[test]
    fn a_source_is_recognised_by_its_first_character() {
        let source = |text: &str| text.parse::<Source>().unwrap_or_else(|never| match never {});
        assert_eq!(source("-"), Source::Stdin);
        assert_eq!(source("-5"), Source::Here("-5".to_owned()));
        assert_eq!(source("@a/b"), Source::File(PathBuf::from("a/b")));
    }
}
