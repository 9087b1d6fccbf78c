//! `baton reaction`: commands and webhooks that events trigger.

use baton_core::reaction::Reaction as Shown;
use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::Failure;
use crate::input::Source;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton reaction add announce --on task.completed \\
    --do '{\"command\": \"event.emit\", \"type\": \"done\", \"payload\": {\"task\": \"{{task}}\"}}'
  baton reaction add escalate --on task.failed --where 'event.outcome == \"failed\"' \\
    --do '{\"command\": \"task.create\", \"type\": \"review\", \"group\": \"{{about}}\"}'
  baton reaction add tell --on 'deploy.*' --webhook http://127.0.0.1:9000/hook --secret-from @key
  baton reaction enable record-completed-tasks
  baton reaction ls
  baton reaction rm announce

A reaction runs in the same commit as the event that triggers it, as the agent that added it. If one
of its commands is rejected, the reaction is rolled back and the commit proceeds. {{field}} is
replaced by a field of the event, {{field?}} by a field that may be absent, {{about}} by the subject
without its first segment. Webhooks are called only if the server was started with --webhooks.";

/// Run commands or webhooks in response to events
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Reaction {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Add a reaction, or replace the reaction with that name
    Add(Box<Add>),
    /// List reactions
    Ls,
    /// Show a reaction
    Get {
        /// Name
        name: String,
    },
    /// Enable a reaction
    Enable {
        /// Name
        name: String,
    },
    /// Disable a reaction
    Disable {
        /// Name
        name: String,
    },
    /// Remove a reaction
    Rm {
        /// Name
        name: String,
    },
}

#[derive(Args)]
struct Add {
    /// Name
    name: String,
    /// Trigger on event types that match, such as task.completed or 'deploy.*'
    #[arg(long, value_name = "PATTERN")]
    on: Option<String>,
    /// Trigger on subjects that match, such as 'state/shared/**'
    #[arg(long, value_name = "PATTERN")]
    about: Option<String>,
    /// Trigger only if this CEL expression over `event` is true
    #[arg(long = "where", value_name = "CEL")]
    condition: Option<String>,
    /// Command to run: JSON, @FILE, or - for stdin; repeatable
    #[arg(long = "do", value_name = "JSON")]
    commands: Vec<Source>,
    /// Webhook to call, an http:// or https:// URL
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    /// Secret to sign the calls with: @FILE, or - for stdin
    #[arg(long, value_name = "SOURCE", requires = "webhook")]
    secret_from: Option<Source>,
    /// Timeout of a call
    #[arg(long, value_name = "MILLISECONDS", requires = "webhook")]
    timeout_ms: Option<u64>,
    /// How often to retry a failed call
    #[arg(long, value_name = "COUNT", requires = "webhook")]
    retries: Option<u64>,
    /// Add the reaction disabled
    #[arg(long)]
    disabled: bool,
}

impl Reaction {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        if let Verb::Add(add) = self.verb {
            return add.run(context, output).await;
        }
        let reactions = context.workspace().await?.reactions();
        match self.verb {
            Verb::Add(_) => unreachable!("handled above"),
            Verb::Ls => {
                // The last ones are long, and cut on a terminal.
                let columns = ["name", "enabled", "runs", "failures", "on", "webhook", "do"];
                output.many("reactions", &reactions.list().await?, &columns)
            }
            Verb::Get { name } => output.one(&reactions.get(&name).await?),
            Verb::Enable { name } => said(output, &reactions.enable(&name).await?),
            Verb::Disable { name } => said(output, &reactions.disable(&name).await?),
            Verb::Rm { name } => {
                let removed = reactions.remove(&name).await?;
                output.said(&removed, &format!("reaction {} removed", removed.name))
            }
        }
    }
}

fn said(output: &mut Output, reaction: &Shown) -> Result<(), Failure> {
    let Shown { name, enabled, revision, .. } = reaction;
    let state = if *enabled { "enabled" } else { "disabled" };
    output.said(reaction, &format!("reaction {name} is {state} (revision {revision})"))
}

impl Add {
    async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        // Read first, so that a bad file is reported even without a server.
        let commands: Vec<_> = self.commands.iter().map(Source::json).collect::<Result<_, _>>()?;
        let secret = self.secret_from.as_ref().map(Source::read).transpose()?;
        let mut adding = context.workspace().await?.reactions().add(&self.name);
        if let Some(on) = &self.on {
            adding = adding.on(on);
        }
        if let Some(about) = &self.about {
            adding = adding.about(about);
        }
        if let Some(condition) = &self.condition {
            adding = adding.when(condition);
        }
        for command in commands {
            adding = adding.run(command);
        }
        if let Some(url) = &self.webhook {
            adding = adding.call(url);
        }
        if let Some(secret) = secret {
            adding = adding.secret(String::from_utf8_lossy(&secret).trim_end());
        }
        if let Some(timeout_ms) = self.timeout_ms {
            adding = adding.timeout_ms(timeout_ms);
        }
        if let Some(retries) = self.retries {
            adding = adding.retries(retries);
        }
        let adding = if self.disabled { adding.disabled() } else { adding };
        let added = adding.await?;
        said(output, &added)
    }
}
