//! The fast path parses frames like the general one; anything unusual is left to that.

use proptest::prelude::*;

use super::*;
use crate::command::{Command, Query};
use crate::json::Json;
use crate::names::{Key, NamespaceName};
use crate::state::{self, Get, Set};
use crate::wire::{Call, Frame};

const SET: &str = r#"{"id":7,"workspace":"w","agent":"ada","command":"state.set",
    "namespace":"shared","key":"plan","value":{"a":[1,2]}}"#;

/// The frame parsed by the general path, if the fast path could apply.
fn at_length(text: &str) -> Option<(Frame<'_>, Call)> {
    let frame = Frame::parse(text).ok()?;
    let call = frame.clone().call().ok()?;
    Some((frame, call))
}

/// The request of a fast frame as a general one; none if its names are invalid.
fn call_of(call: &FastCall<'_>) -> Option<Call> {
    let names =
        |namespace, key| Some((NamespaceName::parse(namespace).ok()?, Key::parse(key).ok()?));
    match call {
        FastCall::Set(set) => {
            let (namespace, key) = names(set.namespace, set.key)?;
            let whole = Set::new(namespace, key, Json::parse(set.value).ok()?);
            let whole = Set { expected_version: set.expected_version, ..whole };
            let call = Call::Command(Command::from(state::Command::Set(whole)));
            if set.is_minimal { call.into_minimal() } else { Some(call) }
        }
        FastCall::Get { namespace, key } => {
            let (namespace, key) = names(namespace, key)?;
            Some(Call::Query(Query::from(state::Query::Get(Get { namespace, key, at: None }))))
        }
    }
}

/// Whether the fast path applies; if so, both results are compared.
fn is_brief(text: &str) -> bool {
    let Some(fast_frame) = FastFrame::parse(text) else { return false };
    match (call_of(&fast_frame.call), at_length(text)) {
        (Some(call), Some((frame, at_length))) => {
            assert_eq!(call, at_length, "{text}");
            assert_eq!(frame.id, Some(fast_frame.id), "{text}");
            assert_eq!(frame.workspace.as_deref(), Some(fast_frame.workspace), "{text}");
            assert_eq!(frame.agent.as_deref(), fast_frame.agent, "{text}");
            let key = match fast_frame.call {
                FastCall::Set(set) => set.idempotency_key,
                FastCall::Get { .. } => None,
            };
            assert_eq!(frame.idempotency_key.as_deref(), key, "{text}");
        }
        // An invalid name is reported by the general path.
        (None, _) => {}
        (Some(_), None) => panic!("it is refused at length: {text}"),
    }
    true
}

#[test]
fn common_requests_take_the_fast_path() {
    for text in [
        SET,
        r#" { "value" : null , "key":"a/b ö", "namespace":"agent:ada", "command":"state.set",
            "workspace":"w", "id":0 } "#,
        r#"{"id":18446744073709551615,"workspace":"w","command":"state.set","namespace":"shared",
            "key":"k","value":"\n","expected_version":0}"#,
        r#"{"id":1,"idempotency_key":"once","workspace":"w","command":"state.set",
            "namespace":"shared","key":"plan","value":1}"#,
        r#"{"id":1,"return":"minimal","workspace":"w","command":"state.set",
            "namespace":"shared","key":"plan","value":1}"#,
        r#"{"id":1,"workspace":"w","agent":"ada","command":"state.get","namespace":"shared",
            "key":"plan"}"#,
    ] {
        assert!(is_brief(text), "{text}");
    }
}

#[test]
fn unusual_frames_take_the_general_path() {
    let members = r#""id":1,"workspace":"w","command":"state.get","namespace":"shared","key":"k""#;
    for text in [
        format!("{{{members}}}x"),
        format!("{{{members},}}"),
        format!("{{{members}"),
        format!("[{members}]"),
        format!(r#"{{{members},"id":1}}"#),
        format!(r#"{{{members},"at":7}}"#),
        format!(r#"{{{members},"value":1}}"#),
        format!(r#"{{{members},"expected_version":1}}"#),
        format!(r#"{{{members},"idempotency_key":"i"}}"#),
        format!(r#"{{{members},"agent":null}}"#),
        format!(r#"{{{members},"agent":"\u0061da"}}"#),
        format!(r#"{{{members} "agent":"ada"}}"#),
        format!("{{{}}}", members.replace('1', "01")),
        format!("{{{}}}", members.replace('1', "1.0")),
        format!("{{{}}}", members.replace('1', "-1")),
        format!("{{{}}}", members.replace('1', r#""1""#)),
        format!("{{{}}}", members.replace('1', "18446744073709551616")),
        format!("{{{}}}", members.replace("state.get", "state.set")),
        format!("{{{}}}", members.replace("state.get", "state.list")),
        format!("{{{}}}", members.replace(r#""key":"k""#, r#""key":7"#)),
        format!("{{{}}}", members.replace(r#","key":"k""#, "")),
        format!("{{{}}}", members.replace(r#""workspace":"w","#, "")),
        format!("{{{}}}", members.replace(r#""id":1,"#, "")),
        String::new(),
        "{".to_owned(),
        "{}".to_owned(),
    ] {
        assert_eq!(FastFrame::parse(&text), None, "{text}");
    }
}

fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "{",
        "}",
        ",",
        ":",
        " ",
        r#""id""#,
        "1",
        "0",
        "-",
        ".5",
        r#""workspace""#,
        r#""w""#,
        r#""agent""#,
        r#""command""#,
        r#""state.set""#,
        r#""state.get""#,
        r#""namespace""#,
        r#""shared""#,
        r#""key""#,
        r#""value""#,
        r#""expected_version""#,
        r#""k\n""#,
        "null",
        "[1]",
        r#""ö""#,
        "\u{1}",
        "\"",
        "\\",
    ])
}

/// Members of a set or a get, in any order, some omitted and some duplicated.
fn members() -> impl Strategy<Value = String> {
    let member = prop::sample::select(vec![
        r#""id":7"#,
        r#""workspace":"w""#,
        r#""agent":"ada""#,
        r#""command":"state.set""#,
        r#""command":"state.get""#,
        r#""namespace":"shared""#,
        r#""key":"k""#,
        r#""key":"""#,
        r#""value":[{"a": 1e5}]"#,
        r#""expected_version":3"#,
        r#""idempotency_key":"once""#,
        r#""at":1"#,
        r#""ttl_ms":5"#,
    ]);
    prop::collection::vec(member, 0..9).prop_map(|members| format!("{{{}}}", members.join(", ")))
}

proptest! {
    #[test]
    fn both_readings_agree(texts in members(), pieces in prop::collection::vec(piece(), 0..24)) {
        is_brief(&texts);
        is_brief(&pieces.concat());
    }

    #[test]
    fn both_agree_after_a_change(at in 0_usize..120, piece in piece(), length in 0_usize..4) {
        let (at, end) = (at.min(SET.len()), (at + length).min(SET.len()));
        is_brief(&format!("{}{piece}{}", &SET[..at], &SET[end..]));
    }
}
