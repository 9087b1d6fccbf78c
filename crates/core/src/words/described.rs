//! The building blocks of the derived schemas: names, numbers, times and values, as JSON Schema.
//!
//! The limits are those of the parsers, so that a program can check its input. JSON Schema has
//! no words for two of them: a length in bytes (`maxLength` counts characters), and how deeply a
//! value may be nested.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::checkpoint::Checksum;
use crate::expression::Expression;
use crate::handoff::{Receiver, Selected};
use crate::history::At;
use crate::names::{
    AgentId, ArtifactId, BarrierName, BlobPlace, CheckpointId, CheckpointKey, CheckpointLabel,
    ContentName, ContractName, CopyId, EventType, GroupName, HandlerName, HandoffId,
    IdempotencyKey, JoinId, Key, KeyName, LockName, MediaType, MessageId, NamespaceName,
    PipelineName, ReactionName, RuleName, SecretId, SemaphoreName, StageName, StateType,
    StreamName, TaskId, TaskType, TopicName, Traceparent, WorkspaceName,
};
use crate::numbers::{Generation, Revision, Token, Version, WaitId};
use crate::reaction::Condition;
use crate::state::PatchEntry;
use crate::state::patch::PatchFields;
use crate::time::Timestamp;
use crate::{Entry, Json, Pattern, limits, pattern, schema, state};

/// A namespace, a slash and a key.
const SELECTED: &str = "^[A-Za-z0-9][A-Za-z0-9._:@\\-]{0,159}/[^\\x00-\\x1f]{1,512}$";

macro_rules! described {
    ($($name:ty, $title:literal => $schema:expr;)*) => {$(
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                $title.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    )*};
}

/// Letters, digits and a few signs, starting with a letter or digit.
fn plain(description: &str, bytes_max: usize, signs: &str) -> Schema {
    json_schema!({
        "description": description,
        "type": "string",
        "minLength": 1,
        "maxLength": bytes_max,
        "pattern": format!("^[A-Za-z0-9][A-Za-z0-9{signs}]*$"),
    })
}

/// Any text without control characters.
fn text(description: &str, bytes_max: usize) -> Schema {
    json_schema!({
        "description": description,
        "type": "string",
        "minLength": 1,
        "maxLength": bytes_max,
        "pattern": "^[^\\x00-\\x1f]+$",
    })
}

fn digits(description: &str, pattern: &str) -> Schema {
    json_schema!({ "description": description, "type": "string", "pattern": pattern })
}

fn number(description: &str) -> Schema {
    json_schema!({
        "description": description,
        "type": "integer",
        "minimum": 0,
    })
}

