//! Violations, and their messages.
//!
//! A failure is only recorded while a check runs, since most are dropped again: those of optional
//! branches. Its message is built once, at the end.

use std::fmt::{self, Display, Formatter, Write};

use serde_json::{Number, Value};

use crate::keyword::Types;
use crate::{REASON_CHARACTERS_MAX, Violation};

/// Maximum number of options of an `enum` that are listed completely.
const OPTIONS_SHOWN: usize = 3;

/// The first keyword that a value does not satisfy.
pub(crate) struct Failure<'a> {
    pub(crate) reason: Reason<'a>,
    pub(crate) instance: &'a Value,
    /// The path to the instance, innermost step first.
    pub(crate) steps: Vec<Step<'a>>,
}

/// A step from a value to one inside it.
#[derive(Clone, Copy)]
pub(crate) enum Step<'a> {
    Field(&'a str),
    Element(usize),
}

/// Why a value is refused.
pub(crate) enum Reason<'a> {
    Types(Types),
    Const(&'a Value),
    Enum(&'a [Value]),
    Minimum(&'a Number),
    Maximum(&'a Number),
    ExclusiveMinimum(&'a Number),
    ExclusiveMaximum(&'a Number),
    MultipleOf(&'a Number),
    MinLength(u64),
    MaxLength(u64),
    MinItems(u64),
    MaxItems(u64),
    MinProperties(u64),
    MaxProperties(u64),
    Required(&'a str),
    Pattern(&'a str),
    Format(&'static str),
    ContentEncoding(&'static str),
    ContentJson,
    UniqueItems,
    AdditionalProperties(Vec<&'a str>),
    AdditionalItems(&'a [Value]),
    NothingContained,
    MinContains(u64),
    MaxContains(u64),
    AnyOf,
    OneOfNone,
    OneOfMany,
    Not(&'a str),
    Never,
    UnevaluatedProperties(Vec<&'a str>),
    UnevaluatedItems(Vec<&'a Value>),
    /// About the name of a field, whose message was built at once.
    Name(String),
}

impl<'a> Failure<'a> {
    /// A failure of this instance itself.
    #[expect(clippy::unnecessary_box_returns, reason = "a result of one word keeps frames small")]
    pub(crate) fn new(reason: Reason<'a>, instance: &'a Value) -> Box<Failure<'a>> {
        Box::new(Failure { reason, instance, steps: Vec::new() })
    }

    /// The same, seen from the value that contains the instance.
    #[expect(clippy::unnecessary_box_returns, reason = "a result of one word keeps frames small")]
    pub(crate) fn inside(mut self: Box<Self>, step: Step<'a>) -> Box<Failure<'a>> {
        self.steps.push(step);
        self
    }

    /// Its message.
    pub(crate) fn violation(&self) -> Violation {
        Violation { path: self.path(), reason: self.text() }
    }

    fn path(&self) -> String {
        let mut path = Bounded::new();
        for step in self.steps.iter().rev() {
            // The error means that the rest would be truncated anyway.
            let _ = match step {
                Step::Field(name) => write!(path, "/{}", escaped(name)),
                Step::Element(at) => write!(path, "/{at}"),
            };
        }
        shortened(&path.0)
    }

    /// The reason, which repeats the value unless that is too long.
    pub(crate) fn text(&self) -> String {
        bounded(&Worded { failure: self, masked: false })
            .unwrap_or_else(|| begun(&Worded { failure: self, masked: true }))
    }
}

/// A name as a step of a JSON Pointer.
pub(crate) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Truncates a text that repeats the input, which may be large, to a readable length.
pub fn shortened(text: &str) -> String {
    match text.char_indices().nth(REASON_CHARACTERS_MAX) {
        None => text.to_owned(),
        Some(_) => text.chars().take(REASON_CHARACTERS_MAX - 1).chain(['…']).collect(),
    }
}

/// The complete text, unless it is too long for a reason.
fn bounded(text: &dyn Display) -> Option<String> {
    let mut buffer = Bounded::new();
    write!(buffer, "{text}").ok().map(|()| buffer.0)
}

/// The beginning of a text, as much as fits in a reason.
pub(crate) fn begun(text: &dyn Display) -> String {
    let mut buffer = Bounded::new();
    let _ = write!(buffer, "{text}");
    shortened(&buffer.0)
}

/// Accepts one character more than a reason may have, and ignores the rest.
struct Bounded(String, usize);

impl Bounded {
    fn new() -> Bounded {
        Bounded(String::new(), 0)
    }
}

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            if self.1 > REASON_CHARACTERS_MAX {
                return Err(fmt::Error);
            }
            self.0.push(character);
            self.1 += 1;
        }
        if self.1 > REASON_CHARACTERS_MAX { Err(fmt::Error) } else { Ok(()) }
    }
}

/// A failure in words, with the value itself or a placeholder.
struct Worded<'a, 'b> {
    failure: &'b Failure<'a>,
    masked: bool,
}

impl Worded<'_, '_> {
    fn value(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if self.masked { out.write_str("value") } else { self.failure.instance.fmt(out) }
    }

    fn sentence(&self, out: &mut Formatter<'_>, rest: fmt::Arguments<'_>) -> fmt::Result {
        self.value(out)?;
        out.write_str(" ")?;
        out.write_fmt(rest)
    }

    fn size(
        &self,
        out: &mut Formatter<'_>,
        words: &str,
        count: u64,
        units: [&str; 2],
    ) -> fmt::Result {
        let unit = units[usize::from(count != 1)];
        self.sentence(out, format_args!("{words} {count} {unit}"))
    }

    fn items(&self, out: &mut Formatter<'_>, what: &str, items: &[&Value]) -> fmt::Result {
        if self.masked {
            let plural = if items.len() == 1 { "" } else { "s" };
            return write!(out, "{what} are not allowed ({} item{plural})", items.len());
        }
        unexpected(out, what, items)
    }

    fn options(&self, out: &mut Formatter<'_>, options: &[Value]) -> fmt::Result {
        self.sentence(out, format_args!("is not one of "))?;
        let all = options.len() <= OPTIONS_SHOWN;
        let shown = if all { options.len() } else { OPTIONS_SHOWN - 1 };
        for (at, option) in options[..shown].iter().enumerate() {
            let before = match at {
                0 => "",
                _ if all && at == shown - 1 => " or ",
                _ => ", ",
            };
            write!(out, "{before}{option}")?;
        }
        if all { Ok(()) } else { write!(out, " or {} other candidates", options.len() - shown) }
    }

    fn types(&self, out: &mut Formatter<'_>, types: Types) -> fmt::Result {
        let names: Vec<_> = types.names().map(|name| format!("\"{name}\"")).collect();
        let plural = if names.len() == 1 { "" } else { "s" };
        self.sentence(out, format_args!("is not of type{plural} {}", names.join(", ")))
    }

    fn numeric(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let (words, limit) = match &self.failure.reason {
            Reason::Minimum(limit) => ("is less than the minimum of", limit),
            Reason::Maximum(limit) => ("is greater than the maximum of", limit),
            Reason::ExclusiveMinimum(limit) => ("is less than or equal to the minimum of", limit),
            Reason::ExclusiveMaximum(limit) => {
                ("is greater than or equal to the maximum of", limit)
            }
            Reason::MultipleOf(limit) => ("is not a multiple of", limit),
            _ => return self.sized(out),
        };
        self.sentence(out, format_args!("{words} {limit}"))
    }

    fn sized(&self, out: &mut Formatter<'_>) -> fmt::Result {
        const CHARACTERS: [&str; 2] = ["character", "characters"];
        const ITEMS: [&str; 2] = ["item", "items"];
        const PROPERTIES: [&str; 2] = ["property", "properties"];
        const MATCHES: [&str; 2] =
            ["item that is valid under 'contains'", "items that are valid under 'contains'"];
        match &self.failure.reason {
            Reason::MinLength(limit) => self.size(out, "is shorter than", *limit, CHARACTERS),
            Reason::MaxLength(limit) => self.size(out, "is longer than", *limit, CHARACTERS),
            Reason::MinItems(limit) => self.size(out, "has less than", *limit, ITEMS),
            Reason::MaxItems(limit) => self.size(out, "has more than", *limit, ITEMS),
            Reason::MinProperties(limit) => self.size(out, "has less than", *limit, PROPERTIES),
            Reason::MaxProperties(limit) => self.size(out, "has more than", *limit, PROPERTIES),
            Reason::MinContains(limit) => self.size(out, "has less than", *limit, MATCHES),
            Reason::MaxContains(limit) => self.size(out, "has more than", *limit, MATCHES),
            _ => self.textual(out),
        }
    }

    fn textual(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match &self.failure.reason {
            Reason::Pattern(source) => {
                self.sentence(out, format_args!("does not match \"{source}\""))
            }
            Reason::Format(name) => self.sentence(out, format_args!("is not a \"{name}\"")),
            Reason::ContentEncoding(name) => self
                .sentence(out, format_args!("is not compliant with \"{name}\" content encoding")),
            Reason::ContentJson => self.sentence(
                out,
                format_args!("is not compliant with \"application/json\" media type"),
            ),
            Reason::UniqueItems => self.sentence(out, format_args!("has non-unique elements")),
            _ => self.branched(out),
        }
    }

    fn branched(&self, out: &mut Formatter<'_>) -> fmt::Result {
        const NONE: &str = "is not valid under any of the schemas listed in the";
        const MANY: &str = "is valid under more than one of the schemas listed in the";
        match &self.failure.reason {
            Reason::AnyOf => self.sentence(out, format_args!("{NONE} 'anyOf' keyword")),
            Reason::OneOfNone => self.sentence(out, format_args!("{NONE} 'oneOf' keyword")),
            Reason::OneOfMany => self.sentence(out, format_args!("{MANY} 'oneOf' keyword")),
            _ => Ok(()),
        }
    }
}

impl Display for Worded<'_, '_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match &self.failure.reason {
            Reason::Types(types) => self.types(out, *types),
            Reason::Const(expected) => write!(out, "{expected} was expected"),
            Reason::Enum(options) => self.options(out, options),
            Reason::Required(name) => write!(out, "{} is a required property", Value::from(*name)),
            Reason::AdditionalProperties(names) => unexpected(out, "Additional properties", names),
            Reason::UnevaluatedProperties(names) => {
                unexpected(out, "Unevaluated properties", names)
            }
            Reason::AdditionalItems(items) => {
                self.items(out, "Additional items", &items.iter().collect::<Vec<_>>())
            }
            Reason::UnevaluatedItems(items) => self.items(out, "Unevaluated items", items),
            Reason::NothingContained => {
                out.write_str("None of ")?;
                self.sentence(out, format_args!("are valid under the given schema"))
            }
            Reason::Not(source) => {
                write!(out, "{source} is not allowed for ")?;
                self.value(out)
            }
            Reason::Never => {
                out.write_str("False schema does not allow ")?;
                self.value(out)
            }
            Reason::Name(text) => out.write_str(text),
            _ => self.numeric(out),
        }
    }
}

/// A list of unexpected names.
fn unexpected(out: &mut Formatter<'_>, what: &str, names: &[impl Display]) -> fmt::Result {
    write!(out, "{what} are not allowed (")?;
    for (at, name) in names.iter().enumerate() {
        write!(out, "{}'{name}'", if at == 0 { "" } else { ", " })?;
    }
    out.write_str(if names.len() == 1 { " was unexpected)" } else { " were unexpected)" })
}
