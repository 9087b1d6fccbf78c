//! Keywords about one value alone.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use crate::effort::Effort;
use crate::keyword::Keyword;
use crate::message::Reason;
use crate::order::{all_differ, number_order, value_order};

/// Why a value does not satisfy a keyword of this kind. Every value satisfies those of other kinds.
pub(crate) fn failed<'a>(
    keyword: &'a Keyword,
    instance: &'a Value,
    effort: &Effort,
) -> Option<Reason<'a>> {
    match keyword {
        Keyword::Type(types) => (!types.admit(instance)).then_some(Reason::Types(*types)),
        Keyword::Const(expected) => {
            value_order(expected, instance).is_ne().then_some(Reason::Const(expected))
        }
        Keyword::Enum(options) => {
            (!options.contains(instance)).then_some(Reason::Enum(options.as_written()))
        }
        _ => match instance {
            Value::Number(number) => number_failed(keyword, number),
            Value::String(text) => string_failed(keyword, text, effort),
            Value::Array(elements) => array_failed(keyword, elements),
            Value::Object(fields) => object_failed(keyword, fields),
            Value::Null | Value::Bool(_) => None,
        },
    }
}

fn number_failed<'a>(keyword: &'a Keyword, number: &Number) -> Option<Reason<'a>> {
    let order = |limit| number_order(number, limit);
    let (satisfied, reason) = match keyword {
        Keyword::Minimum(limit) => (order(limit).is_ge(), Reason::Minimum(limit)),
        Keyword::Maximum(limit) => (order(limit).is_le(), Reason::Maximum(limit)),
        Keyword::ExclusiveMinimum(limit) => (order(limit).is_gt(), Reason::ExclusiveMinimum(limit)),
        Keyword::ExclusiveMaximum(limit) => (order(limit).is_lt(), Reason::ExclusiveMaximum(limit)),
        Keyword::MultipleOf(multiple) => {
            (multiple.divides(number), Reason::MultipleOf(&multiple.source))
        }
        _ => return None,
    };
    (!satisfied).then_some(reason)
}

fn string_failed<'a>(keyword: &'a Keyword, text: &str, effort: &Effort) -> Option<Reason<'a>> {
    let (satisfied, reason) = match keyword {
        Keyword::MinLength(limit) => (length(text, *limit).is_ge(), Reason::MinLength(*limit)),
        Keyword::MaxLength(limit) => (length(text, *limit).is_le(), Reason::MaxLength(*limit)),
        Keyword::Pattern(pattern) => {
            (pattern.matches(text, effort), Reason::Pattern(pattern.source()))
        }
        Keyword::Format(format) => (format.admits(text), Reason::Format(format.name())),
        Keyword::ContentEncoding(encoding) => {
            (encoding.decode(text).is_some(), Reason::ContentEncoding(encoding.name()))
        }
        Keyword::ContentJson(encoding) => return crate::content::failed(*encoding, text),
        _ => return None,
    };
    (!satisfied).then_some(reason)
}

/// Compares the number of characters with a limit, and counts no further than necessary.
fn length(text: &str, limit: u64) -> Ordering {
    let counted = usize::try_from(limit).unwrap_or(usize::MAX).saturating_add(1);
    (text.chars().take(counted).count() as u64).cmp(&limit)
}

fn array_failed<'a>(keyword: &'a Keyword, elements: &[Value]) -> Option<Reason<'a>> {
    let count = elements.len() as u64;
    let (satisfied, reason) = match keyword {
        Keyword::MinItems(limit) => (count >= *limit, Reason::MinItems(*limit)),
        Keyword::MaxItems(limit) => (count <= *limit, Reason::MaxItems(*limit)),
        Keyword::UniqueItems => (all_differ(elements), Reason::UniqueItems),
        _ => return None,
    };
    (!satisfied).then_some(reason)
}

fn object_failed<'a>(keyword: &'a Keyword, fields: &Map<String, Value>) -> Option<Reason<'a>> {
    let count = fields.len() as u64;
    let (satisfied, reason) = match keyword {
        Keyword::MinProperties(limit) => (count >= *limit, Reason::MinProperties(*limit)),
        Keyword::MaxProperties(limit) => (count <= *limit, Reason::MaxProperties(*limit)),
        Keyword::Required(names) => return missing(names, fields),
        Keyword::DependentRequired(dependencies) => {
            let mut present = dependencies.iter().filter(|(name, _)| fields.contains_key(name));
            return present.find_map(|(_, names)| missing(names, fields));
        }
        _ => return None,
    };
    (!satisfied).then_some(reason)
}

fn missing<'a>(names: &'a [String], fields: &Map<String, Value>) -> Option<Reason<'a>> {
    names.iter().find(|name| !fields.contains_key(*name)).map(|name| Reason::Required(name))
}

/// The operand of `enum`. A value is found among many options as fast as among few.
pub(crate) struct Options {
    as_written: Vec<Value>,
    /// Their places, by the order of values.
    by_order: Vec<usize>,
}

impl Options {
    pub(crate) fn new(as_written: Vec<Value>) -> Options {
        let mut by_order: Vec<usize> = (0..as_written.len()).collect();
        by_order.sort_by(|one, other| value_order(&as_written[*one], &as_written[*other]));
        Options { as_written, by_order }
    }

    pub(crate) fn as_written(&self) -> &[Value] {
        &self.as_written
    }

    fn contains(&self, instance: &Value) -> bool {
        let found = |place: &usize| value_order(&self.as_written[*place], instance);
        self.by_order.binary_search_by(found).is_ok()
    }
}

/// The operand of `multipleOf`.
pub(crate) struct Multiple {
    source: Number,
    decimal: Decimal,
}

/// `digits * 10^exponent`, without sign and without zeros at the end of the digits.
#[derive(Clone, Copy)]
struct Decimal {
    digits: u64,
    exponent: i32,
}

impl Multiple {
    /// The operand must be greater than zero.
    pub(crate) fn new(source: &Number) -> Multiple {
        Multiple { source: source.clone(), decimal: Decimal::of(source) }
    }

    /// Whether a number is a multiple, in decimal arithmetic over the digits as they are written:
    /// 0.3 is a multiple of 0.1, although the doubles are not.
    fn divides(&self, number: &Number) -> bool {
        let (value, divisor) = (Decimal::of(number), self.decimal);
        if value.digits == 0 || divisor.digits == 0 {
            return value.digits == 0;
        }
        // A number whose digits do not end in zero is no multiple of ten times anything.
        let Ok(shift) = u32::try_from(value.exponent - divisor.exponent) else { return false };
        let divisor = u128::from(divisor.digits);
        let mut rest = u128::from(value.digits) % divisor;
        for _ in 0..shift {
            rest = rest * 10 % divisor;
        }
        rest == 0
    }
}

impl Decimal {
    /// The shortest digits of this number. A double has at most 17, an integer 20.
    fn of(number: &Number) -> Decimal {
        let text = number.to_string();
        let text = text.strip_prefix('-').unwrap_or(&text);
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut all = String::with_capacity(mantissa.len());
        all.push_str(whole);
        all.push_str(fraction);
        let kept = all.trim_end_matches('0');
        let dropped = all.len() - kept.len();
        let digits = if kept.is_empty() { Ok(0) } else { kept.parse() };
        let exponent: i32 = exponent.parse().expect("an exponent of a double is small");
        Decimal {
            digits: digits.expect("numbers of 64 bits have no more digits"),
            exponent: exponent + small(dropped) - small(fraction.len()),
        }
    }
}

fn small(count: usize) -> i32 {
    i32::try_from(count).expect("numbers of 64 bits are short texts")
}
