//! `baton message`: messages and requests.

use std::sync::Arc;

use baton_client::{Served, Service};
use baton_core::message::Answered;
use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::Failure;
use crate::handler_program::{HandlerArguments, Item, Start};
use crate::input::{Source, milliseconds};
use crate::output::Output;
use crate::trace::Trace;

const AFTER_HELP: &str = "\
Examples:
  baton message send bob '{\"text\":\"the draft is ready\"}'
  baton --agent bob inbox receive --wait 1m
  baton --agent bob message serve --handler sum -- ./sum.sh       in one terminal
  baton message request handler:sum '[1,2]' --timeout 10s         in another
  baton message request bob 'are you there?'                      ask an agent that is serving
  baton message request bob 'are you there?' --live               the same, only in memory

A message waits in the receiver's inbox. A request is answered by an agent that is serving now, and
fails immediately if there is none. `serve` runs a program for every message to its agent, with the
message as JSON on stdin; what the program prints is the reply. If the program fails, so does the
request, with the exit code and the last lines of stderr.";

/// Send messages and requests to other agents
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Message {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Send(Send),
    Request(Request),
    Reply(Reply),
    Serve(Serve),
    /// Show a message
    Get {
        /// Message ID
        message: String,
    },
    /// List registered request handlers
    Handlers,
}

/// Send a message to the inbox of an agent
#[derive(Args)]
struct Send {
    /// Receiving agent
    to: String,
    /// Message body: JSON or text, @FILE, or - for stdin
    body: Source,
    /// The message this one replies to
    #[arg(long, value_name = "MESSAGE")]
    reply_to: Option<String>,
    /// Discard the message if it is not acknowledged within this time
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    ttl: Option<u64>,
    #[command(flatten)]
    trace: Trace,
}

/// Send a request and print the reply
#[derive(Args)]
struct Request {
    /// Receiver: an agent, handler:NAME or capability:NAME
    to: String,
    /// Request body: JSON or text, @FILE, or - for stdin
    body: Source,
    /// How long to wait for the reply [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    timeout: Option<u64>,
    /// Keep the request and its reply in memory only: faster, delivered at most once
    #[arg(long)]
    live: bool,
    #[command(flatten)]
    trace: Trace,
}

/// Reply to a request
#[derive(Args)]
struct Reply {
    /// Message ID of the request
    request: String,
    /// Reply body: JSON or text, @FILE, or - for stdin
    #[arg(required_unless_present = "error")]
    body: Option<Source>,
    /// Reply with this error instead: JSON or text, @FILE, or - for stdin
    #[arg(long, value_name = "VALUE", conflicts_with = "body")]
    error: Option<Source>,
}

/// Run a program for every message to the agent and reply with its output
#[derive(Args)]
struct Serve {
    /// Also serve requests to this handler; repeatable
    #[arg(long = "handler", value_name = "NAME")]
    handlers: Vec<String>,
    /// Capability of the agent; repeatable
    #[arg(long, value_name = "NAME")]
    capability: Vec<String>,
    #[command(flatten)]
    handler: HandlerArguments,
}

impl Message {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        match self.verb {
            Verb::Send(send) => send.run(context, output).await,
            Verb::Request(request) => request.run(context, output).await,
            Verb::Reply(Reply { request, body, error }) => {
                let messages = context.workspace().await?.messages();
                let message = match (body, error) {
                    (_, Some(error)) => messages.fail(&request, error.json_or_text()?).await?,
                    (Some(body), None) => messages.reply(&request, body.json_or_text()?).await?,
                    (None, None) => unreachable!("the command line has one of them"),
                };
                output.said(&message, &format!("replied to request {request}"))
            }
            Verb::Serve(serve) => serve.run(context, output).await,
            Verb::Get { message } => {
                output.one(&context.workspace().await?.messages().get(&message).await?)
            }
            Verb::Handlers => {
                let found = context.workspace().await?.messages().handlers(None).await?;
                output.many("handlers", &found, &["handler", "agent", "since"])
            }
        }
    }

    /// Whether it handles signals itself, because there is work to finish.
    pub(crate) fn handles_signals(&self) -> bool {
        matches!(self.verb, Verb::Serve(_))
    }
}

impl Send {
    async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let messages = context.workspace().await?.messages();
        let mut sending = messages.send(&self.to, self.body.json_or_text()?);
        if let Some(message) = &self.reply_to {
            sending = sending.reply_to(message);
        }
        if let Some(ttl_ms) = self.ttl {
            sending = sending.ttl_ms(ttl_ms);
        }
        if let Some(traceparent) = self.trace.given() {
            sending = sending.traceparent(&traceparent);
        }
        let message = sending.await?;
        let sentence = format!("message {} sent to {}", message.id, message.to);
        output.said(&message, &sentence)
    }
}

impl Request {
    async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let (messages, body) = (context.workspace().await?.messages(), self.body.json_or_text()?);
        let mut requesting = match self.to.split_once(':') {
            Some(("handler", name)) => messages.request_handler(name, body),
            Some(("capability", name)) => messages.request_capability(name, body),
            Some(_) | None => messages.request(&self.to, body),
        };
        if let Some(timeout_ms) = self.timeout {
            requesting = requesting.timeout_ms(timeout_ms);
        }
        if self.live {
            requesting = requesting.keep(false);
        }
        if let Some(traceparent) = self.trace.given() {
            requesting = requesting.traceparent(&traceparent);
        }
        let answered: Answered = requesting.await?;
        output.said(&answered, answered.body.as_str())
    }
}

impl Serve {
    async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let Self { handlers, capability, handler } = self;
        let serve = |start: Start| {
            let service = Service::new(start.workspace).concurrency(start.concurrency);
            let service = handlers.iter().fold(service, |it, name| it.handler(name));
            let service = capability.iter().fold(service, |it, name| it.capability(name));
            let handler = move |message: baton_core::message::Message| {
                let program = Arc::clone(&start.program);
                async move {
                    let given = serde_json::to_vec(&message).expect("messages can be encoded");
                    let item = Item::Message { id: message.id.clone() };
                    program.run(item, given, message.traceparent.as_ref()).await
                }
            };
            service.run(handler, start.stop)
        };
        let leave = async |_, left: Vec<Item>| {
            let what = match left.len() {
                1 => "1 message was not answered; it is delivered again later".to_owned(),
                count => {
                    format!("{count} messages were not answered; they are delivered again later")
                }
            };
            output.note(&what);
        };
        let served = handler.run(context, output, "messages", serve, leave).await?;
        let Served { answered, failed, lost } = served;
        let sentence = format!("messages: {answered} answered, {failed} failed, {lost} lost");
        output.said(&served, &sentence)
    }
}
