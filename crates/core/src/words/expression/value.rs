//! Values of expressions: borrowed from the variables, or small.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::{Number, Value};

/// A value. Large ones are borrowed from the variables.
#[derive(Clone, Debug)]
pub(crate) enum Operand<'a> {
    Null,
    Bool(bool),
    /// Within the range of signed or unsigned 64-bit integers.
    Integer(i128),
    Double(f64),
    Text(Cow<'a, str>),
    /// A list that was built here.
    List(Vec<Operand<'a>>),
    /// A list of JSON.
    Array(&'a [Value]),
    /// An object of JSON.
    Object(&'a serde_json::Map<String, Value>),
}

impl<'a> From<&'a Value> for Operand<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => Self::Bool(*flag),
            Value::Number(number) => Self::number(number),
            Value::String(text) => Self::Text(text.into()),
            Value::Array(elements) => Self::Array(elements),
            Value::Object(fields) => Self::Object(fields),
        }
    }
}

impl<'a> Operand<'a> {
    /// A text, or `null` if there is none.
    pub(crate) fn text(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, |text| Self::Text(text.into()))
    }

    fn number(number: &Number) -> Self {
        match number.as_i128() {
            Some(integer) => Self::Integer(integer),
            None => Self::Double(number.as_f64().unwrap_or(f64::NAN)),
        }
    }

    /// The name of its type, as part of a sentence.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Integer(_) | Self::Double(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) | Self::Array(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    /// The length of a list.
    pub(super) fn elements(&self) -> Option<usize> {
        match self {
            Self::List(elements) => Some(elements.len()),
            Self::Array(elements) => Some(elements.len()),
            Self::Null
            | Self::Bool(_)
            | Self::Integer(_)
            | Self::Double(_)
            | Self::Text(_)
            | Self::Object(_) => None,
        }
    }

    /// An element of a list.
    pub(super) fn element(&self, at: usize) -> Option<Operand<'a>> {
        match self {
            Self::List(elements) => elements.get(at).cloned(),
            Self::Array(elements) => elements.get(at).map(Into::into),
            Self::Null
            | Self::Bool(_)
            | Self::Integer(_)
            | Self::Double(_)
            | Self::Text(_)
            | Self::Object(_) => None,
        }
    }
}

/// Compares numbers by exact value; none where one is not a number at all.
pub(super) fn number_order(left: &Operand<'_>, right: &Operand<'_>) -> Option<Ordering> {
    match (left, right) {
        (Operand::Integer(left), Operand::Integer(right)) => Some(left.cmp(right)),
        (Operand::Double(left), Operand::Double(right)) => left.partial_cmp(right),
        (Operand::Integer(left), Operand::Double(right)) => integer_order(*left, *right),
        (Operand::Double(left), Operand::Integer(right)) => {
            integer_order(*right, *left).map(Ordering::reverse)
        }
        _ => None,
    }
}

fn integer_order(integer: i128, double: f64) -> Option<Ordering> {
    if double.is_nan() {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the cast saturates, and integers of 64 bits are far from where it would"
    )]
    let whole = double.trunc() as i128;
    let fraction = if double.is_finite() { double.fract() } else { 0.0 };
    Some(
        integer.cmp(&whole).then_with(|| 0.0_f64.partial_cmp(&fraction).unwrap_or(Ordering::Equal)),
    )
}

/// The number as a double, which may round it.
pub(super) fn rounded(operand: &Operand<'_>) -> Option<f64> {
    match operand {
        #[expect(clippy::cast_precision_loss, reason = "that is what a mixed calculation does")]
        Operand::Integer(integer) => Some(*integer as f64),
        Operand::Double(double) => Some(*double),
        _ => None,
    }
}
