//! Topics of a workspace. Whoever wants to hear one watches `topics/NAME`.

use baton_core::topic::{Command, Published, Query, Reply as TopicReply, Topic};
use baton_core::{Json, Rejection, Reply, TopicName};
use serde::Serialize;

use crate::Workspace;
use crate::carrier::{Carrier, Failure};

/// Topics of a workspace, as one agent sees them.
#[derive(Clone, Debug)]
pub struct Topics<C> {
    workspace: Workspace<C>,
}

impl<C: Carrier> Topics<C> {
    pub(crate) fn new(workspace: Workspace<C>) -> Self {
        Self { workspace }
    }

    /// Posts something, durably: whoever watches sees it, from any revision on.
    pub async fn publish(&self, topic: &str, body: impl Serialize) -> Result<Published, C::Error> {
        self.post(topic, &body, true).await
    }

    /// Tells something to whoever watches now, and to nobody later. It is not written down.
    pub async fn tell(&self, topic: &str, body: impl Serialize) -> Result<Published, C::Error> {
        self.post(topic, &body, false).await
    }

    async fn post(
        &self,
        topic: &str,
        body: &impl Serialize,
        durable: bool,
    ) -> Result<Published, C::Error> {
        let (topic, body) = (TopicName::parse(topic)?, Json::of(body).map_err(Rejection::from)?);
        let (durable, traceparent) = (Some(durable), None);
        let command = Command::Publish { topic, body, durable, traceparent };
        match self.workspace.execute(command).await?.reply {
            Reply::Topic(TopicReply::Published(published)) => Ok(published),
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// How often something was posted to a topic, and when last.
    pub async fn get(&self, topic: &str) -> Result<Topic, C::Error> {
        let query = Query::Get { topic: TopicName::parse(topic)? };
        match self.workspace.ask(query).await?.reply {
            Reply::Topic(TopicReply::Topic(topic)) => Ok(topic),
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// All topics whose names begin so, by name.
    pub async fn list(&self, prefix: &str) -> Result<Vec<Topic>, C::Error> {
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let query = Query::List { prefix: Some(prefix.to_owned()), limit: None, cursor };
            match self.workspace.ask(query).await?.reply {
                Reply::Topic(TopicReply::Topics { topics, cursor: next }) => {
                    all.extend(topics);
                    match next {
                        Some(next) => cursor = Some(next),
                        None => return Ok(all),
                    }
                }
                reply => return Err(C::Error::odd(&reply)),
            }
        }
    }
}
