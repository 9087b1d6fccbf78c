//! The permission that each call needs, as declared by its operation. A transaction needs the
//! highest permission of its commands.

use serde::Serialize;

use crate::command::{Command, Mutation, Query};
use crate::names::{AgentId, WorkspaceName};
use crate::wire::Call;
use crate::workspace;

/// The permission that a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// To read.
    Read,
    /// To take part in work.
    Work,
    /// To define how work is done.
    SetUp,
    /// To act beyond the workspace.
    Administer,
}

impl Permission {
    fn most(self, other: Self) -> Self {
        if (self as u8) < other as u8 { other } else { self }
    }
}

/// An action at an endpoint that is not a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Upload an artifact.
    PutArtifact,
    /// Download an artifact.
    ReadArtifact,
    /// Store a secret.
    PutSecret,
    /// Read the value of a secret.
    RevealSecret,
    /// Export a workspace.
    Export,
    /// Import a workspace.
    Import,
}

impl Action {
    /// All actions.
    pub const ALL: [Self; 6] = [
        Self::PutArtifact,
        Self::ReadArtifact,
        Self::PutSecret,
        Self::RevealSecret,
        Self::Export,
        Self::Import,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::PutArtifact => "artifact.put",
            Self::ReadArtifact => "artifact.read",
            Self::PutSecret => "secret.put",
            Self::RevealSecret => "secret.reveal",
            Self::Export => "workspace.export",
            Self::Import => "workspace.import",
        }
    }

    /// The permission that it needs.
    pub fn permission(self) -> Permission {
        match self {
            Self::ReadArtifact => Permission::Read,
            // Reading alone does not include secrets.
            Self::PutArtifact | Self::PutSecret | Self::RevealSecret => Permission::Work,
            Self::Export | Self::Import => Permission::Administer,
        }
    }

    /// Whether it gives access to every namespace. Artifacts and secrets are in none, and have ids
    /// that cannot be guessed.
    pub(super) fn sees_all(self) -> bool {
        match self {
            Self::Export | Self::Import => true,
            Self::PutArtifact | Self::ReadArtifact | Self::PutSecret | Self::RevealSecret => false,
        }
    }
}

/// The permission that a call needs.
pub fn permission(call: &Call) -> Permission {
    match call {
        Call::Command(command) => of_command(command),
        Call::Query(query) => of_query(query),
        Call::Transaction(mutation) => of_mutation(mutation),
        Call::Watch(_) | Call::Unwatch { .. } | Call::Ping => Permission::Read,
    }
}

fn of_mutation(mutation: &Mutation) -> Permission {
    match mutation {
        Mutation::Minimal(mutation) => of_mutation(mutation),
        Mutation::Command(command) => of_command(command),
        Mutation::Fenced { command, .. } => of_command(command),
        Mutation::Transaction { commands, .. } => {
            commands.iter().map(of_command).fold(Permission::Work, Permission::most)
        }
    }
}

/// A command without a row cannot be called from outside.
fn of_command(command: &Command) -> Permission {
    command.operation().map_or(Permission::Administer, |operation| operation.needs)
}

fn of_query(query: &Query) -> Permission {
    query.operation().map_or(Permission::Administer, |operation| operation.needs)
}

/// Whether a call lists or creates other workspaces.
pub(super) fn reaches_workspaces(call: &Call) -> bool {
    match call {
        Call::Query(Query::Workspace(
            workspace::Query::List { .. } | workspace::Query::Fork { .. },
        )) => true,
        Call::Command(_)
        | Call::Query(_)
        | Call::Transaction(_)
        | Call::Watch(_)
        | Call::Unwatch { .. }
        | Call::Ping => false,
    }
}

/// The workspace that a call creates beside its own.
pub fn made(call: &Call) -> Option<&WorkspaceName> {
    match call {
        Call::Query(Query::Workspace(workspace::Query::Fork { to, .. })) => Some(to),
        Call::Command(_)
        | Call::Query(_)
        | Call::Transaction(_)
        | Call::Watch(_)
        | Call::Unwatch { .. }
        | Call::Ping => None,
    }
}

/// An agent that a call names as its actor or beneficiary, if it satisfies the predicate.
pub(super) fn named(call: &Call, such: impl Fn(&AgentId) -> bool) -> Option<&AgentId> {
    let commands = match call {
        Call::Command(command) => std::slice::from_ref(command),
        Call::Transaction(mutation) => mutation.commands(),
        Call::Query(_) | Call::Watch(_) | Call::Unwatch { .. } | Call::Ping => &[],
    };
    commands.iter().filter_map(Command::named_agent).find(|named| such(named))
}
