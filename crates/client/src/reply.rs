//! Replies as the types that the methods return.

use std::sync::Arc;

use baton_core::context::{self, Context};
use baton_core::contract::{self, Declaration};
use baton_core::contracts::{Contract, ContractProblem};
use baton_core::history::Explanation;
use baton_core::rule::Judgement;
use baton_core::search::Results;
use baton_core::sync::{CopyChanges, SyncReport};
use baton_core::workspace::{Differences, Forked, Listed};
use baton_core::{
    AgentId, ArtifactId, CheckpointId, CheckpointKey, ContractName, Entry, HandoffId, Key,
    LockName, MessageId, NamespaceName, PipelineName, ReactionName, Reply, RuleName, SecretId,
    SemaphoreName, StreamName, TaskId, TopicName, WorkspaceName, agent, artifact, barrier,
    checkpoint, handoff, join, lock, message, namespace, pipeline, reaction, rule, secret,
    semaphore, spend, state, stream, task, topic, user_event, wait, workspace,
};

use crate::{Accepted, Copied, Done, HeldLocks, Written};

/// A type that a reply contains. A list is a page of items and the cursor of the next page.
pub(crate) trait FromReply: Sized {
    /// The value, or the reply itself if it is of another kind.
    fn from_reply(reply: Reply) -> Result<Self, Box<Reply>>;
}

macro_rules! replies {
    ($($type:ty: $($primitive:ident($pattern:pat))|+ => $value:expr;)*) => {
        $(
            impl FromReply for $type {
                fn from_reply(reply: Reply) -> Result<Self, Box<Reply>> {
                    match reply {
                        $(Reply::$primitive($pattern))|+ => Ok($value),
                        reply => Err(Box::new(reply)),
                    }
                }
            }
        )*
    };
}

