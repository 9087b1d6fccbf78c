//! Access control: one check for every call on every interface.
//!
//! ```text
//!   token ──▶ Grant { role, workspaces, namespaces, agent }
//!                │
//!   call ────────┴──▶ permits? ── the role covers what the call needs        permissions
//!                              ── the workspace is among the grant's
//!                              ── every namespace that it touches is, too     scope
//!                              ── the agent is the one that the grant is for
//! ```
//!
//! | role       | may                                                                    |
//! |------------|------------------------------------------------------------------------|
//! | `reader`   | ask and watch                                                          |
//! | `worker`   | and take part: state, tasks, hand-offs, messages, locks                |
//! | `operator` | and set up: namespaces, rules, reactions, retention                    |
//! | `admin`    | and reach beyond the workspace: fork, delete, export, tokens, backups  |
//!
//! Invariants:
//!
//! 1. Every command and query has a rule: the permission it needs is a column of its row in the
//!    table of operations, and only calls with a row can be made from outside.
//! 2. Results are not filtered. A call that would show more than its grant allows is refused
//!    entirely, since a result with silent gaps would be mistaken for a complete one. The one
//!    exception are the fencing tokens of other agents, which no caller needs.
//! 3. A transaction is permitted if each of its commands and preconditions is.
//! 4. A grant that is limited to namespaces must not create anything that acts later with more
//!    permissions: it cannot add reactions.
//!
//! Deliberately absent: rules about single keys, and denials. A grant lists what is permitted;
//! everything else is not.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::names::{AgentId, NameError, NamespaceName, WorkspaceName};
use crate::pattern::Pattern;
use crate::wire::{Call, FastCall};

mod permissions;
mod scope;
#[cfg(test)]
mod tests;
mod tokens;

pub use permissions::{Action, Permission, made, permission};
use scope::{Scope, scope};
pub use tokens::Viewer;

/// The workspace in which tokens are stored. No call can access it.
pub const CLOSED: &str = "baton.access";

/// Whether a call accesses the closed workspace, directly or as the target of a fork.
pub fn is_closed(workspace: &WorkspaceName, call: &Call) -> bool {
    workspace.as_str() == CLOSED || made(call).is_some_and(|made| made.as_str() == CLOSED)
}

/// A role. Each includes the permissions of those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Reads and watches.
    Reader,
    /// Works: writes state, claims tasks, sends messages.
    Worker,
    /// Configures namespaces, rules, reactions and retention.
    Operator,
    /// Administers the server: tokens, forks, backups.
    Admin,
}

impl Role {
    /// All roles, least privileged first.
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

    /// The least privileged role that includes a permission.
    pub fn least(permission: Permission) -> Self {
        match permission {
            Permission::Read => Self::Reader,
            Permission::Work => Self::Worker,
            Permission::SetUp => Self::Operator,
            Permission::Administer => Self::Admin,
        }
    }

    /// Whether it includes a permission.
    pub fn covers(self, permission: Permission) -> bool {
        self >= Self::least(permission)
    }
}

/// The permissions of a token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The role.
    pub role: Role,
    /// Only workspaces that match. If empty, all workspaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workspaces: Vec<Pattern>,
    /// Only namespaces that match. If empty, all namespaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<Pattern>,
    /// The agent that the token acts as. If omitted, any agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
}

