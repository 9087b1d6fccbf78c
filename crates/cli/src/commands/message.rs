//! `baton message`: mail and requests.

use std::sync::Arc;

use baton_core::message::Answered;
use clap::{Args, Subcommand};
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::input::{Source, milliseconds};
use crate::output::Output;
use crate::program::Asked;
use crate::runs::Runs;
use crate::trace::Trace;

const AFTER_HELP: &str = "\
Examples:
  baton message send bob '{\"text\":\"the draft is there\"}'
  baton --agent bob inbox receive --wait 1m
  baton --agent bob message serve --handler sum -- ./sum.sh       in one terminal
  baton message request handler:sum '[1,2]' --timeout 10s         in another
  baton message request bob '\"are you there?\"'                   whoever bob is, if it listens

Mail waits for its receiver; a request is answered by somebody who listens now, or refused at once.
`serve` runs the program for everything that comes to its agent: it gets the message on stdin, and
what it prints is the answer. If it fails, so does the request, with its exit code and the end of
its stderr.";

/// Talk to other agents
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
    /// Show one
    Get {
        /// Which
        message: String,
    },
    /// List who answers which requests
    Handlers,
}

/// Send a message, which waits for its receiver
#[derive(Args)]
struct Send {
    /// To which agent
    to: String,
    /// What it says: JSON, @FILE or - for stdin
    body: Source,
    /// The message it answers
    #[arg(long, value_name = "MESSAGE")]
    reply_to: Option<String>,
    /// After how long it goes unless it is acknowledged
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    ttl: Option<u64>,
    #[command(flatten)]
    trace: Trace,
}

/// Ask somebody, and print the answer
#[derive(Args)]
struct Request {
    /// Whom: an agent, handler:NAME or capability:NAME
    to: String,
    /// What is asked: JSON, @FILE or - for stdin
    body: Source,
    /// How long to wait for the answer [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    timeout: Option<u64>,
    #[command(flatten)]
    trace: Trace,
}

/// Answer a request
#[derive(Args)]
struct Reply {
    /// Which request: the id of the message
    request: String,
    /// The answer: JSON, @FILE or - for stdin
    #[arg(required_unless_present = "error")]
    body: Option<Source>,
    /// Why there is none, as JSON
    #[arg(long, conflicts_with = "body")]
    error: Option<Source>,
}

/// Run a program for everything that comes to the agent, and answer with what it prints
#[derive(Args)]
struct Serve {
    /// Answer requests to this handler, too; may be given several times
    #[arg(long = "handler", value_name = "NAME")]
    handlers: Vec<String>,
    /// Something the agent can do; may be given several times
    #[arg(long, value_name = "NAME")]
    capability: Vec<String>,
    /// How many programs at a time
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    concurrency: usize,
    /// The program and what it is given
    #[arg(last = true, required = true, value_name = "COMMAND")]
    program: Vec<std::ffi::OsString>,
}

/// What was served, in the end.
#[derive(Serialize)]
struct Served {
    answered: u64,
    failed: u64,
    lost: u64,
}

impl Message {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        match self.verb {
            Verb::Send(send) => send.run(context, output).await,
            Verb::Request(request) => request.run(context, output).await,
            Verb::Reply(Reply { request, body, error }) => {
                let messages = context.workspace().await?.messages();
                let message = match (body, error) {
                    (_, Some(error)) => messages.fail(&request, error.json()?).await?,
                    (Some(body), None) => messages.reply(&request, body.json()?).await?,
                    (None, None) => unreachable!("the command line has one of them"),
                };
                output.said(&message, &format!("request {request} is answered"))
            }
            Verb::Serve(serve) => serve.run(context, output).await,
            Verb::Get { message } => {
                output.one(&context.workspace().await?.messages().get(&message).await?)
            }
            Verb::Handlers => {
                let found = context.workspace().await?.messages().handlers(None).await?;
                output.many(&found, &["handler", "agent", "since"])
            }
        }
    }

    /// Whether it sees to signals itself, because there is something to finish.
    pub(crate) fn ends_itself(&self) -> bool {
        matches!(self.verb, Verb::Serve(_))
    }
}

impl Send {
    async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let messages = context.workspace().await?.messages();
        let mut sending = messages.send(&self.to, self.body.json()?);
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
        let sentence = format!("message {} waits for {}", message.id, message.to);
        output.said(&message, &sentence)
    }
}

impl Request {
    async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let (messages, body) = (context.workspace().await?.messages(), self.body.json()?);
        let mut requesting = match self.to.split_once(':') {
            Some(("handler", name)) => messages.request_handler(name, body),
            Some(("capability", name)) => messages.request_capability(name, body),
            Some(_) | None => messages.request(&self.to, body),
        };
        if let Some(timeout_ms) = self.timeout {
            requesting = requesting.timeout_ms(timeout_ms);
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
        let mut asked = Asked::listen()?;
        let workspace = context.workplace().await?;
        let program = Arc::new(Runs::new(self.program, context, output)?);
        let mut service = baton_client::Service::new(workspace).concurrency(self.concurrency);
        for name in &self.handlers {
            service = service.handler(name);
        }
        for name in &self.capability {
            service = service.capability(name);
        }
        let (told, stop) = tokio::sync::oneshot::channel();
        let work = service.run(
            move |message| {
                let program = Arc::clone(&program);
                async move {
                    let given = serde_json::to_vec(&message).expect("messages can be encoded");
                    let variables = [("BATON_MESSAGE", message.id.to_string())];
                    program.run(given, variables, message.traceparent.as_ref()).await
                }
            },
            async {
                // Whoever is gone wants it to end, too.
                let _ = stop.await;
            },
        );
        let served = tokio::select! {
            served = work => served?,
            () = async {
                asked.told().await;
                let _ = told.send(());
                output.note("what was begun is finished first; once more ends it at once");
                asked.told().await;
            } => return Err(Failure::Interrupted),
        };
        let baton_client::Served { answered, failed, lost } = served;
        let sentence = format!("messages: {answered} answered, {failed} failed, {lost} lost");
        output.said(&Served { answered, failed, lost }, &sentence)
    }
}
