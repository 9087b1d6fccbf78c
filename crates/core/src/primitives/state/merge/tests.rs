use proptest::prelude::*;

use super::*;
use crate::json::tests::any_value;
use crate::messagepack;

fn json(text: &str) -> Json {
    Json::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The existing value, the operand and the result; `-` is none, `!` starts a refusal.
type Case<'a> = (&'a str, &'a str, &'a str);

#[track_caller]
fn check(form: fn(Json) -> Patch, rule: Option<Merge>, cases: &[Case]) {
    for (current, given, expected) in cases {
        let current = (*current != "-").then(|| json(current));
        let shown = |result: Result<Json, MergeError>| match result {
            Ok(value) => value.to_string(),
            Err(error) => format!("!{error}"),
        };
        let by_patch = patch(current.as_ref(), &form(json(given)));
        assert_eq!(shown(by_patch), *expected, "{current:?} {given}");
        if let Some(rule) = rule {
            let by_rule = merge(rule, current.as_ref(), json(given));
            assert_eq!(shown(by_rule), *expected, "{rule:?}: {current:?} {given}");
        }
    }
}

#[test]
#[rustfmt::skip] // Columns.
fn fields_merge() {
    check(Patch::Merge, Some(Merge::JsonMerge), &[
        ("-",                    r#"{"a":1,"b":null}"#,   r#"{"a":1}"#),
        (r#"{"b":1, "a":2}"#,    r#"{"c":3}"#,            r#"{"a":2,"b":1,"c":3}"#),
        (r#"{"a":{"b":1,"c":2}}"#, r#"{"a":{"b":null}}"#, r#"{"a":{"c":2}}"#),
        (r#"{"a":[1,2]}"#,       r#"{"a":[3]}"#,          r#"{"a":[3]}"#),
        ("7",                    r#"{"a":1}"#,            r#"{"a":1}"#),
        (r#"{"a":1}"#,           "[1]",                   "[1]"),
        (r#"{"a":1}"#,           "null",                  "null"),
        ("{}",                   r#"{"a":{"b":{"c":null}}}"#, r#"{"a":{"b":{}}}"#),
    ]);
}

/// The examples in appendix A of RFC 7396.
#[test]
#[rustfmt::skip] // Columns.
fn fields_merge_as_the_rfc_says() {
    check(Patch::Merge, Some(Merge::JsonMerge), &[
        (r#"{"a":"b"}"#,          r#"{"a":"c"}"#,            r#"{"a":"c"}"#),
        (r#"{"a":"b"}"#,          r#"{"b":"c"}"#,            r#"{"a":"b","b":"c"}"#),
        (r#"{"a":"b"}"#,          r#"{"a":null}"#,           r"{}"),
        (r#"{"a":"b","b":"c"}"#,  r#"{"a":null}"#,           r#"{"b":"c"}"#),
        (r#"{"a":["b"]}"#,        r#"{"a":"c"}"#,            r#"{"a":"c"}"#),
        (r#"{"a":"c"}"#,          r#"{"a":["b"]}"#,          r#"{"a":["b"]}"#),
        (r#"{"a":{"b":"c"}}"#,    r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
        (r#"{"a":[{"b":"c"}]}"#,  r#"{"a":[1]}"#,            r#"{"a":[1]}"#),
        (r#"["a","b"]"#,          r#"["c","d"]"#,            r#"["c","d"]"#),
        (r#"{"a":"b"}"#,          r#"["c"]"#,                r#"["c"]"#),
        (r#"{"a":"foo"}"#,        "null",                   "null"),
        (r#"{"a":"foo"}"#,        r#""bar""#,                r#""bar""#),
        (r#"{"e":null}"#,         r#"{"a":1}"#,              r#"{"a":1,"e":null}"#),
        (r"[1,2]",                r#"{"a":"b","c":null}"#,   r#"{"a":"b"}"#),
        (r"{}",                   r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
    ]);
}

#[test]
fn operations_apply_in_order() {
    check(
        Patch::JsonPatch,
        None,
        &[
            (
                r#"{"b":[1,2],"a":{"x":1}}"#,
                r#"[{"op":"test","path":"/b/0","value":1.0},
                    {"op":"add","path":"/b/-","value":3},
                    {"op":"add","path":"/b/0","value":0},
                    {"op":"replace","path":"/a/x","value":2},
                    {"op":"copy","from":"/a","path":"/c"},
                    {"op":"move","from":"/a/x","path":"/d"},
                    {"op":"remove","path":"/b/1"}]"#,
                r#"{"a":{},"b":[0,2,3],"c":{"x":2},"d":2}"#,
            ),
            (r#"{"b":1,"a":2}"#, "[]", r#"{"a":2,"b":1}"#),
            ("1", r#"[{"op":"replace","path":"","value":{"a":1}}]"#, r#"{"a":1}"#),
            (
                r#"{"a/b":1,"m~n":2}"#,
                r#"[{"op":"remove","path":"/a~1b"},{"op":"test","path":"/m~0n","value":2}]"#,
                r#"{"m~n":2}"#,
            ),
        ],
    );
}

#[test]
fn operations_that_do_not_apply_are_refused() {
    let nothing_at =
        |key: &str| format!("!operation 0 of the patch failed: there is nothing at `{key}`");
    check(
        Patch::JsonPatch,
        None,
        &[
            ("-", "[]", "!there is no value to patch"),
            (
                "{\"a\":1}",
                r#"[{"op":"add","path":"/b","value":1},{"op":"test","path":"/a","value":2}]"#,
                "!operation 1 of the patch failed: the tested value is another",
            ),
            ("{}", r#"[{"op":"test","path":"/a","value":null}]"#, &nothing_at("path")),
            ("{}", r#"[{"op":"remove","path":"/a"}]"#, &nothing_at("path")),
            ("{}", r#"[{"op":"remove","path":""}]"#, &nothing_at("path")),
            ("{}", r#"[{"op":"add","path":"/a/b","value":1}]"#, &nothing_at("path")),
            ("[1]", r#"[{"op":"add","path":"/2","value":1}]"#, &nothing_at("path")),
            ("[1]", r#"[{"op":"add","path":"/01","value":1}]"#, &nothing_at("path")),
            ("[]", r#"[{"op":"remove","path":"/-"}]"#, &nothing_at("path")),
            ("{}", r#"[{"op":"copy","from":"/a","path":"/b"}]"#, &nothing_at("from")),
            (
                "{\"a\":{}}",
                r#"[{"op":"move","from":"/a","path":"/a/b"}]"#,
                "!operation 0 of the patch failed: cannot move the value inside itself",
            ),
        ],
    );
    for given in [
        "1",
        "{}",
        r#"[{"op":"grow"}]"#,
        r#"[{"op":"add","path":"/a"}]"#,
        r#"[{"op":"remove","path":"a"}]"#,
    ] {
        let refused = patch(Some(&Json::null()), &Patch::JsonPatch(json(given)));
        assert!(matches!(refused, Err(MergeError::NotAPatch { .. })), "{given}: {refused:?}");
    }
}

fn operations(count: usize, operation: impl Fn(usize) -> String) -> Patch {
    let all: Vec<String> = (0..count).map(operation).collect();
    Patch::JsonPatch(json(&format!("[{}]", all.join(","))))
}

#[test]
fn the_work_of_operations_is_bounded() {
    let current = json(r#"{"a":"text"}"#);
    let tests = |count| operations(count, |_| r#"{"op":"test","path":"/a","value":"text"}"#.into());
    assert!(patch(Some(&current), &tests(PATCH_OPERATIONS_MAX)).is_ok());
    let (operations_max, one_more) = (PATCH_OPERATIONS_MAX, PATCH_OPERATIONS_MAX + 1);
    assert_eq!(
        patch(Some(&current), &tests(one_more)),
        Err(MergeError::TooManyOperations { operations: one_more, operations_max })
    );

    let list = json(&format!("[{}1]", "1,".repeat(30)));
    let doubling = operations(40, |_| r#"{"op":"copy","from":"","path":"/-"}"#.into());
    assert!(matches!(
        patch(Some(&list), &doubling),
        Err(MergeError::CopiesTooMuch { operation: 14, bytes_max: PATCH_COPIED_BYTES_MAX })
    ));

    let nesting = operations(200, |_| r#"{"op":"copy","from":"","path":"/a"}"#.into());
    let too_deep = Err(MergeError::TooDeep { depth_max: DEPTH_MAX });
    assert_eq!(patch(Some(&current), &nesting), too_deep);
    let just_deep_enough =
        operations(DEPTH_MAX - 1, |_| r#"{"op":"copy","from":"","path":"/a"}"#.into());
    assert!(patch(Some(&current), &just_deep_enough).is_ok());
    let moving = operations(140, |at| match at % 2 {
        0 => r#"{"op":"move","from":"/a","path":"/b"}"#.into(),
        _ => {
            r#"{"op":"add","path":"/a","value":{}},{"op":"move","from":"/b","path":"/a/b"}"#.into()
        }
    });
    assert_eq!(patch(Some(&current), &moving), too_deep);
}

#[test]
#[rustfmt::skip] // Columns.
fn lists_grow_at_the_end() {
    check(Patch::Append, Some(Merge::Append), &[
        ("-",          "1",           "[1]"),
        ("-",          "[]",          "[]"),
        ("-",          "[1, 2]",      "[1, 2]"),
        ("[ ]",        "null",        "[null]"),
        ("[1]",        "[2,3]",       "[1,2,3]"),
        ("[1]",        "[[2,3]]",     "[1,[2,3]]"),
        ("[1]",        "[ ]",         "[1]"),
        ("[ 1.0 , 2 ]", r#"{"b": 1, "a":2}"#, r#"[1.0 , 2,{"b": 1, "a":2}]"#),
        (r#"["a"]"#,   r#""a""#,      r#"["a","a"]"#),
        ("{}",         "1",           "!the existing value must be a list, but its type is object"),
        ("\"[]\"",     "1",           "!the existing value must be a list, but its type is string"),
    ]);
}

#[test]
#[rustfmt::skip] // Columns.
fn unions_add_new_elements() {
    check(Patch::Union, Some(Merge::Union), &[
        ("-",          "[1,1,1.0]",  "[1]"),
        ("-",          "1",          "[1]"),
        ("[3,1]",      "[2,1,3,2]",  "[3,1,2]"),
        ("[1,1]",      "1.0",        "[1,1]"),
        ("[ 1 ]",      "[ ]",        "[1]"),
        (r#"[{"a":1,"b":2}]"#, r#"[{ "b":2, "a":1.0}, {"a":1}]"#, r#"[{"a":1,"b":2},{"a":1}]"#),
        ("[null]",     "[false,null,0]", "[null,false,0]"),
        ("true",       "1",          "!the existing value must be a list, but its type is boolean"),
        ("null",       "[]",         "!the existing value must be a list, but its type is null"),
    ]);
}

#[test]
fn a_large_union_does_not_compare_each_with_each() {
    let list = |range: std::ops::Range<u32>| {
        Json::of(&range.map(|number| number.to_string()).collect::<Vec<_>>()).unwrap()
    };
    let joined = patch(Some(&list(0..60_000)), &Patch::Union(list(30_000..90_000))).unwrap();
    assert_eq!(joined, list(0..90_000));
}

#[test]
#[rustfmt::skip] // Columns.
fn numbers_add_up_exactly() {
    check(Patch::Increment, Some(Merge::Counter), &[
        ("-",    "1",    "1"),
        ("-",    "-2.50", "-2.50"),
        ("1",    "2",    "3"),
        ("1",    "-3",   "-2"),
        ("1",    "0.5",  "1.5"),
        ("1.5",  "0.5",  "2.0"),
        ("9007199254740993",     "1",  "9007199254740994"),
        ("9223372036854775807",  "1",  "9223372036854775808"),
        ("18446744073709551615", "-9223372036854775808", "9223372036854775807"),
        ("18446744073709551615", "1",
            "!the sum of 18446744073709551615 and 1 is out of range"),
        ("-9223372036854775808", "-1",
            "!the sum of -9223372036854775808 and -1 is out of range"),
        ("1e308", "1e308", "!the sum of 1e+308 and 1e+308 is out of range"),
        ("\"1\"", "1",   "!the existing value must be a number, but its type is string"),
        ("1",    "\"1\"", "!the given value must be a number, but its type is string"),
        ("-",    "[1]",  "!the given value must be a number, but its type is list"),
    ]);
}

#[test]
#[rustfmt::skip] // Columns.
fn the_larger_number_stays() {
    check(Patch::Max, Some(Merge::Max), &[
        ("-",    "1.0",  "1.0"),
        ("1",    "2",    "2"),
        ("2",    "1",    "2"),
        ("2",    "2.0",  "2"),
        ("2.0",  "2",    "2.0"),
        ("-1",   "-1.5", "-1"),
        ("9007199254740992.0",   "9007199254740993",   "9007199254740993"),
        ("9007199254740993",     "9007199254740992.0", "9007199254740993"),
        ("18446744073709551615", "1.8446744073709552e19", "1.8446744073709552e19"),
        ("-9223372036854775808", "-1e300",             "-9223372036854775808"),
        ("{}",   "1",    "!the existing value must be a number, but its type is object"),
        ("1",    "null", "!the given value must be a number, but its type is null"),
    ]);
}

#[test]
fn simple_rules_accept_or_refuse() {
    let (one, one_again, two) = (json("1"), json("1.0"), json("2"));
    assert_eq!(merge(Merge::LastWriteWins, Some(&one), one_again.clone()), Ok(one_again.clone()));
    assert_eq!(merge(Merge::LastWriteWins, None, two.clone()), Ok(two.clone()));
    assert_eq!(merge(Merge::Reject, None, two.clone()), Ok(two.clone()));
    assert_eq!(merge(Merge::Reject, Some(&one), one_again), Ok(one.clone()));
    assert_eq!(merge(Merge::Reject, Some(&one), two), Err(MergeError::Exists));
    assert_eq!(Merge::default(), Merge::LastWriteWins);
}

#[test]
fn results_are_not_too_deep() {
    let nested = |depth: usize| json(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
    let too_deep = Err(MergeError::TooDeep { depth_max: DEPTH_MAX });
    let wrapped = Patch::Append(json(&format!("[{}]", nested(DEPTH_MAX - 1))));
    assert!(patch(None, &wrapped).is_ok());
    let object = json(&format!("{{\"a\":{}}}", nested(DEPTH_MAX - 1)));
    assert_eq!(patch(None, &Patch::Append(object.clone())), too_deep);
    assert_eq!(patch(Some(&json("[1]")), &Patch::Union(object)), too_deep);
}

#[test]
fn names_on_the_wire_are_pinned() {
    let patches = concat!(
        r#"[{"merge":{"a": 1}},{"json_patch":[]},{"append":1},"#,
        r#"{"union":[1]},{"increment":1},{"max":2.0}]"#
    );
    let read: Vec<Patch> = serde_json::from_str(patches).unwrap();
    assert_eq!(read[0], Patch::Merge(json(r#"{"a": 1}"#)));
    assert_eq!(serde_json::to_string(&read).unwrap(), patches);
    let packed = rmp_serde::to_vec_named(&read).unwrap();
    assert_eq!(messagepack::from_slice::<Vec<Patch>>(&packed).unwrap(), read);

    let rules = r#"["last_write_wins","reject","json_merge","append","union","counter","max"]"#;
    let read: Vec<Merge> = serde_json::from_str(rules).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), rules);

    let error = MergeError::NotA { expected: LIST, found: "object" };
    let facts = serde_json::to_string(&error).unwrap();
    assert_eq!(facts, r#"{"not_a":{"expected":"list","found":"object"}}"#);
}

proptest! {
    #[test]
    fn nothing_panics_whatever_meets(current in any_value(), given in any_value()) {
        let (current, given) = (Json::of(&current).unwrap(), Json::of(&given).unwrap());
        for form in [
            Patch::Merge,
            Patch::JsonPatch,
            Patch::Append,
            Patch::Union,
            Patch::Increment,
            Patch::Max,
        ] {
            let once = patch(Some(&current), &form(given.clone()));
            prop_assert_eq!(&once, &patch(Some(&current), &form(given.clone())));
            if let Ok(value) = once {
                prop_assert!(Json::parse(value.as_bytes()).is_ok());
            }
        }
    }

    #[test]
    fn a_union_twice_is_a_union_once(
        current in prop::collection::vec(any_value(), 0..6),
        given in prop::collection::vec(any_value(), 0..6),
    ) {
        let given = Patch::Union(Json::of(&given).unwrap());
        let once = patch(Some(&Json::of(&current).unwrap()), &given).unwrap();
        prop_assert_eq!(&patch(Some(&once), &given).unwrap(), &once);
        let Value::Array(elements) = once.to_value() else { panic!("a union is a list") };
        prop_assert_eq!(&elements[..current.len()], &current[..]);
    }
}
