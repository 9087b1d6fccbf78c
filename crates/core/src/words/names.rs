//! Names that are validated once, when they enter, and trusted afterwards.
//!
//! Each is a distinct type, so that an agent cannot be passed as a namespace. A name is cheap to
//! clone because events, records and answers all contain it.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Visitor};
use thiserror::Error;

use crate::numbers::Revision;
use crate::quoted::quoted;
use crate::{limits, trace};

mod key_name;
mod numbered;
mod short;

pub use key_name::KeyName;
use numbered::{hexadecimal, of_revision};
pub use short::{is_made, long, short};

/// Why a name is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize)]
#[error("{what} `{given}` is not valid: {reason}")]
pub struct NameError {
    /// The kind of name.
    pub what: &'static str,
    /// The given text, shortened, with control characters and invisible ones escaped.
    pub given: String,
    /// Why it is invalid.
    pub reason: String,
}

fn refuse(what: &'static str, given: &str, reason: String) -> NameError {
    const SHOWN: usize = 80;
    NameError { what, given: quoted(given, SHOWN), reason }
}

fn check_length(what: &'static str, text: &str, bytes_max: usize) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(refuse(what, text, "it is empty".into()));
    }
    if text.len() > bytes_max {
        let reason = format!("it has {} bytes, at most {bytes_max} are allowed", text.len());
        return Err(refuse(what, text, reason));
    }
    Ok(())
}

/// Letters, digits and a few signs, starting with a letter or digit: safe in paths, subjects,
/// headers and logs, and without look-alikes.
fn check_plain(
    what: &'static str,
    text: &str,
    bytes_max: usize,
    signs: &str,
) -> Result<(), NameError> {
    check_length(what, text, bytes_max)?;
    if !text.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        return Err(refuse(what, text, "it must begin with a letter or digit".into()));
    }
    // Bytes of characters outside ASCII never look like ASCII, so whole characters need not be
    // decoded.
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || signs.as_bytes().contains(&byte);
    if text.bytes().all(allowed) {
        return Ok(());
    }
    let reason = format!("only letters, digits and `{signs}` are allowed");
    Err(refuse(what, text, reason))
}

/// Words separated by single dots, so that a type reads like `deploy.finished`.
fn check_dotted(what: &'static str, text: &str) -> Result<(), NameError> {
    check_plain(what, text, limits::EVENT_TYPE_BYTES_MAX, "._-")?;
    if text.split('.').any(str::is_empty) {
        return Err(refuse(what, text, "there must be a word on both sides of a dot".into()));
    }
    Ok(())
}

fn check_key(what: &'static str, text: &str) -> Result<(), NameError> {
    check_length(what, text, limits::KEY_BYTES_MAX)?;
    if text.bytes().any(|byte| byte < 0x20) {
        return Err(refuse(what, text, "control characters are not allowed".into()));
    }
    Ok(())
}

/// A prefix followed by a fixed number of lower-case hexadecimal digits.
fn check_hexadecimal(
    what: &'static str,
    text: &str,
    beginning: &str,
    digits: usize,
) -> Result<(), NameError> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let rest = text.strip_prefix(beginning).filter(|rest| rest.len() == digits);
    if rest.is_some_and(|rest| rest.bytes().all(is_digit)) {
        return Ok(());
    }
    let reason = format!("it must be `{beginning}` and {digits} hexadecimal digits in lower case");
    Err(refuse(what, text, reason))
}

/// Parses a name in place, without a copy.
struct Reading<T, F>(fn(&str) -> Result<T, F>);

impl<T, F: fmt::Display> Visitor<'_> for Reading<T, F> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        (self.0)(text).map_err(E::custom)
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Validates the text and keeps it.
            pub fn parse(text: &str) -> Result<Self, NameError> {
                Self::check(text)?;
                Ok(Self(text.into()))
            }

            /// Whether the text is a valid name.
            pub fn check(text: &str) -> Result<(), NameError> {
                let check: fn(&'static str, &str) -> Result<(), NameError> = $check;
                check($what, text)
            }

            /// Less than every valid name, and not one itself: the start of a range.
            pub fn least() -> Self {
                Self(Arc::default())
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, formatter)
            }
        }

        impl TryFrom<&str> for $name {
            type Error = NameError;
            fn try_from(text: &str) -> Result<Self, NameError> {
                Self::parse(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                Self::parse(&text)
            }
        }

        impl From<&$name> for $name {
            fn from(name: &$name) -> Self {
                name.clone()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0.as_ref().into()
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(Reading(Self::parse))
            }
        }
    };
}

