//! An agent that sends messages to others: it knows the messages it received, and those that it has
//! not answered yet.

use baton_core::message::{
    Ack, Address, Command as MessageCommand, List, Query as MessageQuery, Receive,
    Rejection as Refused, Reply, Request, Respond, Send, Status,
};
use baton_core::stream::{self, Command as StreamCommand, Create};
use baton_core::topic;
use baton_core::{
    AgentId, Answer, Command, HandlerName, Json, MessageId, Rejection, Reply as AnyReply,
    StreamName, TopicName,
};

use crate::actors::agent::Action;
use crate::actors::artifact::artifact;
use crate::actors::inputs::Inputs;
use crate::models::live::MARK;

/// Messages that an agent remembers.
const MAIL_MAX: usize = 8;

/// The messages that an agent has received.
#[derive(Default)]
pub struct MessageActor {
    mail: Vec<MessageId>,
    requests: Vec<MessageId>,
    /// The next offset to read.
    offset: Option<u64>,
    /// A missing agent or session that it can provide itself.
    missing: Option<MissingHandler>,
}

/// An action of an agent that learned that no other agent does it.
enum MissingHandler {
    /// It registers for a handler.
    Handle(HandlerName),
    /// It starts a session, without which it cannot handle requests.
    Register,
}

impl MessageActor {
    /// The next command.
    pub fn act(&mut self, inputs: &mut Inputs<'_>) -> Action {
        match self.missing.take() {
            Some(MissingHandler::Handle(handler)) => {
                return Action::Submit(Command::from(MessageCommand::Register { handler }).into());
            }
            Some(MissingHandler::Register) => return Action::Submit(inputs.register().into()),
            None => {}
        }
        let (mail, request) = (some(inputs, &self.mail), some(inputs, &self.requests));
        let command: Command = match (inputs.rng.below(24), mail, request) {
            (0..=9, _, Some(request)) => {
                if !inputs.rng.once_in(4) {
                    self.requests.retain(|there| *there != request);
                }
                let fails = inputs.rng.once_in(3);
                let given = if request.is_live() { lively(inputs) } else { json(inputs) };
                let (body, error) = if fails { (None, Some(given)) } else { (Some(given), None) };
                let wait_ms = *inputs.rng.pick(&[None, None, Some(0), Some(400), Some(30_000)]);
                let redeliver_ms = wait_ms.and(Some(3_000));
                let respond = Respond { request, body, error, wait_ms, redeliver_ms };
                MessageCommand::Reply(respond).into()
            }
            (4 | 5, Some(message), _) if !is_forgetful(inputs) => {
                if !inputs.rng.once_in(4) {
                    self.mail.retain(|there| *there != message);
                }
                let (agent, message) = (None, Some(message));
                MessageCommand::Ack(Ack { agent, message, messages: Vec::new() }).into()
            }
            (6, Some(message), _) => MessageCommand::Requeue { message }.into(),
            (7..=9, ..) => Self::request(inputs, false),
            (21 | 22, ..) => Self::request(inputs, inputs.plan.has_live_requests),
            (4 | 5 | 10..=13, ..) => Self::receive(inputs),
            (14, ..) => match inputs.rng.below(6) {
                0 => MessageCommand::Remove { handler: handler(inputs) }.into(),
                _ => MessageCommand::Register { handler: handler(inputs) }.into(),
            },
            (15 | 16, ..) => Self::post(inputs),
            (17..=19, ..) => self.stream_command(inputs),
            (20, mail, _) => return Action::Ask(Self::question(inputs, mail)),
            (_, mail, _) => Self::send(inputs, mail),
        };
        Action::Submit(command.into())
    }

    fn send(inputs: &mut Inputs<'_>, mail: Option<MessageId>) -> Command {
        let (to, body) = (some_agent(inputs), json(inputs));
        let reply_to = mail.filter(|_| inputs.rng.once_in(2));
        let ttl_ms = *inputs.rng.pick(&[None, None, Some(300), Some(30_000)]);
        MessageCommand::Send(Send { to, body, thread: None, reply_to, ttl_ms, traceparent: None })
            .into()
    }

    fn request(inputs: &mut Inputs<'_>, is_live: bool) -> Command {
        let to = match inputs.rng.below(4) {
            0 => Address::Agent(some_agent(inputs)),
            1 => Address::Capability { capability: "c1".to_owned() },
            _ => Address::Handler { handler: handler(inputs) },
        };
        let timeout_ms =
            *inputs.rng.pick(&[Some(100), Some(400), Some(5_000), None, Some(600_000)]);
        let keep = is_live.then_some(false);
        let body = if is_live { lively(inputs) } else { json(inputs) };
        let request = Request { to, body, timeout_ms, keep, traceparent: None };
        MessageCommand::Request(request).into()
    }

    fn receive(inputs: &mut Inputs<'_>) -> Command {
        let wait_ms = *inputs.rng.pick(&[None, Some(400), Some(30_000), Some(600_000)]);
        let limit = *inputs.rng.pick(&[None, Some(1), Some(2)]);
        let often = if is_forgetful(inputs) { Some(100) } else { None };
        let redeliver_ms = *inputs.rng.pick(&[Some(100), Some(100), Some(3_000), often]);
        MessageCommand::Receive(Receive { agent: None, wait_ms, limit, redeliver_ms }).into()
    }

