//! Tests: round trips give the same value, and values that JSON cannot represent are refused.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn enqueued(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    from_json(value.to_string().as_bytes(), &mut out);
    out
}

fn read(document: &[u8]) -> Result<Value, Fault> {
    let mut out = Vec::new();
    to_json(document, &mut out)?;
    Ok(serde_json::from_slice(&out).expect("what is accepted is JSON"))
}

#[track_caller]
fn refused(document: &[u8], with: &str) {
    let fault = read(document).expect_err("it must be refused");
    assert_eq!(fault.code(), "request.malformed");
    assert!(fault.to_string().contains(with), "{fault}");
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("JSON has no other", |float| float.is_finite())
            .prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "x{300}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 20, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..20).prop_map(Value::from),
            btree_map(any::<String>(), inner, 0..20)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn there_and_back_it_is_the_same_value(value in values()) {
        prop_assert_eq!(read(&enqueued(&value)), Ok(value));
    }

    #[test]
    fn what_is_cut_off_is_refused(value in values(), cut in any::<prop::sample::Index>()) {
        let whole = enqueued(&value);
        let cut = cut.index(whole.len());
        prop_assert!(read(&whole[..cut]).is_err());
    }

    #[test]
    fn no_bytes_panic(bytes in vec(any::<u8>(), 0..300)) {
        let _ = read(&bytes);
    }
}

#[test]
fn every_width_of_a_number_a_text_and_a_list_is_read() {
    for (bytes, value) in [
        (&b"\x7F"[..], json!(127)),
        (b"\xE0", json!(-32)),
        (b"\xCC\xFF", json!(255)),
        (b"\xCD\xFF\xFF", json!(65_535)),
        (b"\xCE\xFF\xFF\xFF\xFF", json!(u32::MAX)),
        (b"\xCF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", json!(u64::MAX)),
        (b"\xD0\x80", json!(-128)),
        (b"\xD1\x80\0", json!(-32_768)),
        (b"\xD2\x80\0\0\0", json!(i32::MIN)),
        (b"\xD3\x80\0\0\0\0\0\0\0", json!(i64::MIN)),
        (b"\xCA\x3F\xC0\0\0", json!(1.5)),
        (b"\xCB\x3F\xF8\0\0\0\0\0\0", json!(1.5)),
        (b"\xD9\x01a", json!("a")),
        (b"\xDA\0\x01a", json!("a")),
        (b"\xDB\0\0\0\x01a", json!("a")),
        (b"\xDC\0\x01\xC0", json!([null])),
        (b"\xDD\0\0\0\x01\xC2", json!([false])),
        (b"\xDE\0\x01\xA1a\xC3", json!({"a": true})),
        (b"\xDF\0\0\0\x01\xD9\x01a\x90", json!({"a": []})),
        (b"\x81\xA1\"\xA1\\", json!({"\"": "\\"})),
    ] {
        assert_eq!(read(bytes), Ok(value), "{bytes:?}");
    }
}

#[test]
fn values_that_json_cannot_represent_are_refused() {
    refused(b"", "cut off");
    refused(b"\x80\x80", "after the document");
    refused(b"\xC1", "no form in JSON");
    for bytes in
        [&b"\xC4\x01a"[..], b"\xC5\0\x01a", b"\xC6\0\0\0\x01a", b"\xC7\x01\x01a", b"\xD4\x01a"]
    {
        refused(bytes, "no form in JSON");
    }
    refused(b"\x81\x01\x01", "a key is not a string");
    refused(b"\x81\xC0\x01", "a key is not a string");
    refused(b"\xA1\xFF", "not UTF-8");
    refused(b"\x81\xA1\xFF\x01", "not UTF-8");
    for float in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        refused(&[&[0xCB][..], &float.to_be_bytes()].concat(), "infinite or none");
    }
    refused(&[&[0xCA][..], &f32::NAN.to_be_bytes()].concat(), "infinite or none");
}

#[test]
fn announced_lengths_cost_nothing() {
    for marker in [0xDB, 0xDD, 0xDF] {
        refused(&[marker, 0xFF, 0xFF, 0xFF, 0xFF], "cut off");
    }
}

#[test]
fn it_nests_as_deep_as_a_request_may_and_no_deeper() {
    let nested = |levels: usize| [vec![0x91; levels], vec![0xC0]].concat();
    assert!(read(&nested(LEVELS_MAX)).is_ok());
    refused(&nested(LEVELS_MAX + 1), "deeper than");
    refused(&vec![0x91; 1 << 20], "deeper than");
    refused(&b"\x81\xA1a".repeat(1 << 18), "deeper than");
}
