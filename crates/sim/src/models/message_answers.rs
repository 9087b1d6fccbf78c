//! Checks answers about messages and topics, and that batches about them are what was requested.

use baton_core::message::{
    Address, Command, Event, Given, List, Message, Query, Rejection, Reply, Respond, Status,
};
use baton_core::waiting::wait::Left;
use baton_core::{
    Answer, Command as AnyCommand, Event as AnyEvent, MessageId, Rejection as AnyRejection,
    Reply as AnyReply, Timestamp, topic,
};

use crate::auditor::answers::DecidedRequest;
use crate::auditor::explain::BatchReader;
use crate::auditor::ledger::Ledger;
use crate::auditor::{Audit, Breach, demand};
use crate::coverage::Coverage;
use crate::models::message::is_open;
use crate::models::wait::WaitEnd;

/// The default page size.
const PAGE_DEFAULT: u64 = 100;

impl Ledger {
    /// Checks that a message is shown as it was.
    fn message_shown(&self, shown: &Message, at: u64) -> Audit {
        let there = self.messages.at(&shown.id, at);
        demand!(there == Some(shown), "{shown:?} is shown, but it is {there:?}");
        Ok(())
    }

    fn moment_of(&self, asked: &DecidedRequest<'_>) -> Timestamp {
        let known = self.batch(asked.decided_at).map_or(Timestamp(0), |batch| batch.time);
        asked.asked_at.max(known)
    }

    /// Checks an accepted command without effect.
    pub(crate) fn message_no_effect(
        &self,
        asked: &DecidedRequest<'_>,
        command: &Command,
        reply: &AnyReply,
    ) -> Audit {
        let (at, AnyReply::Message(reply)) = (asked.decided_at, reply) else {
            return Err(Breach(format!("{command:?} was answered with {reply:?}")));
        };
        match (command, reply) {
            (Command::Receive(receive), Reply::Received { messages }) => {
                demand!(messages.is_empty(), "{messages:?} were received without a trace");
                demand!(receive.wait_ms.unwrap_or(0) == 0, "the request was to wait");
                let now = self.moment_of(asked);
                let first = self.messages.waiting(asked.agent, now, at).next();
                demand!(first.is_none(), "there was {first:?} to receive");
                Ok(())
            }
            // A reply that was given before receives without another one.
            (Command::Reply(respond), Reply::Received { messages }) => {
                demand!(messages.is_empty(), "{messages:?} were received without a trace");
                demand!(respond.wait_ms == Some(0), "the request was to wait, or to reply only");
                self.replied_before(respond, at)?;
                let now = self.moment_of(asked);
                let first = self.messages.waiting(asked.agent, now, at).next();
                demand!(first.is_none(), "there was {first:?} to receive");
                Ok(())
            }
            (Command::Ack(_), Reply::Acked { messages }) => {
                let open = messages
                    .iter()
                    .filter_map(|id| self.messages.at(id, at))
                    .find(|it| is_open(it.status) || it.status == Status::Dead);
                demand!(open.is_none(), "{open:?} was acknowledged without a trace");
                Ok(())
            }
            (Command::Register { handler }, Reply::Handler(_)) => {
                let own = (handler.clone(), asked.agent.clone());
                let there = self.messages.handlers_at(at).any(|there| *there == own);
                demand!(there, "`{handler}` was registered without a trace");
                Ok(())
            }
            // A repeated request with the same key gets the reply that was given meanwhile.
            (Command::Request(_), Reply::Replied(answered)) => {
                let there = self.messages.at(&answered.request, at);
                let same = there.is_some_and(|it| it.from == *asked.agent);
                demand!(same, "the answer is about {there:?}");
                self.answered_as(&answered.request, &Ok(reply), at)
            }
            (command, reply) => Err(Breach(format!("{command:?} was answered with {reply:?}"))),
        }
    }

