//! What an agent does that talks to others: it knows the mail it was given, and what it has not
//! answered yet.

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

use crate::agents::Action;
use crate::storing::artifact;
use crate::things::Things;

/// Messages that an agent remembers.
const MAIL_MAX: usize = 8;

/// What an agent has heard.
#[derive(Default)]
pub struct Speaking {
    mail: Vec<MessageId>,
    requests: Vec<MessageId>,
    /// Where it reads on.
    offset: Option<u64>,
    /// What it was told is missing, and can help with itself.
    helps: Option<Help>,
}

/// What somebody does because it was told that nobody does.
enum Help {
    /// It answers for a handler.
    Handle(HandlerName),
    /// It begins a session, without which nobody may answer.
    Register,
}

impl Speaking {
    /// What it does next.
    pub fn act(&mut self, things: &mut Things<'_>) -> Action {
        match self.helps.take() {
            Some(Help::Handle(handler)) => {
                return Action::Submit(Command::from(MessageCommand::Register { handler }).into());
            }
            Some(Help::Register) => return Action::Submit(things.register().into()),
            None => {}
        }
        let (mail, request) = (some(things, &self.mail), some(things, &self.requests));
        let command: Command = match (things.chance.below(24), mail, request) {
            (0..=9, _, Some(request)) => {
                if !things.chance.once_in(4) {
                    self.requests.retain(|there| *there != request);
                }
                let fails = things.chance.once_in(3);
                let given = json(things);
                let (body, error) = if fails { (None, Some(given)) } else { (Some(given), None) };
                MessageCommand::Reply(Respond { request, body, error }).into()
            }
            (4 | 5, Some(message), _) if !is_forgetful(things) => {
                if !things.chance.once_in(4) {
                    self.mail.retain(|there| *there != message);
                }
                let (agent, message) = (None, Some(message));
                MessageCommand::Ack(Ack { agent, message, messages: Vec::new() }).into()
            }
            (6, Some(message), _) => MessageCommand::Requeue { message }.into(),
            (7..=9, ..) => Self::request(things),
            (4 | 5 | 10..=13, ..) => Self::receive(things),
            (14, ..) => match things.chance.below(6) {
                0 => MessageCommand::Remove { handler: handler(things) }.into(),
                _ => MessageCommand::Register { handler: handler(things) }.into(),
            },
            (15 | 16, ..) => Self::post(things),
            (17..=19, ..) => self.flow(things),
            (20, mail, _) => return Action::Ask(Self::question(things, mail)),
            (_, mail, _) => Self::send(things, mail),
        };
        Action::Submit(command.into())
    }

    fn send(things: &mut Things<'_>, mail: Option<MessageId>) -> Command {
        let (to, body) = (somebody(things), json(things));
        let reply_to = mail.filter(|_| things.chance.once_in(2));
        let ttl_ms = *things.chance.pick(&[None, None, Some(300), Some(30_000)]);
        MessageCommand::Send(Send { to, body, thread: None, reply_to, ttl_ms, traceparent: None })
            .into()
    }

    fn request(things: &mut Things<'_>) -> Command {
        let to = match things.chance.below(4) {
            0 => Address::Agent(somebody(things)),
            1 => Address::Capability { capability: "c1".to_owned() },
            _ => Address::Handler { handler: handler(things) },
        };
        let timeout_ms =
            *things.chance.pick(&[Some(100), Some(400), Some(5_000), None, Some(600_000)]);
        let body = json(things);
        MessageCommand::Request(Request { to, body, timeout_ms, traceparent: None }).into()
    }

    fn receive(things: &mut Things<'_>) -> Command {
        let wait_ms = *things.chance.pick(&[None, Some(400), Some(30_000), Some(600_000)]);
        let limit = *things.chance.pick(&[None, Some(1), Some(2)]);
        let often = if is_forgetful(things) { Some(100) } else { None };
        let redeliver_ms = *things.chance.pick(&[Some(100), Some(100), Some(3_000), often]);
        MessageCommand::Receive(Receive { agent: None, wait_ms, limit, redeliver_ms }).into()
    }

