//! `baton topic`: publish and subscribe.

use clap::{Args, Subcommand};

use super::watch::follow;
use crate::context::Context;
use crate::failure::Failure;
use crate::input::Source;
use crate::output::Output;
use crate::unknown_workspace;

const AFTER_HELP: &str = "\
Examples:
  baton topic watch 'news/**'                        in one terminal
  baton topic publish news/tech '{\"title\":\"tides\"}'  in another
  baton topic publish beat 1 --live                  deliver to current watchers only; not stored
  baton topic watch news/tech --from 1               replay all retained posts, then follow
  baton topic ls

A post is an event of the workspace, in order with all other events.";

/// Publish to topics and watch them
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Topic {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Publish(Publish),
    Watch(Watch),
    /// List topics that have posts
    Ls {
        /// Only topics with this prefix
        #[arg(default_value = "")]
        prefix: String,
    },
}

/// Publish to a topic
#[derive(Args)]
struct Publish {
    /// Topic, such as news/tech
    topic: String,
    /// Body: JSON or text, @FILE, or - for stdin
    body: Source,
    /// Deliver to current watchers only, without storing it
    #[arg(long)]
    live: bool,
}

/// Watch posts as they arrive
#[derive(Args)]
struct Watch {
    /// Topic pattern; * matches one segment, ** any number
    #[arg(default_value = "**")]
    pattern: String,
    /// Start at this revision instead of now
    #[arg(long, value_name = "REVISION")]
    from: Option<u64>,
}

impl Topic {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        match self.verb {
            Verb::Publish(Publish { topic, body, live }) => {
                let (topics, body) = (context.workspace().await?.topics(), body.json_or_text()?);
                if live {
                    let sent = topics.tell(&topic, body).await?;
                    return output.said(&sent, &format!("sent to the current watchers of {topic}"));
                }
                let posted = topics.publish(&topic, body).await?;
                output.said(&posted, &format!("posted to {topic} (post number {})", posted.posts))
            }
            Verb::Watch(Watch { pattern, from }) => {
                let workspace = context.workspace().await?;
                let mut watching = workspace.watch(&format!("topics/{pattern}"));
                if let Some(from) = from {
                    watching = watching.from(from);
                }
                unknown_workspace::noted(context, output).await;
                follow(watching.await?, output).await
            }
            Verb::Ls { prefix } => {
                let found = context.workspace().await?.topics().list(&prefix).await?;
                output.many("topics", &found, &["topic", "posts", "last_at", "last_by"])
            }
        }
    }
}
