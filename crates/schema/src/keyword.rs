//! A compiled schema: parts that refer to each other by number.

use serde_json::{Number, Value};

use crate::content::Encoding;
use crate::format::Format;
use crate::leaf::{Multiple, Options};
use crate::regex::Pattern;

/// The number of a part in its schema.
pub(crate) type At = usize;

/// One part of a schema.
pub(crate) enum Node {
    /// `true` or `false`.
    Always(bool),
    /// Keywords that must all hold.
    Keywords(Vec<Keyword>),
    /// The same, with a final `unevaluatedProperties` or `unevaluatedItems`, which must know what
    /// the others have evaluated.
    Scope(Vec<Keyword>),
}

/// A keyword with its operand. Keywords are tried in the order of these variants: first those about
/// the value alone, then those about its contents, then those that apply other parts to the same
/// value, and last those that depend on all the others.
pub(crate) enum Keyword {
    /// `type`
    Type(Types),
    /// `const`
    Const(Value),
    /// `enum`
    Enum(Options),
    /// `minimum`
    Minimum(Number),
    /// `maximum`
    Maximum(Number),
    /// `exclusiveMinimum`
    ExclusiveMinimum(Number),
    /// `exclusiveMaximum`
    ExclusiveMaximum(Number),
    /// `multipleOf`
    MultipleOf(Multiple),
    /// `minLength`
    MinLength(u64),
    /// `maxLength`
    MaxLength(u64),
    /// `minItems`
    MinItems(u64),
    /// `maxItems`
    MaxItems(u64),
    /// `minProperties`
    MinProperties(u64),
    /// `maxProperties`
    MaxProperties(u64),
    /// `required`
    Required(Vec<String>),
    /// `dependentRequired`, and lists in `dependencies`
    DependentRequired(Vec<(String, Vec<String>)>),
    /// `pattern`
    Pattern(Box<Pattern>),
    /// `format`, where it is an assertion
    Format(Format),
    /// `contentEncoding`, where it is an assertion
    ContentEncoding(Encoding),
    /// `contentMediaType` of JSON, where it is an assertion, after the encoding if there is one
    ContentJson(Option<Encoding>),
    /// `uniqueItems`
    UniqueItems,
    /// `properties`, `patternProperties` and `additionalProperties`
    Properties(Properties),
    /// `propertyNames`
    PropertyNames(At),
    /// `prefixItems` and `items`, or in older drafts `items` and `additionalItems`
    Items(Items),
    /// `contains`, `minContains` and `maxContains`
    Contains(Contains),
    /// `dependentSchemas`, and schemas in `dependencies`
    DependentSchemas(Vec<(String, At)>),
    /// `allOf`
    AllOf(Vec<At>),
    /// `anyOf`
    AnyOf(Vec<At>),
    /// `oneOf`
    OneOf(Vec<At>),
    /// `not`, with the beginning of its text for the message
    Not(At, String),
    /// `if`, `then` and `else`
    If(At, Option<At>, Option<At>),
    /// `$ref`
    Ref(At),
    /// `unevaluatedProperties`
    UnevaluatedProperties(At),
    /// `unevaluatedItems`
    UnevaluatedItems(At),
}

/// Requirements on the fields of an object.
#[derive(Default)]
pub(crate) struct Properties {
    pub(crate) named: Vec<(String, At)>,
    pub(crate) patterns: Vec<(Pattern, At)>,
    pub(crate) additional: Option<At>,
}

/// Requirements on the elements of an array.
#[derive(Default)]
pub(crate) struct Items {
    pub(crate) prefix: Vec<At>,
    pub(crate) rest: Option<At>,
    /// Whether the rest is called `additionalItems`.
    pub(crate) rest_is_additional: bool,
}

/// How many elements must match.
pub(crate) struct Contains {
    pub(crate) part: At,
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    /// Whether matching elements count as evaluated.
    pub(crate) evaluates: bool,
}

/// The types of JSON Schema by their names, in the order in which messages list them.
pub(crate) const TYPES: [&str; 7] =
    ["null", "boolean", "integer", "number", "string", "array", "object"];

/// A set of [`TYPES`], one bit each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Types(u8);

impl Types {
    /// The types of a schema itself.
    pub(crate) const SCHEMA: Types = Types(1 << 1 | 1 << 6);

    /// The set of these names; `None` if one is not a type.
    pub(crate) fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<Types> {
        names.into_iter().try_fold(Types(0), |types, name| {
            let at = TYPES.iter().position(|known| *known == name)?;
            Some(Types(types.0 | 1 << at))
        })
    }

    /// The names in the set.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        (0..TYPES.len()).filter(move |at| self.0 & 1 << at != 0).map(|at| TYPES[at])
    }

    /// Whether a value is of one of the types.
    pub(crate) fn admit(self, value: &Value) -> bool {
        let bits = match value {
            Value::Null => 1,
            Value::Bool(_) => 1 << 1,
            Value::Number(number) if is_integer(number) => 1 << 2 | 1 << 3,
            Value::Number(_) => 1 << 3,
            Value::String(_) => 1 << 4,
            Value::Array(_) => 1 << 5,
            Value::Object(_) => 1 << 6,
        };
        self.0 & bits != 0
    }
}

/// Whether a number is an integer, however it is written.
pub(crate) fn is_integer(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|double| double.fract() == 0.0)
}
