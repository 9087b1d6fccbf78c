//! Tests of accepted texts, of refused ones with their errors, and of round trips.

use std::sync::Arc;

use super::*;
use crate::history::At;
use crate::space::batch::Batch;
use crate::{
    AgentId, Answer, CallOutcome, Command, Entry, Event, Json, Key, Kind, Mutation, NamespaceName,
    Notice, Query, Rejection, Reply, Revision, Space, TaskId, Timestamp, Version, WorkspaceName,
    agent, state, state::merge, task, workspace,
};

fn call(text: &str) -> Result<Call, Fault> {
    Frame::parse(text)?.call()
}

#[track_caller]
fn refused(text: &str, code: &str, detail: &str) {
    let fault = call(text).expect_err(text);
    assert_eq!((fault.code(), fault.to_string().as_str()), (code, detail), "{text}");
    assert!(!fault.hint().is_empty());
}

fn set(value: &str) -> state::Set {
    let key = Key::parse("plan").unwrap();
    state::Set::new(NamespaceName::shared(), key, Json::parse(value).unwrap())
}

#[test]
fn a_frame_is_read_whatever_the_order_of_its_fields() {
    let texts = [
        r#"{"id":7,"workspace":"w","agent":"ada","command":"state.set","namespace":"shared",
            "key":"plan","value":{"b": 1, "a":[2]}}"#,
        r#" { "value" : {"b": 1, "a":[2]} , "key":"plan", "namespace":"shared",
            "command":"state.set","agent":"ada","workspace":"w","id":7 } "#,
        "{\"\\u0069d\":7,\"workspace\":\"w\",\"agent\":\"\\u0061da\",\
         \"command\":\"state.set\",\"namespace\":\"shared\",\
         \"key\":\"pl\\u0061n\",\"value\":{\"b\": 1, \"a\":[2]}}",
    ];
    for text in texts {
        let frame = Frame::parse(text).unwrap();
        assert_eq!((frame.id, frame.workspace.as_deref()), (Some(7), Some("w")), "{text}");
        assert_eq!(frame.agent.as_deref(), Some("ada"), "{text}");
        let expected = Command::from(state::Command::Set(set(r#"{"b": 1, "a":[2]}"#)));
        assert_eq!(frame.call(), Ok(Call::Command(expected)), "{text}");
    }
}

#[test]
fn a_value_keeps_its_bytes() {
    let text = r#"{"command":"state.set","namespace":"shared","key":"plan",
            "value": {"z":1.50,  "a":"ö\n"} }"#;
    let Ok(Call::Command(Command::State(state::Command::Set(set)))) = call(text) else {
        panic!("it is a set")
    };
    assert_eq!(set.value.as_str(), r#"{"z":1.50,  "a":"ö\n"}"#);
}

#[test]
fn invalid_requests_are_refused_by_name() {
    refused("[1]", "request.malformed", "the request is malformed: it must be an object");
    refused("{}", "request.missing_field", "the field `command` is missing");
    refused(
        r#"{"command":"state.fly"}"#,
        "request.unknown_command",
        "there is no command `state.fly`",
    );
    refused(
        r#"{"command":"state.delete","namespace":"shared","key":"k","why":1}"#,
        "request.unknown_field",
        "there is no field `why`; the fields are `namespace`, `key`, `expected_version`, \
            `expected_revision`",
    );
    refused(
        r#"{"command":"agent.list","skill":"x"}"#,
        "request.unknown_field",
        "there is no field `skill`; the fields are `capability`, `status`, `limit`, `cursor`",
    );
    refused(
        r#"{"command":"workspace.get","x":1}"#,
        "request.unknown_field",
        "there is no field `x`; the fields are none",
    );
    refused(
        r#"{"command":"state.get","namespace":"shared"}"#,
        "request.missing_field",
        "the field `key` is missing",
    );
    refused(
        r#"{"command":"state.get","namespace":"shared","key":"a","key":"b"}"#,
        "request.duplicate_field",
        "the field `key` occurs more than once",
    );
    refused(
        r#"{"command":"state.get","agent":"a","agent":"b","namespace":"shared","key":"a"}"#,
        "request.duplicate_field",
        "the field `agent` occurs more than once",
    );
    refused(
        r#"{"command":"state.get","namespace":"shared","key":5}"#,
        "request.bad_field",
        "the field `key` is invalid: it must be a string, not `5`",
    );
    refused(
        r#"{"command":"state.get","namespace":"no spaces","key":"k"}"#,
        "request.bad_field",
        "the field `namespace` is invalid: namespace `no spaces` is not \
         valid: only letters, digits and `._:@-` are allowed",
    );
    refused(
        r#"{"command":"state.list","namespace":"shared","limit":-1}"#,
        "request.bad_field",
        "the field `limit` is invalid: it must be a whole number that is not negative, not `-1`",
    );
    refused(
        r#"{"command":7}"#,
        "request.bad_field",
        "the field `command` is invalid: it must be a string",
    );
}

#[test]
fn errors_are_described_in_terms_of_the_request() {
    for (command, expected) in [
        (r#""state.put""#, "there is no command `state.put`; did you mean `state.set`?"),
        (r#""lock.unlock""#, "there is no command `lock.unlock`; did you mean `lock.release`?"),
        (r#""task.rm""#, "there is no command `task.rm`; did you mean `task.cancel`?"),
        (r#""tasks.create""#, "there is no command `tasks.create`; did you mean `task.create`?"),
        (r#""task.launch""#, "there is no command `task.launch`"),
    ] {
        refused(&format!(r#"{{"command":{command}}}"#), "request.unknown_command", expected);
    }
    for (field, expected) in [
        (
            r#""wait_ms":-1"#,
            "`wait_ms` is invalid: it must be a whole number that is not negative, not `-1`",
        ),
        (
            r#""wait_ms":1.5"#,
            "`wait_ms` is invalid: it must be a whole number that is not negative, not `1.5`",
        ),
        (
            r#""lease_ms":"x""#,
            "`lease_ms` is invalid: it must be a whole number that is not negative, not \"x\"",
        ),
    ] {
        let expected = format!("the field {expected}");
        refused(&format!(r#"{{"command":"task.claim",{field}}}"#), "request.bad_field", &expected);
    }
    refused(
        r#"{"command":"task.create","type":"x","on_exhausted":"fly"}"#,
        "request.bad_field",
        "the field `on_exhausted` is invalid: `fly` is not one of `fail`, `review`, `agent`",
    );
}

#[test]
fn errors_inside_a_field_are_described_in_terms_of_the_request() {
    for (fields, expected) in [
        (
            r#""to":{"cap":"x"}"#,
            "`to` is invalid: it has no field `cap`; the fields are `capability`",
        ),
        (r#""to":{}"#, "`to` is invalid: its field `capability` is missing"),
        (
            r#""to":5"#,
            "`to` is invalid: it must be the id of an agent, or an object with `capability`, \
             not `5`",
        ),
        (
            r#""to":"bob","approval":{"approvers":["eve"]}"#,
            "`approval` is invalid: it has no field `approvers`; the fields are `by`, `expires_ms`",
        ),
        (
            r#""to":"bob","approval":{"by":[],"by":[]}"#,
            "`approval` is invalid: its field `by` occurs more than once",
        ),
        (
            r#""to":"bob","approval":"yes""#,
            "`approval` is invalid: it must be true, false, or an object with `by` and \
             `expires_ms`, not \"yes\"",
        ),
    ] {
        let text = format!(r#"{{"command":"handoff.offer",{fields}}}"#);
        refused(&text, "request.bad_field", &format!("the field {expected}"));
    }
}

#[test]
fn what_is_wrong_inside_a_precondition_is_said_in_words_of_the_request() {
    for (require, expected) in [
        (r#"{"lock":1}"#, "it must be a list, not an object"),
        (r#"[{"lock":"l"}]"#, "it must be an object, not \"l\""),
        (r#"[{"task":{"status":"pending"}}]"#, "its field `task` is missing"),
        (
            r#"[{"lease":1}]"#,
            "`lease` is not one of `entry`, `namespace`, `agent`, `task`, `lock`, `handoff`, \
             `token`, `revision`",
        ),
        ("[7]", "it has the wrong type"),
        (r#"[{"agent":{"agent":"ada","active":7}}]"#, "it must be `true` or `false`, not `7`"),
    ] {
        let text = format!(r#"{{"command":"transaction","require":{require},"commands":[]}}"#);
        let expected = format!("the field `require` is invalid: {expected}");
        refused(&text, "request.bad_field", &expected);
    }
    let text = r#"{"command":"task.create","type":"x","on_exhausted":7}"#;
    let expected = "the field `on_exhausted` is invalid: it has the wrong type";
    refused(text, "request.bad_field", expected);
    let text = r#"{"command":"workspace.changes","with":[]}"#;
    refused(text, "request.bad_field", "the field `with` is invalid: it must be an object");
}

#[test]
fn a_number_names_the_request_and_a_text_what_shall_be_created() {
    refused(
        r#"{"id":-1,"command":"ping"}"#,
        "request.bad_field",
        "the field `id` is invalid: it must be an integer from 0 to 2^64 - 1",
    );
    refused(
        r#"{"id":"x","command":"ping"}"#,
        "request.unknown_field",
        "there is no field `id`; the fields are none",
    );
}

#[test]
fn a_patch_has_exactly_one_form() {
    refused(
        r#"{"command":"state.patch","namespace":"shared","key":"k","max":1,"append":2}"#,
        "request.bad_field",
        "the fields are invalid: give exactly one of `merge`, \
         `json_patch`, `append`, `union`, `increment` and `max`",
    );
}

#[test]
fn invalid_json_is_refused_wherever_it_breaks() {
    let whole =
        r#"{"command":"state.set","namespace":"shared","key":"plan","value":{"a":[1,"x"]}}"#;
    assert!(call(whole).is_ok());
    for end in 0..whole.len() {
        let fault = Frame::parse(&whole[..end]).expect_err(&whole[..end]);
        assert!(matches!(fault.code(), "request.bad_json" | "request.malformed"), "{fault}");
    }
    for bad in [r#"{"a":1,}"#, r#"{"a" 1}"#, r#"{"a":1} x"#, r"{a:1}", r#"{"a":01}"#, r"{,}"] {
        assert_eq!(Frame::parse(bad).expect_err(bad).kind(), Kind::Invalid, "{bad}");
    }
    let deep = format!(r#"{{"command":"ping","x":{}1{}}}"#, "[".repeat(65), "]".repeat(65));
    assert_eq!(Frame::parse(&deep).unwrap_err().code(), "request.bad_json");
    let many: Vec<_> = (0..100).map(|number| format!("\"f{number}\":1")).collect();
    let many = format!("{{{}}}", many.join(","));
    assert_eq!(Frame::parse(&many).unwrap_err().code(), "request.too_large");
}

#[test]
fn signals_of_the_engine_cannot_be_sent_by_clients() {
    for name in ["state.expire", "state.let_go", "namespace.ensure", "agent.expire"] {
        refused(
            &format!(r#"{{"command":"{name}"}}"#),
            "request.unknown_command",
            &format!("there is no command `{name}`"),
        );
    }
}

#[test]
fn every_operation_exists_as_the_table_describes_it() {
    // Without fields an operation is either complete or misses one; it is never unknown.
    for operation in OPERATIONS {
        let text = format!(r#"{{"command":"{}"}}"#, operation.name);
        match call(&text) {
            Ok(Call::Command(_)) => assert_eq!(operation.effect, Effect::Changes, "{text}"),
            Ok(Call::Query(_)) => assert_eq!(operation.effect, Effect::Asks, "{text}"),
            Err(fault) => {
                assert!(matches!(fault.code(), "request.missing_field"), "{text}: {fault}");
            }
            Ok(other) => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn an_agent_is_the_actor_or_the_subject() {
    let text = r#"{"command":"agent.register","agent":"ada","capabilities":["write"]}"#;
    let Ok(Call::Command(Command::Agent(agent::Command::Register(register)))) = call(text) else {
        panic!("it registers")
    };
    assert_eq!(register.agent.as_str(), "ada");
    // Elsewhere it is only the acting agent.
    let frame =
        Frame::parse(r#"{"command":"agent.list","agent":"ada","status":"active"}"#).unwrap();
    assert_eq!(frame.agent.as_deref(), Some("ada"));
    assert!(frame.call().is_ok());
}

#[test]
fn an_invalid_command_of_a_transaction_is_named() {
    let text = r#"{"command":"transaction","require":[{"entry":{"namespace":"shared","key":"k",
            "version":0}}],
        "commands":[{"command":"state.set","namespace":"shared","key":"plan","value":1},
                    {"command":"agent.leave","agent":"ada","optional":true}]}"#;
    let Ok(Call::Transaction(Mutation::Transaction { require, commands, optional })) = call(text)
    else {
        panic!("it is a transaction")
    };
    assert_eq!((require.len(), commands.len(), optional), (1, 2, vec![1]));
    let begin = r#"{"command":"transaction","commands":["#;
    let refuse = |command: &str, cause: &str| {
        let text = format!(r#"{begin}{{"command":"workspace.configure"}},{command}]}}"#);
        let fault = call(&text).expect_err(&text);
        assert_eq!(fault.code(), "transaction.command_refused", "{fault}");
        let Fault::InTransaction { index, cause_code, .. } = fault else { panic!("{fault}") };
        assert_eq!((index, cause_code), (1, cause));
    };
    refuse(r#"{"command":"state.get","namespace":"shared","key":"k"}"#, "request.bad_field");
    refuse(r#"{"command":"transaction","commands":[]}"#, "request.bad_field");
    refuse(r#"{"command":"state.set","id":1}"#, "request.bad_field");
    refuse(r#"{"command":"workspace.configure","agent":"x"}"#, "request.bad_field");
    refuse(r#"{"command":"state.delete"}"#, "request.missing_field");
    refuse(r#"{"command":"workspace.configure","optional":1}"#, "request.bad_field");
    refused(
        r#"{"command":"transaction"}"#,
        "request.missing_field",
        "the field `commands` is missing",
    );
    assert_eq!(
        call(r#"{"command":"transaction","commands":{}}"#).unwrap_err().code(),
        "request.bad_field"
    );
    let many = vec![r#"{"command":"workspace.configure"}"#; 1_001].join(",");
    assert_eq!(call(&format!("{begin}{many}]}}")).unwrap_err().kind(), Kind::TooLarge);
}

#[test]
fn what_belongs_to_the_whole_transaction_is_refused_in_its_commands() {
    let refuse = |command: &str, reason: &str| {
        let text = format!(r#"{{"command":"transaction","commands":[{command}]}}"#);
        let detail = format!("command 0 of the transaction cannot be read: {reason}");
        refused(&text, "transaction.command_refused", &detail);
    };
    let set = r#""command":"state.set","namespace":"shared","key":"k","value":1"#;
    for (name, value) in [
        ("id", "7"),
        ("workspace", "\"w\""),
        ("agent", "\"ada\""),
        ("idempotency_key", "\"once\""),
        ("return", "\"minimal\""),
    ] {
        let reason = format!(
            "the field `{name}` is invalid: it belongs to the whole request, and not to one \
             command in it"
        );
        refuse(&format!(r#"{{{set},"{name}":{value}}}"#), &reason);
    }
    let nested = "the field `command` is invalid: a transaction cannot contain another";
    refuse(&format!(r#"{{"command":"transaction","commands":[{{{set}}}]}}"#), nested);
    refuse(
        r#"{"command":"state.get","namespace":"shared","key":"k"}"#,
        "the field `command` is invalid: `state.get` changes nothing",
    );
}

#[test]
fn a_text_is_no_number_of_a_frame() {
    let numberless = |text: &str| Frame::parse(text).unwrap().numberless().to_string();
    let bad = "the field `id` is invalid: it must be an integer from 0 to 2^64 - 1";
    assert_eq!(numberless(r#"{"id":"a","command":"ping"}"#), bad);
    assert_eq!(numberless(r#"{"command":"ping"}"#), "the field `id` is missing");
}

#[test]
fn watches_are_begun_and_ended() {
    let text = r#"{"command":"watch","pattern":"state/**","types":["state.set"],"from":5,
            "snapshot":false}"#;
    let Ok(Call::Watch(watch)) = call(text) else { panic!("it watches") };
    assert_eq!((watch.from, watch.types.len(), watch.snapshot), (Some(Revision(5)), 1, false));
    assert_eq!(call(r#"{"command":"unwatch","watch":9}"#), Ok(Call::Unwatch { watch: 9 }));
    assert_eq!(call(r#"{"command":"ping"}"#), Ok(Call::Ping));
    refused(r#"{"command":"unwatch"}"#, "request.missing_field", "the field `watch` is missing");
    assert_eq!(call(r#"{"command":"ping","x":1}"#).unwrap_err().code(), "request.unknown_field");
    assert_eq!(
        call(r#"{"command":"watch","pattern":""}"#).unwrap_err().code(),
        "request.bad_field"
    );
}

#[test]
fn the_error_of_an_invalid_frame_has_its_number() {
    let deep = format!(r#"{{"id":7,"value":{}{}}}"#, "[".repeat(65), "]".repeat(65));
    assert!(Frame::parse(&deep).is_err());
    assert_eq!(Frame::number(&deep), Some(7));
    for (text, number) in [
        (r#"{"agent":5,"id":7}"#, Some(7)),
        (r#"{"id":7,"value":"#, Some(7)),
        (r#"{"value":nonsense,"id":7}"#, None),
        (r#"{"id":7"#, None),
        (r#"{"id":7,"id":8}"#, None),
        (r#"{"id":-1}"#, None),
        (r#"[{"id":7}]"#, None),
        ("", None),
    ] {
        assert!(Frame::parse(text).is_err(), "{text}");
        assert_eq!(Frame::number(text), number, "{text}");
    }
}

#[test]
fn text_of_a_path_or_query_is_read_by_the_type_of_its_field() {
    let mut fields = Fields::default();
    fields.text("namespace", "shared");
    fields.text("prefix", "12");
    fields.text("limit", "12");
    fields.text("at", "3");
    let Ok(Call::Query(Query::State(state::Query::List(list)))) =
        fields.operation(operation("state.list").unwrap())
    else {
        panic!("it lists")
    };
    assert_eq!((list.prefix.as_deref(), list.limit), (Some("12"), Some(12)));
    assert_eq!(list.at, Some(Revision(3)));
    fields.text("from", "1");
    let fault = fields.operation(operation("state.list").unwrap()).unwrap_err();
    assert_eq!(fault.code(), "request.unknown_field");
    let value = Json::parse("[1]").unwrap();
    let mut fields = Fields::default();
    fields.text("namespace", "shared");
    fields.text("key", "a/b");
    fields.text("if_absent", "true");
    fields.text("expected_value", "null");
    fields.json("value", &value);
    let Ok(Call::Command(Command::State(state::Command::Set(set)))) =
        fields.operation(operation("state.set").unwrap())
    else {
        panic!("it sets")
    };
    assert_eq!((set.if_absent, set.expected_value), (true, Some(Json::null())));
    let mut fields = Fields::default();
    fields.text("pattern", "**");
    fields.text("types", "state.set,agent.lost");
    fields.text("from", "twelve");
    let fault = fields.to::<Watch>().unwrap_err();
    assert_eq!(fault.to_string(), "the field `from` is invalid: `twelve` is not a valid number");
}

fn happened(commands: &[&str]) -> (Space, Vec<Answer>, Vec<Batch>) {
    let mut space = Space::default();
    let (mut answers, mut batches) = (Vec::new(), Vec::new());
    for text in commands {
        let Ok(Call::Command(command)) = call(text) else { panic!("{text}") };
        let agent = AgentId::parse("ada").unwrap();
        let now = Timestamp(1_794_700_800_123);
        let committed = space.commit(command.into(), &agent, now).expect(text);
        let CallOutcome::Answered(answer) = committed.outcome else { panic!("{text} waits") };
        answers.push(answer);
        batches.extend(committed.batch);
    }
    (space, answers, batches)
}

const STORY: [&str; 11] = [
    r#"{"command":"state.set","namespace":"shared","key":"plan","value":{"z":1, "a":2}}"#,
    r#"{"command":"state.set","namespace":"shared","key":"a \"quoted\" key/ö","value":1.50,
            "ttl_ms":5000}"#,
    r#"{"command":"state.patch","namespace":"shared","key":"plan","merge":{"z":null}}"#,
    r#"{"command":"namespace.create","name":"notes","rules":{"append_only":true}}"#,
    r#"{"command":"namespace.create","name":"later"}"#,
    r#"{"command":"state.transfer","from_namespace":"shared","to_namespace":"notes",
            "keys":["plan"]}"#,
    r#"{"command":"agent.register","agent":"ada","capabilities":["a","b"],"metadata":{"m": 1}}"#,
    r#"{"command":"state.delete","namespace":"shared","key":"a \"quoted\" key/ö"}"#,
    r#"{"command":"agent.leave","agent":"ada"}"#,
    r#"{"command":"namespace.delete","name":"later"}"#,
    r#"{"command":"workspace.configure","history_count":7}"#,
];

#[test]
fn replies_survive_a_round_trip() {
    let (space, answers, _) = happened(&STORY);
    for (text, answer) in STORY.iter().zip(&answers) {
        let Ok(Call::Command(command)) = call(text) else { panic!("{text}") };
        let mut result = Vec::new();
        write_reply(&mut result, &answer.reply);
        let name = Spoken::from(&command).name;
        assert_eq!(reply(&name, &result).expect(text), answer.reply, "{text}");
    }
    let queries = [
        r#"{"command":"state.list","namespace":"shared"}"#,
        r#"{"command":"state.get","namespace":"notes","key":"plan"}"#,
        r#"{"command":"namespace.list"}"#,
        r#"{"command":"namespace.get","name":"notes"}"#,
        r#"{"command":"agent.list"}"#,
        r#"{"command":"agent.get","agent":"ada"}"#,
        r#"{"command":"workspace.get"}"#,
    ];
    for text in queries {
        let Ok(Call::Query(query)) = call(text) else { panic!("{text}") };
        let answered = space.query(&query).expect("it is about the present").expect(text);
        let mut result = Vec::new();
        write_reply(&mut result, &answered);
        let name = Spoken::from(&query).name;
        assert_eq!(reply(&name, &result).expect(text), answered, "{text}");
    }
}

#[test]
fn an_entry_written_by_hand_equals_the_output_of_serde() {
    let (_, answers, _) = happened(&STORY);
    let mut entries = 0;
    for answer in &answers {
        if let Reply::State(state::Reply::Entry(entry)) = &answer.reply {
            let mut by_hand = Vec::new();
            write_reply(&mut by_hand, &answer.reply);
            let entry: &Entry = entry;
            assert_eq!(String::from_utf8(by_hand).unwrap(), serde_json::to_string(entry).unwrap());
            entries += 1;
        }
    }
    assert!(entries >= 4);
}

#[test]
fn commands_survive_a_round_trip_as_text() {
    for text in STORY {
        let meant = call(text).unwrap();
        let Call::Command(command) = &meant else { panic!("{text}") };
        let mut spoken = b"{".to_vec();
        Spoken::from(command).write(&mut spoken);
        spoken.push(b'}');
        assert_eq!(call(str::from_utf8(&spoken).unwrap()), Ok(meant));
    }
    let queries = [
        Query::from(state::Query::History(state::History::default())),
        Query::from(workspace::Query::Get).at(At::Revision(Revision(7))).unwrap(),
        Query::from(task::Query::Get { task: TaskId::parse("t").unwrap() })
            .at(At::Time(Timestamp(1_700_000_000_000)))
            .unwrap(),
        Query::from(workspace::Query::Fork {
            to: WorkspaceName::parse("copy").unwrap(),
            at: Some(At::Revision(Revision(7))),
        }),
    ];
    for query in queries {
        let mut spoken = b"{".to_vec();
        Spoken::from(&query).write(&mut spoken);
        spoken.push(b'}');
        assert_eq!(call(str::from_utf8(&spoken).unwrap()), Ok(Call::Query(query)));
    }
}

#[test]
fn every_question_about_the_present_may_be_asked_about_the_past() {
    let get = |at: Option<u64>| {
        let (namespace, key) = (NamespaceName::shared(), Key::parse("k").unwrap());
        Query::from(state::Query::Get(state::Get { namespace, key, at: at.map(Revision) }))
    };
    let about = Query::from(workspace::Query::Get);
    for (text, meant) in [
        (r#"{"command":"state.get","namespace":"shared","key":"k","at":7}"#, get(Some(7))),
        (r#"{"command":"state.get","namespace":"shared","key":"k","at":"7"}"#, get(Some(7))),
        (r#"{"command":"state.get","namespace":"shared","key":"k","at":null}"#, get(None)),
        (
            r#"{"command":"state.get","namespace":"shared","key":"k","at":"2023-11-14T22:13:20Z"}"#,
            get(None).at(At::Time(Timestamp(1_700_000_000_000))).unwrap(),
        ),
        (r#"{"command":"workspace.get","at":7}"#, about.at(At::Revision(Revision(7))).unwrap()),
    ] {
        assert_eq!(call(text), Ok(Call::Query(meant)), "{text}");
    }
    for (text, code) in [
        (r#"{"command":"workspace.get","at":"noon"}"#, "request.bad_field"),
        (r#"{"command":"workspace.get","at":-1}"#, "request.bad_field"),
        (r#"{"command":"workspace.get","at":1,"at":1}"#, "request.duplicate_field"),
        (r#"{"command":"state.history","at":1}"#, "request.unknown_field"),
        (
            r#"{"command":"state.set","namespace":"shared","key":"k","value":1,"at":1}"#,
            "request.unknown_field",
        ),
    ] {
        assert_eq!(call(text).unwrap_err().code(), code, "{text}");
    }
}

#[test]
fn a_notice_survives_the_way() {
    let (_, _, batches) = happened(&STORY);
    let mut seen = 0;
    for batch in batches {
        let batch = Arc::new(batch);
        for index in 0..batch.events.len() {
            let notice = Notice::new(Arc::clone(&batch), index);
            let text = notice.json();
            let text = str::from_utf8(&text).unwrap();
            let read = Notice::parse(text).expect(text);
            let mut event = notice.event().clone();
            if let Event::Agent(agent::Event::Joined { token, .. }) = &mut event {
                *token = crate::Token::HIDDEN;
            }
            assert_eq!(*read.event(), event, "{text}");
            assert_eq!((read.revision(), read.index()), (notice.revision(), notice.index()));
            assert_eq!((read.time(), read.agent()), (notice.time(), notice.agent()));
            assert_eq!((read.kind(), read.subject()), (notice.kind(), notice.subject()));
            let fields: serde_json::Value = serde_json::from_str(text).unwrap();
            assert_eq!(fields["type"], notice.kind());
            seen += 1;
        }
    }
    assert!(seen >= STORY.len());
}

#[test]
fn the_subject_of_an_agent_event_names_the_agent() {
    let lost =
        Event::Agent(agent::Event::Lost { agent: AgentId::parse("ada").unwrap(), because: None });
    let agent = AgentId::engine();
    let batch = Batch { revision: Revision(3), time: Timestamp(0), agent, events: vec![lost] };
    let notice = Notice::new(Arc::new(batch), 0);
    let text = notice.json();
    let text = str::from_utf8(&text).unwrap();
    assert_eq!(text.matches("\"agent\"").count(), 1, "{text}");
    let read = Notice::parse(text).unwrap();
    assert_eq!((read.event(), read.agent()), (notice.event(), notice.agent()));
}

#[test]
fn a_problem_keeps_the_winning_entry_as_it_is() {
    let (mut space, ..) = happened(&STORY[..1]);
    let mut late = set("1");
    late.expected_version = Some(Version(7));
    let agent = AgentId::parse("bob").unwrap();
    let command = Command::from(state::Command::Set(late));
    let rejection: Rejection = space.commit(command.into(), &agent, Timestamp(0)).unwrap_err();
    let problem = Problem::from(&rejection);
    let text = serde_json::to_string(&problem).unwrap();
    assert!(text.starts_with(r#"{"code":"state.version_conflict","kind":"conflict","detail":"#));
    assert!(text.contains(r#""value":{"z":1, "a":2}"#), "{text}");
    assert_eq!(Problem::parse(&text), Ok(problem.clone()));
    let entry: Entry = problem.fact("entry").unwrap().to().unwrap();
    assert_eq!(entry.version(), Version(1));
    assert!(merge::MergeError::Absent.to_string().contains("patch"));
}

#[test]
fn the_fast_path_reads_frames_like_the_general_path() {
    let fields = [
        r#""namespace":"shared","key":"plan","value":{"a": [1]}"#,
        r#""value":null,"key":"a/b ö","namespace":"agent:ada","expected_version":0"#,
        r#""namespace":"shared","key":"plan","value":1,"expected_version":18446744073709551615"#,
        r#""namespace":"shared","key":"plan","value":1,"expected_version":18446744073709551616"#,
        r#""namespace":"shared","key":"plan","value":1,"expected_version":null"#,
        r#""namespace":"shared","key":"plan","value":1,"expected_version":-1"#,
        r#""namespace":"shared","key":"pl\u0061n","value":1,"ttl_ms":5"#,
        r#""namespace":"shared","key":"plan","at":7"#,
        r#""namespace":"shared","key":"plan","at":null"#,
        r#""namespace":"shared","key":"plan","at":1.0"#,
        r#""namespace":"shared","key":"""#,
        r#""namespace":"no spaces","key":"k","value":1"#,
        r#""namespace":"shared","key":"k","key":"k","value":1"#,
        r#""namespace":"shared","key":7,"value":1"#,
        r#""namespace":"shared""#,
        r#""namespace":"shared","key":"k","value":1,"what":1"#,
        "",
    ];
    let mut usual = 0;
    for text in fields.map(|fields| format!("{{{fields}}}")) {
        let fields = Fields::parse(&text).unwrap();
        for name in ["state.set", "state.get"] {
            let any = fields.any_operation(operation(name).unwrap());
            if let Some(read) = fast_call::read(name, &fields) {
                assert_eq!(Ok(read), any, "{name} {text}");
                usual += 1;
            }
        }
    }
    assert!(usual >= 4, "the usual is usual");
}

#[test]
fn numbers_are_written_as_they_are() {
    for number in [0, 7, 10, 99, 1_000_000, u64::MAX] {
        let mut out = Vec::new();
        write_number(&mut out, number);
        assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
    }
}
