//! `baton agent`: who takes part.

use baton_core::agent::{Command, Register, Reply as AgentReply, Status};
use baton_core::{Answer, Reply, Token, agent};
use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::Failure;
use crate::input::{Source, milliseconds};
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton agent register ada --capability rust --ttl 60s
  baton agent heartbeat ada --token 1
  baton agent ls --status active
  baton agent leave ada

Without a name the agent is the one that acts: --agent, BATON_AGENT, or cli. A session that is
silent for longer than its time to live is called lost.";

/// Register agents and see who takes part
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Agent {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Register(Registering),
    /// Say that it is alive
    Heartbeat(Session),
    /// End its session; what it held is let go
    Leave(Session),
    /// Show one
    Get {
        /// Its id
        #[arg(value_name = "AGENT")]
        id: String,
    },
    Ls(Listing),
}

/// Begin a session and print its token
#[derive(Args)]
struct Registering {
    /// Its id
    #[arg(value_name = "AGENT")]
    id: Option<String>,
    /// Something it can do; may be given several times
    #[arg(long, value_name = "NAME")]
    capability: Vec<String>,
    /// Whatever else is worth knowing: JSON, - for stdin, or @file
    #[arg(long, value_name = "JSON")]
    metadata: Option<Source>,
    /// How long it may be silent, such as 30s
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    ttl: Option<u64>,
}

#[derive(Args)]
struct Session {
    /// Its id
    #[arg(value_name = "AGENT")]
    id: Option<String>,
    /// The session's token; without it the present session is meant
    #[arg(long)]
    token: Option<u64>,
}

/// List them
#[derive(Args)]
struct Listing {
    /// Only those that can do this
    #[arg(long, value_name = "NAME")]
    capability: Option<String>,
    /// Only those in this state: active, left or lost
    #[arg(long, value_parser = status)]
    status: Option<Status>,
}

fn status(word: &str) -> Result<Status, String> {
    serde_json::from_value(word.into()).map_err(|error| error.to_string())
}

impl Agent {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        match self.verb {
            Verb::Register(registering) => registering.run(context, output).await,
            Verb::Heartbeat(Session { id, token }) => {
                let workspace = context.workspace_as(id.as_deref()).await?;
                let (agent, token) = (workspace.agent().clone(), token.map(Token));
                let answer = workspace.execute(Command::Heartbeat { agent, token }).await?;
                told(output, &answer, "is alive")
            }
            Verb::Leave(Session { id, token }) => {
                let workspace = context.workspace_as(id.as_deref()).await?;
                let (agent, token) = (workspace.agent().clone(), token.map(Token));
                let answer = workspace.execute(Command::Leave { agent, token }).await?;
                told(output, &answer, "has left")
            }
            Verb::Get { id } => {
                let agents = context.workspace().await?.agents();
                output.one(&agents.get(&id).await?)
            }
            Verb::Ls(Listing { capability, status }) => {
                let agents = context.workspace().await?.agents();
                let found = agents.list(capability.as_deref(), status).await?;
                output.many(&found, &["id", "status", "token", "last_seen_at", "capabilities"])
            }
        }
    }
}

impl Registering {
    async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let metadata = self.metadata.map(|source| source.json()).transpose()?;
        let workspace = context.workspace_as(self.id.as_deref()).await?;
        let register = Register {
            agent: workspace.agent().clone(),
            capabilities: self.capability.into_iter().collect(),
            metadata,
            ttl_ms: self.ttl,
        };
        let answer = workspace.execute(Command::Register(register)).await?;
        told(output, &answer, "has a session")
    }
}

fn told(output: &mut Output, answer: &Answer, done: &str) -> Result<(), Failure> {
    let Reply::Agent(AgentReply::Agent(agent)) = &answer.reply else {
        return Err(Failure::odd(&answer.reply));
    };
    let agent::Agent { id, token, .. } = agent;
    output.said(agent, &format!("agent {id} {done} (token {token})"))
}
