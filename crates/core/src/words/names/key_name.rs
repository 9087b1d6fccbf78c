//! The full name of a key.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Key, NamespaceName, Reading};

/// The full name of a key, `namespace/key`: one shared text, since offers, receipts and replies all
/// contain it as it was given.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyName {
    text: Arc<str>,
    slash: usize,
}

impl KeyName {
    /// Parses `namespace/key`.
    pub fn parse(text: &str) -> Result<Self, String> {
        // A namespace has no `/` in its name.
        let Some(slash) = text.bytes().position(|byte| byte == b'/') else {
            let shown: String = text.chars().take(80).flat_map(char::escape_default).collect();
            return Err(format!("`{shown}` names no key: it must be `namespace/key`"));
        };
        NamespaceName::check(&text[..slash]).map_err(|error| error.to_string())?;
        Key::check(&text[slash + 1..]).map_err(|error| error.to_string())?;
        Ok(Self { text: text.into(), slash })
    }

    /// The namespace.
    pub fn namespace(&self) -> &str {
        &self.text[..self.slash]
    }

    /// The key in it.
    pub fn key(&self) -> &str {
        &self.text[self.slash + 1..]
    }

    /// `namespace/key`.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl fmt::Debug for KeyName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.text, formatter)
    }
}

impl Serialize for KeyName {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for KeyName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(Reading(Self::parse))
    }
}
