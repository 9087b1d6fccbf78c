//! Messages and their parts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use crate::error::Error;

/// How long a `messageId` may be.
const MESSAGE_ID_BYTES_MAX: usize = 256;

/// Null and absent mean the same in the protocol's JSON.
pub(crate) fn or_default<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}

/// A message. Fields that it does not know are ignored, as the protocol requires.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Message {
    /// Made by the sender, and unique among its messages.
    #[serde(deserialize_with = "or_default")]
    pub message_id: String,
    /// The conversation; empty if it is a new one.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub context_id: String,
    /// The task that it continues; empty if it begins one.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub task_id: String,
    /// `ROLE_USER` or `ROLE_AGENT`.
    #[serde(deserialize_with = "or_default")]
    pub role: String,
    /// The content.
    #[serde(deserialize_with = "or_default")]
    pub parts: Vec<Part>,
    /// Further members, by the URI of an extension.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// The extensions that it uses.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    /// Other tasks that it refers to.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub reference_task_ids: Vec<String>,
}

/// A part of a message or of an artifact: exactly one of `text`, `raw`, `url` and `data`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Part {
    /// Words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Bytes in Base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// The URL of the content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Any JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// The media type; empty if it is not given.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub media_type: String,
    /// The name of a file; empty if it is not given.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub filename: String,
    /// Further members.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

impl Part {
    /// A value as a part: words as text, anything else as data.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::String(text) => Self { text: Some(text.clone()), ..Self::default() },
            other => Self {
                data: Some(other.clone()),
                media_type: "application/json".to_owned(),
                ..Self::default()
            },
        }
    }

    fn check(&self) -> Result<(), Error> {
        let given = [self.text.is_some(), self.raw.is_some(), self.url.is_some()];
        let given = given.into_iter().filter(|given| *given).count();
        if given + usize::from(self.data.is_some()) != 1 {
            let reason = "a part has exactly one of `text`, `raw`, `url` and `data`";
            return Err(Error::invalid("message.parts", &reason));
        }
        if let Some(raw) = &self.raw {
            let decoded = STANDARD.decode(raw);
            decoded.map_err(|error| Error::invalid("message.parts.raw", &error))?;
        }
        Ok(())
    }
}

impl Message {
    /// Checks what a client has sent.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let length = self.message_id.len();
        if length == 0 || length > MESSAGE_ID_BYTES_MAX {
            let reason = format!("it must have 1 to {MESSAGE_ID_BYTES_MAX} bytes");
            return Err(Error::invalid("message.messageId", &reason));
        }
        if self.role != "ROLE_USER" {
            return Err(Error::invalid("message.role", &"it must be `ROLE_USER`"));
        }
        if self.parts.is_empty() {
            return Err(Error::invalid("message.parts", &"there must be at least one part"));
        }
        self.parts.iter().try_for_each(Part::check)
    }

    /// Its words, one part after the other.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.parts.iter().filter_map(|part| part.text.as_deref()).collect();
        texts.join("\n")
    }

    /// A message of the agent about a task. Its id is made from the revision: the same change has
    /// the same id on every stream.
    pub(crate) fn of_agent(task: &str, context: &str, revision: u64, content: &Value) -> Value {
        json!({
            "messageId": format!("{task}-{revision}"),
            "contextId": context,
            "taskId": task,
            "role": "ROLE_AGENT",
            "parts": [Part::of(content)],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_needs_an_id_a_role_and_parts() {
        let good = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "go"}],
                          "contextId": null, "unknown": 1});
        let check = |value: Value| serde_json::from_value::<Message>(value).unwrap().check();
        assert_eq!(check(good.clone()), Ok(()));
        let with = |name: &str, value: Value| {
            let mut changed = good.clone();
            changed[name] = value;
            changed
        };
        for (name, value) in [
            ("messageId", json!("")),
            ("messageId", json!("m".repeat(257))),
            ("role", json!("ROLE_AGENT")),
            ("parts", json!([])),
            ("parts", json!([{}])),
            ("parts", json!([{"text": "a", "url": "b"}])),
            ("parts", json!([{"raw": "not base64!"}])),
        ] {
            assert!(check(with(name, value.clone())).is_err(), "{name}: {value}");
        }
    }
}
