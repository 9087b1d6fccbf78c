//! `baton inbox`: the agent's own mail.

use baton_core::message::{List, Message, Status};
use baton_core::{AgentId, MessageId};
use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::input::milliseconds;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton --agent bob inbox ls                         what is there
  baton --agent bob inbox receive --wait 1m --ack    take the oldest, and be done with it
  baton --agent bob inbox receive --limit 10         take ten, to be acknowledged
  baton --agent bob inbox ack m-0000000007
  baton --agent bob inbox ls --status dead           what was given up; requeue tries it again

What is received and not acknowledged comes again after a while, and is given up after ten times.";

/// Receive what others sent
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Inbox {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Ls(Listing),
    Receive(Receive),
    /// Acknowledge messages: they never come again
    Ack {
        /// Which
        #[arg(required = true, value_name = "MESSAGE")]
        messages: Vec<String>,
    },
    /// Let a dead message come again
    Requeue {
        /// Which
        message: String,
    },
}

/// List messages
#[derive(Args)]
struct Listing {
    /// Whose, if not the agent's own
    #[arg(long, value_name = "AGENT")]
    of: Option<String>,
    /// Only those in this state, such as waiting, delivered or dead
    #[arg(long, value_parser = status)]
    status: Option<Status>,
    /// Only those of the conversation that began with this message
    #[arg(long, value_name = "MESSAGE")]
    thread: Option<String>,
    /// How many at most
    #[arg(long, value_name = "COUNT")]
    limit: Option<u64>,
}

fn status(word: &str) -> Result<Status, String> {
    serde_json::from_value(word.into()).map_err(|error| error.to_string())
}

/// Take the oldest messages
#[derive(Args)]
struct Receive {
    /// How long to wait if there is none
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    wait: Option<u64>,
    /// How many at most
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    limit: u64,
    /// After how long they come again unless they are acknowledged [default: 1m]
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    redeliver: Option<u64>,
    /// Acknowledge them at once, but for requests, which are answered
    #[arg(long)]
    ack: bool,
}

const COLUMNS: [&str; 6] = ["id", "from", "status", "deliveries", "sent_at", "body"];

impl Inbox {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        match self.verb {
            Verb::Ls(listing) => listing.run(context, output).await,
            Verb::Receive(receive) => receive.run(context, output).await,
            Verb::Ack { messages } => {
                let ids: Result<Vec<_>, _> =
                    messages.iter().map(|id| MessageId::parse(id)).collect();
                let ids = ids.map_err(baton_client::Error::from)?;
                context.workspace().await?.messages().ack_all(&ids).await?;
                output.said(&ids, &format!("acknowledged {}", messages.join(", ")))
            }
            Verb::Requeue { message } => {
                let found = context.workspace().await?.messages().requeue(&message).await?;
                output.said(&found, &format!("message {message} waits again"))
            }
        }
    }
}

impl Listing {
    async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let messages = context.workspace().await?.messages();
        let agent = self.of.as_deref().map(AgentId::parse).transpose();
        let thread = self.thread.as_deref().map(MessageId::parse).transpose();
        let mut list = List {
            agent: agent.map_err(baton_client::Error::from)?,
            status: self.status,
            thread: thread.map_err(baton_client::Error::from)?,
            limit: self.limit,
            cursor: None,
        };
        let mut found: Vec<Message> = Vec::new();
        loop {
            let (page, cursor) = messages.page(list.clone()).await?;
            found.extend(page);
            if cursor.is_none() || self.limit.is_some_and(|limit| found.len() as u64 >= limit) {
                return output.many(&found, &COLUMNS);
            }
            list.cursor = cursor;
        }
    }
}

impl Receive {
    async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let messages = context.workplace().await?.messages();
        let mut receiving = messages.receive().limit(self.limit);
        if let Some(wait_ms) = self.wait {
            receiving = receiving.wait_ms(wait_ms);
        }
        if let Some(redeliver_ms) = self.redeliver {
            receiving = receiving.redeliver_ms(redeliver_ms);
        }
        let received = receiving.await?;
        if received.is_empty() && self.wait.is_some() {
            return Err(Fault::NothingInTime { what: "there was no mail".to_owned() }.into());
        }
        output.many(&received, &COLUMNS)?;
        let mail = received.iter().filter(|message| message.request.is_none());
        let mail: Vec<MessageId> = mail.map(|message| message.id.clone()).collect();
        if self.ack && !mail.is_empty() {
            messages.ack_all(&mail).await?;
        }
        Ok(())
    }
}
