//! The commands that are accepted even when hardly any space is left: those that free space, and
//! those that renew or release what callers hold.
//!
//! Each of these takes some hundred bytes of the log at most, so the room that is kept free for the
//! engine's own writes is enough for very many of them.

use crate::command::{Command, Mutation};
use crate::{
    agent, artifact, checkpoint, lock, message, namespace, pipeline, secret, semaphore, state,
    stream, task, workspace,
};

impl Mutation {
    /// Whether it makes room, or only keeps or ends what a caller holds.
    pub fn is_relief(&self) -> bool {
        self.commands().iter().all(is_relief)
    }
}

fn is_relief(command: &Command) -> bool {
    matches!(
        command,
        Command::State(state::Command::Delete(_))
            | Command::Namespace(namespace::Command::Delete { .. })
            | Command::Artifact(artifact::Command::Delete { .. })
            | Command::Secret(secret::Command::Delete { .. })
            | Command::Stream(stream::Command::Delete { .. })
            | Command::Pipeline(pipeline::Command::Delete { .. })
            | Command::Checkpoint(checkpoint::Command::Prune(_))
            | Command::Message(message::Command::Ack(_))
            | Command::Workspace(workspace::Command::Configure { .. })
            | Command::Agent(agent::Command::Heartbeat { .. } | agent::Command::Leave { .. })
            | Command::Task(task::Command::Heartbeat(_) | task::Command::Release(_))
            | Command::Lock(lock::Command::Renew { .. } | lock::Command::Release { .. })
            | Command::Semaphore(
                semaphore::Command::Renew { .. } | semaphore::Command::Release { .. }
            )
    )
}