    fn post(inputs: &mut Inputs<'_>) -> Command {
        let name = *inputs.rng.pick(&["news/a", "news/b"]);
        let topic = TopicName::parse(name).expect("a good name");
        let durable = *inputs.rng.pick(&[None, Some(false), Some(false)]);
        topic::Command::Publish { topic, body: json(inputs), durable, traceparent: None }.into()
    }

    fn stream_command(&mut self, inputs: &mut Inputs<'_>) -> Command {
        let name = *inputs.rng.pick(&["flow", "beat"]);
        let stream = StreamName::parse(name).expect("a good name");
        let is_kept = name == "flow";
        match inputs.rng.below(12) {
            0..=2 => {
                let frames_max = Some(4);
                let kept = Some(is_kept);
                StreamCommand::Create(Create { stream, kept, frames_max, bytes_max: None }).into()
            }
            3 if inputs.rng.once_in(3) => StreamCommand::Close { stream, reason: None }.into(),
            4 if inputs.rng.once_in(2) => StreamCommand::Delete { stream }.into(),
            3..=7 => {
                let count = inputs.rng.between(1, 3);
                let frames = (0..count).map(|_| json(inputs)).collect();
                StreamCommand::Send(stream::Send { stream, data: None, frames }).into()
            }
            _ => {
                let from = self.offset.filter(|_| !inputs.rng.once_in(4));
                let limit = *inputs.rng.pick(&[None, Some(2)]);
                let wait_ms = *inputs.rng.pick(&[None, Some(400), Some(600_000)]);
                let receive = stream::Receive { stream, from, limit, wait_ms };
                StreamCommand::Receive(receive).into()
            }
        }
    }

    fn question(inputs: &mut Inputs<'_>, mail: Option<MessageId>) -> baton_core::Query {
        match (inputs.rng.below(6), mail) {
            (0 | 1, Some(message)) => MessageQuery::Get { message }.into(),
            (2, _) => {
                let topic = TopicName::parse("news/a").expect("a good name");
                topic::Query::Get { topic }.into()
            }
            (3, _) => {
                let stream = StreamName::parse("flow").expect("a good name");
                stream::Query::Get { stream }.into()
            }
            (4, _) => MessageQuery::Handlers { handler: None, limit: None, cursor: None }.into(),
            _ => MessageQuery::List(List {
                agent: inputs.rng.once_in(2).then(|| some_agent(inputs)),
                status: *inputs.rng.pick(&[None, Some(Status::Waiting), Some(Status::Dead)]),
                thread: None,
                limit: inputs.rng.once_in(2).then_some(2),
                cursor: None,
            })
            .into(),
        }
    }

    /// Learns from an answer.
    pub fn learn(&mut self, id: &AgentId, answer: &Result<Answer, Rejection>) {
        let answer = match answer {
            Ok(answer) => answer,
            Err(Rejection::Message(Refused::NoHandler { to: Address::Handler { handler } })) => {
                self.missing = Some(MissingHandler::Handle(handler.clone()));
                return;
            }
            Err(Rejection::Message(Refused::NoSession { .. })) => {
                self.missing = Some(MissingHandler::Register);
                return;
            }
            Err(_) => return,
        };
        match &answer.reply {
            AnyReply::Message(Reply::Received { messages }) => {
                for message in messages.iter().filter(|message| message.to == *id) {
                    let known =
                        if message.request.is_some() { &mut self.requests } else { &mut self.mail };
                    known.push(message.id.clone());
                    if known.len() > MAIL_MAX {
                        known.remove(0);
                    }
                }
            }
            AnyReply::Stream(stream::Reply::Frames(frames)) => self.offset = Some(frames.next),
            _ => {}
        }
    }
}

fn some(inputs: &mut Inputs<'_>, ids: &[MessageId]) -> Option<MessageId> {
    (!ids.is_empty()).then(|| inputs.rng.pick(ids).clone())
}

/// One in three never acknowledges anything, so that its messages are delivered until they are
/// dead.
fn is_forgetful(inputs: &Inputs<'_>) -> bool {
    let number: u64 = inputs.agent.as_str().trim_start_matches('a').parse().unwrap_or_default();
    number.is_multiple_of(3)
}

/// One of a few handlers, so that agents share them.
fn handler(inputs: &mut Inputs<'_>) -> HandlerName {
    let name = *inputs.rng.pick(&["sum", "echo"]);
    HandlerName::parse(name).expect("a good name")
}

/// Some agent, which may not exist.
fn some_agent(inputs: &mut Inputs<'_>) -> AgentId {
    let number = inputs.rng.index(inputs.plan.agents.len());
    AgentId::parse(&format!("a{number}")).expect("a good name")
}

/// The body of a live request or of the reply to one: no other is the same.
fn lively(inputs: &mut Inputs<'_>) -> Json {
    let number = inputs.rng.below(1 << 40);
    Json::of(&format!("{MARK}{}-{number}", inputs.agent)).expect("a text is JSON")
}

/// A message body. Now and then it references an artifact, which may not exist.
fn json(inputs: &mut Inputs<'_>) -> Json {
    if inputs.rng.once_in(12) {
        let text = format!(r#"{{"artifact":"{}"}}"#, artifact(inputs));
        return Json::parse(text).expect("good JSON");
    }
    Json::of(&format!("{}-{}", inputs.agent, inputs.rng.below(1_000))).expect("a text is JSON")
}