replies! {
    Entry: State(state::Reply::Entry(entry)) => entry;
    state::Page: State(state::Reply::Entries(page)) => page;
    Vec<Key>: State(state::Reply::Moved { keys }) => keys;
    (Vec<state::Change>, Option<String>):
        State(state::Reply::Changes { changes, cursor, .. }) => (changes, cursor);

    namespace::Namespace: Namespace(namespace::Reply::Namespace(namespace)) => namespace;
    (Vec<namespace::Namespace>, Option<NamespaceName>):
        Namespace(namespace::Reply::Namespaces { namespaces, cursor }) => (namespaces, cursor);

    agent::Agent: Agent(agent::Reply::Agent(agent)) => agent;
    (Vec<agent::Agent>, Option<AgentId>):
        Agent(agent::Reply::Agents { agents, cursor }) => (agents, cursor);

    message::Message: Message(message::Reply::Message(message)) => *message;
    Vec<message::Message>: Message(message::Reply::Received { messages }) => messages;
    (Vec<message::Message>, Option<MessageId>):
        Message(message::Reply::Messages { messages, cursor }) => (messages, cursor);
    Vec<MessageId>: Message(message::Reply::Acked { messages }) => messages;
    message::Answered: Message(message::Reply::Replied(answered)) => answered;
    message::Handler: Message(message::Reply::Handler(handler)) => handler;
    (Vec<message::Handler>, Option<String>):
        Message(message::Reply::Handlers { handlers, cursor }) => (handlers, cursor);

    topic::Published: Topic(topic::Reply::Published(published)) => published;
    topic::Topic: Topic(topic::Reply::Topic(topic)) => topic;
    (Vec<topic::Topic>, Option<TopicName>):
        Topic(topic::Reply::Topics { topics, cursor }) => (topics, cursor);

    stream::Stream: Stream(stream::Reply::Stream(stream)) => stream;
    stream::Sent: Stream(stream::Reply::Sent(sent)) => sent;
    stream::Frames: Stream(stream::Reply::Frames(frames)) => frames;
    (Vec<stream::Stream>, Option<StreamName>):
        Stream(stream::Reply::Streams { streams, cursor }) => (streams, cursor);

    rule::Rule: Rule(rule::Reply::Rule(rule)) => rule;
    (Vec<rule::Rule>, Option<RuleName>):
        Rule(rule::Reply::Rules { rules, cursor }) => (rules, cursor);

    user_event::Page: UserEvent(user_event::Reply::Events(page)) => page;

    reaction::Reaction: Reaction(reaction::Reply::Reaction(reaction)) => *reaction;
    (Vec<reaction::Reaction>, Option<ReactionName>):
        Reaction(reaction::Reply::Reactions { reactions, cursor }) => (reactions, cursor);

    (Vec<Contract>, Option<String>):
        Contract(contract::Reply::Contracts { contracts, cursor }) => (contracts, cursor);
    Declaration: Contract(contract::Reply::Declaration(declaration)) => declaration;
    (Vec<Declaration>, Option<ContractName>):
        Contract(contract::Reply::Declarations { declarations, cursor }) => (declarations, cursor);
    Vec<ContractProblem>: Contract(contract::Reply::Problems { problems }) => problems;

    Context: Context(context::Reply::Context(context)) => context;

    lock::Lock: Lock(lock::Reply::Lock(lock)) => lock;
    lock::Hold: Lock(lock::Reply::Hold(Some(hold))) => hold;
    Option<lock::Hold>: Lock(lock::Reply::Hold(hold)) => hold;
    (HeldLocks, Option<LockName>):
        Lock(lock::Reply::Locks { locks, deadlocks, cursor }) =>
            (HeldLocks { locks, deadlocks }, cursor);

    semaphore::Semaphore: Semaphore(semaphore::Reply::Semaphore(semaphore)) => semaphore;
    semaphore::Permit: Semaphore(semaphore::Reply::Permit(Some(permit))) => permit;
    Option<semaphore::Permit>: Semaphore(semaphore::Reply::Permit(permit)) => permit;
    (Vec<semaphore::Semaphore>, Option<SemaphoreName>):
        Semaphore(semaphore::Reply::Semaphores { semaphores, cursor }) => (semaphores, cursor);

    barrier::Arrival: Barrier(barrier::Reply::Arrival(arrival)) => arrival;
    barrier::Barrier: Barrier(barrier::Reply::Barrier(barrier)) => barrier;

    task::Task: Task(task::Reply::Task(task)) => *task;
    Option<task::Task>: Task(task::Reply::Claimed(task)) | Wait(wait::Reply::Task(task)) =>
        task.map(|task| *task);
    Vec<task::Task>: Task(task::Reply::ClaimedTasks { tasks }) => tasks;
    Option<wait::Work>: Wait(wait::Reply::Next(work)) => work;
    Done: Task(task::Reply::Completed { task, next }) =>
        Done { task: *task, next: next.map(|next| *next) };
    (Vec<task::Task>, Option<TaskId>):
        Task(task::Reply::Tasks { tasks, cursor }) => (tasks, cursor);
    task::Statistics: Task(task::Reply::Stats(statistics)) => *statistics;
    task::Why: Task(task::Reply::Why(why)) => *why;
    (Vec<task::Transition>, Option<String>):
        Task(task::Reply::History { events, cursor, .. }) => (events, cursor);

    spend::Total: Spend(spend::Reply::Spend(total)) => total;
    spend::Recorded: Spend(spend::Reply::Recorded(recorded)) => recorded;
    (Vec<spend::Record>, Option<u64>):
        Spend(spend::Reply::Records { records, cursor, .. }) => (records, cursor);

    join::Join: Join(join::Reply::Join(join)) => *join;
    Option<join::Join>: Join(join::Reply::Settled(join)) => join.map(|join| *join);

    pipeline::Pipeline: Pipeline(pipeline::Reply::Pipeline(pipeline)) => *pipeline;
    pipeline::Stage: Pipeline(pipeline::Reply::Stage(stage)) => *stage;
    pipeline::Moved: Pipeline(pipeline::Reply::Moved(moved)) => *moved;
    pipeline::Output: Pipeline(pipeline::Reply::Output(output)) => output;
    (Vec<pipeline::Summary>, Option<PipelineName>):
        Pipeline(pipeline::Reply::Pipelines { pipelines, cursor }) => (pipelines, cursor);

    checkpoint::Checkpoint: Checkpoint(
        checkpoint::Reply::Checkpoint(checkpoint) | checkpoint::Reply::Restored(checkpoint)
    ) => *checkpoint;
    Option<checkpoint::Checkpoint>:
        Checkpoint(checkpoint::Reply::Latest(found)) => found.map(|found| *found);
    (Vec<checkpoint::Checkpoint>, Option<CheckpointId>):
        Checkpoint(checkpoint::Reply::Checkpoints { checkpoints, cursor }) => (checkpoints, cursor);
    (Vec<checkpoint::Checkpoint>, Option<CheckpointKey>):
        Checkpoint(checkpoint::Reply::History { checkpoints, cursor }) => (checkpoints, cursor);
    Written: Checkpoint(checkpoint::Reply::Written { written }) => Written(written);
    Copied: Checkpoint(checkpoint::Reply::Copied { copied }) => Copied(copied);
    (u64, u64): Checkpoint(checkpoint::Reply::Pruned { pruned, bytes }) => (pruned, bytes);
    Vec<checkpoint::Rule>: Checkpoint(checkpoint::Reply::Rules { rules }) => rules;

    artifact::Artifact: Artifact(artifact::Reply::Artifact(artifact)) => *artifact;
    (Vec<artifact::Artifact>, Option<ArtifactId>):
        Artifact(artifact::Reply::Artifacts { artifacts, cursor, .. }) => (artifacts, cursor);

    secret::Secret: Secret(secret::Reply::Secret(secret)) => *secret;
    (Vec<secret::Secret>, Option<SecretId>):
        Secret(secret::Reply::Secrets { secrets, cursor }) => (secrets, cursor);

    handoff::Handoff: Handoff(handoff::Reply::Handoff(handoff)) => Arc::unwrap_or_clone(handoff);
    Option<handoff::Handoff>:
        Handoff(handoff::Reply::Received(found)) | Wait(wait::Reply::Handoff(found)) =>
            found.map(Arc::unwrap_or_clone);
    Accepted: Handoff(handoff::Reply::Accepted { handoff, task, values }) => {
        let handoff = Arc::unwrap_or_clone(handoff);
        Accepted { handoff, task: task.map(|task| *task), values }
    };
    (Vec<handoff::Handoff>, Option<HandoffId>):
        Handoff(handoff::Reply::Handoffs { handoffs, cursor }) => (handoffs, cursor);
    Judgement:
        Handoff(handoff::Reply::Verdict { errors, warnings, .. }) => Judgement { errors, warnings };
    handoff::TransferContext: Handoff(handoff::Reply::Context(context)) => *context;
    handoff::Statistics: Handoff(handoff::Reply::Stats(statistics)) => *statistics;

    (Vec<Listed>, Option<WorkspaceName>):
        Workspace(workspace::Reply::Workspaces { workspaces, cursor }) => (workspaces, cursor);
    Forked: Workspace(workspace::Reply::Forked(forked)) => forked;
    CopyChanges: Workspace(workspace::Reply::Changes(changes)) => *changes;
    SyncReport: Workspace(workspace::Reply::Synced(report)) => report;
    Listed: Workspace(workspace::Reply::Deleted(deleted)) => deleted;
    Differences: Workspace(workspace::Reply::Differences(differences)) => differences;
    Results: Workspace(workspace::Reply::Found(results)) => results;
    Explanation: Workspace(workspace::Reply::Why(explanation)) => explanation;

    Vec<Reply>: Transaction(replies) => replies;
}
