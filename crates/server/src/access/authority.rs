//! The permissions of a caller and its quotas: they are checked here and nowhere else.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use baton::Caller;
use baton_core::access::{Action, CLOSED, Denied, Grant, Permission, Role, is_closed};
use baton_core::wire::{Call, FastCall, Frame, Problem};
use baton_core::{AgentId, WorkspaceName};
use tokio::time::Instant;

use super::{Attempt, Principal};
use crate::cluster::ShardSlot;
use crate::quota::{Cost, Meter, Meters, QuotaGuard, charge, check, pay};
use crate::refusal::Refusal;
use crate::shares::Sharer;

/// The permissions of a caller; everything if tokens are not required and none was sent.
#[derive(Clone, Default)]
pub(crate) struct Authority {
    pub(super) credential: Option<Credential>,
    pub(super) meters: Option<Arc<Meters>>,
    /// The part of the workspaces that is served; none if all are.
    pub(super) place: Option<ShardSlot>,
}

/// The cost of a call of the fast path, and the meters that are charged.
#[derive(Default)]
pub(crate) struct FastCharge {
    meters: [Option<Arc<Meter>>; 2],
    cost: Cost,
    /// When the budgets were checked, if there are any.
    checked_at: Option<Instant>,
}

impl FastCharge {
    /// Charges it: it has happened.
    pub(crate) fn pay(&self) {
        if let Some(now) = self.checked_at {
            pay(&self.meters, self.cost, now);
        }
    }
}

/// The token of a caller, and its address.
#[derive(Clone)]
pub(super) struct Credential {
    pub(super) principal: Arc<Principal>,
    pub(super) from: Option<IpAddr>,
}

impl Authority {
    /// The same for an engine that has only some of the workspaces.
    pub(crate) fn at(self, place: Option<ShardSlot>) -> Self {
        Self { place, ..self }
    }

    /// Whether the engine has the workspace. Requests are routed before they arrive here; a
    /// workspace that is written to by the wrong engine would be lost.
    fn check_place(&self, workspace: &WorkspaceName, call: Option<&Call>) -> Result<(), Refusal> {
        let Some(place) = self.place else { return Ok(()) };
        if matches!(call, Some(Call::Unwatch { .. } | Call::Ping)) {
            return Ok(());
        }
        if !place.owns(workspace) {
            return Err(Refusal::Elsewhere {});
        }
        Ok(())
    }

    fn principal(&self) -> Option<&Principal> {
        self.credential.as_ref().map(|credential| &*credential.principal)
    }

    /// The permissions of the caller; none if it may do everything.
    pub(crate) fn grant(&self) -> Option<&Grant> {
        Some(&self.principal()?.grant)
    }

    /// Whether the caller is shown the fencing tokens of other agents. Without access tokens no
    /// caller is an operator: only the name of the agent is known.
    pub(crate) fn sees_tokens(&self) -> bool {
        self.grant().is_some_and(|grant| grant.role >= Role::Operator)
    }

    /// The agent that acts where none is named.
    pub(crate) fn agent(&self) -> Option<&AgentId> {
        self.principal()?.grant.agent.as_ref()
    }

    /// The same, or `anonymous`.
    pub(crate) fn acting_agent(&self) -> AgentId {
        let anonymous = || AgentId::parse("anonymous").expect("it is a valid name");
        self.agent().cloned().unwrap_or_else(anonymous)
    }

    /// Whether a frame asks about an agent, which need not be the one that the token is limited to.
    pub(crate) fn asks_as_itself(&self, frame: &Frame<'_>) -> bool {
        self.agent().is_some() && frame.asks_about_agent()
    }

    /// Whether a call of this many bytes is permitted. The only place where that is decided and
    /// charged.
    pub(crate) fn permits(
        &self,
        workspace: &WorkspaceName,
        agent: &AgentId,
        call: &Call,
        bytes: usize,
    ) -> Result<(), Problem> {
        self.check_place(workspace, Some(call))?;
        let checked = self.check(workspace, is_closed(workspace, call), |grant| {
            grant.permits(workspace, agent, call)
        });
        self.record_denial(checked, Some((workspace, agent)), || call.name().to_owned())?;
        if !self.is_metered() {
            return Ok(());
        }
        Ok(charge(&self.meters_of(workspace), Cost::of(call, bytes)).map_err(Refusal::from)?)
    }

    /// Whether a call of the fast path is permitted and within the quotas. If so, it must be
    /// charged afterwards; if not, [`Authority::permits`] returns the reason.
    pub(crate) fn permits_fast(
        &self,
        workspace: &WorkspaceName,
        agent: &AgentId,
        call: &FastCall<'_>,
        bytes: usize,
    ) -> Option<FastCharge> {
        if workspace.as_str() == CLOSED || self.check_place(workspace, None).is_err() {
            return None;
        }
        if let Some(principal) = self.principal()
            && (principal.is_over() || !principal.grant.permits_fast(workspace, agent, call))
        {
            return None;
        }
        if !self.is_metered() {
            return Some(FastCharge::default());
        }
        let cost = Cost::of_fast(call, bytes);
        let (meters, now) = (self.meters_of(workspace), Instant::now());
        check(&meters, cost, now).ok()?;
        Some(FastCharge { meters, cost, checked_at: Some(now) })
    }

