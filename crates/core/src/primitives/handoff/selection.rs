//! A key that is handed over.

use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::names::KeyName;
use crate::numbers::Version;

/// A selected key: `namespace/key`, or `{"key": "namespace/key", "version": n}` to require that
/// version.
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

    /// Approximate size in bytes.
    pub fn bytes(&self) -> usize {
        self.name.as_str().len() + 23
    }
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
