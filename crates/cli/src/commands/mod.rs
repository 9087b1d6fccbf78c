//! The commands, one file for each noun.

mod a2a;
mod agent;
mod agents_md;
mod artifact;
mod backup;
mod barrier;
mod bench;
mod checkpoint;
mod cluster;
mod completions;
mod config;
mod context;
mod contract;
mod demo;
mod doctor;
mod event;
mod handoff;
mod inbox;
mod join;
mod lock;
mod log;
mod man;
mod mcp;
mod message;
mod namespace;
mod next;
mod openapi;
mod pipeline;
mod prime;
mod reaction;
mod reserve;
mod rule;
mod search;
mod secret;
mod semaphore;
mod serve;
mod spend;
mod state;
mod stream;
mod task;
mod token;
mod top;
mod topic;
mod tx;
#[cfg(feature = "ui")]
mod ui;
mod version;
mod watch;
mod why;
mod workspace;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

/// The groups of commands in `baton help`.
pub(crate) const GROUPS: [(&str, &[&str]); 9] = [
    ("Work", &["task", "handoff", "pipeline", "join", "checkpoint", "artifact", "rule", "spend"]),
    ("Coordination", &["agent", "next", "lock", "reserve", "semaphore", "barrier"]),
    ("State", &["state", "namespace", "workspace", "tx"]),
    ("Events and history", &["watch", "event", "reaction", "search", "why", "context", "contract"]),
    ("Messages", &["message", "inbox", "topic", "stream"]),
    ("Other agents", &["mcp", "prime", "agents-md", "a2a"]),
    ("Server", &["serve", "cluster", "top", "ui", "backup", "restore", "log", "doctor", "bench"]),
    ("Access", &["token", "secret"]),
    ("Setup and help", &["config", "completions", "man", "openapi", "demo", "version", "help"]),
];

/// The commands, in the order of the groups in `baton help`.
#[derive(Subcommand)]
pub(crate) enum Command {
    Task(task::Task),
    Handoff(handoff::Handoff),
    Pipeline(pipeline::Pipeline),
    Join(join::Join),
    Checkpoint(checkpoint::Checkpoint),
    Artifact(artifact::Artifact),
    Rule(rule::Rule),
    Spend(spend::Spend),
    Agent(agent::Agent),
    Next(next::Next),
    Lock(lock::Lock),
    Reserve(reserve::Reserve),
    Semaphore(semaphore::Semaphore),
    Barrier(barrier::Barrier),
    State(state::State),
    Namespace(namespace::Namespace),
    Workspace(workspace::Workspace),
    Tx(tx::Tx),
    Watch(watch::Watch),
    Event(event::Event),
    Reaction(reaction::Reaction),
    Search(search::Search),
    Why(why::Why),
    Context(context::Context),
    Contract(contract::Contract),
    Message(message::Message),
    Inbox(inbox::Inbox),
    Topic(topic::Topic),
    Stream(stream::Stream),
    Mcp(mcp::Mcp),
    Prime(prime::Prime),
    AgentsMd(agents_md::AgentsMd),
    A2a(a2a::A2a),
    Serve(Box<serve::Serve>),
    Cluster(cluster::Cluster),
    Top(top::Top),
    #[cfg(feature = "ui")]
    Ui(ui::Ui),
    Backup(backup::Backup),
    Restore(backup::Restore),
    Log(log::Log),
    Doctor(doctor::Doctor),
    Bench(bench::Bench),
    Token(token::Token),
    Secret(secret::Secret),
    Config(config::Config),
    Completions(completions::Completions),
    Man(man::Man),
    Openapi(openapi::Openapi),
    Demo(demo::Demo),
    Version(version::Version),
}

impl Command {
    /// Runs the command.
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        match self {
            Self::Task(task) => task.run(context, output).await,
            Self::Handoff(handoff) => handoff.run(context, output).await,
            Self::Pipeline(pipeline) => pipeline.run(context, output).await,
            Self::Join(join) => join.run(context, output).await,
            Self::Checkpoint(checkpoint) => checkpoint.run(context, output).await,
            Self::Artifact(artifact) => artifact.run(context, output).await,
            Self::Rule(rule) => rule.run(context, output).await,
            Self::Spend(spend) => spend.run(context, output).await,
            Self::Agent(agent) => agent.run(context, output).await,
            Self::Next(next) => next.run(context, output).await,
            Self::Lock(lock) => lock.run(context, output).await,
            Self::Reserve(reserve) => reserve.run(context, output).await,
            Self::Semaphore(semaphore) => semaphore.run(context, output).await,
            Self::Barrier(barrier) => barrier.run(context, output).await,
            Self::State(state) => state.run(context, output).await,
            Self::Namespace(namespace) => namespace.run(context, output).await,
            Self::Workspace(workspace) => workspace.run(context, output).await,
            Self::Tx(tx) => tx.run(context, output).await,
            Self::Watch(watch) => watch.run(context, output).await,
            Self::Event(event) => event.run(context, output).await,
            Self::Reaction(reaction) => reaction.run(context, output).await,
            Self::Search(search) => search.run(context, output).await,
            Self::Why(why) => why.run(context, output).await,
            Self::Context(built) => built.run(context, output).await,
            Self::Contract(contract) => contract.run(context, output).await,
            Self::Message(message) => message.run(context, output).await,
            Self::Inbox(inbox) => inbox.run(context, output).await,
            Self::Topic(topic) => topic.run(context, output).await,
            Self::Stream(stream) => stream.run(context, output).await,
            Self::Mcp(mcp) => mcp.run(context, output).await,
            Self::Prime(_) => prime::Prime::run(context, output).await,
            Self::AgentsMd(block) => block.run(output),
            Self::A2a(a2a) => a2a.run(context, output).await,
            Self::Serve(serve) => serve.run(context, output).await,
            Self::Cluster(cluster) => cluster.run(context, output).await,
            Self::Top(_) => top::Top::run(context, output).await,
            #[cfg(feature = "ui")]
            Self::Ui(ui) => ui.run(context, output).await,
            Self::Backup(backup) => backup.run(context, output).await,
            Self::Restore(restore) => restore.run(context, output),
            Self::Log(log) => log.run(output),
            Self::Doctor(doctor) => doctor.run(context, output).await,
            Self::Bench(bench) => bench.run(context, output).await,
            Self::Token(token) => token.run(context, output).await,
            Self::Secret(secret) => secret.run(context, output).await,
            Self::Config(config) => config.run(context, output),
            Self::Completions(completions) => completions.run(output),
            Self::Man(man) => man.run(output),
            Self::Openapi(_) => openapi::Openapi::run(output),
            Self::Demo(demo) => demo.run(context, output).await,
            Self::Version(_) => version::Version::run(output),
        }
    }

    /// Whether it reports invalid settings itself.
    pub(crate) fn is_about_settings(&self) -> bool {
        matches!(self, Self::Doctor(_) | Self::Config(_))
    }

    /// Whether it handles ctrl-c itself, because there is work to finish.
    pub(crate) fn handles_signals(&self) -> bool {
        match self {
            Self::Serve(_) | Self::Bench(_) => true,
            Self::Demo(demo) => demo.handles_signals(),
            Self::Message(message) => message.handles_signals(),
            Self::Task(task) => task.handles_signals(),
            Self::Lock(lock) => lock.handles_signals(),
            Self::Semaphore(semaphore) => semaphore.handles_signals(),
            _ => false,
        }
    }
}
