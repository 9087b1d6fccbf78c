//! The messages of a workspace: mail, requests, and the handlers that answer them.

use baton_core::message::{
    Ack, Address, Answered, Command, Handler, List, Message, Query, Receive, Request, Respond, Send,
};
use baton_core::{AgentId, HandlerName, Json, MessageId, Rejection, Traceparent};
use serde::Serialize;

use crate::request::{Prepared, request};
use crate::{Error, Messages};

impl Messages {
    fn own(&self) -> AgentId {
        self.workspace.agent().clone()
    }

    /// Sends a message to an agent, which need not exist yet.
    pub fn send(&self, to: &str, body: impl Serialize) -> Sending {
        let prepare = || {
            let (to, body) = (AgentId::parse(to)?, Json::of(&body)?);
            Ok(Send { to, body, thread: None, reply_to: None, ttl_ms: None, traceparent: None })
        };
        Sending::new(&self.workspace, prepare())
    }

    /// Sends a request to an agent and waits for the reply.
    pub fn request(&self, to: &str, body: impl Serialize) -> Requesting {
        let to = AgentId::parse(to).map(Address::Agent).map_err(Into::into);
        self.requesting(to, &body)
    }

    /// Sends a request to one of the agents that serve a handler and waits for the reply.
    pub fn request_handler(&self, handler: &str, body: impl Serialize) -> Requesting {
        let to = HandlerName::parse(handler).map_err(Into::into);
        self.requesting(to.map(|handler| Address::Handler { handler }), &body)
    }

    /// Sends a request to one of the agents that receive and have a capability, and waits for the
    /// reply.
    pub fn request_capability(&self, capability: &str, body: impl Serialize) -> Requesting {
        let capability = capability.to_owned();
        self.requesting(Ok(Address::Capability { capability }), &body)
    }

    fn requesting(&self, to: Prepared<Address>, body: &impl Serialize) -> Requesting {
        let request = to.and_then(|to| {
            let body = Json::of(body)?;
            Ok(Request { to, body, timeout_ms: None, keep: None, traceparent: None })
        });
        Requesting::new(&self.workspace, request)
    }

    /// Replies to a request.
    pub async fn reply(&self, request: &str, body: impl Serialize) -> Result<Message, Error> {
        let body = Some(Json::of(&body).map_err(Rejection::from)?);
        let request = MessageId::parse(request)?;
        self.workspace.run(Command::Reply(Respond::new(request, body, None))).await
    }

    /// Replies to a request with an error.
    pub async fn fail(&self, request: &str, error: impl Serialize) -> Result<Message, Error> {
        let error = Some(Json::of(&error).map_err(Rejection::from)?);
        let request = MessageId::parse(request)?;
        self.workspace.run(Command::Reply(Respond::new(request, None, error))).await
    }

    /// Replies to a request with a body or an error, without the request in the answer.
    #[cfg(feature = "net")]
    pub(crate) async fn respond(
        &self,
        request: &MessageId,
        result: &Result<serde_json::Value, serde_json::Value>,
    ) -> Result<(), Error> {
        let respond = responding(request, result.as_ref())?;
        self.workspace.execute_minimal(Command::Reply(respond)).await.map(drop)
    }

    /// Replies to a request with a body or an error, and receives the next message in the same
    /// commit; none if there was none in time.
    pub async fn reply_and_receive(
        &self,
        request: &MessageId,
        result: Result<&serde_json::Value, &serde_json::Value>,
        wait_ms: u64,
        redeliver_ms: Option<u64>,
    ) -> Result<Option<Message>, Error> {
        let wait_ms = Some(wait_ms);
        let respond = Respond { wait_ms, redeliver_ms, ..responding(request, result)? };
        let received: Vec<Message> = self.workspace.run(Command::Reply(respond)).await?;
        Ok(received.into_iter().next())
    }

    /// Receives this agent's messages. They are delivered again unless they are acknowledged.
    pub fn receive(&self) -> Receiving {
        let receive = Receive { agent: Some(self.own()), ..Receive::default() };
        Receiving::new(&self.workspace, Ok(receive))
    }

    /// Acknowledges a message: it is not delivered again.
    pub async fn ack(&self, message: &str) -> Result<(), Error> {
        self.ack_all(&[MessageId::parse(message)?]).await
    }

