//! `baton topic`: say something to whoever listens.

use clap::{Args, Subcommand};

use super::watch::follow;
use crate::context::Context;
use crate::failure::Failure;
use crate::input::Source;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton topic watch 'news/**'                        in one terminal
  baton topic publish news/tech '{\"title\":\"tides\"}'  in another
  baton topic publish beat 1 --live                  to those who watch now, and nobody later
  baton topic watch news/tech --from 1               everything that was ever posted there
  baton topic ls

What is posted is an event of the workspace, with its place among all others.";

/// Say something to whoever listens
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
    /// List those that something was posted to
    Ls {
        /// Only those whose names begin so
        #[arg(default_value = "")]
        prefix: String,
    },
}

/// Post something
#[derive(Args)]
struct Publish {
    /// Where; names have parts, such as news/tech
    topic: String,
    /// What: JSON, @FILE or - for stdin
    body: Source,
    /// Do not write it down: only those who watch now get it
    #[arg(long)]
    live: bool,
}

/// See what is posted
#[derive(Args)]
struct Watch {
    /// Which topics; * is one part, ** is many
    #[arg(default_value = "**")]
    pattern: String,
    /// From this revision on instead of from now on
    #[arg(long, value_name = "REVISION")]
    from: Option<u64>,
}

impl Topic {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        match self.verb {
            Verb::Publish(Publish { topic, body, live }) => {
                let (topics, body) = (context.workspace().await?.topics(), body.json()?);
                if live {
                    let told = topics.tell(&topic, body).await?;
                    return output.said(&told, &format!("told to those who watch {topic}"));
                }
                let posted = topics.publish(&topic, body).await?;
                output.said(&posted, &format!("posted to {topic}, {} in all", posted.posts))
            }
            Verb::Watch(Watch { pattern, from }) => {
                let workspace = context.workspace().await?;
                let mut watching = workspace.watch(&format!("topics/{pattern}"));
                if let Some(from) = from {
                    watching = watching.from(from);
                }
                follow(watching.await?, output).await
            }
            Verb::Ls { prefix } => {
                let found = context.workspace().await?.topics().list(&prefix).await?;
                output.many(&found, &["topic", "posts", "last_at", "last_by"])
            }
        }
    }
}
