//! `baton reaction`: what happens because something happened.

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

A reaction runs in the commit of the event it is about, in the name of whoever added it. If one of
its commands is refused, nothing of it remains and the commit goes on. {{field}} stands for what the
event says, {{field?}} for what may be absent, {{about}} for the subject without its first part.
Webhooks are called only by a server that was started with --webhooks.";

/// Say what shall happen because something happened
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Reaction {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Add one, or replace the one of that name
    Add(Box<Add>),
    /// List all
    Ls,
    /// Show one
    Get {
        /// Its name
        name: String,
    },
    /// Let one run
    Enable {
        /// Its name
        name: String,
    },
    /// Let one run no more
    Disable {
        /// Its name
        name: String,
    },
    /// Remove one
    Rm {
        /// Its name
        name: String,
    },
}

#[derive(Args)]
struct Add {
    /// Its name
    name: String,
    /// On events of types that match, such as task.completed or 'deploy.*'
    #[arg(long, value_name = "PATTERN")]
    on: Option<String>,
    /// On events about subjects that match, such as 'state/shared/**'
    #[arg(long, value_name = "PATTERN")]
    about: Option<String>,
    /// Only if this is true of event, in the syntax of CEL
    #[arg(long = "where", value_name = "CEL")]
    condition: Option<String>,
    /// A command to carry out, as JSON, - for stdin, or @file; may be given several times
    #[arg(long = "do", value_name = "JSON")]
    commands: Vec<Source>,
    /// An address to call, at http:// or https://
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    /// What to sign the calls with: - for stdin, or @file
    #[arg(long, value_name = "SOURCE", requires = "webhook")]
    secret_from: Option<Source>,
    /// How long a call may take
    #[arg(long, value_name = "MILLISECONDS", requires = "webhook")]
    timeout_ms: Option<u64>,
    /// How often a call is tried again
    #[arg(long, value_name = "COUNT", requires = "webhook")]
    retries: Option<u64>,
    /// Does not run before it is enabled
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
            Verb::Add(_) => unreachable!("it is done above"),
            Verb::Ls => {
                let columns = ["name", "enabled", "on", "do", "webhook", "runs", "failures"];
                output.many(&reactions.list().await?, &columns)
            }
            Verb::Get { name } => output.one(&reactions.get(&name).await?),
            Verb::Enable { name } => said(output, &reactions.enable(&name).await?),
            Verb::Disable { name } => said(output, &reactions.disable(&name).await?),
            Verb::Rm { name } => {
                let removed = reactions.remove(&name).await?;
                output.said(&removed, &format!("reaction {} is gone", removed.name))
            }
        }
    }
}

fn said(output: &mut Output, reaction: &Shown) -> Result<(), Failure> {
    let Shown { name, enabled, revision, .. } = reaction;
    let runs = if *enabled { "runs" } else { "does not run" };
    output.said(reaction, &format!("reaction {name} {runs} (revision {revision})"))
}

impl Add {
    async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        // Read before anyone is called, so that a bad file is told even without a server.
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
