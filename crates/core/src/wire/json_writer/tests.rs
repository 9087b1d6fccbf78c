//! The writer against `serde_json`, byte by byte.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use super::{write_bare, write_json};
use crate::json::Json;
use crate::names::AgentId;
use crate::time::Timestamp;

/// One of every shape that serde knows.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Shape {
    Bare,
    Number(i64),
    Pair(u8, f64),
    Fields { text: String, none: Option<u8>, json: Json },
    Sum(Inner),
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Inner {
    Nothing,
    Wrapped(Option<Shapes>),
    Fields { a: u64, b: Vec<bool> },
}

#[derive(Serialize)]
struct Unit;

#[derive(Serialize)]
struct Shapes {
    unit: Unit,
    tuple: (i8, char, &'static str),
    by_number: BTreeMap<u64, Option<()>>,
    by_text: BTreeMap<String, Vec<f32>>,
    moment: Timestamp,
    agent: AgentId,
    #[serde(skip_serializing_if = "Option::is_none")]
    absent: Option<u8>,
    bytes: serde_bytes::ByteBuf,
    tree: Value,
}

fn shapes(text: &str, number: f64) -> Shapes {
    Shapes {
        unit: Unit,
        tuple: (-7, '"', "a\nb"),
        by_number: [(0, None), (u64::MAX, Some(()))].into(),
        by_text: [(text.to_owned(), vec![1.5, -0.0]), (String::new(), Vec::new())].into(),
        moment: Timestamp(1_700_000_000_123),
        agent: AgentId::parse("ada").unwrap(),
        absent: None,
        bytes: serde_bytes::ByteBuf::from(vec![0, 255]),
        tree: json!({ "z": [1, null, { "text": text }], "a": number }),
    }
}

#[track_caller]
fn compare(value: &impl Serialize) {
    let mut out = b"before ".to_vec();
    write_json(&mut out, value);
    let expected = serde_json::to_string(value).unwrap();
    assert_eq!(str::from_utf8(&out).unwrap(), format!("before {expected}"));
}

fn bare(value: &impl Serialize) -> String {
    let mut out = Vec::new();
    write_bare(&mut out, value);
    String::from_utf8(out).unwrap()
}

#[test]
fn a_sum_is_written_without_its_names() {
    let whole = Shape::Sum(Inner::Wrapped(Some(shapes("x", 1.0))));
    assert_eq!(bare(&whole), serde_json::to_string(&shapes("x", 1.0)).unwrap());
    assert_eq!(bare(&Shape::Sum(Inner::Wrapped(None))), "null");
    assert_eq!(bare(&Shape::Sum(Inner::Nothing)), "{}");
    let fields = Inner::Fields { a: 7, b: vec![true, false] };
    assert_eq!(bare(&Shape::Sum(fields)), r#"{"a":7,"b":[true,false]}"#);
}

proptest! {
    #[test]
    fn every_value_is_written_as_serde_json_writes_it(
        text in any::<String>(),
        number in any::<f64>(),
        whole in any::<i64>(),
        byte in any::<u8>(),
    ) {
        let json = Json::of(&text).unwrap();
        for shape in [
            Shape::Bare,
            Shape::Number(whole),
            Shape::Pair(byte, number),
            Shape::Fields { text: text.clone(), none: None, json: json.clone() },
            Shape::Fields { text: text.clone(), none: Some(byte), json },
            Shape::Sum(Inner::Nothing),
            Shape::Sum(Inner::Wrapped(None)),
            Shape::Sum(Inner::Wrapped(Some(shapes(&text, number)))),
            Shape::Sum(Inner::Fields { a: whole.unsigned_abs(), b: vec![true, false] }),
        ] {
            compare(&shape);
        }
    }
}

#[test]
fn numbers_with_one_decimal_are_written_as_serde_writes_them() {
    for tenths in -20..20_000_i32 {
        compare(&(f64::from(tenths) / 10.0));
        compare(&(f64::from(tenths) * 0.1));
        compare(&(f64::from(tenths) * 37.0));
    }
    for number in [-0.0, 1e5, 99_999.9, 1e15, 1e16, 0.25, f64::NAN, f64::INFINITY, f64::MIN] {
        compare(&number);
    }
}
