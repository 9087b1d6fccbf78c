use proptest::prelude::*;
use serde::de::value::Error as PlainError;
use serde_json::{Number, json};

use super::*;
use crate::messagepack;

fn parse(text: &str) -> Result<Json, JsonError> {
    Json::parse(text)
}

fn sound(text: &str) -> Json {
    parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

#[test]
fn the_bytes_stay_as_received() {
    for text in [
        "null",
        "true",
        "-0",
        "1.50",
        "1E+2",
        "\"\"",
        r#""a\/b\u0041""#,
        r#"{"b":1,  "a":2}"#,
        r#"{"a":1,"a":2}"#,
        "[1,\n 2]",
        "\"µ→🦀\"",
    ] {
        assert_eq!(sound(text).as_str(), text);
        assert_eq!(sound(text).as_bytes(), text.as_bytes());
        assert_eq!(Json::trusted(text.as_bytes()), sound(text));
        assert_eq!(sound(text).to_string(), text);
        assert_eq!(format!("{:?}", sound(text)), text);
    }
}

#[test]
fn surrounding_whitespace_is_dropped() {
    assert_eq!(sound(" \r\n\t{ } \n").as_str(), "{ }");
}

#[test]
fn text_that_is_not_one_value_is_refused() {
    for text in [
        "",
        " ",
        "nul",
        "nulll",
        "1 2",
        "{} {}",
        "[1,]",
        "{\"a\":}",
        "{a:1}",
        "'a'",
        "01",
        "+1",
        ".5",
        "1.",
        "NaN",
        "\"a",
        "\"\t\"",
        "\"\\x\"",
        "\u{feff}1",
        "[",
        "]",
        "// a\n1",
    ] {
        assert!(matches!(parse(text), Err(JsonError::Malformed { .. })), "{text:?}");
    }
}

#[test]
fn errors_say_where() {
    let shown = |bytes: &[u8]| Json::parse(bytes).unwrap_err().to_string();
    assert_eq!(shown(b"{\n  \"a\": x}"), "malformed JSON at line 2 column 8: expected value");
    assert_eq!(shown(b"[1,\n\"\xff\"]"), "malformed JSON at line 2 column 2: invalid UTF-8");
    assert_eq!(shown(b"[\n 1, 1e999]"), "malformed JSON at line 2 column 5: number out of range");
    assert_eq!(shown(nested(65).as_bytes()), "JSON nests deeper than 64 levels");
    assert_eq!(
        sound("[1]").to::<Vec<String>>().unwrap_err().to_string(),
        "unexpected JSON at line 1 column 2: invalid type: integer `1`, expected a string"
    );
    let keyed_by_list = std::collections::BTreeMap::from([(vec![1], 2)]);
    assert_eq!(
        Json::of(&keyed_by_list).unwrap_err().to_string(),
        "value has no JSON form: key must be a string"
    );
}

#[test]
fn errors_repeat_only_the_beginning_of_the_input() {
    let long = sound(&format!("\"{}\"", "é".repeat(10_000)));
    let Err(JsonError::Mismatched { reason, .. }) = long.to::<u8>() else {
        panic!("a string is not a number");
    };
    assert_eq!(reason.chars().count(), REASON_CHARACTERS_MAX);
    assert!(reason.starts_with("invalid type: string \"éé") && reason.ends_with("é…"));
}

#[test]
fn depth_is_limited_on_every_way_in() {
    let too_deep = JsonError::TooDeep { depth_max: DEPTH_MAX };
    assert!(parse(&nested(DEPTH_MAX)).is_ok());
    assert_eq!(parse(&nested(DEPTH_MAX + 1)), Err(too_deep.clone()));
    assert!(parse(&"{\"a\":".repeat(100_000)).is_err());
    assert_eq!(parse(&nested(100_000)), Err(too_deep.clone()));
    let deep: Value = serde_json::from_str(&nested(DEPTH_MAX + 1)).unwrap();
    assert_eq!(Json::of(&deep), Err(too_deep.clone()));
    assert_eq!(Json::try_from(deep.clone()), Err(too_deep));
    assert!(serde_json::from_str::<Json>(&nested(DEPTH_MAX + 1)).is_err());
    assert!(serde_json::from_value::<Json>(deep).is_err());
    let packed = rmp_serde::to_vec(serde_bytes::Bytes::new(nested(DEPTH_MAX + 1).as_bytes()));
    assert!(messagepack::from_slice::<Json>(&packed.unwrap()).is_err());
}

#[test]
fn breadth_and_brackets_in_strings_are_not_depth() {
    assert!(parse(&format!("[{}1]", "[],".repeat(1000))).is_ok());
    assert!(parse(&format!("[\"{}\\\"{{\"]", "[".repeat(1000))).is_ok());
    assert!(parse(&format!("[\"\\\\\",{}]", nested(DEPTH_MAX - 1))).is_ok());
    assert!(parse(&format!("[\"\\\\\",{}]", nested(DEPTH_MAX))).is_err());
}

#[test]
fn json_that_cannot_be_decoded_is_refused() {
    let digits = |count: usize| "9".repeat(count);
    for text in [
        "1e999".to_owned(),
        "-1E400".to_owned(),
        "[0.1e+310]".to_owned(),
        digits(309),
        format!("[\"pad\", -{}]", digits(700)),
        r#""\ud800""#.to_owned(),
        r#"{"\uDC00":1}"#.to_owned(),
        r#""\ud83e!""#.to_owned(),
    ] {
        assert!(matches!(parse(&text), Err(JsonError::Malformed { .. })), "{text}");
    }
    for text in [
        "1e-999".to_owned(),
        "1e308".to_owned(),
        digits(308),
        format!("0.{}", digits(5000)),
        format!("\"{}\"", digits(5000)),
        r#""\ud83e\udd80""#.to_owned(),
        r#""\\ud800 1e999""#.to_owned(),
    ] {
        sound(&text).to_value();
    }
}

#[test]
fn equality_is_by_meaning() {
    for (left, right) in [
        ("1", "1.0"),
        ("100", "1e2"),
        ("-0", "0"),
        ("[1, 2]", "[1,2.0]"),
        (r#"{"a":1,"b":[]}"#, r#"{ "b" : [ ], "a" : 1 }"#),
        (r#""A""#, r#""\u0041""#),
        (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
        ("9007199254740992", "9007199254740992.0"),
    ] {
        assert!(sound(left).same_value(&sound(right)), "{left} {right}");
        assert_eq!(sound(left) == sound(right), left == right);
    }
    for (left, right) in [
        ("1", "2"),
        ("1", "\"1\""),
        ("1", "1.5"),
        ("-1", "-1.5"),
        ("null", "false"),
        ("[]", "{}"),
        ("[1,2]", "[2,1]"),
        (r#"{"a":1}"#, r#"{"b":1}"#),
        (r#"{"a":1}"#, r#"{"a":1,"b":null}"#),
        ("9007199254740993", "9007199254740992.0"),
        ("18446744073709551615", "18446744073709551616.0"),
        ("-9223372036854775808", "-1e300"),
        ("18446744073709551615", "-1"),
    ] {
        assert!(!sound(left).same_value(&sound(right)), "{left} {right}");
    }
}

#[test]
fn numbers_are_ordered_exactly() {
    let ascending = [
        "-1e300",
        "-9223372036854775808",
        "-1.5",
        "-1",
        "0",
        "5e-324",
        "0.5",
        "1",
        "1.5",
        "9007199254740992.0",
        "9007199254740993",
        "9223372036854775807",
        "18446744073709551615",
        "18446744073709551616",
        "1e300",
    ];
    let numbers: Vec<Number> = ascending.iter().map(|text| sound(text).to().unwrap()).collect();
    for (place, left) in numbers.iter().enumerate() {
        for (other, right) in numbers.iter().enumerate() {
            assert_eq!(number_order(left, right), place.cmp(&other), "{left} {right}");
        }
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Write {
    key: String,
    value: Json,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<Json>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum Tagged {
    Put { value: Json },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Flattened {
    #[serde(flatten)]
    write: Write,
}

#[test]
fn a_value_sits_in_place_inside_json_text() {
    let text = r#"{"key":"a","value":{"z": 1.0, "a":[ ]},"before":"x"}"#;
    let write: Write = serde_json::from_str(text).unwrap();
    assert_eq!(write.value.as_str(), r#"{"z": 1.0, "a":[ ]}"#);
    assert_eq!(serde_json::to_string(&write).unwrap(), text);
    assert_eq!(serde_json::from_slice::<Write>(text.as_bytes()).unwrap(), write);
    assert_eq!(serde_json::from_reader::<_, Write>(text.as_bytes()).unwrap(), write);
    assert_eq!(serde_json::from_str::<Vec<Json>>("[1, null ]").unwrap().len(), 2);
}

#[test]
fn a_value_passes_through_a_tree() {
    let tree = json!({"key": "a", "value": {"z": [1, 2.5, null, true, "s"]}});
    let write: Write = serde_json::from_value(tree.clone()).unwrap();
    assert_eq!(write.value.as_str(), r#"{"z":[1,2.5,null,true,"s"]}"#);
    assert_eq!(Write::deserialize(&tree).unwrap(), write);
    assert_eq!(serde_json::to_value(&write).unwrap(), tree);
}

#[test]
fn a_value_survives_the_buffers_of_serde() {
    for value in ["null", "true", "-1", "18446744073709551615", "2.5", "\"s\"", "[1,{}]", "{}"] {
        let tagged = format!(r#"{{"do":"put","value":{value}}}"#);
        let Tagged::Put { value: read } = serde_json::from_str(&tagged).unwrap();
        assert_eq!(read.as_str(), value);
        let flattened = format!(r#"{{"key":"k","value":{value}}}"#);
        let read: Flattened = serde_json::from_str(&flattened).unwrap();
        assert_eq!(read.write.value.as_str(), value);
        assert_eq!(serde_json::to_string(&read).unwrap(), flattened);
    }
}

#[test]
fn a_value_is_bytes_in_a_binary_format() {
    let write = Write { key: "k".into(), value: sound(r#"{"a": 1}"#), before: None };
    let packed = rmp_serde::to_vec_named(&write).unwrap();
    assert!(packed.ends_with(b"\xa5value\xc4\x08{\"a\": 1}"));
    assert_eq!(messagepack::from_slice::<Write>(&packed).unwrap(), write);

    let tagged = Tagged::Put { value: sound(r#"{"a": 1}"#) };
    let packed = rmp_serde::to_vec_named(&tagged).unwrap();
    assert_eq!(messagepack::from_slice::<Tagged>(&packed).unwrap(), tagged);

    let broken = rmp_serde::to_vec(serde_bytes::Bytes::new(b"{")).unwrap();
    assert!(messagepack::from_slice::<Json>(&broken).is_err());
    let foreign = rmp_serde::to_vec(serde_bytes::Bytes::new(b"\"\xff\"")).unwrap();
    assert!(messagepack::from_slice::<Json>(&foreign).is_err());
}

#[test]
fn scalars_of_other_deserializers_are_encoded() {
    use serde::de::IntoDeserializer;
    let read = |inner: Result<Json, PlainError>| inner.unwrap().to_string();
    let from_str: serde::de::value::StrDeserializer<'_, PlainError> = "s".into_deserializer();
    assert_eq!(read(TextVisitor.visit_newtype_struct(from_str)), "\"s\"");
    assert_eq!(Json::null().as_str(), "null");
}

/// A random tree, with awkward strings and numbers.
pub(crate) fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-4_i64..4).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-4_i8..4).prop_map(|number| Value::from(f64::from(number) / 2.0)),
        "[a-c\\\\\"\u{1}é🦀e1]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[ab]{0,2}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_accepted_decodes_and_what_is_refused_does_not(
        text in r#"[\[\]{}",:0-9eE.+\\u d8-]{0,24}"#
    ) {
        let tree = serde_json::from_str::<Value>(&text);
        prop_assert_eq!(parse(&text).is_ok(), tree.is_ok(), "{:?}", tree);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let tree = serde_json::from_slice::<Value>(&bytes);
        prop_assert_eq!(Json::parse(bytes).is_ok(), tree.is_ok());
    }

    #[test]
    fn a_tree_survives_every_spelling(value in any_value()) {
        let compact = Json::of(&value).unwrap();
        let pretty = sound(&serde_json::to_string_pretty(&value).unwrap());
        prop_assert!(compact.same_value(&pretty));
        prop_assert_eq!(&compact.to_value(), &value);
        let packed = rmp_serde::to_vec_named(&pretty).unwrap();
        prop_assert_eq!(messagepack::from_slice::<Json>(&packed).unwrap(), pretty);
    }

    #[test]
    fn the_order_of_values_is_total(a in any_value(), b in any_value(), c in any_value()) {
        prop_assert_eq!(value_order(&a, &b), value_order(&b, &a).reverse());
        prop_assert!(value_order(&a, &a).is_eq());
        if value_order(&a, &b).is_le() && value_order(&b, &c).is_le() {
            prop_assert!(value_order(&a, &c).is_le());
        }
    }
}