    /// Checks that a request was answered with exactly this.
    fn replied_before(&self, respond: &Respond, at: u64) -> Audit {
        let there = self.messages.at(&respond.request, at);
        let given = there.and_then(|it| it.request.as_ref()).and_then(|it| it.answer.as_ref());
        let same = given.is_some_and(|given| is_same(respond, given));
        demand!(same, "{respond:?} has no effect, the answer was {given:?}");
        Ok(())
    }

    /// Checks the answer to a command with an effect.
    pub(crate) fn message_reply(&self, command: &Command, reply: &Reply, at: u64) -> Audit {
        match (command, reply) {
            (Command::Reply(respond), Reply::Received { messages }) => {
                demand!(respond.wait_ms.is_some(), "it was not to receive");
                demand!(messages.len() <= 1, "{messages:?} were received");
                messages.iter().try_for_each(|it| self.message_shown(it, at))
            }
            (Command::Reply(respond), Reply::Message(it)) => {
                demand!(respond.wait_ms.is_none(), "it was to receive");
                self.message_shown(it, at)
            }
            (Command::Send(_) | Command::Requeue { .. }, Reply::Message(it)) => {
                self.message_shown(it, at)
            }
            (Command::Receive(_), Reply::Received { messages }) => {
                messages.iter().try_for_each(|it| self.message_shown(it, at))
            }
            (Command::Ack(_), Reply::Acked { .. })
            | (Command::Register { .. } | Command::Remove { .. }, Reply::Handler(_)) => Ok(()),
            (command, reply) => Err(Breach(format!("{command:?} was answered with {reply:?}"))),
        }
    }

    /// The requester gets the reply that was given.
    fn answered_as(
        &self,
        request: &MessageId,
        outcome: &Result<&Reply, &Rejection>,
        at: u64,
    ) -> Audit {
        let message = self.messages.at(request, at);
        let asked = message.and_then(|message| message.request.as_ref());
        let given = asked.and_then(|asked| asked.answer.as_ref());
        let Some((message, given)) = message.zip(given) else {
            return Err(Breach(format!("`{request}` was not answered")));
        };
        let same = match outcome {
            Ok(Reply::Replied(it)) => {
                Some(&it.body) == given.body.as_ref() && it.from == message.to
            }
            Err(Rejection::HandlerFailed(it)) => {
                Some(&it.error) == given.error.as_ref() && it.handler == message.to
            }
            Ok(_) | Err(_) => false,
        };
        demand!(same, "the answer is {outcome:?}, the reply was {given:?}");
        Ok(())
    }

    /// Checks the answer to a query about messages.
    pub(crate) fn messages_shown(&self, query: &Query, reply: &Reply, at: u64) -> Audit {
        match (query, reply) {
            (Query::Get { message }, Reply::Message(shown)) => {
                demand!(shown.id == *message, "another message is shown");
                self.message_shown(shown, at)
            }
            (Query::List(list), Reply::Messages { messages, cursor }) => {
                self.messages_listed(list, messages, cursor.as_ref(), at)
            }
            (Query::Handlers { .. }, Reply::Handlers { handlers, .. }) => {
                let there = self.messages.handlers_at(at);
                let shown = handlers.iter().map(|it| (it.handler.clone(), it.agent.clone()));
                demand!(there.cloned().eq(shown), "handlers are shown as {handlers:?}");
                Ok(())
            }
            (query, reply) => Err(Breach(format!("{query:?} was answered with {reply:?}"))),
        }
    }

    fn messages_listed(
        &self,
        list: &List,
        shown: &[Message],
        cursor: Option<&MessageId>,
        at: u64,
    ) -> Audit {
        let wanted = self.messages.all_at(at).filter(|message| {
            list.agent.as_ref().is_none_or(|agent| message.to == *agent)
                && list.status.is_none_or(|status| message.status == status)
                && list.thread.as_ref().is_none_or(|thread| message.thread == *thread)
                && list.cursor.as_ref().is_none_or(|cursor| message.id > *cursor)
        });
        let wanted: Vec<&Message> = wanted.collect();
        let limit = usize::try_from(list.limit.unwrap_or(PAGE_DEFAULT)).unwrap_or(usize::MAX);
        let due = &wanted[..wanted.len().min(limit)];
        demand!(shown.iter().eq(due.iter().copied()), "{due:?} are due, {shown:?} are listed");
        let more = due.last().filter(|_| due.len() < wanted.len()).map(|last| &last.id);
        demand!(cursor == more, "the cursor of the list is {cursor:?}, not {more:?}");
        Ok(())
    }

