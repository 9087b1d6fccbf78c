//! Messages of a workspace: mail, requests, and who answers them.

use std::future::IntoFuture;

use baton_core::message::{
    Ack, Address, Answered, Command, Handler, List, Message, Query, Receive, Reply as MessageReply,
    Request, Respond, Send,
};
use baton_core::{AgentId, HandlerName, Json, MessageId, Reply, Traceparent};
use serde::Serialize;

use crate::carrier::{Carrier, Failure};
use crate::{Prepared, Sent, Workspace};

/// Messages of a workspace, as one agent sees them.
#[derive(Clone, Debug)]
pub struct Messages<C> {
    workspace: Workspace<C>,
}

impl<C: Carrier> Messages<C> {
    pub(crate) fn new(workspace: Workspace<C>) -> Self {
        Self { workspace }
    }

    fn own(&self) -> AgentId {
        self.workspace.caller.agent.clone()
    }

    /// Sends a message to an agent, which need not be there yet. What it answers and how long it
    /// stays may follow before this is awaited.
    pub fn send(&self, to: &str, body: impl Serialize) -> Sending<C> {
        let send = AgentId::parse(to).map_err(Into::into).and_then(|to| {
            let body = Json::of(&body)?;
            Ok(Send { to, body, thread: None, reply_to: None, ttl_ms: None, traceparent: None })
        });
        Sending { workspace: self.workspace.clone(), send }
    }

    /// Asks an agent, and waits for the answer.
    pub fn request(&self, to: &str, body: impl Serialize) -> Requesting<C> {
        let to = AgentId::parse(to).map(Address::Agent).map_err(Into::into);
        self.requesting(to, &body)
    }

    /// Asks one of those who answer for a handler, and waits for the answer.
    pub fn request_handler(&self, handler: &str, body: impl Serialize) -> Requesting<C> {
        let to = HandlerName::parse(handler).map_err(Into::into);
        self.requesting(to.map(|handler| Address::Handler { handler }), &body)
    }

    /// Asks one of those who listen and can do this, and waits for the answer.
    pub fn request_capability(&self, capability: &str, body: impl Serialize) -> Requesting<C> {
        let capability = capability.to_owned();
        self.requesting(Ok(Address::Capability { capability }), &body)
    }

    fn requesting(&self, to: Prepared<Address>, body: &impl Serialize) -> Requesting<C> {
        let request = to.and_then(|to| {
            let body = Json::of(body)?;
            Ok(Request { to, body, timeout_ms: None, traceparent: None })
        });
        Requesting { workspace: self.workspace.clone(), request }
    }

    /// Answers a request.
    pub async fn reply(&self, request: &str, body: impl Serialize) -> Result<Message, C::Error> {
        let body = Some(Json::of(&body).map_err(baton_core::Rejection::from)?);
        let request = MessageId::parse(request)?;
        self.changed(Command::Reply(Respond { request, body, error: None })).await
    }

    /// Answers a request with an error.
    pub async fn fail(&self, request: &str, error: impl Serialize) -> Result<Message, C::Error> {
        let error = Some(Json::of(&error).map_err(baton_core::Rejection::from)?);
        let request = MessageId::parse(request)?;
        self.changed(Command::Reply(Respond { request, body: None, error })).await
    }

    /// Receives this agent's mail. How long to wait for it, and how much, may follow before this is
    /// awaited; it comes again unless it is acknowledged.
    pub fn receive(&self) -> Receiving<C> {
        let receive = Receive { agent: Some(self.own()), ..Receive::default() };
        Receiving { workspace: self.workspace.clone(), receive }
    }

    /// Acknowledges a message: it never comes again.
    pub async fn ack(&self, message: &str) -> Result<(), C::Error> {
        self.ack_all(&[MessageId::parse(message)?]).await
    }