    fn post(things: &mut Things<'_>) -> Command {
        let name = *things.chance.pick(&["news/a", "news/b"]);
        let topic = TopicName::parse(name).expect("a good name");
        let durable = *things.chance.pick(&[None, Some(false), Some(false)]);
        topic::Command::Publish { topic, body: json(things), durable, traceparent: None }.into()
    }

    fn flow(&mut self, things: &mut Things<'_>) -> Command {
        let name = *things.chance.pick(&["flow", "beat"]);
        let stream = StreamName::parse(name).expect("a good name");
        let is_kept = name == "flow";
        match things.chance.below(12) {
            0..=2 => {
                let frames_max = Some(4);
                let kept = Some(is_kept);
                StreamCommand::Create(Create { stream, kept, frames_max, bytes_max: None }).into()
            }
            3 if things.chance.once_in(3) => StreamCommand::Close { stream, reason: None }.into(),
            4 if things.chance.once_in(2) => StreamCommand::Delete { stream }.into(),
            3..=7 => {
                let count = things.chance.between(1, 3);
                let frames = (0..count).map(|_| json(things)).collect();
                StreamCommand::Send(stream::Send { stream, data: None, frames }).into()
            }
            _ => {
                let from = self.offset.filter(|_| !things.chance.once_in(4));
                let limit = *things.chance.pick(&[None, Some(2)]);
                let wait_ms = *things.chance.pick(&[None, Some(400), Some(600_000)]);
                let receive = stream::Receive { stream, from, limit, wait_ms };
                StreamCommand::Receive(receive).into()
            }
        }
    }

    fn question(things: &mut Things<'_>, mail: Option<MessageId>) -> baton_core::Query {
        match (things.chance.below(6), mail) {
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
                agent: things.chance.once_in(2).then(|| somebody(things)),
                status: *things.chance.pick(&[None, Some(Status::Waiting), Some(Status::Dead)]),
                thread: None,
                limit: things.chance.once_in(2).then_some(2),
                cursor: None,
            })
            .into(),
        }
    }

    /// It is answered.
    pub fn learn(&mut self, id: &AgentId, answer: &Result<Answer, Rejection>) {
        let answer = match answer {
            Ok(answer) => answer,
            Err(Rejection::Message(Refused::NoHandler { to: Address::Handler { handler } })) => {
                self.helps = Some(Help::Handle(handler.clone()));
                return;
            }
            Err(Rejection::Message(Refused::NoSession { .. })) => {
                self.helps = Some(Help::Register);
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

fn some(things: &mut Things<'_>, ids: &[MessageId]) -> Option<MessageId> {
    (!ids.is_empty()).then(|| things.chance.pick(ids).clone())
}

/// One in three never acknowledges anything, so that its mail comes until it is dead.
fn is_forgetful(things: &Things<'_>) -> bool {
    let number: u64 = things.agent.as_str().trim_start_matches('a').parse().unwrap_or_default();
    number.is_multiple_of(3)
}

/// One of few handlers, so that agents share them.
fn handler(things: &mut Things<'_>) -> HandlerName {
    let name = *things.chance.pick(&["sum", "echo"]);
    HandlerName::parse(name).expect("a good name")
}

/// Some agent, which may not be there.
fn somebody(things: &mut Things<'_>) -> AgentId {
    let number = things.chance.index(things.plan.agents.len());
    AgentId::parse(&format!("a{number}")).expect("a good name")
}

/// Something to say. Now and then it names an artifact, which may not be there.
fn json(things: &mut Things<'_>) -> Json {
    if things.chance.once_in(12) {
        let text = format!(r#"{{"artifact":"{}"}}"#, artifact(things));
        return Json::parse(text).expect("good JSON");
    }
    Json::of(&format!("{}-{}", things.agent, things.chance.below(1_000))).expect("a text is JSON")
}
