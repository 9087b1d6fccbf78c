//! The operations on topics.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Publish = "topic.publish" -> "published", Post "/topics/{topic}" Body, Work,
        side_effects("Delivered to watches of `topics/NAME`."):
        "Publish a message to a topic",
        {"topic": "news/tech", "body": {"title": "tides"}};
    Query::Get = "topic.get" -> "topic", Get "/topics/{topic}" Query, Read:
        "Get a topic", {"topic": "news/tech"};
    Query::List = "topic.list" -> "topics", Get "/topics" Query, Read:
        "List topics and their message counts", {"prefix": "news/", "limit": 10};
}
