//! Who may do what: one question, asked of every call at every door.
//!
//! ```text
//!   token ──▶ Grant { role, workspaces, namespaces, agent }
//!                │
//!   call ────────┴──▶ permits? ── the role covers what the call needs        verbs
//!                              ── the workspace is among the grant's
//!                              ── every namespace that it touches is, too     sight
//!                              ── whoever acts is the one it speaks for
//! ```
//!
//! | role       | may                                                                    |
//! |------------|------------------------------------------------------------------------|
//! | `reader`   | ask and watch                                                          |
//! | `worker`   | and take part: state, tasks, hand-offs, messages, locks                |
//! | `operator` | and set up: namespaces, rules, reactions, retention                    |
//! | `admin`    | and reach beyond the workspace: fork, export, tokens, backups          |
//!
//! Invariants:
//!
//! 1. Every command and question has a rule: what it needs is a column of its row in the table of
//!    operations, and what has no row is for nobody outside.
//! 2. Nothing is filtered. What would show more than a grant sees is refused as a whole, since an
//!    answer with silent gaps is taken for the truth.
//! 3. A transaction is permitted if each of its commands and preconditions is.
//! 4. A grant that is limited to namespaces may not leave anything behind that acts later with more
//!    than that: reactions are refused to it.
//!
//! Deliberately absent: rules about single keys, and denials. A grant says what is permitted, and
//! the rest is not.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::kind::Kind;
use crate::names::{AgentId, NamespaceName, WorkspaceName};
use crate::pattern::Pattern;
use crate::wire::Call;

mod sight;
#[cfg(test)]
mod tests;
mod verbs;

use sight::{Sight, sight};
pub use verbs::{Deed, Verb, verb};

/// The workspace in which tokens are kept: no door leads into it.
pub const CLOSED: &str = "baton.access";

/// Whether a call leads into the closed workspace, from inside or from elsewhere.
pub fn is_closed(workspace: &WorkspaceName, call: &Call) -> bool {
    workspace.as_str() == CLOSED || verbs::made(call).is_some_and(|made| made.as_str() == CLOSED)
}

/// How much somebody may do. Each may do what those before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Asks and watches.
    Reader,
    /// Takes part in the work.
    Worker,
    /// Sets up how work is done.
    Operator,
    /// Reaches beyond a workspace.
    Admin,
}

impl Role {
    /// All of them, the least first.
    pub const ALL: [Self; 4] = [Self::Reader, Self::Worker, Self::Operator, Self::Admin];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Worker => "worker",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }

    /// Whether it covers a need.
    pub fn covers(self, verb: Verb) -> bool {
        self >= match verb {
            Verb::Read => Self::Reader,
            Verb::Work => Self::Worker,
            Verb::SetUp => Self::Operator,
            Verb::Administer => Self::Admin,
        }
    }
}

/// What somebody may do, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// How much.
    pub role: Role,
    /// In which workspaces; all if none are named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workspaces: Vec<Pattern>,
    /// In which namespaces of them; all if none are named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<Pattern>,
    /// Whom it speaks for; whoever a call names if nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
}

/// Why something is not permitted. Serialized, it is its facts.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize)]
#[serde(untagged)]
pub enum Denied {
    /// The role does not cover it.
    #[error("the token's role is `{role}`, and this needs one that may {}", .needs.words())]
    Role {
        /// What the token has.
        role: &'static str,
        /// What is needed.
        needs: Verb,
    },
    /// Another workspace.
    #[error("the token is not for workspace `{workspace}`")]
    Workspace {
        /// Which.
        workspace: WorkspaceName,
    },
    /// Another namespace.
    #[error("the token is not for namespace `{namespace}`")]
    Namespace {
        /// Which.
        namespace: NamespaceName,
    },
    /// More than the namespaces.
    #[error("the token is for some namespaces only, and this reaches beyond them")]
    Beyond {},
    /// More than the workspaces.
    #[error("the token is for some workspaces only, and this reaches beyond them")]
    BeyondWorkspaces {},
    /// Another agent.
    #[error("the token speaks for agent `{speaks_for}`, not for `{acts}`")]
    Agent {
        /// Whom it speaks for.
        speaks_for: AgentId,
        /// Who was to act.
        acts: AgentId,
    },
}

