//! The fast path for fields: the two most frequent operations, parsed without serde.
//!
//! Anything unusual, such as a rare field, an escape or an invalid name, is left to the general
//! parser, which also reports errors. The tests compare the two.

use super::call::Call;
use super::fields::{Fields, Value, plain_string};
use crate::json::Json;
use crate::names::{Key, NamespaceName};
use crate::numbers::{Revision, Version};
use crate::state::{self, Get, Set};

/// The operation, if the fast path applies.
pub(super) fn read(name: &str, fields: &Fields<'_>) -> Option<Call> {
    match name {
        "state.set" => set(fields).map(|set| Call::Command(state::Command::Set(set).into())),
        "state.get" => get(fields).map(|get| Call::Query(state::Query::Get(get).into())),
        _ => None,
    }
}

/// A slot that is filled once; none if it is filled already.
fn fill<T>(slot: &mut Option<T>, value: Option<T>) -> Option<()> {
    match (slot.is_none(), value) {
        (true, Some(value)) => {
            *slot = Some(value);
            Some(())
        }
        (true | false, _) => None,
    }
}

fn set(fields: &Fields<'_>) -> Option<Set> {
    let (mut namespace, mut key, mut value, mut version) = (None, None, None, None);
    for (name, given) in &fields.0 {
        let Value::Json(text) = given else { return None };
        match name.as_ref() {
            "namespace" => fill(&mut namespace, plain_string(text))?,
            "key" => fill(&mut key, plain_string(text))?,
            "value" => fill(&mut value, Some(*text))?,
            "expected_version" => fill(&mut version, text.parse().ok())?,
            _ => return None,
        }
    }
    let (namespace, key) = (NamespaceName::parse(namespace?).ok()?, Key::parse(key?).ok()?);
    let set = Set::new(namespace, key, Json::trusted_text(value?));
    Some(Set { expected_version: version.map(Version), ..set })
}

fn get(fields: &Fields<'_>) -> Option<Get> {
    let (mut namespace, mut key, mut at) = (None, None, None);
    for (name, given) in &fields.0 {
        let Value::Json(text) = given else { return None };
        match name.as_ref() {
            "namespace" => fill(&mut namespace, plain_string(text))?,
            "key" => fill(&mut key, plain_string(text))?,
            "at" => fill(&mut at, text.parse().ok())?,
            _ => return None,
        }
    }
    let (namespace, key) = (NamespaceName::parse(namespace?).ok()?, Key::parse(key?).ok()?);
    Some(Get { namespace, key, at: at.map(Revision) })
}
