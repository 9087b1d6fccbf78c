//! The document is complete, can be read, and is what it was.

use std::{env, fs};

use baton_core::wire::{Frame, OPERATIONS};
use serde_json::Value;

use crate::paths::fields_in_path;
use crate::{document, errors_page, operations, reference_page};

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn every_operation_is_described_and_has_an_example_that_can_be_read() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    let forms = schemas["Command"]["oneOf"].as_array().unwrap();
    let examples = &document["paths"]["/v1/{workspace}/commands"]["post"]["requestBody"]["content"]
        ["application/json"]["examples"];
    for operation in OPERATIONS {
        let name = operation.name;
        let schema = &schemas[name];
        assert_eq!(schema["properties"]["command"]["const"], name, "`{name}` is not described");
        assert_eq!(schema["additionalProperties"], false, "`{name}` takes other fields");
        let reference = format!("#/components/schemas/{name}");
        assert!(forms.iter().any(|form| form["$ref"] == reference), "`{name}` is no command");
        let example = &examples[name]["value"];
        assert_eq!(schema["examples"][0], *example, "`{name}` has no example");
        let text = example.to_string();
        let call = Frame::parse(&text).unwrap().call();
        assert!(call.is_ok(), "the example of `{name}` cannot be read: {call:?}");
    }
    let example = examples["transaction"]["value"].to_string();
    assert!(Frame::parse(&example).unwrap().call().is_ok());
}

/// A field of each kind, so that a change of how schemas are made does not go unseen.
#[test]
fn fields_and_limits_come_from_the_types() {
    let document = document();
    let set = &document["components"]["schemas"]["state.set"]["properties"];
    for field in ["namespace", "key", "value", "expected_version", "if_absent", "ttl_ms"] {
        assert!(!set[field].is_null(), "`{field}` is missing");
    }
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["Key"]["maxLength"], 512);
    assert_eq!(schemas["Revision"]["maximum"], u64::MAX);
    assert_eq!(schemas["state.patch"]["oneOf"].as_array().unwrap().len(), 6);
    assert!(!schemas["Entry"]["properties"]["checksum"].is_null());
}

/// What is asked and what is answered may have the same name.
#[test]
fn a_result_is_described_as_what_it_is() {
    let document = document();
    let history = &document["paths"]["/v1/{workspace}/tasks/{task}/history"]["get"];
    let answered = &history["responses"]["200"]["content"]["application/json"]["schema"];
    let path = answered["$ref"].as_str().unwrap().strip_prefix('#').unwrap();
    assert!(!document.pointer(path).unwrap()["properties"]["events"].is_null(), "{path}");
}

/// Two types of one name are told apart by a number, which changes with the order they come in.
#[test]
fn no_component_is_named_by_a_number() {
    let document = document();
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(!name.ends_with(|sign: char| sign.is_ascii_digit()), "`{name}` needs a name");
    }
}

fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str));
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let (document, operations) = (document(), operations());
    for (text, prefix) in [(&document, "#"), (&operations, "openapi.json#")] {
        let mut found = Vec::new();
        references(text, &mut found);
        assert!(found.len() > 100, "{}", found.len());
        for path in found {
            let pointer = path.strip_prefix(prefix).unwrap();
            assert!(document.pointer(pointer).is_some(), "{path} leads nowhere");
        }
    }
}

/// Holds a file of the repository against what it should be.
fn compare(path: &str, text: &str) {
    let file = format!("{REPOSITORY}/{path}");
    if env::var("BATON_GOLDEN").is_ok_and(|wish| wish == "write") {
        fs::write(&file, text).unwrap();
    }
    let golden = fs::read_to_string(&file).unwrap_or_default();
    let differs = golden.lines().zip(text.lines()).position(|(was, is)| was != is);
    assert!(
        golden == text,
        "{path} differs from line {} on: run `BATON_GOLDEN=write cargo test -p baton-spec` and \
         review the difference as a change of the interface",
        differs.map_or(golden.lines().count(), |line| line + 1)
    );
}

#[test]
fn the_document_is_what_it_was() {
    let text = serde_json::to_string_pretty(&document()).unwrap() + "\n";
    compare("spec/openapi.json", &text);
}

#[test]
fn the_table_of_operations_is_what_it_was() {
    let text = serde_json::to_string_pretty(&operations()).unwrap() + "\n";
    compare("spec/operations.json", &text);
}

/// What programs are generated from agrees with the types that are read.
#[test]
fn what_an_operation_names_is_among_its_fields() {
    let table = operations();
    for operation in OPERATIONS {
        let name = operation.name;
        let described = table["operations"].as_array().unwrap();
        let described = described.iter().find(|it| it["name"] == name).unwrap();
        let has = |field: &str| !described["fields"][field].is_null();
        assert_eq!(has("token"), operation.names_token, "`{name}`: token");
        assert_eq!(has("agent"), operation.names_agent, "`{name}`: agent");
        assert!(operation.waits.is_none_or(has), "`{name}`: how long it waits");
        assert_eq!(has("wait_ms"), operation.waits == Some("wait_ms"), "`{name}`: wait_ms");
        assert!(operation.alias.is_none_or(|(_, field)| has(field)), "`{name}`: an alias");
        assert!(fields_in_path(operation).into_iter().all(has), "`{name}`: a field in its path");
    }
}

#[test]
fn the_reference_for_people_says_the_same() {
    let events = fs::read(format!("{REPOSITORY}/spec/events.json")).unwrap();
    let page = reference_page(&serde_json::from_slice(&events).unwrap());
    for operation in OPERATIONS {
        assert!(page.contains(&format!("\n### {}\n", operation.name)), "{}", operation.name);
    }
    compare("docs/reference.md", &page);
}

#[test]
fn every_code_is_documented_by_its_declaration() {
    compare("docs/errors.md", &errors_page());
}