name!(
    /// Name of a workspace.
    WorkspaceName,
    "workspace",
    |what, text| check_plain(what, text, limits::WORKSPACE_BYTES_MAX, "._-")
);
name!(
    /// Id of a copy of a workspace: its name, and when it was copied.
    CopyId,
    "copy",
    |what, text| check_plain(what, text, limits::COPY_BYTES_MAX, "._-")
);
name!(
    /// Name of a namespace of shared state.
    NamespaceName,
    "namespace",
    |what, text| check_plain(what, text, limits::NAMESPACE_BYTES_MAX, "._:@-")
);
name!(
    /// Id of an agent.
    AgentId,
    "agent",
    |what, text| check_plain(what, text, limits::AGENT_BYTES_MAX, "._:@-")
);
name!(
    /// Id of a message.
    MessageId,
    "message",
    |what, text| check_plain(what, text, limits::TASK_BYTES_MAX, "._:@-")
);
name!(
    /// Name of a handler of requests.
    HandlerName,
    "handler",
    |what, text| check_plain(what, text, limits::TASK_BYTES_MAX, "._:@-")
);
name!(
    /// Name of a topic. It has segments, so that patterns can select topics.
    TopicName,
    "topic",
    |what, text| {
        check_length(what, text, limits::HOLD_NAME_BYTES_MAX)?;
        check_key(what, text)
    }
);
name!(
    /// Name of a stream.
    StreamName,
    "stream",
    |what, text| {
        check_length(what, text, limits::HOLD_NAME_BYTES_MAX)?;
        check_key(what, text)
    }
);
name!(
    /// Name of a rule for hand-offs.
    RuleName,
    "rule",
    |what, text| check_plain(what, text, limits::RULE_NAME_BYTES_MAX, "._:@-")
);
name!(
    /// Name of a contract.
    ContractName,
    "contract",
    |what, text| check_plain(what, text, limits::RULE_NAME_BYTES_MAX, "._:@-")
);
name!(
    /// Type of a user event: words with dots between them.
    EventType,
    "event type",
    check_dotted
);
name!(
    /// Name of a reaction.
    ReactionName,
    "reaction",
    |what, text| check_plain(what, text, limits::RULE_NAME_BYTES_MAX, "._:@-")
);
name!(
    /// W3C trace context (`traceparent`).
    Traceparent,
    "traceparent",
    |what, text| {
        check_length(what, text, limits::TRACEPARENT_BYTES_MAX)?;
        trace::objection(text).map_or(Ok(()), |reason| Err(refuse(what, text, reason.into())))
    }
);
name!(
    /// Id of a task.
    TaskId,
    "task",
    |what, text| check_plain(what, text, limits::TASK_BYTES_MAX, "._:@-")
);
name!(
    /// Id of a join.
    JoinId,
    "join",
    |what, text| check_plain(what, text, limits::TASK_BYTES_MAX, "._:@-")
);
name!(
    /// Id of a checkpoint.
    CheckpointId,
    "checkpoint",
    |what, text| check_plain(what, text, limits::TASK_BYTES_MAX, "._:@-")
);
name!(
    /// Label of a checkpoint.
    CheckpointLabel,
    "label",
    |what, text| {
        check_length(what, text, limits::LABEL_BYTES_MAX)?;
        check_key(what, text)
    }
);
name!(
    /// Key of a checkpoint, which its author chose. Keys sort by their bytes.
    CheckpointKey,
    "key",
    check_key
);
name!(
    /// Type of bytes, as their author names it.
    StateType,
    "type",
    |what, text| check_plain(what, text, limits::LABEL_BYTES_MAX, "._:@/+-")
);
name!(
    /// Id of an artifact: the SHA-256 of its bytes.
    ArtifactId,
    "artifact",
    |what, text| check_hexadecimal(what, text, "sha256:", 64)
);
name!(
    /// Reference to a secret.
    SecretId,
    "secret",
    |what, text| check_hexadecimal(what, text, "secret:", 32)
);
name!(
    /// Storage place of a blob. Never used again.
    BlobPlace,
    "place",
    |what, text| check_hexadecimal(what, text, "", 32)
);
name!(
    /// Name of an artifact or a secret.
    ContentName,
    "name",
    |what, text| {
        check_length(what, text, limits::CONTENT_NAME_BYTES_MAX)?;
        check_key(what, text)
    }
);
name!(
    /// Media type of an artifact.
    MediaType,
    "media type",
    |what, text| {
        check_length(what, text, limits::MEDIA_TYPE_BYTES_MAX)?;
        match text.bytes().find(|byte| !(0x20..0x7f).contains(byte)) {
            Some(_) => Err(refuse(what, text, "only printable ASCII is allowed".into())),
            None => Ok(()),
        }
    }
);
name!(
    /// Id of a hand-off.
    HandoffId,
    "hand-off",
    |what, text| check_plain(what, text, limits::TASK_BYTES_MAX, "._:@-")
);
name!(
    /// Type of a task.
    TaskType,
    "task type",
    |what, text| check_plain(what, text, limits::TASK_BYTES_MAX, "._:@-")
);
name!(
    /// Name of a group of tasks.
    GroupName,
    "group",
    |what, text| check_plain(what, text, limits::TASK_BYTES_MAX, "._:@-")
);
name!(
    /// Key of an entry within its namespace.
    Key,
    "key",
    check_key
);
name!(
    /// Name of a lock.
    LockName,
    "lock",
    |what, text| {
        check_length(what, text, limits::HOLD_NAME_BYTES_MAX)?;
        check_key(what, text)
    }
);
name!(
    /// Name of a semaphore.
    SemaphoreName,
    "semaphore",
    |what, text| {
        check_length(what, text, limits::HOLD_NAME_BYTES_MAX)?;
        check_key(what, text)
    }
);
name!(
    /// Name of a barrier.
    BarrierName,
    "barrier",
    |what, text| {
        check_length(what, text, limits::HOLD_NAME_BYTES_MAX)?;
        check_key(what, text)
    }
);
name!(
    /// Name of a pipeline.
    PipelineName,
    "pipeline",
    |what, text| check_plain(what, text, limits::PIPELINE_NAME_BYTES_MAX, "._:@-")
);
name!(
    /// Name of a stage of a pipeline, which may also be the type of its task.
    StageName,
    "stage",
    |what, text| check_plain(what, text, limits::TASK_BYTES_MAX, "._:@-")
);
name!(
    /// Idempotency key of a request.
    IdempotencyKey,
    "idempotency key",
    |what, text| {
        check_length(what, text, limits::IDEMPOTENCY_KEY_BYTES_MAX)?;
        check_key(what, text)
    }
);