    /// Checks the answer to a call that waited for messages or a reply.
    pub(crate) fn message_wait_ended(
        &self,
        asked: &DecidedRequest<'_>,
        command: &Command,
        (revision, how): (u64, WaitEnd),
        outcome: &Result<Answer, AnyRejection>,
    ) -> Audit {
        let reply = outcome.as_ref().map(|answer| &answer.reply);
        match (command, how, reply) {
            (
                Command::Receive(_) | Command::Reply(_),
                WaitEnd::Granted,
                Ok(AnyReply::Message(Reply::Received { messages })),
            ) => {
                let [message] = &messages[..] else {
                    return Err(Breach(format!("it is given {messages:?}")));
                };
                demand!(message.to == *asked.agent, "it is given another's mail");
                self.message_shown(message, revision)
            }
            (
                Command::Receive(_) | Command::Reply(_),
                WaitEnd::Left(Left::Timeout),
                Ok(AnyReply::Message(Reply::Received { messages })),
            ) => {
                demand!(messages.is_empty(), "it waited although there was {messages:?}");
                Ok(())
            }
            (
                Command::Receive(_) | Command::Reply(_),
                WaitEnd::Left(Left::SessionEnded),
                Err(AnyRejection::Message(Rejection::SessionEnded { .. })),
            ) => Ok(()),
            (
                Command::Request(_),
                WaitEnd::Granted,
                Ok(AnyReply::Message(reply @ Reply::Replied(answered))),
            ) => self.answered_as(&answered.request, &Ok(reply), revision),
            (
                Command::Request(_),
                WaitEnd::Granted,
                Err(AnyRejection::Message(rejection @ Rejection::HandlerFailed(failed))),
            ) => self.answered_as(&failed.request, &Err(rejection), revision),
            (Command::Request(_), WaitEnd::Reset, Err(AnyRejection::Message(rejection))) => {
                self.request_over(rejection, revision)
            }
            (_, _, outcome) => Err(Breach(format!("the answer is {outcome:?}"))),
        }
    }

    /// Checks the answer to a requester that there will be no reply.
    fn request_over(&self, rejection: &Rejection, at: u64) -> Audit {
        let (request, due) = match rejection {
            Rejection::TimedOut { request, .. } => (request, Status::TimedOut),
            Rejection::HandlerLost { request, .. } => (request, Status::Lost),
            other => return Err(Breach(format!("the answer is {other:?}"))),
        };
        let status = self.messages.at(request, at).map(|message| message.status);
        demand!(status == Some(due), "`{request}` is {status:?}, the answer is {rejection:?}");
        Ok(())
    }

