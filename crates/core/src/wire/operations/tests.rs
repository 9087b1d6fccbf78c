//! The table is consistent, and agrees with the commands.

use std::collections::BTreeSet;

use serde_json::Value;

use super::*;
use crate::access::permission;
use crate::command::Command;
use crate::names::{BlobPlace, SecretId};
use crate::wire::{Call, Frame};

fn example(operation: &Operation) -> (Value, Call) {
    example_with(operation, |_| {})
}

fn example_with(operation: &Operation, change: fn(&mut Value)) -> (Value, Call) {
    let mut fields: Value = serde_json::from_str(operation.example)
        .unwrap_or_else(|error| panic!("`{}`: {error}", operation.name));
    fields["command"] = operation.name.into();
    change(&mut fields);
    let text = fields.to_string();
    let call = Frame::parse(&text).unwrap().call();
    (fields, call.unwrap_or_else(|fault| panic!("`{}`: {fault}", operation.name)))
}

#[test]
fn every_operation_is_found_by_name_and_has_its_own_route() {
    let mut routes = BTreeSet::new();
    for row in OPERATIONS {
        assert!(std::ptr::eq(operation(row.name).unwrap(), row), "`{}`", row.name);
        let path = row.path.replace(['{', '}', '*'], "");
        assert!(routes.insert((row.method.name(), path)), "`{}` has another's route", row.name);
        assert!(!row.summary.is_empty() && !row.summary.ends_with('.'), "`{}`", row.name);
        let reads_only = row.method == Method::Get && row.rest != Rest::Query;
        assert!(!reads_only, "`{}`: a GET has no body", row.name);
    }
    for name in ["", "a", "state", "state.se", "state.sett", "state.expire", "zebra.run"] {
        assert!(operation(name).is_none(), "`{name}`");
    }
}

#[test]
fn every_example_is_read_as_what_its_row_names_and_says() {
    for row in OPERATIONS {
        let name = row.name;
        let (fields, call) = example(row);
        assert_eq!(call.name(), name);
        assert_eq!(permission(&call), row.needs, "`{name}`");
        match &call {
            Call::Command(command) => {
                assert_eq!(row.effect, Effect::Changes, "`{name}`");
                assert_ne!(row.needs, Permission::Read, "`{name}`");
                assert_eq!(command.wait_ms().is_some(), row.waits.is_some(), "`{name}` waits?");
                // The token of a session is optional, but always checked.
                let brings =
                    row.names_token && (fields["token"].is_u64() || name.starts_with("agent"));
                assert_eq!(command.brings_token(), brings, "`{name}` brings a token?");
            }
            Call::Query(query) => {
                assert_eq!(row.effect, Effect::Asks, "`{name}`");
                assert_eq!(query.is_about_the_past(), row.is_about_the_past, "`{name}`");
                let (_, call) = example_with(row, |fields| fields["agent"] = "ada".into());
                let Call::Query(query) = call else { panic!("`{name}`") };
                assert_eq!(query.about_agent().is_some(), row.names_agent, "`{name}`");
            }
            other => panic!("`{name}`: {other:?}"),
        }
    }
}

#[test]
fn commands_that_are_not_on_the_wire_have_no_row() {
    let secret = SecretId::at(&BlobPlace::of_number(1));
    let elsewhere = [
        Command::from(secret::Command::Reveal { secret }),
        Command::from(reaction::Command::Take { max: 1 }),
    ];
    for command in elsewhere {
        assert_eq!(command.operation(), None, "{command:?}");
        assert_eq!(permission(&Call::Command(command)), Permission::Administer);
    }
}

#[test]
fn the_operation_that_releases_a_grant_takes_its_fields() {
    let granting = OPERATIONS.into_iter().filter_map(|row| Some((row, row.gives_back?)));
    for (row, GivesBack { operation: name, fields }) in granting {
        assert!(row.waits.is_some(), "`{}`: who does not wait is there for the answer", row.name);
        let (mut given, _) = example(operation(name).unwrap());
        let known: BTreeSet<&str> = fields.iter().map(|(field, _)| *field).collect();
        given
            .as_object_mut()
            .unwrap()
            .retain(|field, _| field == "command" || known.contains(&**field));
        for (field, from) in fields.iter().filter(|(_, from)| !from.starts_with('/')) {
            given[*field] = (*from).into();
        }
        let text = given.to_string();
        let call = Frame::parse(&text).unwrap().call();
        assert!(matches!(call, Ok(Call::Command(_))), "{text}: {call:?}");
    }
}
