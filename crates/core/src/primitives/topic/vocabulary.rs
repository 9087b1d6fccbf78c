//! The words of topics.

use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::names::{AgentId, TopicName, Traceparent};
use crate::time::Timestamp;

/// What one may ask of topics so that they change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `topic.publish`
    Publish {
        /// Which topic.
        topic: TopicName,
        /// What is said.
        body: Json,
        /// Whether it is written down, as it is if not given; else it is told to whoever watches
        /// now, and to nobody later.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        durable: Option<bool>,
        /// The trace that it is a part of, as W3C Trace Context writes it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        traceparent: Option<Traceparent>,
    },
}

/// What one may ask of topics without changing them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `topic.get`
    Get {
        /// Which topic.
        topic: TopicName,
    },
    /// `topic.list`: a page of those that something was posted to, by name.
    List {
        /// Only those whose names begin so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefix: Option<String>,
        /// How many at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
        /// Where the page before ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<TopicName>,
    },
}

/// A topic as callers see it. Only what was written down counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Topic {
    /// Which.
    #[serde(rename = "topic")]
    pub name: TopicName,
    /// How often something was posted.
    pub posts: u64,
    /// When something was last posted.
    pub last_at: Timestamp,
    /// Who posted it.
    pub last_by: AgentId,
}

/// What was published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Published {
    /// To which topic.
    pub topic: TopicName,
    /// Whether it was written down.
    pub durable: bool,
    /// How often something was posted there, as far as it was written down.
    pub posts: u64,
}

/// Answers of topics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// It was published.
    Published(Published),
    /// One topic.
    Topic(Topic),
    /// A page of them, by name.
    Topics {
        /// The page.
        topics: Vec<Topic>,
        /// Where to go on, if there is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<TopicName>,
    },
}

/// Facts about topics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Something was said. Who said it is the author of the commit.
    Posted {
        /// In which topic.
        topic: TopicName,
        /// What.
        body: Json,
        /// The trace that it is a part of.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        traceparent: Option<Traceparent>,
        /// Whether it was only told to those who watched, and is in no log.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        live: bool,
    },
}

impl Event {
    /// The event's type, as watchers and history know it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Posted { .. } => "topic.posted",
        }
    }

    /// The topic it is about.
    pub fn topic(&self) -> &TopicName {
        let Self::Posted { topic, .. } = self;
        topic
    }

    /// Bytes of what is neither bounded by the frame of an event nor part of the subject.
    pub(crate) fn load(&self) -> usize {
        let Self::Posted { body, traceparent, .. } = self;
        body.as_bytes().len() + traceparent.as_ref().map_or(0, Traceparent::bytes)
    }
}