    /// Checks a refused command about messages.
    pub(crate) fn refused_message(
        &self,
        asked: &DecidedRequest<'_>,
        rejection: &Rejection,
        coverage: &mut Coverage,
    ) -> Audit {
        let (at, now) = (asked.decided_at, self.moment_of(asked));
        let known = |id: &MessageId| {
            let there = self.messages.at(id, at);
            there.ok_or_else(|| Breach(format!("there is no message `{id}`")))
        };
        match rejection {
            Rejection::NotFound { message } => {
                demand!(self.messages.at(message, at).is_none(), "`{message}` was there");
            }
            Rejection::NotYours { owner, caller } => {
                demand!(owner != caller && caller == asked.agent, "it was the caller's");
            }
            Rejection::WrongStatus { message, status, .. } => {
                let there = known(message)?;
                demand!(there.status == *status, "`{message}` is {:?}", there.status);
            }
            Rejection::NoHandler { to } => {
                coverage.met("message: no handler");
                self.no_handler(to, at)?;
            }
            Rejection::AlreadyReplied { request } => {
                coverage.met("message: answered twice");
                demand!(!self.replies_again(asked), "the same reply receives the next message");
                let there = known(request)?;
                demand!(there.status == Status::Replied, "`{request}` is {:?}", there.status);
            }
            Rejection::TooLate { request, .. } => {
                coverage.met("message: answered too late");
                let there = known(request)?;
                let over = !is_open(there.status) || there.is_over(now);
                demand!(over, "`{request}` could be answered: {there:?}");
            }
            Rejection::LiveOver { .. } | Rejection::NotKept { .. } => {
                Self::refused_live(asked, rejection, coverage)?;
            }
            Rejection::NoSession { caller } => {
                let active = self.session(caller, at).is_some_and(|session| session.active);
                demand!(!active, "`{caller}` has a session");
            }
            Rejection::NoSuchHandler { handler, caller } => {
                let own = (handler.clone(), caller.clone());
                let there = self.messages.handlers_at(at).any(|there| *there == own);
                demand!(!there, "`{caller}` answers for `{handler}`");
            }
            Rejection::HandlerFailed(failed) => {
                self.answered_as(&failed.request, &Err(rejection), at)?;
            }
            Rejection::TimedOut { request, .. } => {
                let there = known(request)?;
                let over = is_open(there.status) && there.is_over(now);
                demand!(over || there.status == Status::TimedOut, "{there:?} had time");
            }
            Rejection::InboxFull { messages, messages_max, bytes, bytes_max, .. } => {
                demand!(messages >= messages_max || bytes >= bytes_max, "it is not full");
            }
            other => {
                let code = other.code();
                return Err(Breach(format!("no request can cause `{code}`")));
            }
        }
        Ok(())
    }

    /// Whether it repeats a reply and asks for the next message.
    fn replies_again(&self, asked: &DecidedRequest<'_>) -> bool {
        asked.request.mutation.commands().iter().any(|command| {
            let AnyCommand::Message(Command::Reply(respond)) = command else { return false };
            let at = asked.decided_at;
            respond.wait_ms.is_some() && self.replied_before(respond, at).is_ok()
        })
    }

    fn no_handler(&self, to: &Address, at: u64) -> Audit {
        match to {
            Address::Agent(agent) => {
                demand!(!self.messages.is_awaited(agent, at), "`{agent}` waited for mail");
            }
            Address::Handler { handler } => {
                let there = self.messages.handlers_at(at).find(|(name, _)| name == handler);
                demand!(there.is_none(), "{there:?} handles it");
            }
            Address::Capability { .. } => {}
        }
        Ok(())
    }

    /// Checks the answer to a publish, or to a query about topics.
    pub(crate) fn topic_reply(&self, reply: &topic::Reply, at: u64) -> Audit {
        match reply {
            topic::Reply::Published(it) => {
                let posts = self.messages.topic(&it.topic, at).map_or(0, |there| there.posts);
                demand!(it.posts == posts, "{} messages are counted, there are {posts}", it.posts);
            }
            topic::Reply::Topic(it) => {
                let there = self.messages.topic(&it.name, at);
                demand!(there == Some(it), "{it:?} is shown, it is {there:?}");
            }
            topic::Reply::Topics { topics, .. } => {
                for it in topics {
                    let there = self.messages.topic(&it.name, at);
                    demand!(there == Some(it), "{it:?} is shown, it is {there:?}");
                }
            }
        }
        Ok(())
    }

    /// Checks a refused query about topics.
    pub(crate) fn refused_topic(&self, rejection: &topic::Rejection, at: u64) -> Audit {
        match rejection {
            topic::Rejection::NotFound { topic } => {
                demand!(self.messages.topic(topic, at).is_none(), "`{topic}` was there");
                Ok(())
            }
            other => {
                let code = other.code();
                Err(Breach(format!("no request can cause `{code}`")))
            }
        }
    }
}

/// Whether a reply is what was given.
fn is_same(respond: &Respond, given: &Given) -> bool {
    (&respond.body, &respond.error) == (&given.body, &given.error)
}

