//! What each call needs: what its operation declares. A transaction needs the most that one of its
//! commands needs.

use serde::Serialize;

use crate::command::{Command, Mutation, Query};
use crate::names::{AgentId, WorkspaceName};
use crate::wire::Call;
use crate::workspace;

/// The permission that a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// To see.
    Read,
    /// To take part.
    Work,
    /// To decide how work is done.
    SetUp,
    /// To reach beyond the workspace.
    Administer,
}

impl Permission {
    /// As the end of a sentence about what a role may.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Work => "take part in the work",
            Self::SetUp => "set up how work is done",
            Self::Administer => "administer",
        }
    }

    fn most(self, other: Self) -> Self {
        if (self as u8) < other as u8 { other } else { self }
    }
}

/// An action at an endpoint that is not a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Bytes come in.
    PutArtifact,
    /// Bytes go out.
    ReadArtifact,
    /// A value is hidden.
    PutSecret,
    /// A value is shown.
    RevealSecret,
    /// All of a workspace goes out.
    Export,
    /// All of a workspace comes in.
    Import,
}

impl Action {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::PutArtifact,
        Self::ReadArtifact,
        Self::PutSecret,
        Self::RevealSecret,
        Self::Export,
        Self::Import,
    ];

    /// What it is called.
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

    /// What it needs.
    pub fn permission(self) -> Permission {
        match self {
            Self::ReadArtifact => Permission::Read,
            // Whoever only looks is not told secrets.
            Self::PutArtifact | Self::PutSecret | Self::RevealSecret => Permission::Work,
            Self::Export | Self::Import => Permission::Administer,
        }
    }

    /// Whether it shows every namespace. Artifacts and secrets are in none, and named by ids that
    /// cannot be guessed.
    pub(super) fn sees_all(self) -> bool {
        match self {
            Self::Export | Self::Import => true,
            Self::PutArtifact | Self::ReadArtifact | Self::PutSecret | Self::RevealSecret => false,
        }
    }
}

/// What a call needs.
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
        Mutation::Command(command) => of_command(command),
        Mutation::Fenced { command, .. } => of_command(command),
        Mutation::Transaction { commands, .. } => {
            commands.iter().map(of_command).fold(Permission::Work, Permission::most)
        }
    }
}

/// What has no row is not for anybody outside.
fn of_command(command: &Command) -> Permission {
    command.operation().map_or(Permission::Administer, |operation| operation.needs)
}

fn of_query(query: &Query) -> Permission {
    query.operation().map_or(Permission::Administer, |operation| operation.needs)
}

/// Whether a call tells of other workspaces, or makes one.
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

/// The workspace that a call makes.
pub(super) fn made(call: &Call) -> Option<&WorkspaceName> {
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

/// An agent that a call names as the one that acts or is served, if it is such a one.
pub(super) fn named(call: &Call, such: impl Fn(&AgentId) -> bool) -> Option<&AgentId> {
    let commands = match call {
        Call::Command(command) | Call::Transaction(Mutation::Command(command)) => {
            std::slice::from_ref(command)
        }
        Call::Transaction(Mutation::Fenced { command, .. }) => std::slice::from_ref(&**command),
        Call::Transaction(Mutation::Transaction { commands, .. }) => commands,
        Call::Query(_) | Call::Watch(_) | Call::Unwatch { .. } | Call::Ping => &[],
    };
    commands.iter().filter_map(Command::named_agent).find(|named| such(named))
}
