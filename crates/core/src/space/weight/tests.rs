//! Tests of the estimated work of requests and queries.

use crate::command::{Mutation, Query, Request};
use crate::limits;
use crate::names::AgentId;
use crate::space::Space;
use crate::time::Timestamp;
use crate::wire::{Call, Frame};

fn call(text: &str) -> Call {
    Frame::parse(text).unwrap().call().unwrap()
}

fn mutation(text: &str) -> Mutation {
    match call(text) {
        Call::Command(command) => Mutation::Command(command),
        Call::Transaction(mutation) => mutation,
        _ => panic!("{text} changes nothing"),
    }
}

fn query(text: &str) -> Query {
    match call(text) {
        Call::Query(query) => query,
        _ => panic!("{text} is no query"),
    }
}

fn set(namespace: &str, key: &str, bytes: usize) -> String {
    let value = "x".repeat(bytes);
    format!(
        r#"{{"command":"state.set","namespace":"{namespace}","key":"{key}","value":"{value}"}}"#
    )
}

fn space(texts: &[String]) -> Space {
    let (mut space, ada) = (Space::default(), AgentId::parse("ada").unwrap());
    for text in texts {
        let request = Request { mutation: mutation(text), idempotency_key: None };
        space.commit(request, &ada, Timestamp(1_000)).unwrap();
    }
    space
}

#[test]
fn a_value_is_work_if_it_is_checked() {
    let rules = r#"{"command":"namespace.create","name":"checked",
        "rules":{"schema":{"type":"string"}}}"#;
    let space = space(&[rules.to_owned(), set("shared", "large", 64_000)]);
    let work = |text: &str| space.long_work(&mutation(text), 256);
    assert_eq!(work(&set("shared", "k", 64_000)), None);
    assert_eq!(work(&set("checked", "k", 16_000)), None);
    assert_eq!(work(&set("checked", "k", 63_998)), Some(1_000));
    let small = set("checked", "k", 9_000);
    let together = format!(r#"{{"command":"transaction","commands":[{small},{small}]}}"#);
    assert!(work(&together).is_some());
    // A patch reads all of what it changes.
    let patch = r#"{"command":"state.patch","namespace":"shared","key":"large",
        "merge":{"a":1}}"#;
    assert!(work(patch).is_some());
    assert_eq!(work(&patch.replace("large", "other")), None);
}

#[test]
fn the_work_of_a_check_includes_its_automata() {
    let rules = |name: &str, pattern: &str| {
        format!(
            r#"{{"command":"namespace.create","name":"{name}",
                "rules":{{"schema":{{"pattern":"{pattern}"}}}}}}"#
        )
    };
    let space = space(&[rules("plain", "^[a-z]{1,64}$"), rules("hungry", r"^\\p{L}{24}$")]);
    let work = |name: &str| space.long_work(&mutation(&set(name, "k", 10)), 32);
    assert_eq!(work("plain"), None);
    assert!(work("hungry").is_some());
}

/// Parts of a schema that each part of a value meets.
#[test]
fn the_work_of_a_check_is_the_number_of_parts_of_a_large_schema() {
    let part = r##"{"anyOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}]}"##;
    let rules =
        format!(r#"{{"command":"namespace.create","name":"unions","rules":{{"schema":{part}}}}}"#);
    let plain = r#"{"command":"namespace.create","name":"plain",
        "rules":{"schema":{"type":"array"}}}"#;
    let set = |namespace: &str, elements: usize| {
        let value = "1,".repeat(elements);
        format!(
            r#"{{"command":"state.set","namespace":"{namespace}","key":"k","value":[{value}1]}}"#
        )
    };
    let register = |agent: &str| format!(r#"{{"command":"agent.register","agent":"{agent}"}}"#);
    let configured = rules.replace("create", "configure").replace("unions", "agent:bob");
    let own = set("agent:ada", 100);
    let prepared = [rules, plain.to_owned(), register("ada"), register("bob"), configured, own];
    let space = space(&prepared);
    let work = |text: &str| space.long_work(&mutation(text), 256);
    assert!(work(&set("unions", 100)).is_some_and(|units| units < 1_000));
    assert_eq!(work(&set("plain", 100)), None);
    // A value is checked at its destination.
    let offered = r#"{"command":"handoff.execute","to":"bob","keys":["agent:ada/k"]}"#;
    assert!(work(offered).is_some());
    assert_eq!(work(&offered.replace("bob", "cem")), None);
    let moved = r#"{"command":"state.transfer","from_namespace":"agent:ada",
        "to_namespace":"unions"}"#;
    assert!(work(moved).is_some());
    assert_eq!(work(&moved.replace("agent:ada", "shared")), None, "there is nothing to move");
}

