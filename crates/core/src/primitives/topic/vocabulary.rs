//! Commands, queries, replies and events of topics.

use serde::{Deserialize, Serialize};

use crate::json::Json;
#[cfg(feature = "schema")]
use crate::limits;
use crate::names::{AgentId, TopicName, Traceparent};
use crate::primitive;
use crate::time::Timestamp;

/// Commands that change topics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `topic.publish`
    Publish {
        /// The topic.
        topic: TopicName,
        /// The content: any JSON.
        body: Json,
        /// Record the message in the log. If `false`, it is only delivered to current watches.
        #[cfg_attr(feature = "schema", schemars(extend("default" = true)))]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        durable: Option<bool>,
        /// W3C trace context (`traceparent`). Default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        traceparent: Option<Traceparent>,
    },
}

/// No signal is only for topics.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {}

/// Queries about topics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `topic.get`
    Get {
        /// The topic.
        topic: TopicName,
    },
    /// `topic.list`: a page of topics, by name.
    List {
        /// Only topics with this prefix. If omitted, all topics.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefix: Option<String>,
        /// The maximum number of results.
        #[cfg_attr(feature = "schema", schemars(
            extend("default" = limits::PAGE_DEFAULT),
            range(min = 1, max = limits::PAGE_MAX),
        ))]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
        /// The `cursor` of the previous page. If omitted, the first page is returned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<TopicName>,
    },
}

/// A topic. Only recorded messages are counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Topic {
    /// The name of the topic.
    #[serde(rename = "topic")]
    pub name: TopicName,
    /// The number of messages.
    pub posts: u64,
    /// When the last message was published.
    pub last_at: Timestamp,
    /// The agent that published it.
    pub last_by: AgentId,
}

/// The result of `topic.publish`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Published {
    /// The topic.
    pub topic: TopicName,
    /// Whether it was recorded.
    pub durable: bool,
    /// The number of recorded messages of the topic.
    pub posts: u64,
}

/// Replies about topics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The message was published.
    Published(Published),
    /// One topic.
    Topic(Topic),
    /// A page of results, by name.
    Topics {
        /// The results on this page.
        topics: Vec<Topic>,
        /// The cursor of the next page. Absent on the last page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<TopicName>,
    },
}

/// Events of topics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A message was published. Its sender is the author of the commit.
    Posted {
        /// The topic.
        topic: TopicName,
        /// The content.
        body: Json,
        /// W3C trace context (`traceparent`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        traceparent: Option<Traceparent>,
        /// Whether it was only delivered to watches and is in no log.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        live: bool,
    },
}

impl primitive::Command for Command {
    fn traceparent(&mut self) -> Option<&mut Option<Traceparent>> {
        let Self::Publish { traceparent, .. } = self;
        Some(traceparent)
    }
}

impl Event {
    /// The topic that it is about.
    pub fn topic(&self) -> &TopicName {
        let Self::Posted { topic, .. } = self;
        topic
    }
}

impl primitive::Event for Event {
    fn kind(&self) -> &str {
        match self {
            Self::Posted { .. } => "topic.posted",
        }
    }

    fn subject_parts(&self) -> [&str; 4] {
        ["topics/", self.topic().as_str(), "", ""]
    }

    fn load(&self) -> usize {
        let Self::Posted { body, traceparent, .. } = self;
        body.as_bytes().len() + traceparent.as_ref().map_or(0, Traceparent::bytes)
    }

    fn is_live(&self) -> bool {
        let Self::Posted { live, .. } = self;
        *live
    }
}
