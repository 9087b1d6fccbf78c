//! The receiver of a hand-off.

use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits;
use crate::names::AgentId;

/// The receiver of a hand-off. On the wire an agent id, or `{"capability": name}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Receiver {
    /// This agent.
    Agent(AgentId),
    /// The first agent with this capability that accepts.
    Capability(String),
}

impl Receiver {
    /// The agent, if one is named.
    pub fn agent(&self) -> Option<&AgentId> {
        match self {
            Self::Agent(agent) => Some(agent),
            Self::Capability(_) => None,
        }
    }

    /// The capability, if one is named.
    pub fn capability(&self) -> Option<&str> {
        match self {
            Self::Agent(_) => None,
            Self::Capability(name) => Some(name),
        }
    }

    /// The size of its name in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Agent(agent) => agent.as_str().len(),
            Self::Capability(name) => name.len(),
        }
    }
}

impl fmt::Display for Receiver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(agent) => write!(formatter, "`{agent}`"),
            Self::Capability(name) => write!(formatter, "any agent with the capability `{name}`"),
        }
    }
}

impl Serialize for Receiver {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Agent(agent) => agent.serialize(to),
            Self::Capability(name) => {
                let mut map = to.serialize_map(Some(1))?;
                map.serialize_entry("capability", name)?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Receiver {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reading)
    }
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Receiver;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the id of an agent, or an object with `capability`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Receiver, E> {
        AgentId::parse(text).map(Receiver::Agent).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Receiver, A::Error> {
        let Some(name) = map.next_key::<String>()? else {
            return Err(A::Error::missing_field("capability"));
        };
        if name != "capability" {
            return Err(A::Error::unknown_field(&name, &["capability"]));
        }
        let capability: String = map.next_value()?;
        let bytes = 1..=limits::CAPABILITY_BYTES_MAX;
        if !bytes.contains(&capability.len()) || capability.chars().any(char::is_control) {
            let max = limits::CAPABILITY_BYTES_MAX;
            let reason = format!("a capability has 1 to {max} bytes without control characters");
            return Err(A::Error::custom(reason));
        }
        match map.next_key::<String>()? {
            Some(name) => Err(A::Error::unknown_field(&name, &["capability"])),
            None => Ok(Receiver::Capability(capability)),
        }
    }
}
