//! The operations on topics.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Publish = "topic.publish" -> "published", Post "/topics/{topic}" Body, Work:
        "Say something to whoever watches the topic",
        {"topic": "news/tech", "body": {"title": "tides"}};
    Query::Get = "topic.get" -> "topic", Get "/topics/{topic}" Query, Read:
        "Read a topic", {"topic": "news/tech"};
    Query::List = "topic.list" -> "topics", Get "/topics" Query, Read:
        "List topics and how often something was posted", {"prefix": "news/", "limit": 10};
}