    /// Whether an action that is not a call is permitted.
    pub(crate) fn permits_action(&self, caller: &Caller, action: Action) -> Result<(), Problem> {
        let Caller { workspace, agent, .. } = caller;
        self.check_place(workspace, None)?;
        let checked = self.check(workspace, workspace.as_str() == CLOSED, |grant| {
            grant.permits_action(workspace, agent, action)
        });
        self.record_denial(checked, Some((workspace, agent)), || action.name().to_owned())?;
        if !self.is_metered() {
            return Ok(());
        }
        let meters = self.meters_of(workspace);
        // Bytes are charged as they arrive: a caller in debt must wait.
        let cost = match action.permission() {
            Permission::Read => Cost::ONE,
            Permission::Work | Permission::SetUp | Permission::Administer => {
                Cost { bytes: 1, ..Cost::ONE }
            }
        };
        Ok(charge(&meters, cost).map_err(Refusal::from)?)
    }

    /// Charges this many bytes of a permitted upload.
    pub(crate) fn charge_bytes(&self, workspace: &WorkspaceName, bytes: usize) {
        if self.is_metered() {
            let cost = Cost { operations: 0, bytes: bytes as u64 };
            pay(&self.meters_of(workspace), cost, Instant::now());
        }
    }

    /// Slots among the watches of the caller and of the workspace.
    pub(crate) fn watch_guards(
        &self,
        workspace: &WorkspaceName,
    ) -> Result<Vec<QuotaGuard>, Refusal> {
        if !self.is_metered() {
            return Ok(Vec::new());
        }
        Ok(QuotaGuard::of_watch(&self.meters_of(workspace))?)
    }

    /// A slot among the connections of the caller; the existing one if it is already theirs.
    pub(crate) fn admit_connection(
        &self,
        quota_guard: &Mutex<Option<QuotaGuard>>,
    ) -> Result<(), Refusal> {
        let Some(meter) = self.principal().and_then(|principal| principal.meter.as_ref()) else {
            return Ok(());
        };
        let mut quota_guard = quota_guard.lock().unwrap_or_else(PoisonError::into_inner);
        if !quota_guard.as_ref().is_some_and(|quota_guard| quota_guard.is_of(meter)) {
            *quota_guard = QuotaGuard::of_connection(meter)?;
        }
        Ok(())
    }

    fn is_metered(&self) -> bool {
        self.meters.is_some() || self.principal().is_some_and(|principal| principal.meter.is_some())
    }

    fn meters_of(&self, workspace: &WorkspaceName) -> [Option<Arc<Meter>>; 2] {
        let of_token = self.principal().and_then(|principal| principal.meter.clone());
        [of_token, self.meters.as_ref().and_then(|meters| meters.of(workspace))]
    }

    /// Whether an operation on the whole server is permitted: its tokens, a backup, the denials.
    pub(crate) fn permits_server(&self, needs: Permission, operation: &str) -> Result<(), Problem> {
        let Some(principal) = self.principal() else { return Ok(()) };
        let permitted = || principal.grant.permits_server(needs);
        let checked = Self::check_valid(principal)
            .and_then(|()| permitted().map_err(|denied| denied_as_problem(&denied)));
        self.record_denial(checked, None, || operation.to_owned())
    }

    /// Records a denial for operators. A caller without a token, where none is required, may do
    /// everything else and is not recorded.
    fn record_denial(
        &self,
        checked: Result<(), Problem>,
        scope: Option<(&WorkspaceName, &AgentId)>,
        operation: impl FnOnce() -> String,
    ) -> Result<(), Problem> {
        if let (Err(problem), Some(Credential { principal, from })) = (&checked, &self.credential) {
            let attempt = Attempt {
                who: Some(&principal.who),
                agent: scope.map(|(_, agent)| agent.as_str()),
                from: *from,
                operation: operation(),
                workspace: scope.map(|(workspace, _)| workspace.as_str()),
            };
            principal.denials.record(&attempt, problem);
        }
        checked
    }

    fn check(
        &self,
        workspace: &WorkspaceName,
        is_closed: bool,
        rule: impl FnOnce(&Grant) -> Result<(), Denied>,
    ) -> Result<(), Problem> {
        if is_closed {
            let denied = Denied::Workspace { workspace: workspace.clone() };
            return Err(denied_as_problem(&denied));
        }
        let Some(principal) = self.principal() else { return Ok(()) };
        Self::check_valid(principal)?;
        rule(&principal.grant).map_err(|denied| denied_as_problem(&denied))
    }

    fn check_valid(principal: &Principal) -> Result<(), Problem> {
        if principal.is_over() { Err(Refusal::BadToken {}.into()) } else { Ok(()) }
    }

    /// Whether it can end before its requests do: there is a token.
    pub(crate) fn can_end(&self) -> bool {
        self.credential.is_some()
    }

    /// The sharers of limited resources that this caller counts as: its token, and the workspace if
    /// one is named.
    pub(crate) fn sharers(&self, workspace: Option<&WorkspaceName>) -> Vec<Sharer> {
        let token = self.principal().map(|principal| Sharer::Token(principal.who.clone()));
        token.into_iter().chain(workspace.cloned().map(Sharer::Workspace)).collect()
    }

    /// Waits until the token ends.
    pub(crate) async fn ended(&self) {
        match self.principal() {
            Some(principal) => principal.ended.raised().await,
            None => std::future::pending().await,
        }
    }
}

fn denied_as_problem(denied: &Denied) -> Problem {
    Problem::new(denied.code(), denied.kind(), denied, denied.hint(), denied)
}
