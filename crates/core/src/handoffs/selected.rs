//! A key that goes along with a hand-off.

use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::names::{Key, NamespaceName};
use crate::numbers::Version;

/// On the wire `namespace/key`, or `{"key": "namespace/key", "version": n}` if it must be that one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selected {
    /// Where the key is.
    pub namespace: NamespaceName,
    /// Which key.
    pub key: Key,
    /// Which version it must have.
    pub version: Option<Version>,
}

impl Selected {
    /// Reads `namespace/key`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some((namespace, key)) = text.split_once('/') else {
            let shown: String = text.chars().take(80).flat_map(char::escape_default).collect();
            return Err(format!("`{shown}` names no key: it must be `namespace/key`"));
        };
        let namespace = NamespaceName::parse(namespace).map_err(|error| error.to_string())?;
        let key = Key::parse(key).map_err(|error| error.to_string())?;
        Ok(Self { namespace, key, version: None })
    }

    /// `namespace/key`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.namespace, self.key)
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.namespace.as_str().len() + self.key.as_str().len() + 24
    }
}

impl Serialize for Selected {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Some(version) = self.version else { return to.serialize_str(&self.name()) };
        let mut map = to.serialize_map(Some(2))?;
        map.serialize_entry("key", &self.name())?;
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
        let (mut key, mut version) = (None::<String>, None);
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "key" => key = Some(map.next_value()?),
                "version" => version = Some(map.next_value()?),
                other => return Err(A::Error::unknown_field(other, &["key", "version"])),
            }
        }
        let key = key.ok_or_else(|| A::Error::missing_field("key"))?;
        let selected = Selected::parse(&key).map_err(A::Error::custom)?;
        Ok(Selected { version, ..selected })
    }
}
