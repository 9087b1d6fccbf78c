//! `baton agent`: agents and their sessions.

use baton_core::agent::{Command, Register, Reply as AgentReply, Status};
use baton_core::{AgentId, Answer, Reply, Token, agent};
use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::Failure;
use crate::input::{Source, milliseconds, words};
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton agent register ada --capability rust --ttl 60s
  baton agent register aide --parent ada
  baton agent heartbeat ada --token 1
  baton agent ls --status active
  baton agent leave ada

AGENT defaults to the acting agent: --agent, BATON_AGENT, or `cli`. A session ends if the
agent makes no call within its TTL; the agent is then lost.";

/// Register agents and keep their sessions alive
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Agent {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Register(RegisterAgent),
    /// Send a heartbeat to keep a session alive
    Heartbeat(Session),
    /// End a session and release everything it holds
    Leave(Session),
    /// Show an agent
    Get {
        /// Agent ID
        #[arg(value_name = "AGENT")]
        id: String,
    },
    Ls(ListAgents),
}

/// Start a session and print its token
#[derive(Args)]
struct RegisterAgent {
    /// Agent ID [default: the acting agent]
    #[arg(value_name = "AGENT")]
    id: Option<String>,
    /// Capability of the agent; repeatable
    #[arg(long, value_name = "NAME")]
    capability: Vec<String>,
    /// Additional metadata: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    metadata: Option<Source>,
    /// Time to live of the session: it ends if the agent makes no call for this long, such as 30s
    /// [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    ttl: Option<u64>,
    /// Agent that supervises this one: when its session ends, this one ends too
    #[arg(long, value_name = "AGENT")]
    parent: Option<String>,
}

#[derive(Args)]
struct Session {
    /// Agent ID [default: the acting agent]
    #[arg(value_name = "AGENT")]
    id: Option<String>,
    /// Token of the session [default: the current session]
    #[arg(long)]
    token: Option<u64>,
}

/// List agents
#[derive(Args)]
struct ListAgents {
    /// Only agents with this capability
    #[arg(long, value_name = "NAME")]
    capability: Option<String>,
    /// Only agents with this status: active, left or lost
    #[arg(long, value_parser = words::<Status>())]
    status: Option<Status>,
}

impl Agent {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        match self.verb {
            Verb::Register(register) => register.run(context, output).await,
            Verb::Heartbeat(Session { id, token }) => {
                let workspace = context.workspace_as(id.as_deref()).await?;
                let (agent, token) = (workspace.agent().clone(), token.map(Token));
                let answer = workspace.execute(Command::Heartbeat { agent, token }).await?;
                report(output, &answer, "is active")
            }
            Verb::Leave(Session { id, token }) => {
                let workspace = context.workspace_as(id.as_deref()).await?;
                let (agent, token) = (workspace.agent().clone(), token.map(Token));
                let answer = workspace.execute(Command::Leave { agent, token }).await?;
                report(output, &answer, "has left")
            }
            Verb::Get { id } => {
                let agents = context.workspace().await?.agents();
                output.one(&agents.get(&id).await?)
            }
            Verb::Ls(ListAgents { capability, status }) => {
                let agents = context.workspace().await?.agents();
                let found = agents.list(capability.as_deref(), status).await?;
                output.many(
                    "agents",
                    &found,
                    &["id", "status", "token", "last_seen_at", "capabilities"],
                )
            }
        }
    }
}

impl RegisterAgent {
    async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let metadata = self.metadata.map(|source| source.json()).transpose()?;
        let workspace = context.workspace_as(self.id.as_deref()).await?;
        let register = Register {
            agent: workspace.agent().clone(),
            capabilities: self.capability.into_iter().collect(),
            metadata,
            ttl_ms: self.ttl,
            parent: self.parent.as_deref().map(AgentId::parse).transpose()?,
        };
        let answer = workspace.execute(Command::Register(register)).await?;
        report(output, &answer, "registered")
    }
}

fn report(output: &mut Output, answer: &Answer, done: &str) -> Result<(), Failure> {
    let Reply::Agent(AgentReply::Agent(agent)) = &answer.reply else {
        return Err(Failure::odd(&answer.reply));
    };
    let agent::Agent { id, token, .. } = agent;
    output.said(agent, &format!("agent {id} {done} (token {token})"))
}
