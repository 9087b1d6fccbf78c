use std::collections::BTreeMap;
use std::fmt::Debug;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::Index;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Unit;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Newtype(u32);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Tuple(u8, Option<bool>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Scalars {
    flag: bool,
    byte: u8,
    unsigned: u64,
    tiny: i8,
    signed: i64,
    single: f32,
    double: f64,
    letter: char,
    nothing: (),
    text: String,
    #[serde(with = "serde_bytes")]
    bytes: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Shape {
    Empty,
    Newtype(u64),
    Tuple(i16, String),
    Fields {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        low: Option<i32>,
        high: Unit,
    },
    Boxed(Box<Shape>),
    Maybe(Option<Box<Shape>>),
    Several(Vec<Shape>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Number(i64),
    Text(String),
    Fields { number: Option<f64>, list: Vec<bool> },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Tagged {
    Empty,
    Fields { count: u16, shape: Shape },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value")]
enum Adjacent {
    Empty,
    Pair(u8, String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Flat {
    id: u64,
    #[serde(flatten)]
    more: BTreeMap<String, Value>,
}

/// A value with every kind of field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Whole {
    scalars: Scalars,
    shapes: Vec<Shape>,
    by_number: BTreeMap<u32, Shape>,
    by_sign: BTreeMap<i64, bool>,
    by_name: BTreeMap<String, Option<Newtype>>,
    tuple: Tuple,
    array: [u16; 3],
    json: Value,
    untagged: Untagged,
    tagged: Tagged,
    adjacent: Adjacent,
    flat: Flat,
    #[serde(default)]
    last: Option<String>,
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            btree_map("[a-c]{0,3}", inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn any_shape() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        Just(Shape::Empty),
        any::<u64>().prop_map(Shape::Newtype),
        (any::<i16>(), ".{0,6}").prop_map(|(number, text)| Shape::Tuple(number, text)),
        option::of(any::<i32>()).prop_map(|low| Shape::Fields { low, high: Unit }),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        prop_oneof![
            boxed.clone().prop_map(Shape::Boxed),
            option::of(boxed).prop_map(Shape::Maybe),
            vec(inner, 0..18).prop_map(Shape::Several),
        ]
    })
}

fn any_scalars() -> impl Strategy<Value = Scalars> {
    let numbers = (any::<u8>(), any::<u64>(), 0_u32..64, any::<i8>(), any::<i64>(), 0_u32..64);
    let long = prop_oneof![9 => 0..40_usize, 1 => 250..260_usize, 1 => 65_530..65_540_usize];
    let texts = (any::<char>(), ".{0,12}", long.clone(), vec(any::<u8>(), 0..40), long);
    (any::<bool>(), numbers, any::<f32>(), any::<f64>(), texts).prop_map(
        |(flag, numbers, single, double, (letter, text, repeats, mut bytes, length))| {
            let (byte, unsigned, fewer, tiny, signed, narrower) = numbers;
            bytes.resize(length.max(bytes.len()), 7);
            let (unsigned, signed) = (unsigned >> fewer, signed >> narrower);
            let text = if repeats < 40 { text } else { "é".repeat(repeats / 2) };
            Scalars {
                flag,
                byte,
                unsigned,
                tiny,
                signed,
                single,
                double,
                letter,
                nothing: (),
                text,
                bytes,
            }
        },
    )
}

fn any_untagged() -> impl Strategy<Value = Untagged> {
    prop_oneof![
        any::<i64>().prop_map(Untagged::Number),
        ".{0,6}".prop_map(Untagged::Text),
        (option::of(any::<f64>()), vec(any::<bool>(), 0..3))
            .prop_map(|(number, list)| Untagged::Fields { number, list }),
    ]
}

fn any_whole() -> impl Strategy<Value = Whole> {
    let tagged = prop_oneof![
        Just(Tagged::Empty),
        (any::<u16>(), any_shape()).prop_map(|(count, shape)| Tagged::Fields { count, shape }),
    ];
    let adjacent = prop_oneof![
        Just(Adjacent::Empty),
        (any::<u8>(), ".{0,3}").prop_map(|(byte, text)| Adjacent::Pair(byte, text)),
    ];
    let maps = (
        btree_map(any::<u32>(), any_shape(), 0..4),
        btree_map(any::<i64>(), any::<bool>(), 0..4),
        btree_map("[a-z]{0,3}", option::of(any::<u32>().prop_map(Newtype)), 0..20),
    );
    let flat = (any::<u64>(), btree_map("[k-m]{1,2}", any_json(), 0..3));
    let tuples = (any::<u8>(), option::of(any::<bool>()), any::<[u16; 3]>());
    let enums = (any_untagged(), tagged, adjacent, vec(any_shape(), 0..4));
    let rest = (any_json(), flat, option::of(".{0,4}"));
    (any_scalars(), maps, tuples, enums, rest).prop_map(|(scalars, maps, tuples, enums, rest)| {
        let (untagged, tagged, adjacent, shapes) = enums;
        let (json, (id, more), last) = rest;
        Whole {
            scalars,
            shapes,
            by_number: maps.0,
            by_sign: maps.1,
            by_name: maps.2,
            tuple: Tuple(tuples.0, tuples.1),
            array: tuples.2,
            json,
            untagged,
            tagged,
            adjacent,
            flat: Flat { id, more },
            last,
        }
    })
}

/// A change to the bytes of a value.
#[derive(Clone, Debug)]
enum Damage {
    Replace(Index, u8),
    Insert(Index, u8),
    Remove(Index),
    Cut(Index),
    Append(u8),
    /// One part replaces another.
    Copy(Index, Index, u8),
}

impl Damage {
    fn any() -> impl Strategy<Value = Self> {
        // Markers, and the boundaries between the kinds of MessagePack.
        let byte = prop_oneof![any::<u8>(), 0xbe_u8..=0xe1, 0x7e_u8..=0x92];
        prop_oneof![
            4 => (any::<Index>(), byte.clone()).prop_map(|(at, byte)| Self::Replace(at, byte)),
            2 => (any::<Index>(), byte.clone()).prop_map(|(at, byte)| Self::Insert(at, byte)),
            2 => any::<Index>().prop_map(Self::Remove),
            1 => any::<Index>().prop_map(Self::Cut),
            1 => byte.prop_map(Self::Append),
            2 => (any::<Index>(), any::<Index>(), 1_u8..20)
                .prop_map(|(from, to, length)| Self::Copy(from, to, length)),
        ]
    }

    fn apply(&self, bytes: &mut Vec<u8>) {
        let length = bytes.len();
        if length == 0 {
            return;
        }
        match self {
            Self::Replace(at, byte) => bytes[at.index(length)] = *byte,
            Self::Insert(at, byte) => bytes.insert(at.index(length), *byte),
            Self::Remove(at) => drop(bytes.remove(at.index(length))),
            Self::Cut(at) => bytes.truncate(at.index(length)),
            Self::Append(byte) => bytes.push(*byte),
            Self::Copy(from, to, count) => {
                let (from, to, count) = (from.index(length), to.index(length), usize::from(*count));
                let part = bytes[from..length.min(from + count)].to_vec();
                bytes.splice(to..length.min(to + count), part);
            }
        }
    }
}

/// Whether this is one of the reasons to refuse bytes that `rmp_serde` accepts. Each has its own
/// case in `inputs_that_are_refused_although_rmp_serde_accepts_them`.
fn is_stricter(error: &Error) -> bool {
    let array = |marker: u8| matches!(marker, 0x90..=0x9f | 0xdc | 0xdd);
    let bin = |marker: u8| matches!(marker, 0xc4..=0xc6);
    let number = |marker: u8| matches!(marker, 0x00..=0x7f | 0xcc..=0xcf);
    match *error {
        Error::Trailing { .. } | Error::NotUtf8 => true,
        Error::Unexpected { expected, marker } => match expected {
            "a string" => bin(marker) || number(marker),
            "an array" => bin(marker),
            "bytes" | "a map, or an array with a value for each field" => array(marker),
            "no ext type" => marker != 0xc1,
            "the name of a variant, or a map with it as the only key" => {
                bin(marker) || number(marker)
            }
            _ => false,
        },
        _ => false,
    }
}

fn packed(value: &impl Serialize) -> Vec<u8> {
    rmp_serde::to_vec_named(value).unwrap()
}

/// Reads with both, and compares.
fn compare<T: Serialize + DeserializeOwned + Debug>(bytes: &[u8]) {
    match (from_slice::<T>(bytes), rmp_serde::from_slice::<T>(bytes)) {
        // As bytes, since a float may have become a NaN, which does not equal itself.
        (Ok(ours), Ok(theirs)) => assert_eq!(packed(&ours), packed(&theirs)),
        (Err(error), Ok(theirs)) => assert!(is_stricter(&error), "{error:?} for {theirs:?}"),
        (Ok(ours), Err(error)) => panic!("{ours:?} was read in spite of {error}"),
        (Err(_), Err(_)) => {}
    }
}

proptest! {
    #[test]
    fn what_rmp_serde_writes_is_read(whole in any_whole()) {
        let bytes = packed(&whole);
        prop_assert_eq!(&from_slice::<Whole>(&bytes).unwrap(), &whole);
        prop_assert_eq!(&rmp_serde::from_slice::<Whole>(&bytes).unwrap(), &whole);
        from_slice::<IgnoredAny>(&bytes).unwrap();
        let compact = rmp_serde::to_vec(&whole.scalars).unwrap();
        prop_assert_eq!(from_slice::<Scalars>(&compact).unwrap(), whole.scalars);
    }

    #[test]
    fn what_is_cut_off_is_refused(whole in any_whole(), at in any::<Index>()) {
        let bytes = packed(&whole);
        let short = bytes.len().min(400);
        for length in (0..short).chain([at.index(bytes.len()), bytes.len() - 1]) {
            let cut = &bytes[..length];
            prop_assert_eq!(from_slice::<Whole>(cut).unwrap_err(), Error::Truncated);
            prop_assert_eq!(from_slice::<IgnoredAny>(cut).unwrap_err(), Error::Truncated);
            prop_assert!(rmp_serde::from_slice::<Whole>(cut).is_err());
        }
    }

    #[test]
    fn what_is_damaged_is_read_as_by_rmp_serde(
        whole in any_whole(),
        damages in vec(vec(Damage::any(), 1..4), 1..20),
    ) {
        let Whole { shapes, flat, json, .. } = &whole;
        let parts = (packed(&whole), packed(shapes), packed(flat), packed(json));
        for damage in damages {
            let damaged = |bytes: &Vec<u8>| {
                let mut bytes = bytes.clone();
                for damage in &damage {
damage.apply(&mut bytes);
}
                bytes
            };
            compare::<Whole>(&damaged(&parts.0));
            compare::<Vec<Shape>>(&damaged(&parts.1));
            compare::<Flat>(&damaged(&parts.2));
            compare::<Value>(&damaged(&parts.3));
        }
    }

    #[test]
    fn any_bytes_are_read_as_by_rmp_serde(bytes in vec(any::<u8>(), 0..24)) {
        compare::<Value>(&bytes);
        compare::<Shape>(&bytes);
        compare::<Untagged>(&bytes);
        compare::<(Option<f32>, f64, char, i8)>(&bytes);
        compare::<BTreeMap<u64, serde_bytes::ByteBuf>>(&bytes);
        let _: Result<IgnoredAny, Error> = from_slice(&bytes);
    }
}

/// Checks that `rmp_serde` accepts bytes that are refused here, and the error.
fn refused<T: DeserializeOwned + Debug + PartialEq>(bytes: &[u8], expected: Error) {
    rmp_serde::from_slice::<T>(bytes).unwrap();
    assert_eq!(from_slice::<T>(bytes), Err(expected));
}

/// `rmp_serde` never writes any of this, so none of it is on disk.
#[test]
fn inputs_that_are_refused_although_rmp_serde_accepts_them() {
    let unexpected = |expected, marker| Error::Unexpected { expected, marker };
    // Bytes after the value: callers pass exactly what was written.
    refused::<u8>(b"\x01\x02\x03", Error::Trailing { bytes: 2 });
    // Fields and variants by number, or as bin.
    refused::<Point>(b"\x82\x00\x01\x01\x02", unexpected("a string", 0x00));
    refused::<Point>(b"\x82\xc4\x01x\x01\xa1y\x02", unexpected("a string", 0xc4));
    let variant = "the name of a variant, or a map with it as the only key";
    refused::<Shape>(b"\x00", unexpected(variant, 0x00));
    refused::<Shape>(b"\x81\x01\x07", unexpected("a string", 0x01));
    refused::<Shape>(b"\xc4\x05empty", unexpected(variant, 0xc4));
    // Any value as the name of an unknown field, if others are flattened.
    refused::<Flattened>(b"\x83\xa1x\x01\xa1y\x02\xff\x03", unexpected("a string", 0xff));
    // Bin as a string or an array, and an array as bytes.
    refused::<String>(b"\xc4\x01a", unexpected("a string", 0xc4));
    refused::<Vec<u8>>(b"\xc4\x01a", unexpected("an array", 0xc4));
    refused::<serde_bytes::ByteBuf>(b"\x91\x07", unexpected("bytes", 0x91));
    // Strings that are not UTF-8, as an ignored value or an unknown name.
    refused::<Point>(b"\x83\xa1x\x01\xa1y\x02\xa1\xff\x03", Error::NotUtf8);
    // An array without fields that have a default.
    let structure = "a map, or an array with a value for each field";
    refused::<Point>(b"\x92\x01\x02", unexpected(structure, 0x92));
    // Ext types in unknown fields.
    let ext = b"\x83\xa1x\x01\xa1y\x02\xa1w\xd4\x01\x01";
    refused::<Point>(ext, unexpected("no ext type", 0xd4));
    // Nesting, which needs stack.
    let deep = nested(usize::from(DEPTH_MAX) + 1);
    refused::<Value>(&deep, Error::TooDeep);
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Point {
    x: u8,
    y: u8,
    #[serde(default)]
    z: u8,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Flattened {
    #[serde(flatten)]
    point: Point,
}

fn nested(depth: usize) -> Vec<u8> {
    let mut bytes = vec![0x91; depth - 1];
    bytes.push(0x90);
    bytes
}

#[test]
fn nesting_is_limited() {
    let deepest = nested(DEPTH_MAX.into());
    assert_eq!(packed(&from_slice::<Value>(&deepest).unwrap()), deepest);
    assert_eq!(from_slice::<Value>(&nested(1_000_000)).unwrap_err(), Error::TooDeep);
    let boxed = |depth| [b"\x81\xa5boxed".repeat(depth).as_slice(), b"\xa5empty"].concat();
    assert_eq!(packed(&from_slice::<Shape>(&boxed(128)).unwrap()), boxed(128));
    assert_eq!(from_slice::<Shape>(&boxed(129)).unwrap_err(), Error::TooDeep);
    assert_eq!(from_slice::<Shape>(&boxed(100_000)).unwrap_err(), Error::TooDeep);
    // Levels are left again: many values side by side are not deep.
    let beside = vec![Shape::Maybe(Some(Box::new(Shape::Several(vec![])))); 1_000];
    assert_eq!(from_slice::<Vec<Shape>>(&packed(&beside)).unwrap(), beside);
    // Skipping needs no stack. Here `rmp_serde` fails, or overflows it.
    from_slice::<IgnoredAny>(&nested(1_000_000)).unwrap();
}

#[test]
fn lengths_are_not_believed() {
    fn cut<T: DeserializeOwned + Debug>(bytes: &[u8]) {
        assert_eq!(from_slice::<T>(bytes).unwrap_err(), Error::Truncated, "{bytes:?}");
    }
    for marker in [0xdd, 0xdf, 0xdb, 0xc6] {
        let bytes = [marker, 0xff, 0xff, 0xff, 0xff, 0x01, 0x02];
        cut::<Value>(&bytes);
        cut::<IgnoredAny>(&bytes);
    }
    cut::<Vec<Whole>>(b"\xdd\xff\xff\xff\xff\x01");
    cut::<BTreeMap<u8, Whole>>(b"\xdf\xff\xff\xff\xff\x01");
    cut::<String>(b"\xdb\xff\xff\xff\xff\x61");
    cut::<serde_bytes::ByteBuf>(b"\xc6\xff\xff\xff\xff\x61");
    cut::<u8>(b"");
    cut::<Option<u8>>(b"");
}

#[test]
fn strings_and_bytes_are_borrowed() {
    #[derive(Serialize, Deserialize)]
    struct Borrowed<'a> {
        text: &'a str,
        #[serde(with = "serde_bytes")]
        bytes: &'a [u8],
    }
    let bytes = packed(&Borrowed { text: "text", bytes: b"bytes" });
    let read: Borrowed<'_> = from_slice(&bytes).unwrap();
    assert_eq!((read.text, read.bytes), ("text", b"bytes".as_slice()));
    assert!(bytes.as_ptr_range().contains(&read.text.as_ptr()));
    assert!(bytes.as_ptr_range().contains(&read.bytes.as_ptr()));
}

#[test]
fn errors_describe_the_problem() {
    let rendered = |bytes| from_slice::<Point>(bytes).unwrap_err().to_string();
    assert_eq!(
        rendered(b"\xc0"),
        "expected a map, or an array with a value for each field, found marker 0xc0"
    );
    assert_eq!(rendered(b"\x81\xa1x\x01"), "missing field `y`");
    assert_eq!(rendered(b"\x81\xa1x\xcd\x01\x00"), "invalid value: integer `256`, expected u8");
    assert_eq!(rendered(b"\x81\xa1x\xff"), "an integer is out of range");
    assert_eq!(rendered(b"\x93\x01\x02"), "the bytes end within a value");
    assert_eq!(from_slice::<[u8; 1]>(b"\x92\x01\x02").unwrap_err(), Error::Excess { excess: 1 });
    let alone = from_slice::<Shape>(b"\xa7newtype").unwrap_err();
    assert_eq!(alone.to_string(), "invalid type: unit variant, expected a variant with content");
}
