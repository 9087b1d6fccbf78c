//! The topics of a workspace.

use baton_core::topic::{Command, Published, Query, Topic};
use baton_core::{Json, Rejection, TopicName};
use serde::Serialize;

use crate::{Error, Topics};

impl Topics {
    /// Publishes a message durably: watches from any revision receive it.
    pub async fn publish(&self, topic: &str, body: impl Serialize) -> Result<Published, Error> {
        self.post(topic, &body, true).await
    }

    /// Publishes a message to the present watchers only. It is not stored.
    pub async fn tell(&self, topic: &str, body: impl Serialize) -> Result<Published, Error> {
        self.post(topic, &body, false).await
    }

    async fn post(
        &self,
        topic: &str,
        body: &impl Serialize,
        durable: bool,
    ) -> Result<Published, Error> {
        let (topic, body) = (TopicName::parse(topic)?, Json::of(body).map_err(Rejection::from)?);
        let (durable, traceparent) = (Some(durable), None);
        self.workspace.run(Command::Publish { topic, body, durable, traceparent }).await
    }

    /// Reads how often something was published to a topic, and when last.
    pub async fn get(&self, topic: &str) -> Result<Topic, Error> {
        self.workspace.query(Query::Get { topic: TopicName::parse(topic)? }).await
    }

    /// Lists the topics whose names start with a prefix, by name.
    pub async fn list(&self, prefix: &str) -> Result<Vec<Topic>, Error> {
        let list = |cursor| Query::List { prefix: Some(prefix.to_owned()), limit: None, cursor };
        self.workspace.pages(None, list).await
    }
}
