//! The document is complete and valid, and the files match what is generated.

use std::collections::BTreeSet;
use std::{env, fs};

use baton_core::wire::{Frame, OPERATIONS};
use serde_json::Value;

use crate::handbook::is_nullable;
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

/// A field of each kind, so that changes in the generated schemas are noticed.
#[test]
fn fields_and_limits_come_from_the_types() {
    let document = document();
    let set = &document["components"]["schemas"]["state.set"]["properties"];
    for field in ["namespace", "key", "value", "expected_version", "if_absent", "ttl_ms"] {
        assert!(!set[field].is_null(), "`{field}` is missing");
    }
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["Key"]["maxLength"], 512);
    assert_eq!(schemas["Revision"]["type"], "integer");
    assert_eq!(schemas["lock.acquire"]["properties"]["ttl_ms"]["default"], 300_000);
    assert_eq!(schemas["lock.acquire"]["properties"]["ttl_ms"]["maximum"], 86_400_000);
    assert_eq!(schemas["task.list"]["properties"]["limit"]["default"], 100);
    assert_eq!(schemas["state.patch"]["oneOf"].as_array().unwrap().len(), 6);
    assert!(!schemas["Entry"]["properties"]["checksum"].is_null());
}

/// Requests and replies may have types of the same name.
#[test]
fn a_result_is_described_by_its_kind() {
    let document = document();
    let history = &document["paths"]["/v1/{workspace}/tasks/{task}/history"]["get"];
    let answered = &history["responses"]["200"]["content"]["application/json"]["schema"];
    let path = answered["$ref"].as_str().unwrap().strip_prefix('#').unwrap();
    assert!(!document.pointer(path).unwrap()["properties"]["events"].is_null(), "{path}");
}

/// Two types of one name get numbers, which depend on their order.
#[test]
fn no_component_is_named_by_a_number() {
    let document = document();
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(!name.ends_with(|sign: char| sign.is_ascii_digit()), "`{name}` needs a name");
    }
}