described! {
    WorkspaceName, "WorkspaceName" =>
        plain("Name of a workspace.", limits::WORKSPACE_BYTES_MAX, "._\\-");
    CopyId, "CopyId" => plain("Id of a copy of a workspace.", limits::COPY_BYTES_MAX, "._\\-");
    NamespaceName, "NamespaceName" =>
        plain("Name of a namespace of shared state.", limits::NAMESPACE_BYTES_MAX, "._:@\\-");
    AgentId, "AgentId" => plain("Id of an agent.", limits::AGENT_BYTES_MAX, "._:@\\-");
    MessageId, "MessageId" => plain("Id of a message.", limits::TASK_BYTES_MAX, "._:@\\-");
    HandlerName, "HandlerName" =>
        plain("Name of a handler of requests.", limits::TASK_BYTES_MAX, "._:@\\-");
    TopicName, "TopicName" => text("Name of a topic.", limits::HOLD_NAME_BYTES_MAX);
    StreamName, "StreamName" => text("Name of a stream.", limits::HOLD_NAME_BYTES_MAX);
    RuleName, "RuleName" =>
        plain("Name of a rule for hand-offs.", limits::RULE_NAME_BYTES_MAX, "._:@\\-");
    ContractName, "ContractName" =>
        plain("Name of a contract.", limits::RULE_NAME_BYTES_MAX, "._:@\\-");
    EventType, "EventType" => json_schema!({
        "description": "Type of a user event: words with dots between them.",
        "type": "string",
        "minLength": 1,
        "maxLength": limits::EVENT_TYPE_BYTES_MAX,
        "pattern": "^[A-Za-z0-9][A-Za-z0-9_\\-]*(\\.[A-Za-z0-9_\\-]+)*$",
    });
    ReactionName, "ReactionName" =>
        plain("Name of a reaction.", limits::RULE_NAME_BYTES_MAX, "._:@\\-");
    Condition, "Condition" => json_schema!({
        "description": "A CEL expression about `event` that must be true.",
        "type": "string",
        "minLength": 1,
        "maxLength": limits::EXPRESSION_BYTES_MAX,
    });
    JoinId, "JoinId" => plain("Id of a join.", limits::TASK_BYTES_MAX, "._:@\\-");
    CheckpointId, "CheckpointId" =>
        plain("Id of a checkpoint.", limits::TASK_BYTES_MAX, "._:@\\-");
    CheckpointLabel, "CheckpointLabel" =>
        text("Label of a checkpoint.", limits::LABEL_BYTES_MAX);
    CheckpointKey, "CheckpointKey" => text(
        "Key of a checkpoint, which its author chose. Keys sort by their bytes.",
        limits::KEY_BYTES_MAX,
    );
    StateType, "StateType" => plain(
        "Type of bytes, as their author names it.",
        limits::LABEL_BYTES_MAX,
        "._:@/+\\-",
    );
    Checksum, "Checksum" => json_schema!({
        "description": "CRC-32 of the bytes.",
        "type": "string",
        "pattern": "^crc32:[0-9a-f]{8}$",
    });
    ArtifactId, "ArtifactId" =>
        digits("Id of an artifact: the SHA-256 of its bytes.", "^sha256:[0-9a-f]{64}$");
    SecretId, "SecretId" => digits("Reference to a secret.", "^secret:[0-9a-f]{32}$");
    BlobPlace, "BlobPlace" => digits("Storage place of a blob.", "^[0-9a-f]{32}$");
    ContentName, "ContentName" =>
        text("Name of an artifact or a secret.", limits::CONTENT_NAME_BYTES_MAX);
    MediaType, "MediaType" => json_schema!({
        "description": "Media type of an artifact.",
        "type": "string",
        "minLength": 1,
        "maxLength": limits::MEDIA_TYPE_BYTES_MAX,
        "pattern": "^[\\x20-\\x7e]+$",
    });
    Traceparent, "Traceparent" => json_schema!({
        "description": "W3C trace context (`traceparent`).",
        "type": "string",
        "minLength": 55,
        "maxLength": limits::TRACEPARENT_BYTES_MAX,
        "pattern": "^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}",
    });
    HandoffId, "HandoffId" => plain("Id of a hand-off.", limits::TASK_BYTES_MAX, "._:@\\-");
    TaskId, "TaskId" => plain("Id of a task.", limits::TASK_BYTES_MAX, "._:@\\-");
    TaskType, "TaskType" =>
        plain("Type of a task.", limits::TASK_BYTES_MAX, "._:@\\-");
    GroupName, "GroupName" =>
        plain("Name of a group of tasks.", limits::TASK_BYTES_MAX, "._:@\\-");
    Key, "Key" => text("Key of an entry within its namespace.", limits::KEY_BYTES_MAX);
    LockName, "LockName" => text("Name of a lock.", limits::HOLD_NAME_BYTES_MAX);
    SemaphoreName, "SemaphoreName" =>
        text("Name of a semaphore.", limits::HOLD_NAME_BYTES_MAX);
    BarrierName, "BarrierName" => text("Name of a barrier.", limits::HOLD_NAME_BYTES_MAX);
    PipelineName, "PipelineName" =>
        plain("Name of a pipeline.", limits::PIPELINE_NAME_BYTES_MAX, "._:@\\-");
    StageName, "StageName" =>
        plain("Name of a stage of a pipeline.", limits::TASK_BYTES_MAX, "._:@\\-");
    IdempotencyKey, "IdempotencyKey" => text(
        "Idempotency key: repeating a request with the same key has no second effect.",
        limits::IDEMPOTENCY_KEY_BYTES_MAX,
    );
    Receiver, "Receiver" => json_schema!({
        "description": "The id of an agent, or a capability that the receiver must have.",
        "oneOf": [
            plain("Id of an agent.", limits::AGENT_BYTES_MAX, "._:@\\-"),
            {
                "type": "object",
                "properties": {
                    "capability": text("The capability.", limits::CAPABILITY_BYTES_MAX),
                },
                "required": ["capability"],
                "additionalProperties": false,
            },
        ],
    });
    KeyName, "KeyName" => json_schema!({
        "description": "A key as `namespace/key`.",
        "type": "string",
        "pattern": SELECTED,
    });
    Selected, "Selected" => json_schema!({
        "description":
            "A key as `namespace/key`, optionally with a required version. Without a version, \
             a key with `*` is a pattern for keys of that namespace.",
        "oneOf": [
            { "type": "string", "pattern": SELECTED },
            {
                "type": "object",
                "properties": {
                    "key": { "type": "string", "pattern": SELECTED },
                    "version": number("The required version. If omitted, any version."),
                },
                "required": ["key"],
                "additionalProperties": false,
            },
        ],
    });
    Revision, "Revision" =>
        number("Position of a commit in the history of its workspace; each commit adds one.");
    Version, "Version" =>
        number("Version of an entry: 1 when it is created, plus one for every change.");
    Token, "Token" => number("Fencing token. Later tokens are larger.");
    Generation, "Generation" =>
        number("Generation of a barrier, counted from 1.");
    WaitId, "WaitId" => number("A waiting call.");
    Timestamp, "Timestamp" => json_schema!({
        "description": "A time in UTC with milliseconds (RFC 3339).",
        "type": "string",
        "format": "date-time",
    });
    At, "At" => json_schema!({
        "description": "A point in history: a revision, or a time (RFC 3339). A time selects \
            the last revision up to then, unless the field says otherwise.",
        "oneOf": [
            { "type": "integer", "minimum": 0 },
            { "type": "string", "format": "date-time" },
        ],
    });
    Pattern, "Pattern" => json_schema!({
        "description": "A pattern: `*` matches any text within a segment, `**` any text.",
        "type": "string",
        "minLength": 1,
        "maxLength": pattern::BYTES_MAX,
    });
    Expression, "Expression" => json_schema!({
        "description": "A CEL expression that must be true.",
        "type": "string",
        "minLength": 1,
        "maxLength": limits::EXPRESSION_BYTES_MAX,
    });
    schema::Schema, "JsonSchema" => json_schema!({
        "description": "A JSON Schema without external references.",
        "type": ["object", "boolean"],
    });
}

impl JsonSchema for Json {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Json".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({})
    }
}

impl JsonSchema for Entry {
    fn schema_name() -> Cow<'static, str> {
        "Entry".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        state::entry::EntryFields::json_schema(generator)
    }
}

impl JsonSchema for PatchEntry {
    fn schema_name() -> Cow<'static, str> {
        "PatchEntry".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        PatchFields::json_schema(generator)
    }
}