    /// Acknowledges messages.
    pub async fn ack_all(&self, messages: &[MessageId]) -> Result<(), C::Error> {
        let ack = Ack { agent: Some(self.own()), message: None, messages: messages.to_vec() };
        match self.workspace.execute(Command::Ack(ack)).await?.reply {
            Reply::Message(MessageReply::Acked { .. }) => Ok(()),
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// Lets a dead message be delivered again.
    pub async fn requeue(&self, message: &str) -> Result<Message, C::Error> {
        self.changed(Command::Requeue { message: MessageId::parse(message)? }).await
    }

    async fn changed(&self, command: Command) -> Result<Message, C::Error> {
        record(self.workspace.execute(command).await?.reply)
    }

    /// One of them.
    pub async fn get(&self, message: &str) -> Result<Message, C::Error> {
        let query = Query::Get { message: MessageId::parse(message)? };
        record(self.workspace.ask(query).await?.reply)
    }

    /// One page of those that are asked for, and where to go on; of this agent's inbox if the list
    /// does not say whose.
    pub async fn page(&self, list: List) -> Result<(Vec<Message>, Option<MessageId>), C::Error> {
        let agent = list.agent.clone().or_else(|| Some(self.own()));
        match self.workspace.ask(Query::List(List { agent, ..list })).await?.reply {
            Reply::Message(MessageReply::Messages { messages, cursor }) => Ok((messages, cursor)),
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// Says that this agent answers for a handler, as long as its session lasts.
    pub async fn handle(&self, handler: &str) -> Result<Handler, C::Error> {
        let command = Command::Register { handler: HandlerName::parse(handler)? };
        handler_of(self.workspace.execute(command).await?.reply)
    }

    /// Says that it does not any more.
    pub async fn unhandle(&self, handler: &str) -> Result<Handler, C::Error> {
        let command = Command::Remove { handler: HandlerName::parse(handler)? };
        handler_of(self.workspace.execute(command).await?.reply)
    }

    /// Everybody who answers for a handler; for any if none is named.
    pub async fn handlers(&self, handler: Option<&str>) -> Result<Vec<Handler>, C::Error> {
        let handler = handler.map(HandlerName::parse).transpose()?;
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let query = Query::Handlers { handler: handler.clone(), limit: None, cursor };
            match self.workspace.ask(query).await?.reply {
                Reply::Message(MessageReply::Handlers { handlers, cursor: next }) => {
                    all.extend(handlers);
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

fn record<F: Failure>(reply: Reply) -> Result<Message, F> {
    match reply {
        Reply::Message(MessageReply::Message(message)) => Ok(*message),
        reply => Err(F::odd(&reply)),
    }
}

fn handler_of<F: Failure>(reply: Reply) -> Result<Handler, F> {
    match reply {
        Reply::Message(MessageReply::Handler(handler)) => Ok(handler),
        reply => Err(F::odd(&reply)),
    }
}

/// A message that is sent when this is awaited.
#[must_use = "nothing is sent before this is awaited"]
pub struct Sending<C> {
    workspace: Workspace<C>,
    send: Prepared<Send>,
}

impl<C: Carrier> Sending<C> {
    fn with(mut self, change: impl FnOnce(&mut Send) -> Prepared<()>) -> Self {
        self.send = self.send.and_then(|mut send| {
            change(&mut send)?;
            Ok(send)
        });
        self
    }

    /// The trace that it is a part of, as W3C Trace Context writes it.
    pub fn traceparent(self, traceparent: &str) -> Self {
        self.with(|send| {
            send.traceparent = Some(Traceparent::parse(traceparent)?);
            Ok(())
        })
    }

    /// The message it answers; it belongs to the same conversation.
    pub fn reply_to(self, message: &str) -> Self {
        self.with(|send| {
            send.reply_to = Some(MessageId::parse(message)?);
            Ok(())
        })
    }

    /// The conversation it belongs to, by its first message.
    pub fn thread(self, message: &str) -> Self {
        self.with(|send| {
            send.thread = Some(MessageId::parse(message)?);
            Ok(())
        })
    }

    /// After how long it goes unless it is acknowledged.
    pub fn ttl_ms(self, milliseconds: u64) -> Self {
        self.with(|send| {
            send.ttl_ms = Some(milliseconds);
            Ok(())
        })
    }
}

impl<C: Carrier> IntoFuture for Sending<C> {
    type Output = Result<Message, C::Error>;
    type IntoFuture = Sent<Message, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(
            async move { record(self.workspace.execute(Command::Send(self.send?)).await?.reply) },
        )
    }
}

/// A request that is made when this is awaited.
#[must_use = "nothing is asked before this is awaited"]
pub struct Requesting<C> {
    workspace: Workspace<C>,
    request: Prepared<Request>,
}

impl<C: Carrier> Requesting<C> {
    /// How long to wait for the answer.
    pub fn timeout_ms(mut self, milliseconds: u64) -> Self {
        self.request = self.request.map(|request| {
            let timeout_ms = Some(milliseconds);
            Request { timeout_ms, ..request }
        });
        self
    }

    /// The trace that it is a part of, as W3C Trace Context writes it.
    pub fn traceparent(mut self, traceparent: &str) -> Self {
        self.request = self.request.and_then(|request| {
            let traceparent = Some(Traceparent::parse(traceparent)?);
            Ok(Request { traceparent, ..request })
        });
        self
    }
}

impl<C: Carrier> IntoFuture for Requesting<C> {
    type Output = Result<Answered, C::Error>;
    type IntoFuture = Sent<Answered, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            match self.workspace.execute(Command::Request(self.request?)).await?.reply {
                Reply::Message(MessageReply::Replied(answered)) => Ok(answered),
                reply => Err(C::Error::odd(&reply)),
            }
        })
    }
}

/// Mail that is received when this is awaited.
#[must_use = "nothing is received before this is awaited"]
pub struct Receiving<C> {
    workspace: Workspace<C>,
    receive: Receive,
}

impl<C: Carrier> Receiving<C> {
    /// How long to wait if there is none.
    pub fn wait_ms(mut self, milliseconds: u64) -> Self {
        self.receive.wait_ms = Some(milliseconds);
        self
    }

    /// How many messages at most.
    pub fn limit(mut self, count: u64) -> Self {
        self.receive.limit = Some(count);
        self
    }

    /// After how long they come again unless they are acknowledged.
    pub fn redeliver_ms(mut self, milliseconds: u64) -> Self {
        self.receive.redeliver_ms = Some(milliseconds);
        self
    }
}

impl<C: Carrier> IntoFuture for Receiving<C> {
    type Output = Result<Vec<Message>, C::Error>;
    type IntoFuture = Sent<Vec<Message>, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            match self.workspace.execute(Command::Receive(self.receive)).await?.reply {
                Reply::Message(MessageReply::Received { messages }) => Ok(messages),
                reply => Err(C::Error::odd(&reply)),
            }
        })
    }
}
