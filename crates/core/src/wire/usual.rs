//! The two operations that programs ask for most, read without the machinery of serde.
//!
//! Whatever is unusual about one, a rare field, an escape, a name that is not allowed, is left to
//! the general reader, which also finds the words for what is wrong. The tests hold the two against
//! each other.

use super::call::Call;
use super::fields::{Fields, Value, plain_string};
use crate::json::Json;
use crate::names::{Key, NamespaceName};
use crate::numbers::{Revision, Version};
use crate::space::PlainSet;
use crate::state::{self, Get, Set};

/// The operation, if there is nothing unusual about it.
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

/// A set whose names are not checked yet.
pub(super) fn plain_set<'a>(fields: &Fields<'a>) -> Option<PlainSet<'a>> {
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
    let expected_version = version.map(Version);
    Some(PlainSet { namespace: namespace?, key: key?, value: value?, expected_version })
}

fn set(fields: &Fields<'_>) -> Option<Set> {
    let PlainSet { namespace, key, value, expected_version } = plain_set(fields)?;
    let (namespace, key) = (NamespaceName::parse(namespace).ok()?, Key::parse(key).ok()?);
    let set = Set::new(namespace, key, Json::trusted_text(value));
    Some(Set { expected_version, ..set })
}

/// The namespace and the key of an entry that is asked for as it is now.
pub(super) fn plain_get<'a>(fields: &Fields<'a>) -> Option<(&'a str, &'a str)> {
    let (mut namespace, mut key) = (None, None);
    for (name, given) in &fields.0 {
        let Value::Json(text) = given else { return None };
        match name.as_ref() {
            "namespace" => fill(&mut namespace, plain_string(text))?,
            "key" => fill(&mut key, plain_string(text))?,
            _ => return None,
        }
    }
    Some((namespace?, key?))
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