    /// Acknowledges messages.
    pub async fn ack_all(&self, messages: &[MessageId]) -> Result<(), Error> {
        let ack = Ack { agent: Some(self.own()), message: None, messages: messages.to_vec() };
        self.workspace.run::<Vec<MessageId>>(Command::Ack(ack)).await.map(drop)
    }

    /// Delivers a dead message again.
    pub async fn requeue(&self, message: &str) -> Result<Message, Error> {
        self.workspace.run(Command::Requeue { message: MessageId::parse(message)? }).await
    }

    /// Reads a message.
    pub async fn get(&self, message: &str) -> Result<Message, Error> {
        self.workspace.query(Query::Get { message: MessageId::parse(message)? }).await
    }

    /// Lists one page of messages, with the cursor of the next: of this agent's inbox, unless the
    /// list names another agent.
    pub async fn page(&self, list: List) -> Result<(Vec<Message>, Option<MessageId>), Error> {
        let agent = list.agent.clone().or_else(|| Some(self.own()));
        self.workspace.query(Query::List(List { agent, ..list })).await
    }

    /// Registers this agent for a handler, until its session ends.
    pub async fn handle(&self, handler: &str) -> Result<Handler, Error> {
        self.workspace.run(Command::Register { handler: HandlerName::parse(handler)? }).await
    }

    /// Removes this agent from a handler.
    pub async fn unhandle(&self, handler: &str) -> Result<Handler, Error> {
        self.workspace.run(Command::Remove { handler: HandlerName::parse(handler)? }).await
    }

    /// Lists the agents that serve a handler, or any handler.
    pub async fn handlers(&self, handler: Option<&str>) -> Result<Vec<Handler>, Error> {
        let handler = handler.map(HandlerName::parse).transpose()?;
        let page = |cursor| Query::Handlers { handler: handler.clone(), limit: None, cursor };
        self.workspace.pages(None, page).await
    }
}

/// A reply with a body or an error.
fn responding(
    request: &MessageId,
    result: Result<&serde_json::Value, &serde_json::Value>,
) -> Result<Respond, Rejection> {
    let (body, error) = match result {
        Ok(body) => (Some(Json::of(body)?), None),
        Err(error) => (None, Some(Json::of(error)?)),
    };
    Ok(Respond::new(request.clone(), body, error))
}

request! {
    /// Sends a message when it is awaited.
    Sending(Send) -> Message: |workspace, send| workspace.run(Command::Send(send));
    /// Sets the trace that it belongs to, as W3C Trace Context.
    traceparent(traceparent: &str) |send| send.traceparent = Some(Traceparent::parse(traceparent)?);
    /// Sets the message that it replies to, in the same conversation.
    reply_to(message: &str) |send| send.reply_to = Some(MessageId::parse(message)?);
    /// Sets the conversation that it belongs to, by its first message.
    thread(message: &str) |send| send.thread = Some(MessageId::parse(message)?);
    /// Sets how long it is kept unless it is acknowledged.
    ttl_ms(milliseconds: u64) |send| send.ttl_ms = Some(milliseconds);
}

request! {
    /// Sends a request when it is awaited, and waits for the reply.
    Requesting(Request) -> Answered: |workspace, request| workspace.run(Command::Request(request));
    /// Sets how long to wait for the reply.
    timeout_ms(milliseconds: u64) |request| request.timeout_ms = Some(milliseconds);
    /// Sets whether the request and its reply are recorded. One that is not kept is delivered at
    /// most once, and lost with the server, the connection or the session of its handler.
    keep(keep: bool) |request| request.keep = Some(keep);
    /// Sets the trace that it belongs to, as W3C Trace Context.
    traceparent(traceparent: &str) |request|
        request.traceparent = Some(Traceparent::parse(traceparent)?);
}

request! {
    /// Receives messages when it is awaited.
    Receiving(Receive) -> Vec<Message>: |workspace, receive|
        workspace.run(Command::Receive(receive));
    /// Sets how long to wait if there are none.
    wait_ms(milliseconds: u64) |receive| receive.wait_ms = Some(milliseconds);
    /// Limits how many messages are received.
    limit(count: u64) |receive| receive.limit = Some(count);
    /// Sets how long after the delivery they are delivered again unless they are acknowledged.
    redeliver_ms(milliseconds: u64) |receive| receive.redeliver_ms = Some(milliseconds);
}