impl NamespaceName {
    /// The namespace that every workspace has.
    pub fn shared() -> Self {
        Self("shared".into())
    }

    /// An agent's own namespace.
    pub fn of_agent(agent: &AgentId) -> Self {
        Self(["agent:", agent.as_str()].concat().into())
    }
}

impl JoinId {
    /// The id of a join that was created without one, from its revision and its number within it.
    /// Such ids sort by time.
    pub fn of_revision(revision: Revision, number: usize) -> Self {
        Self(match number {
            0 | 1 => of_revision('j', revision),
            more => format!("j-{:010}.{more}", revision.0).into(),
        })
    }
}

impl CheckpointId {
    /// The id of a checkpoint by its number in the workspace. Ids sort by time.
    pub fn of_number(number: u64) -> Self {
        Self(format!("c-{number:010}").into())
    }
}

impl HandoffId {
    /// The id of a hand-off, from its revision and its number within it. Such ids sort by time.
    pub fn of_revision(revision: Revision, number: usize) -> Self {
        Self(match number {
            0 | 1 => of_revision('h', revision),
            more => format!("h-{:010}.{more}", revision.0).into(),
        })
    }
}

impl MessageId {
    /// The id of a message, from its revision and its number within it. Such ids sort by time, also
    /// within a revision, because messages are delivered in that order.
    pub fn of_revision(revision: Revision, number: usize) -> Self {
        Self(match number {
            0 | 1 => of_revision('m', revision),
            more => format!("m-{:010}.{more:05}", revision.0).into(),
        })
    }
}

