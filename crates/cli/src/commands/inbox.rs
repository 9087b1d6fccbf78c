//! `baton inbox`: the messages of an agent.

use baton_core::message::{List, Message, Status};
use baton_core::{AgentId, MessageId};
use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::input::{milliseconds, words};
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton --agent bob inbox ls                         list the messages
  baton --agent bob inbox receive --wait 1m --ack    receive and acknowledge the oldest message
  baton --agent bob inbox receive --limit 10         receive ten, to acknowledge later
  baton --agent bob inbox ack m-0000000007           acknowledge a message
  baton --agent bob inbox ls --status dead           list undeliverable messages

A message that is received but not acknowledged is delivered again later. After ten deliveries it is
marked dead; `requeue` delivers it again.";

/// Receive and acknowledge messages
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Inbox {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Ls(ListMessages),
    Receive(Receive),
    /// Acknowledge messages, so that they are not delivered again
    Ack {
        /// Message ID
        #[arg(required = true, value_name = "MESSAGE")]
        messages: Vec<String>,
    },
    /// Deliver a dead message again
    Requeue {
        /// Message ID
        message: String,
    },
}

/// List messages
#[derive(Args)]
struct ListMessages {
    /// Inbox of this agent [default: the acting agent]
    #[arg(long, value_name = "AGENT")]
    of: Option<String>,
    /// Only messages with this status
    #[arg(long, value_parser = words::<Status>())]
    status: Option<Status>,
    /// Only messages of the thread that started with this message
    #[arg(long, value_name = "MESSAGE")]
    thread: Option<String>,
    /// Maximum number of messages [default: all]
    #[arg(long, value_name = "COUNT")]
    limit: Option<u64>,
}

/// Receive the oldest messages
#[derive(Args)]
struct Receive {
    /// How long to wait for a message, such as 30s [default: do not wait]
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    wait: Option<u64>,
    /// Maximum number of messages
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    limit: u64,
    /// Deliver again after this time unless acknowledged [default: 1m]
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    redeliver: Option<u64>,
    /// Acknowledge the messages immediately, except requests, which need a reply
    #[arg(long)]
    ack: bool,
}

const COLUMNS: [&str; 6] = ["id", "from", "status", "deliveries", "sent_at", "body"];

impl Inbox {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        match self.verb {
            Verb::Ls(list) => list.run(context, output).await,
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
                output.said(&found, &format!("message {message} requeued"))
            }
        }
    }
}

impl ListMessages {
    async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let messages = context.workspace().await?.messages();
        let agent = self.of.as_deref().map(AgentId::parse).transpose();
        let thread = self.thread.as_deref().map(MessageId::parse).transpose();
        let mut query = List {
            agent: agent.map_err(baton_client::Error::from)?,
            status: self.status,
            thread: thread.map_err(baton_client::Error::from)?,
            limit: self.limit,
            cursor: None,
        };
        let mut found: Vec<Message> = Vec::new();
        loop {
            let (page, cursor) = messages.page(query.clone()).await?;
            found.extend(page);
            if cursor.is_none() || self.limit.is_some_and(|limit| found.len() as u64 >= limit) {
                return output.many("messages", &found, &COLUMNS);
            }
            query.cursor = cursor;
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
            return Err(Fault::NothingInTime { what: "no message arrived".to_owned() }.into());
        }
        output.many("messages", &received, &COLUMNS)?;
        let mail = received.iter().filter(|message| message.request.is_none());
        let mail: Vec<MessageId> = mail.map(|message| message.id.clone()).collect();
        if self.ack && !mail.is_empty() {
            messages.ack_all(&mail).await?;
        }
        Ok(())
    }
}
