//! The commands, one file for each noun.

mod agent;
mod artifact;
mod backup;
mod barrier;
mod bench;
mod checkpoint;
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
mod message;
mod namespace;
mod openapi;
mod pipeline;
mod reaction;
mod rule;
mod search;
mod secret;
mod semaphore;
mod serve;
mod state;
mod stream;
mod task;
mod token;
mod top;
mod topic;
mod tx;
mod watch;
mod why;
mod workspace;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

/// What can be done.
#[derive(Subcommand)]
pub(crate) enum Command {
    Serve(serve::Serve),
    State(state::State),
    Namespace(namespace::Namespace),
    Agent(agent::Agent),
    Message(message::Message),
    Inbox(inbox::Inbox),
    Topic(topic::Topic),
    Stream(stream::Stream),
    Rule(rule::Rule),
    Event(event::Event),
    Reaction(reaction::Reaction),
    Contract(contract::Contract),
    Context(context::Context),
    Task(task::Task),
    Join(join::Join),
    Handoff(handoff::Handoff),
    Demo(demo::Demo),
    Top(top::Top),
    Pipeline(pipeline::Pipeline),
    Checkpoint(checkpoint::Checkpoint),
    Artifact(artifact::Artifact),
    Secret(secret::Secret),
    Lock(lock::Lock),
    Semaphore(semaphore::Semaphore),
    Barrier(barrier::Barrier),
    Workspace(workspace::Workspace),
    Token(token::Token),
    Watch(watch::Watch),
    Why(why::Why),
    Search(search::Search),
    Tx(tx::Tx),
    Backup(backup::Backup),
    Restore(backup::Restore),
    Log(log::Log),
    Doctor(doctor::Doctor),
    Config(config::Config),
    Bench(bench::Bench),
    Openapi(openapi::Openapi),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    /// Does it.
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        match self {
            Self::Serve(serve) => serve.run(context, output).await,
            Self::State(state) => state.run(context, output).await,
            Self::Namespace(namespace) => namespace.run(context, output).await,
            Self::Agent(agent) => agent.run(context, output).await,
            Self::Message(message) => message.run(context, output).await,
            Self::Inbox(inbox) => inbox.run(context, output).await,
            Self::Topic(topic) => topic.run(context, output).await,
            Self::Stream(stream) => stream.run(context, output).await,
            Self::Rule(rule) => rule.run(context, output).await,
            Self::Event(event) => event.run(context, output).await,
            Self::Reaction(reaction) => reaction.run(context, output).await,
            Self::Contract(contract) => contract.run(context, output).await,
            Self::Context(built) => built.run(context, output).await,
            Self::Task(task) => task.run(context, output).await,
            Self::Join(join) => join.run(context, output).await,
            Self::Handoff(handoff) => handoff.run(context, output).await,
            Self::Demo(demo) => demo.run(context, output).await,
            Self::Top(_) => top::Top::run(context, output).await,
            Self::Pipeline(pipeline) => pipeline.run(context, output).await,
            Self::Checkpoint(checkpoint) => checkpoint.run(context, output).await,
            Self::Artifact(artifact) => artifact.run(context, output).await,
            Self::Secret(secret) => secret.run(context, output).await,
            Self::Lock(lock) => lock.run(context, output).await,
            Self::Semaphore(semaphore) => semaphore.run(context, output).await,
            Self::Barrier(barrier) => barrier.run(context, output).await,
            Self::Workspace(workspace) => workspace.run(context, output).await,
            Self::Token(token) => token.run(context, output).await,
            Self::Watch(watch) => watch.run(context, output).await,
            Self::Why(why) => why.run(context, output).await,
            Self::Search(search) => search.run(context, output).await,
            Self::Tx(tx) => tx.run(context, output).await,
            Self::Backup(backup) => backup.run(context, output).await,
            Self::Restore(restore) => restore.run(output),
            Self::Log(log) => log.run(output),
            Self::Doctor(doctor) => doctor.run(context, output).await,
            Self::Config(config) => config.run(context, output),
            Self::Bench(bench) => bench.run(context, output).await,
            Self::Openapi(_) => openapi::Openapi::run(output),
            Self::Completions(completions) => completions.run(output),
            Self::Man(man) => man.run(output),
        }
    }

    /// Whether it can say by itself what is wrong with the settings.
    pub(crate) fn is_about_settings(&self) -> bool {
        matches!(self, Self::Doctor(_) | Self::Config(_))
    }

    /// Whether it sees to ctrl-c itself, because there is something to finish.
    pub(crate) fn ends_itself(&self) -> bool {
        match self {
            Self::Serve(_) => true,
            Self::Demo(demo) => demo.ends_itself(),
            Self::Message(message) => message.ends_itself(),
            Self::Task(task) => task.ends_itself(),
            Self::Lock(lock) => lock.ends_itself(),
            Self::Semaphore(semaphore) => semaphore.ends_itself(),
            _ => false,
        }
    }
}