impl TaskId {
    /// The id of a task that was created without one, from its revision and its number within it.
    /// Such ids sort by time.
    pub fn of_revision(revision: Revision, number: usize) -> Self {
        Self(match number {
            0 | 1 => of_revision('t', revision),
            more => format!("t-{:010}.{more}", revision.0).into(),
        })
    }
}

impl TaskId {
    /// The id of a task that was created for a stage of a pipeline.
    pub fn of_stage(revision: Revision, number: usize) -> Self {
        Self(match number {
            0 | 1 => of_revision('p', revision),
            more => format!("p-{:010}.{more}", revision.0).into(),
        })
    }
}

impl GroupName {
    /// The group of the tasks of a pipeline.
    pub fn of_pipeline(pipeline: &PipelineName) -> Self {
        Self(format!("pipeline:{pipeline}").into())
    }

    /// The pipeline whose tasks belong to it, by its name.
    pub fn pipeline(&self) -> Option<PipelineName> {
        PipelineName::parse(self.as_str().strip_prefix("pipeline:")?).ok()
    }
}

impl From<&StageName> for TaskType {
    fn from(stage: &StageName) -> Self {
        Self(stage.0.clone())
    }
}

impl ArtifactId {
    /// The id of the artifact with this digest.
    pub fn of_digest(digest: &[u8; 32]) -> Self {
        Self(format!("sha256:{}", hexadecimal(digest)).into())
    }
}

impl BlobPlace {
    /// A place by its random number.
    pub fn of_number(number: u128) -> Self {
        Self(format!("{number:032x}").into())
    }
}

impl SecretId {
    /// The reference to the secret at a place.
    pub fn at(place: &BlobPlace) -> Self {
        Self(format!("secret:{place}").into())
    }

    /// The storage place of the value.
    pub fn place(&self) -> BlobPlace {
        BlobPlace(self.0["secret:".len()..].into())
    }
}

impl MediaType {
    /// The media type of unknown bytes.
    pub fn any() -> Self {
        Self("application/octet-stream".into())
    }
}

impl AgentId {
    /// The author of actions of the engine itself: expiry and cleanup.
    pub fn engine() -> Self {
        Self("baton".into())
    }

    /// The id of an external caller: not the engine's own, so that history can tell them apart.
    pub fn of_caller(text: &str) -> Result<Self, NameError> {
        let agent = Self::parse(text)?;
        if agent == Self::engine() {
            return Err(refuse("agent", text, "the engine itself is called that".into()));
        }
        Ok(agent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_escape_or_deceive_are_refused() {
        for bad in ["", ".", "..", "../x", "a/b", "a\0b", "ａ", "a b", "-a", &"a".repeat(65)] {
            assert!(WorkspaceName::parse(bad).is_err(), "{bad:?}");
        }
        for bad in ["", "..", "a/b", "shared/", "ünï", "a\nb", &"a".repeat(161)] {
            assert!(NamespaceName::parse(bad).is_err(), "{bad:?}");
        }
        for good in ["w", "Team-7", "a.b_c"] {
            assert!(WorkspaceName::parse(good).is_ok(), "{good:?}");
        }
        assert!(NamespaceName::parse("agent:ada@lab").is_ok());
    }

    #[test]
    fn keys_are_any_printable_text_up_to_512_bytes() {
        for good in ["plan", "a/b:c", "ключ", "with space", &"k".repeat(512)] {
            assert!(Key::parse(good).is_ok(), "{good:?}");
        }
        for bad in ["", "a\nb", "a\0", "\u{1f}", &"k".repeat(513)] {
            assert!(Key::parse(bad).is_err(), "{bad:?}");
        }
        let error = Key::parse(&"k".repeat(513)).unwrap_err();
        assert_eq!(error.reason, "it has 513 bytes, at most 512 are allowed");
    }
}