crate::refusals! {
    /// Why something is not permitted. Serializes as its facts.
    #[derive(Clone, Debug, PartialEq, Eq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Denied {
        /// The token's role does not allow the request.
        #[error("the token's role is `{role}`; this needs `{}`", Role::least(*needs).name())]
        Role {
            /// The role of the grant.
            role: &'static str,
            /// The required permission.
            needs: Permission,
        } => {
            code: "access.role",
            kind: Denied,
            hint: "ask an admin for a token with the role `worker`",
            hint_if: { needs: Permission::SetUp } =>
                "ask an admin for a token with the role `operator`",
            hint_if: { needs: Permission::Administer } =>
                "ask an admin for a token with the role `admin`",
            cause: "A reader tried to change something, a worker to configure something, or an \
                operator to act beyond the workspace.",
            remedy: "Ask an admin for a token with the role that the detail names, or a higher \
                one.",
        }
        /// The token is not valid for this workspace, or the request reaches beyond the token's
        /// workspaces.
        #[error("the token is not for workspace `{workspace}`")]
        Workspace {
            /// The workspace.
            workspace: WorkspaceName,
        } => {
            code: "access.workspace",
            kind: Denied,
            hint: "name a workspace of the token, or ask an admin for a token with a wider scope",
            cause: "The token is for other workspaces. `baton.access`, which stores the tokens, \
                cannot be accessed with any token.",
        }
        /// The token is limited to some namespaces, and the request touches others or would reveal
        /// data from them.
        #[error("the token is not for namespace `{namespace}`")]
        Namespace {
            /// The namespace.
            namespace: NamespaceName,
        } => {
            code: "access.namespace",
            kind: Denied,
            hint: "name a namespace of the token, or ask an admin for a token with a wider scope",
            cause: "A request that could reveal more than the token's namespaces is rejected \
                entirely: wide patterns, the whole history, context, diffs, reactions.",
        }
        /// The request reaches beyond the token's namespaces.
        #[error("the token is limited to some namespaces, and the request reaches beyond them")]
        Beyond {} => {
            code: "access.namespace",
            kind: Denied,
            hint: "name a namespace of the token, or ask an admin for a token with a wider scope",
        }
        /// The request reaches beyond the token's workspaces.
        #[error("the token is limited to some workspaces, and the request reaches beyond them")]
        BeyondWorkspaces {} => {
            code: "access.workspace",
            kind: Denied,
            hint: "name a workspace of the token, or ask an admin for a token with a wider scope",
        }
        /// The token belongs to one agent, and the request acts as another.
        #[error("the token belongs to agent `{speaks_for}`, not to `{acts}`")]
        Agent {
            /// The agent of the grant.
            speaks_for: AgentId,
            /// The acting agent.
            acts: AgentId,
        } => {
            code: "access.agent",
            kind: Denied,
            hint: "act as the agent of the token, with --agent or BATON_AGENT on the command line, \
                or use another token",
            cause: "The request names an agent other than the token's.",
        }
    }
}

impl Grant {
    /// A grant without limits.
    pub fn admin() -> Self {
        Self { role: Role::Admin, workspaces: Vec::new(), namespaces: Vec::new(), agent: None }
    }

    /// Refuses a grant for the engine's own name, which no caller may act under.
    pub fn check_agent(&self) -> Result<(), NameError> {
        self.agent.as_ref().map_or(Ok(()), |agent| AgentId::of_caller(agent.as_str()).map(drop))
    }

    /// Whether a call may be made in a workspace by an agent.
    pub fn permits(
        &self,
        workspace: &WorkspaceName,
        agent: &AgentId,
        call: &Call,
    ) -> Result<(), Denied> {
        self.allows(workspace, agent, permission(call))?;
        let sees_all = self.workspaces.is_empty();
        if !sees_all && permissions::reaches_workspaces(call) {
            return Err(Denied::BeyondWorkspaces {});
        }
        if let Some(speaks_for) = &self.agent
            && self.role < Role::Operator
            && let Some(named) = permissions::named(call, |named| named != speaks_for)
        {
            return Err(Denied::Agent { speaks_for: speaks_for.clone(), acts: named.clone() });
        }
        if self.namespaces.is_empty() {
            return Ok(());
        }
        match scope(call) {
            Scope::All => Err(Denied::Beyond {}),
            Scope::These(touched) => match touched.into_iter().find(|it| !self.sees(it.as_str())) {
                Some(namespace) => Err(Denied::Namespace { namespace }),
                None => Ok(()),
            },
        }
    }

    /// Whether a call of the fast path may be made: the result of [`Grant::permits`].
    pub fn permits_fast(
        &self,
        workspace: &WorkspaceName,
        agent: &AgentId,
        call: &FastCall<'_>,
    ) -> bool {
        let (needs, namespace) = call.scope();
        self.allows(workspace, agent, needs).is_ok()
            && (self.namespaces.is_empty() || self.sees(namespace))
    }

    /// Whether an action that is not a call, such as an upload, is permitted.
    pub fn permits_action(
        &self,
        workspace: &WorkspaceName,
        agent: &AgentId,
        action: Action,
    ) -> Result<(), Denied> {
        self.allows(workspace, agent, action.permission())?;
        if action.sees_all() && !self.namespaces.is_empty() {
            return Err(Denied::Beyond {});
        }
        Ok(())
    }

    /// Whether an action on the whole server is permitted, such as creating tokens and backups. It
    /// needs a grant without limits, since a token may allow anything and a backup contains
    /// everything.
    pub fn permits_server(&self, needs: Permission) -> Result<(), Denied> {
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
        needs: Permission,
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

    fn sees(&self, namespace: &str) -> bool {
        self.namespaces.iter().any(|pattern| pattern.matches(namespace))
    }
}
