//! The keys that are handed over.

use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::names::{KeyName, NamespaceName};
use crate::numbers::Version;
use crate::pattern::{Pattern, PatternError};
use crate::state::Entry;

/// A selected key: `namespace/key`, or `{"key": "namespace/key", "version": n}` to require that
/// version. A key with stars is a pattern, unless it has a version: it selects all keys of its
/// namespace that match it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selected {
    /// The key with its namespace.
    pub name: KeyName,
    /// The required version.
    pub version: Option<Version>,
}

impl Selected {
    /// Parses `namespace/key`.
    pub fn parse(text: &str) -> Result<Self, String> {
        Ok(Self { name: KeyName::parse(text)?, version: None })
    }

    /// Everything in the namespace of an agent.
    pub fn all_of(namespace: &NamespaceName) -> Self {
        Self::parse(&format!("{namespace}/**")).expect("two stars are a key")
    }

    /// The pattern of the keys that it selects, if it is one; or why it cannot be one.
    pub fn pattern(&self) -> Result<Option<Pattern>, PatternError> {
        let is_pattern = self.version.is_none() && self.name.key().contains('*');
        is_pattern.then(|| Pattern::parse(self.name.key())).transpose()
    }

    /// Approximate size in bytes.
    pub fn bytes(&self) -> usize {
        self.name.as_str().len() + 23
    }
}

/// A key that is handed over, named or found by a pattern.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The key, with the required version.
    pub selected: Selected,
    /// Its entry; none if a named key does not exist.
    pub entry: Option<Entry>,
}

impl Serialize for Selected {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Some(version) = self.version else { return self.name.serialize(to) };
        let mut map = to.serialize_map(Some(2))?;
        map.serialize_entry("key", &self.name)?;
        map.serialize_entry("version", &version)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Selected {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reading)
    }
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Selected;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("`namespace/key`, or an object with `key` and `version`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Selected, E> {
        Selected::parse(text).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Selected, A::Error> {
        let (mut name, mut version) = (None, None);
        while let Some(field) = map.next_key::<String>()? {
            match field.as_str() {
                "key" => name = Some(map.next_value()?),
                "version" => version = Some(map.next_value()?),
                other => return Err(A::Error::unknown_field(other, &["key", "version"])),
            }
        }
        let name = name.ok_or_else(|| A::Error::missing_field("key"))?;
        Ok(Selected { name, version })
    }
}