#[test]
fn the_work_of_a_namespace_is_the_number_of_its_entries() {
    let entries: Vec<String> =
        (0..20).map(|number| set("shared", &format!("k{number}"), 1)).collect();
    let space = space(&entries);
    let transfer = r#"{"command":"state.transfer","from_namespace":"shared",
        "to_namespace":"other","copy":true}"#;
    assert_eq!(space.long_work(&mutation(transfer), 10), Some(20));
    assert_eq!(space.long_work(&mutation(transfer), 20), None);
    let is_long = |fields: &str, max: usize| {
        let text = format!(r#"{{"command":"state.list","namespace":"shared"{fields}}}"#);
        space.is_long_query(&query(&text), max)
    };
    assert!(is_long("", 19) && !is_long("", 20));
    assert!(!is_long(r#","limit":5"#, 10), "no more are looked at");
    assert!(is_long(r#","limit":5,"pattern":"*9""#, 10), "all are looked at");
    let snapshot = r#"{"command":"state.snapshot"}"#;
    assert!(space.is_long_query(&query(snapshot), 19));
    // A page of an earlier revision is not read from here.
    let pinned = r#"{"command":"state.snapshot","cursor":"3/shared/k1"}"#;
    assert!(!space.is_long_query(&query(pinned), 0));
    // Nor is one that names a revision, even if it is the present one.
    let at = format!(r#"{{"command":"state.snapshot","at":{}}}"#, space.revision());
    assert!(!space.is_long_query(&query(&at), 0));
    assert!(space.is_long_query(&query(r#"{"command":"contract.check"}"#), usize::MAX));
}

/// A write of ten bytes over a megabyte that many contracts expect a field of.
#[test]
fn the_work_of_contracts_is_the_size_of_the_checked_value() {
    let bytes = limits::VALUE_BYTES_MAX - 2;
    let contract = |number: usize| {
        format!(
            r#"{{"command":"contract.declare","name":"c{number}",
                "keys":[{{"key":"shared/k","fields":["absent"]}}]}}"#
        )
    };
    let mut texts = vec![set("shared", "k", bytes)];
    texts.extend((0..limits::CONTRACTS_MAX).map(contract));
    let space = space(&texts);
    let work = |key: &str| space.long_work(&mutation(&set("shared", key, 10)), 256);
    assert!(work("k").is_some_and(|units| units > bytes / 64 + limits::CONTRACTS_MAX));
    assert_eq!(work("other"), None, "no contract is about it");
}

#[test]
fn each_schema_of_a_contract_is_work() {
    let contract = |number: usize| {
        format!(
            r#"{{"command":"contract.declare","name":"c{number}",
                "keys":[{{"key":"shared/*","schema":{{"type":"string"}}}}]}}"#
        )
    };
    let space = space(&(0..40).map(contract).collect::<Vec<_>>());
    let work = |bytes: usize| space.long_work(&mutation(&set("shared", "k", bytes)), 256);
    assert_eq!(work(100), None);
    assert!(work(1_000).is_some_and(|units| units > 40 * 1_000 / 64));
}

#[test]
fn many_small_values_that_are_checked_are_work() {
    let rules = r#"{"command":"namespace.create","name":"checked",
        "rules":{"schema":{"type":"string"}}}"#;
    let space = space(&[rules.to_owned()]);
    let together = |namespace: &str| {
        let commands: Vec<_> = (0..300).map(|key| set(namespace, &format!("k{key}"), 1)).collect();
        format!(r#"{{"command":"transaction","commands":[{}]}}"#, commands.join(","))
    };
    let work = |namespace: &str| space.long_work(&mutation(&together(namespace)), 256);
    assert!(work("checked").is_some_and(|units| units >= 257));
    assert_eq!(work("shared"), None);
}

#[test]
fn values_that_are_compared_are_work() {
    let space = space(&[set("shared", "large", 64_000), set("shared", "small", 1)]);
    let work = |text: &str| space.long_work(&mutation(text), 256);
    let require = |key: &str, field: &str| {
        format!(
            r#"{{"command":"transaction",
                "require":[{{"entry":{{"namespace":"shared","key":"{key}",{field}}}}}],
                "commands":[{}]}}"#,
            set("shared", "other", 1)
        )
    };
    assert!(work(&require("large", r#""value":1"#)).is_some());
    assert_eq!(work(&require("small", r#""value":1"#)), None);
    assert_eq!(work(&require("large", r#""exists":true"#)), None);
    let expected = r#"{"command":"state.set","namespace":"shared","key":"large","value":1,
        "expected_value":null}"#;
    assert!(work(expected).is_some());
    assert_eq!(work(&expected.replace("large", "small")), None);
}

#[test]
fn the_work_of_a_hand_off_includes_the_bytes_that_its_rules_read() {
    let rule = |number: usize| {
        format!(
            r#"{{"command":"rule.add","name":"r{number}",
                "check":{{"expression":"size(state) < 9"}}}}"#
        )
    };
    let rules = space(&(0..100).map(rule).collect::<Vec<_>>());
    let none = space(&[]);
    for command in ["offer", "validate", "execute"] {
        let text = |bytes: usize| {
            let text = "x".repeat(bytes);
            format!(r#"{{"command":"handoff.{command}","to":"bob","state":{{"a":"{text}"}}}}"#)
        };
        assert_eq!(rules.long_work(&mutation(&text(50)), 256), None);
        assert!(rules.long_work(&mutation(&text(500)), 256).is_some(), "each reads it");
        assert_eq!(none.long_work(&mutation(&text(500)), 256), None);
    }
    let all = r#"{"command":"handoff.execute_all","to":"bob"}"#;
    assert!(none.long_work(&mutation(all), 256).is_some());
}

#[test]
fn the_keys_of_a_hand_off_are_work() {
    let mut texts: Vec<String> =
        (0..300).map(|number| set("shared", &format!("k{number}"), 1)).collect();
    texts.push(set("notes", "large", 100_000));
    texts.insert(0, r#"{"command":"namespace.create","name":"notes"}"#.to_owned());
    let offer =
        |keys: &str| format!(r#"{{"command":"handoff.offer","to":"bob","keys":["{keys}"]}}"#);
    texts.push(offer("shared/k*"));
    let space = space(&texts);
    let work = |text: &str| space.long_work(&mutation(text), 256);
    assert_eq!(work(&offer("shared/k1")), None);
    assert!(work(&offer("shared/k*")).is_some(), "all are compared with it");
    assert!(work(&offer("notes/large")).is_some(), "its value is hashed");
    assert!(work(&offer("notes/*")).is_some());
    let handoff = space.handoff.after(&handoff_list("{}")).next().unwrap().id.clone();
    assert!(work(&format!(r#"{{"command":"handoff.accept","handoff":"{handoff}"}}"#)).is_some());
}

fn handoff_list(fields: &str) -> crate::handoff::List {
    serde_json::from_str(fields).unwrap()
}

#[test]
fn tasks_that_are_cancelled_together_are_work() {
    let task = |id: &str, parent: &str| {
        format!(r#"{{"command":"task.create","type":"w","id":"{id}","parent":"{parent}"}}"#)
    };
    let mut texts =
        vec![r#"{"command":"task.create","type":"w","id":"top"}"#.to_owned(), task("mid", "top")];
    texts.extend((0..30).map(|number| task(&format!("t{number}"), "mid")));
    let space = space(&texts);
    let work = |task: &str, max: usize| {
        let text = format!(r#"{{"command":"task.cancel","task":"{task}"}}"#);
        space.long_work(&mutation(&text), max)
    };
    assert_eq!([work("top", 31), work("top", 9)], [Some(32), Some(10)], "no more are counted");
    assert_eq!([work("top", 32), work("t1", 1)], [None, None]);
}

#[test]
fn many_checkpoints_frames_and_changes_are_work() {
    let save = r#"{"command":"checkpoint.save","task":"t","state":1}"#;
    let space = space(&vec![save.to_owned(); 30]);
    let work = |text: &str| space.long_work(&mutation(text), 29);
    assert_eq!(work(save), None);
    assert!(work(&save.replace('1', &format!("\"{}\"", "x".repeat(10_000)))).is_some());
    assert_eq!(work(r#"{"command":"checkpoint.copy","task":"t","to":"u"}"#), Some(30));
    assert_eq!(work(r#"{"command":"checkpoint.prune","task":"t","keep":1}"#), Some(30));
    let frames = vec!["1"; 30].join(",");
    let send = format!(r#"{{"command":"stream.send","stream":"s","frames":[{frames}]}}"#);
    assert_eq!(work(&send), Some(30));
}

#[test]
fn lists_that_look_at_many_records_are_long() {
    let mut texts: Vec<String> = Vec::new();
    for number in 0..20 {
        texts.push(format!(r#"{{"command":"message.send","to":"bob","body":{number}}}"#));
        texts.push(r#"{"command":"handoff.offer","to":"bob"}"#.to_owned());
    }
    let space = space(&texts);
    let is_long = |operation: &str, fields: &str, max: usize| {
        let text = format!(r#"{{"command":"{operation}"{fields}}}"#);
        space.is_long_query(&query(&text), max)
    };
    let message = r#","status":"acked","limit":1"#;
    assert!(is_long("inbox.list", message, 19) && !is_long("inbox.list", message, 20));
    assert!(!is_long("inbox.list", r#","limit":1"#, 19), "no more are looked at");
    let other = r#","agent":"eve","status":"acked""#;
    assert!(!is_long("inbox.list", other, 0), "the inbox is empty");
    let handoff = r#","from":"eve","limit":1"#;
    assert!(is_long("handoff.list", handoff, 19) && !is_long("handoff.list", handoff, 20));
    assert!(!is_long("handoff.list", r#","status":"completed""#, 0), "none has it");
    assert!(is_long("contract.show", "", usize::MAX));
    assert!(!is_long("artifact.list", r#","free":true"#, 0));
}