/// Calls this with every schema of an object that has properties, and the path to it.
fn each_object(path: &str, value: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    match value {
        Value::Object(fields) => {
            if value["properties"].is_object() {
                visit(path, value);
            }
            for (name, inner) in fields.iter().filter(|(name, _)| *name != "examples") {
                each_object(&format!("{path}/{name}"), inner, visit);
            }
        }
        Value::Array(items) => {
            for inner in items {
                each_object(path, inner, visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A field that may be left out has a default in its schema, or its description says what its
/// absence means, in one of these words.
#[test]
fn every_optional_field_has_a_default_or_says_what_its_absence_means() {
    let document = document();
    let mut missing = BTreeSet::new();
    let mut visit = |path: &str, schema: &Value| {
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (field, property) in schema["properties"].as_object().into_iter().flatten() {
            let description = property["description"].as_str().unwrap_or_default();
            let words =
                ["Default: ", "If omitted", "if omitted", "If empty", "Absent ", "`null` if"];
            let is_explained = words.iter().any(|words| description.contains(words));
            let is_optional = !required.iter().any(|name| name == field);
            if is_optional && property.get("default").is_none() && !is_explained {
                missing.insert(format!("{path}: {field}"));
            }
        }
    };
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        // Errors have further members, and commands of transactions repeat the others.
        if !name.starts_with("transaction.") {
            each_object(name, schema, &mut visit);
        }
    }
    assert!(missing.is_empty(), "no default and no meaning of absence: {missing:#?}");
}

#[test]
fn every_optional_parameter_has_a_default_or_says_what_its_absence_means() {
    let document = document();
    let mut missing = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, described) in methods.as_object().unwrap() {
            let parameters = described["parameters"].as_array().into_iter().flatten();
            for parameter in parameters.filter(|parameter| parameter["in"] == "query") {
                let description = parameter["description"].as_str().unwrap_or_default();
                let words = ["Default: ", "If omitted", "if omitted", "If empty"];
                let is_explained = words.iter().any(|words| description.contains(words))
                    || parameter["required"] == true
                    || parameter["schema"].get("default").is_some();
                if !is_explained {
                    missing.insert(format!("{method} {path}: {}", parameter["name"]));
                }
            }
        }
    }
    assert!(missing.is_empty(), "no default and no meaning of absence: {missing:#?}");
}

#[test]
fn every_nullable_reply_says_when_it_is_null() {
    let (document, table) = (document(), operations());
    for operation in OPERATIONS {
        let name = operation.name;
        let described = table["operations"].as_array().unwrap();
        let reply = &described.iter().find(|it| it["name"] == name).unwrap()["reply"]["$ref"];
        let pointer = reply.as_str().unwrap().strip_prefix("openapi.json#").unwrap();
        let is_nullable = is_nullable(document.pointer(pointer).unwrap());
        assert_eq!(operation.null_when.is_some(), is_nullable, "`{name}`: when is it null?");
    }
}

#[test]
fn summaries_are_short_and_imperative() {
    for operation in OPERATIONS {
        let (name, summary) = (operation.name, operation.summary);
        assert!(summary.len() <= 70, "`{name}`: the summary is too long");
        assert!(!summary.ends_with('.'), "`{name}`: the summary ends with a full stop");
        let first = summary.split(' ').next().unwrap();
        let is_verb = first.starts_with(char::is_uppercase) && !first.ends_with('s');
        let is_question = ["What", "Who", "How", "Why", "Which", "When"].contains(&first);
        assert!(is_verb && !is_question, "`{name}`: the summary is not imperative");
        let effects = operation.side_effects;
        assert!(effects.is_empty() || effects.ends_with('.'), "`{name}`: no sentence");
    }
}

/// Generators of clients do not understand a schema that is `true`, and JavaScript cannot represent
/// every number of 64 bits.
#[test]
fn schemas_are_objects_with_numbers_that_every_language_has() {
    fn check(path: &str, value: &Value) {
        match value {
            Value::Object(fields) => {
                for (name, inner) in fields {
                    let is_schema = ["schema", "items"].contains(&name.as_str())
                        || path.ends_with("/properties");
                    assert!(!is_schema || !inner.is_boolean(), "{path}/{name} is a boolean");
                    check(&format!("{path}/{name}"), inner);
                }
            }
            Value::Array(items) => items.iter().for_each(|inner| check(path, inner)),
            Value::Number(number) => {
                let is_safe = number.as_u64().is_none_or(|number| number < 1 << 53);
                assert!(is_safe, "{path}: {number}");
            }
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
    }
    check("", &document());
    check("", &operations());
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let kept = |sign: &char| sign.is_alphanumeric() || " -_".contains(*sign);
    heading.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
}

fn anchors(page: &str) -> BTreeSet<String> {
    page.lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| anchor(line.trim_start_matches('#').trim().trim_matches('`')))
        .collect()
}

#[test]
fn every_link_of_the_generated_pages_leads_to_a_heading() {
    let events = fs::read(format!("{REPOSITORY}/spec/events.json")).unwrap();
    let reference = reference_page(&serde_json::from_slice(&events).unwrap());
    for (name, page) in [("reference.md", reference), ("errors.md", errors_page())] {
        for link in page.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            let (file, wanted) = link.split_once('#').unwrap_or((link, ""));
            let text = match file {
                "" => page.clone(),
                file => fs::read_to_string(format!("{REPOSITORY}/docs/{file}"))
                    .unwrap_or_else(|error| panic!("{name}: {link}: {error}")),
            };
            let is_there = wanted.is_empty() || anchors(&text).contains(wanted);
            assert!(is_there, "{name}: {link} leads nowhere");
        }
    }
}

#[test]
fn the_examples_of_special_calls_can_be_parsed() {
    for call in operations()["calls"].as_array().unwrap() {
        let text = call["example"].to_string();
        let parsed = Frame::parse(&text).unwrap().call();
        assert!(parsed.is_ok(), "{text}: {parsed:?}");
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

/// Compares a file of the repository with the expected content.
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

/// The input of generators agrees with the actual types.
#[test]
fn the_fields_that_an_operation_names_exist() {
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
        let other = operation.other_reply.map_or(&[][..], |other| other.fields);
        assert!(other.iter().all(|field| has(field)), "`{name}`: fields of its other reply");
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