impl BatchReader<'_> {
    /// The effects of a message command.
    pub(crate) fn message(&mut self, command: &Command) -> Audit {
        match command {
            Command::Receive(_) | Command::Ack(_) => {
                while let Some(AnyEvent::Message(event)) = self.peek() {
                    let same = match (command, event) {
                        (
                            Command::Receive(_),
                            Event::Delivered { wait: None, .. }
                            | Event::Queued { .. }
                            | Event::Polled { .. },
                        ) => true,
                        (Command::Ack(ack), Event::Acked { message, .. }) => {
                            ack.message.iter().chain(&ack.messages).any(|id| id == message)
                        }
                        _ => false,
                    };
                    if !same {
                        break;
                    }
                    self.skip();
                }
                return Ok(());
            }
            Command::Register { .. } => {
                if let Some(AnyEvent::Message(Event::HandlerAdded { .. })) = self.peek() {
                    self.skip();
                }
                return Ok(());
            }
            Command::Send(_)
            | Command::Request(_)
            | Command::Reply(_)
            | Command::Requeue { .. }
            | Command::Remove { .. } => {}
        }
        if let Command::Reply(respond) = command
            && respond.wait_ms.is_some()
        {
            return self.reply_and_receive(respond);
        }
        let event = match self.take()? {
            AnyEvent::Message(event) => event,
            other => return Err(Breach(format!("a message was due, not {}", other.kind()))),
        };
        let same = match (command, event) {
            (Command::Send(send), Event::Sent(sent)) => {
                (&send.to, &send.body, &send.reply_to) == (&sent.to, &sent.body, &sent.reply_to)
                    && sent.request.is_none()
            }
            (Command::Request(request), Event::Sent(sent)) => {
                let address = sent.request.as_ref().map(|asked| &asked.address);
                address == Some(&request.to) && sent.body == request.body
            }
            (Command::Request(_), Event::Rejoined { .. })
            | (Command::Remove { .. }, Event::HandlerRemoved { .. }) => true,
            (Command::Reply(respond), Event::Replied { message, answer, .. }) => {
                respond.request == *message && is_same(respond, answer)
            }
            (Command::Requeue { message: asked }, Event::Requeued { message, .. }) => {
                asked == message
            }
            _ => false,
        };
        demand!(same, "{command:?} became {event:?}");
        self.follow_grants();
        Ok(())
    }

    /// The effects of a reply that also receives: the reply, unless it was given before, and then
    /// the next message or the wait for it.
    fn reply_and_receive(&mut self, respond: &Respond) -> Audit {
        match self.peek() {
            Some(AnyEvent::Message(Event::Replied { message, answer, .. })) => {
                let same = respond.request == *message && is_same(respond, answer);
                demand!(same, "{respond:?} became another reply");
                self.skip();
            }
            _ => self.ledger.replied_before(respond, self.batch.revision.0 - 1)?,
        }
        let Some(AnyEvent::Message(event)) = self.peek() else {
            demand!(respond.wait_ms == Some(0), "it did not even wait");
            return Ok(());
        };
        match event {
            Event::Delivered { wait: None, .. } | Event::Polled { .. } => self.skip(),
            Event::Queued { until, .. } => {
                let longest = respond.wait_ms.map(|wait| self.batch.time.after(wait));
                demand!(longest == Some(*until), "it waits until {until}, not {longest:?}");
                self.skip();
            }
            _ => demand!(respond.wait_ms == Some(0), "it did not even wait"),
        }
        self.follow_grants();
        Ok(())
    }

    /// The effects of a publish, if it is recorded.
    pub(crate) fn topic(&mut self, command: &topic::Command) -> Audit {
        let topic::Command::Publish { topic, body, durable, .. } = command;
        if *durable == Some(false) {
            return Ok(());
        }
        match self.take()? {
            AnyEvent::Topic(topic::Event::Posted { topic: posted, body: said, .. }) => {
                demand!(topic == posted && body == said, "another post was written");
            }
            other => demand!(false, "a post was due, not {}", other.kind()),
        }
        Ok(())
    }
}