impl Denied {
    /// Stable across releases; documented in `docs/errors.md`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Role { .. } => "access.role",
            Self::Workspace { .. } | Self::BeyondWorkspaces {} => "access.workspace",
            Self::Namespace { .. } | Self::Beyond {} => "access.namespace",
            Self::Agent { .. } => "access.agent",
        }
    }

    /// What the caller should do about it.
    pub fn kind(&self) -> Kind {
        Kind::Denied
    }

    /// What to do next, as a sentence.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Role { .. } => "ask an admin for a token with a role that may",
            Self::Workspace { .. } | Self::BeyondWorkspaces {} => {
                "name a workspace of the token, or ask an admin for one that reaches further"
            }
            Self::Namespace { .. } | Self::Beyond {} => {
                "name a namespace of the token, or ask an admin for one that reaches further"
            }
            Self::Agent { .. } => "leave out who acts, or use that agent's own token",
        }
    }
}

impl Grant {
    /// All of it, for anybody.
    pub fn admin() -> Self {
        Self { role: Role::Admin, workspaces: Vec::new(), namespaces: Vec::new(), agent: None }
    }

    /// Whether a call may be made in a workspace by an agent.
    pub fn permits(
        &self,
        workspace: &WorkspaceName,
        agent: &AgentId,
        call: &Call,
    ) -> Result<(), Denied> {
        self.allows(workspace, agent, verb(call))?;
        let sees_all = self.workspaces.is_empty();
        if !sees_all && verbs::reaches_workspaces(call) {
            return Err(Denied::BeyondWorkspaces {});
        }
        if let Some(speaks_for) = &self.agent
            && self.role < Role::Operator
            && let Some(named) = verbs::named(call, |named| named != speaks_for)
        {
            return Err(Denied::Agent { speaks_for: speaks_for.clone(), acts: named.clone() });
        }
        if self.namespaces.is_empty() {
            return Ok(());
        }
        match sight(call) {
            Sight::All => Err(Denied::Beyond {}),
            Sight::These(touched) => match touched.into_iter().find(|it| !self.sees(it)) {
                Some(namespace) => Err(Denied::Namespace { namespace }),
                None => Ok(()),
            },
        }
    }

    /// Whether a deed that is no call, such as an upload, may be done.
    pub fn permits_deed(
        &self,
        workspace: &WorkspaceName,
        agent: &AgentId,
        deed: Deed,
    ) -> Result<(), Denied> {
        self.allows(workspace, agent, deed.verb())?;
        if deed.sees_all() && !self.namespaces.is_empty() {
            return Err(Denied::Beyond {});
        }
        Ok(())
    }

    /// Whether what is of the whole server may be done, such as making tokens and backups: by
    /// somebody who is limited to nothing, since a token may be for anything, and a backup is of
    /// everything.
    pub fn permits_server(&self, needs: Verb) -> Result<(), Denied> {
        if !self.role.covers(needs) {
            return Err(Denied::Role { role: self.role.name(), needs });
        }
        if !self.workspaces.is_empty() {
            return Err(Denied::BeyondWorkspaces {});
        }
        if self.namespaces.is_empty() { Ok(()) } else { Err(Denied::Beyond {}) }
    }

    fn allows(
        &self,
        workspace: &WorkspaceName,
        agent: &AgentId,
        needs: Verb,
    ) -> Result<(), Denied> {
        let is_meant = |pattern: &Pattern| pattern.matches(workspace.as_str());
        if !self.role.covers(needs) {
            return Err(Denied::Role { role: self.role.name(), needs });
        }
        if !self.workspaces.is_empty() && !self.workspaces.iter().any(is_meant) {
            return Err(Denied::Workspace { workspace: workspace.clone() });
        }
        match &self.agent {
            Some(speaks_for) if speaks_for != agent => {
                Err(Denied::Agent { speaks_for: speaks_for.clone(), acts: agent.clone() })
            }
            Some(_) | None => Ok(()),
        }
    }

    fn sees(&self, namespace: &NamespaceName) -> bool {
        self.namespaces.iter().any(|pattern| pattern.matches(namespace.as_str()))
    }
}
