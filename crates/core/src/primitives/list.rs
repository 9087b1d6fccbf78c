//! The list of primitives: each is named here once, and every sum over them is generated from it.
//!
//! ```text
//!   primitives! ──▶ Command Signal Query Reply Event …      primitives/
//!              ├──▶ the tables of a Space, Undo, Head        space/
//!              └──▶ decide, query, evolve, timers, waits     space/
//! ```
//!
//! The order counts: it is the one in which deadlines are handled and ended sessions are cleaned up
//! after. Deliberately absent: rules. The behaviour of a primitive is in its folder; this file has
//! a name and a forwarding call for each, and [`primitive`](super::primitive) defines the calls
//! that can be forwarded.

/// Calls a macro with a row for every primitive:
///
/// ```text
///   /// What it is about.
///   module: Variant = "name on the wire", field of a snapshot's head;
/// ```
///
/// The arguments after the macro's name go before the rows.
///
/// State and the workspace itself have no field of their own in the head, which lists their facts
/// one by one; user events have no facts.
macro_rules! primitives {
    ($callback:ident $($own:tt)?) => {
        $callback! {
            $($own)?
            /// Shared state.
            state: State = "state";
            /// Namespaces.
            namespace: Namespace = "namespace", namespaces;
            /// Agents.
            agent: Agent = "agent", agents;
            /// Messages.
            message: Message = "message", messages;
            /// Contracts.
            contract: Contract = "contract", contracts;
            /// Topics.
            topic: Topic = "topic", topics;
            /// Streams.
            stream: Stream = "stream", streams;
            /// Rules for hand-offs.
            rule: Rule = "rule", rules;
            /// User events.
            user_event: UserEvent = "event";
            /// Reactions.
            reaction: Reaction = "reaction", reactions;
            /// Locks.
            lock: Lock = "lock", locks;
            /// Semaphores.
            semaphore: Semaphore = "semaphore", semaphores;
            /// Barriers.
            barrier: Barrier = "barrier", barriers;
            /// Tasks.
            task: Task = "task", tasks;
            /// Spending.
            spend: Spend = "spend", spend;
            /// Joins.
            join: Join = "join", joins;
            /// Pipelines.
            pipeline: Pipeline = "pipeline", pipelines;
            /// Checkpoints.
            checkpoint: Checkpoint = "checkpoint", checkpoints;
            /// Artifacts.
            artifact: Artifact = "artifact", artifacts;
            /// Secrets.
            secret: Secret = "secret", secrets;
            /// Hand-offs.
            handoff: Handoff = "handoff", handoffs;
            /// Waits for a status.
            wait: Wait = "wait", status_waits;
            /// The workspace itself.
            workspace: Workspace = "workspace";
        }
    };
}
pub(crate) use primitives;
