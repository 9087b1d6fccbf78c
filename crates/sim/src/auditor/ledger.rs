//! One workspace as the auditor knows it: every batch, and the state of everything at every
//! revision.
//!
//! Adding a batch checks the laws that every batch must obey:
//!
//! 1. Revisions are dense, and times never go back.
//! 2. A written entry's version is one more than its key ever had; its namespace is there.
//! 3. An entry expires only when its time has passed, and only by the engine.
//! 4. When a session ends, everything bound to it is released in the same batch, and nothing else.
//! 5. An agent is lost only after its time to live without heartbeats, not counting times without a
//!    server, and not while a call of it waits.
//! 6. An answer is stored once.
//! 7. Commits that the engine makes on its own are caused by time, or by a caller that is gone.
//!
//! The laws of holds and waits are in `waits` and `pools`.

mod namespaces;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use baton_core::agent::Event as AgentEvent;
use baton_core::state::{Event as StateEvent, Removal};
use baton_core::workspace::{Event as WorkspaceEvent, Retention};
use baton_core::{
    AgentId, Answer, Batch, Event, IdempotencyKey, Json, Key, KeyName, NamespaceName, Request,
    Rules, Timestamp, WorkspaceName,
};

use super::{Audit, Breach, demand};
use crate::auditor::engine_events;
use crate::auditor::timeline::Timeline;
use crate::coverage::Coverage;
use crate::models::artifact::Artifacts;
use crate::models::barrier::Barriers;
use crate::models::checkpoint::Checkpoints;
use crate::models::declared::ContractModels;
use crate::models::handoff::Handoffs;
use crate::models::join::Joins;
use crate::models::lock_pool::{Pool, PoolName};
use crate::models::message::Messages;
use crate::models::pipeline::Pipelines;
use crate::models::reaction::{self, Reactions};
use crate::models::rule::RuleModels;
use crate::models::secret::Secrets;
use crate::models::spend::Spending;
use crate::models::stream::Streams;
use crate::models::task::Tasks;
use crate::models::wait::{Tokens, Waits};

/// How long a stored answer must be returned.
const RECEIPT_MS: u64 = 24 * 3_600_000;

/// The namespace and key of an entry.
pub type EntryKey = (NamespaceName, Key);

/// An entry as it was.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryModel {
    /// Its value.
    pub value: Json,
    /// Its version.
    pub version: u64,
    /// The revision of the last change.
    pub revision: u64,
    /// The time of the write.
    pub time: Timestamp,
    /// The author.
    pub agent: AgentId,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// The agent whose session it is bound to.
    pub bound_to: Option<AgentId>,
}

/// An agent as it was.
#[derive(Clone, Debug)]
pub struct Session {
    /// Whether it has a session.
    pub active: bool,
    /// The token of its present or last session.
    pub token: u64,
    /// The time to live of the session in milliseconds.
    pub ttl_ms: u64,
    /// The last recorded heartbeat.
    pub seen: Timestamp,
    /// The capabilities.
    pub capabilities: BTreeSet<String>,
    /// The supervisor of its present or last session.
    pub parent: Option<AgentId>,
}

/// A stored answer.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Its revision.
    pub revision: u64,
    /// When it was stored.
    pub time: Timestamp,
}

/// The requests and answers of callers under idempotency keys that took effect.
#[derive(Default)]
pub struct KeyedRequest {
    /// The first request with the key that took effect.
    pub request: Option<Request>,
    /// The first answer that was seen.
    pub answer: Option<Answer>,
}

/// Everything about one workspace.
pub struct Ledger {
    name: WorkspaceName,
    batches: Vec<Arc<Batch>>,
    pub(crate) entries: BTreeMap<EntryKey, Timeline<Option<Arc<EntryModel>>>>,
    /// The last version of every key that ever was: none comes twice.
    versions: BTreeMap<EntryKey, u64>,
    pub(crate) namespaces: BTreeMap<NamespaceName, Timeline<Option<Arc<Rules>>>>,
    pub(crate) agents: BTreeMap<AgentId, Timeline<Session>>,
    pub(crate) receipts: BTreeMap<(AgentId, IdempotencyKey), Timeline<Kept>>,
    /// By the revision of the effect: a key may be used again after it was forgotten.
    pub(crate) keyed: BTreeMap<(u64, AgentId, IdempotencyKey), KeyedRequest>,
    pub(crate) rules_by_name: RuleModels,
    pub(crate) contracts: ContractModels,
    pub(crate) artifacts: Artifacts,
    pub(crate) reactions: Reactions,
    pub(crate) pools: BTreeMap<PoolName, Timeline<Pool>>,
    /// Pools that the current batch has changed.
    pub(crate) touched: BTreeSet<PoolName>,
    pub(crate) barriers: Barriers,
    pub(crate) tasks: Tasks,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) joins: Joins,
    pub(crate) handoffs: Handoffs,
    pub(crate) messages: Messages,
    pub(crate) streams: Streams,
    pub(crate) secrets: Secrets,
    pub(crate) spending: Spending,
    /// Whether the current batch may have settled a join.
    pub(crate) joins_touched: bool,
    pub(crate) pipelines: Pipelines,
    pub(crate) waits: Waits,
    pub(crate) tokens: Tokens,
    pub(crate) retention: Timeline<Retention>,
    /// Heartbeats that were answered and waiting calls that ended, by agent: the newest.
    pub(crate) heard: BTreeMap<AgentId, Timestamp>,
    /// Since when there has been a server, and the current time, both by its clock, which may be
    /// behind the log.
    server_since: Timestamp,
    clock: Timestamp,
    /// How far the workspace may be ahead of the clock of the server.
    ahead_ms: u64,
    /// The latest time from which the server may count: later than the one above if it has evicted
    /// and loaded the workspace since.
    pub(crate) woken_at: Timestamp,
    /// The newest durable revision when a server last had to load the workspace.
    pub(crate) loaded_at: u64,
    /// The oldest revision that retention has ever allowed to be dropped, plus one.
    floor: u64,
    /// The revision up to which requests were answered in order, within one run of the server.
    pub(crate) answered: u64,
}

impl Ledger {
    /// A workspace without history.
    pub fn new(name: &WorkspaceName) -> Self {
        let mut namespaces = BTreeMap::<_, Timeline<_>>::new();
        let shared = namespaces.entry(NamespaceName::shared()).or_default();
        shared.set(0, Some(Arc::new(Rules::default())));
        let mut retention = Timeline::default();
        retention.set(0, Retention::default());
        Self {
            name: name.clone(),
            batches: Vec::new(),
            entries: BTreeMap::new(),
            versions: BTreeMap::new(),
            namespaces,
            agents: BTreeMap::new(),
            receipts: BTreeMap::new(),
            keyed: BTreeMap::new(),
            rules_by_name: RuleModels::default(),
            contracts: ContractModels::default(),
            artifacts: Artifacts::default(),
            reactions: Reactions::default(),
            pools: BTreeMap::new(),
            touched: BTreeSet::new(),
            barriers: Barriers::default(),
            tasks: Tasks::default(),
            checkpoints: Checkpoints::default(),
            joins: Joins::default(),
            handoffs: Handoffs::default(),
            messages: Messages::default(),
            streams: Streams::default(),
            secrets: Secrets::default(),
            spending: Spending::default(),
            joins_touched: false,
            pipelines: Pipelines::default(),
            waits: Waits::default(),
            tokens: Tokens::default(),
            retention,
            heard: BTreeMap::new(),
            server_since: Timestamp(0),
            clock: Timestamp(0),
            ahead_ms: 0,
            woken_at: Timestamp(0),
            loaded_at: 0,
            floor: 0,
            answered: 0,
        }
    }

    /// The newest durable revision.
    pub fn head(&self) -> u64 {
        self.batches.len() as u64
    }

    /// The time of the newest durable batch.
    pub fn time(&self) -> Timestamp {
        self.batches.last().map_or(Timestamp(0), |batch| batch.time)
    }

    /// A batch.
    pub fn batch(&self, revision: u64) -> Option<&Arc<Batch>> {
        let index = usize::try_from(revision.checked_sub(1)?).ok()?;
        self.batches.get(index)
    }

    /// An entry as it was after a revision.
    pub fn entry(&self, namespace: &NamespaceName, key: &Key, at: u64) -> Option<&Arc<EntryModel>> {
        self.entries.get(&(namespace.clone(), key.clone()))?.at(at)?.as_ref()
    }

    /// A key by its whole name, as it was after a revision.
    pub fn named(&self, name: &str, at: u64) -> Option<&Arc<EntryModel>> {
        let (namespace, key) = name.split_once('/')?;
        self.entry(&NamespaceName::parse(namespace).ok()?, &Key::parse(key).ok()?, at)
    }

    /// The keys of a namespace after a revision, in order.
    pub fn keys_at(&self, namespace: &str, at: u64) -> Vec<KeyName> {
        let there = self.entries.iter().filter(|((name, _), _)| name.as_str() == namespace);
        let there = there.filter(|(_, line)| line.at(at).is_some_and(Option::is_some));
        let name = |(name, key): &(NamespaceName, Key)| format!("{name}/{key}");
        there.filter_map(|(place, _)| KeyName::parse(&name(place)).ok()).collect()
    }

    /// The rules of a namespace after a revision; none if there was no such namespace.
    pub fn rules(&self, namespace: &NamespaceName, at: u64) -> Option<&Arc<Rules>> {
        self.namespaces.get(namespace)?.at(at)?.as_ref()
    }

    /// An agent as it was after a revision.
    pub fn session(&self, agent: &AgentId, at: u64) -> Option<&Session> {
        self.agents.get(agent)?.at(at)
    }

    /// Agents that have a session now.
    pub fn active_agents(&self) -> Vec<&AgentId> {
        let active = |timeline: &Timeline<Session>| timeline.now().is_some_and(|now| now.active);
        self.agents.iter().filter(|(_, there)| active(there)).map(|(agent, _)| agent).collect()
    }

    /// The stored answer of a key that must be returned at this revision.
    pub fn receipt(&self, agent: &AgentId, key: &IdempotencyKey, at: u64) -> Option<(&Kept, bool)> {
        let kept = self.receipts.get(&(agent.clone(), key.clone()))?.at(at)?;
        let now = self.batch(at).map_or(Timestamp(0), |batch| batch.time);
        Some((kept, now.since(kept.time) <= RECEIPT_MS))
    }

    /// The server is up from this time on; earlier answers are not compared.
    pub fn server_up(&mut self, now: Timestamp) {
        (self.server_since, self.clock) = (now, now);
        // The clock may have been set back, and then earlier times are not comparable.
        self.heard.clear();
        self.answered = 0;
        self.ahead_ms = self.time().since(now);
        self.forgotten(now);
    }

    /// The server has lost its memory, and with it all waiting calls.
    pub fn forgotten(&mut self, now: Timestamp) {
        self.woken_at = self.woken_at.max(now.after(self.ahead_ms)).max(self.time());
        self.waits.abandon_all(self.head());
        self.loaded_at = self.head();
    }

    /// Whether anyone waited after a revision.
    pub fn anyone_waits_at(&self, at: u64) -> bool {
        self.waits.any_at(at)
    }

    /// The caller of a waiting call is gone; the workspace was at this revision.
    pub fn abandoned(&mut self, wait: u64, revision: u64) {
        self.waits.abandon(wait, revision);
    }

    /// Checks that nothing is held or waited for.
    pub fn check_nothing_held(&self) -> Audit {
        let held = self.pools.iter().find_map(|(name, timeline)| {
            let pool = timeline.now()?;
            (!pool.holds.is_empty() || !pool.queue.is_empty()).then_some((name, pool))
        });
        demand!(held.is_none(), "`{}`: {held:?} was never released", self.name);
        let waits = self.barriers.waiting();
        demand!(waits.is_none(), "`{}`: {waits:?} waits for ever", self.name);
        let leased = self.tasks.all_at(u64::MAX).find(|(_, work)| work.lease.is_some());
        demand!(leased.is_none(), "`{}`: {leased:?} was never released", self.name);
        let open = self.open_handoff();
        demand!(open.is_none(), "`{}`: {open:?} stays open for ever", self.name);
        demand!(!self.waits.any(), "`{}`: a call waits for ever", self.name);
        Ok(())
    }

    /// Checks that everything that should have ended by this time has.
    pub fn check_overdue(&self, now: Timestamp) -> Audit {
        let hold = self.overdue_hold(now);
        demand!(hold.is_none(), "`{}`: it is {now}, and {hold:?} is still there", self.name);
        let task = self.overdue_task(now);
        demand!(task.is_none(), "`{}`: it is {now}, and {task:?} is overdue", self.name);
        let join = self.overdue_join(now);
        demand!(join.is_none(), "`{}`: it is {now}, and join {join:?} waits", self.name);
        let old = self.overdue_checkpoint(now);
        demand!(old.is_none(), "`{}`: it is {now}, and {old:?} is still there", self.name);
        let handoff = self.overdue_handoff(now);
        demand!(handoff.is_none(), "`{}`: it is {now}, and {handoff:?} is overdue", self.name);
        let message = self.overdue_message(now);
        demand!(message.is_none(), "`{}`: it is {now}, and {message:?} is overdue", self.name);
        let secret = self.secrets.overdue(now);
        demand!(secret.is_none(), "`{}`: it is {now}, and {secret:?} is still there", self.name);
        let wait = self.waits.overdue(now);
        demand!(wait.is_none(), "`{}`: it is {now}, and call {wait:?} still waits", self.name);
        Ok(())
    }

    /// Time passes.
    pub fn tick(&mut self, now: Timestamp) {
        self.clock = now;
    }

    /// How long there has been a server to receive a heartbeat.
    pub(crate) fn served_for(&self) -> u64 {
        self.clock.since(self.server_since)
    }

    /// A call of an agent was answered: it counts as a heartbeat.
    pub fn heard(&mut self, agent: &AgentId, now: Timestamp) {
        let heard = self.heard.entry(agent.clone()).or_insert(now);
        *heard = now.max(*heard);
    }

    pub(super) fn take_heard(&mut self) -> BTreeMap<AgentId, Timestamp> {
        std::mem::take(&mut self.heard)
    }

    pub(super) fn restore_heard(&mut self, heard: BTreeMap<AgentId, Timestamp>) {
        self.heard = heard;
    }

    /// The oldest revision that must be readable.
    pub fn floor(&self) -> u64 {
        self.floor
    }

    /// Time has passed: retention by age may have dropped more.
    pub fn age(&mut self, now: Timestamp) {
        let retention = *self.retention.now().expect("there is always one");
        let oldest = now.0.saturating_sub(retention.history_age_ms);
        let aged = self.batches.partition_point(|batch| batch.time.0 < oldest);
        self.floor = self.floor.max(aged as u64);
        if now < self.time() {
            // A server that loads it now counts from its own time.
            self.ahead_ms = self.ahead_ms.max(self.time().since(now));
            self.woken_at = self.woken_at.max(self.time());
        }
    }

    /// The next batch is durable.
    pub fn add(&mut self, batch: Arc<Batch>, coverage: &mut Coverage) -> Audit {
        let (name, revision) = (self.name.clone(), batch.revision.0);
        let expected = self.head() + 1;
        demand!(revision == expected, "`{name}` continues with {revision}, not with {expected}");
        demand!(batch.time >= self.time(), "`{name}` revision {revision}: time went back");
        demand!(!batch.events.is_empty(), "`{name}` revision {revision} is empty");
        let by_engine = batch.agent == AgentId::engine();
        let named = |breach: Breach| Breach(format!("`{name}` revision {revision}: {}", breach.0));
        self.check_contracts(&batch).map_err(named)?;
        let mut ended = BTreeSet::new();
        let whole = &batch;
        for (event, agent) in batch.events.iter().zip(reaction::acting(whole)) {
            // The effects of a reaction are checked as those of the agent that added it.
            let is_reacted = *agent != whole.agent;
            let part = Batch { agent: agent.clone(), events: Vec::new(), ..**whole };
            let batch = if is_reacted { &Arc::new(part) } else { whole };
            demand!(
                !by_engine || is_reacted || engine_events::is_by_engine(event),
                "`{name}` revision {revision}: the engine has done {event:?} on its own"
            );
            self.add_event(batch, event, &mut ended, coverage).map_err(named)?;
        }
        for (agent, key) in self.waits.complete(&batch).map_err(named)? {
            let kept = self.receipts.get(&(agent, key.clone())).and_then(Timeline::now);
            let is_kept = kept.is_some_and(|kept| kept.revision == revision);
            demand!(is_kept, "`{name}` revision {revision}: `{key}` has no receipt");
        }
        self.check_reactions(&batch).map_err(named)?;
        self.check_supervised().map_err(named)?;
        self.check_pools(revision, &ended).map_err(named)?;
        self.check_barriers(revision, &ended).map_err(named)?;
        self.check_handoffs(&batch, &ended).map_err(named)?;
        self.check_tasks(revision, &ended).map_err(named)?;
        self.check_spending().map_err(named)?;
        self.check_joins(revision, &ended).map_err(named)?;
        self.check_status_waits(revision, &ended).map_err(named)?;
        self.check_pipelines(&batch).map_err(named)?;
        self.check_stage_workers(&batch, &ended).map_err(named)?;
        self.check_messages(&batch, &ended).map_err(named)?;
        self.check_streams().map_err(named)?;
        self.hear_callers(&batch, coverage);
        self.batches.push(batch);
        for agent in ended {
            let bound = |fact: &Arc<EntryModel>| fact.bound_to.as_ref() == Some(&agent);
            let mut left = self.entries.values().filter_map(|timeline| timeline.now()?.as_ref());
            demand!(
                !left.any(|fact| bound(fact) && fact.revision < revision),
                "`{name}` revision {revision}: `{agent}` went, and what it held stayed"
            );
        }
        let count = self.retention.now().expect("there is always one").history_count;
        self.floor = self.floor.max(revision.saturating_sub(count));
        Ok(())
    }

    /// An event of a batch is durable.
    fn add_event(
        &mut self,
        batch: &Arc<Batch>,
        event: &Event,
        ended: &mut BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit {
        match event {
            Event::State(event) => self.add_state(batch, event, ended, coverage),
            Event::Namespace(event) => self.add_namespace(batch, event, coverage),
            Event::Agent(event) => self.add_agent(batch, event, ended, coverage),
            Event::Workspace(WorkspaceEvent::Configured { retention }) => {
                self.retention.set(batch.revision.0, *retention);
                Ok(())
            }
            Event::Workspace(WorkspaceEvent::Founded { .. }) => {
                Err(Breach("what a workspace began with is in no log".to_owned()))
            }
            Event::Workspace(WorkspaceEvent::Synced(_)) => {
                Err(Breach("no agent takes in another copy".to_owned()))
            }
            Event::Message(event) => self.add_message(batch, event, ended, coverage),
            Event::Topic(event) => self.add_topic(batch, event, coverage),
            Event::Stream(event) => self.add_stream(batch, event, ended, coverage),
            Event::Rule(event) => self.add_rule(batch, event, coverage),
            Event::Contract(event) => self.add_contract(batch, event, coverage),
            Event::UserEvent(_) => Ok(()),
            Event::Secret(event) => self.add_secret(batch, event, coverage),
            Event::Reaction(event) => self.add_reaction(batch, event, coverage),
            Event::Handoff(event) => self.add_handoff(batch, event, ended, coverage),
            Event::Semaphore(event) => self.add_semaphore(batch, event, ended, coverage),
            Event::Task(event) => {
                self.check_start(batch, event)?;
                self.add_task(batch, event, ended, coverage)?;
                event.task().into_iter().for_each(|task| self.note_holder(task));
                Ok(())
            }
            Event::Spend(event) => self.add_spend(batch, event, coverage),
            Event::Join(event) => self.add_join(batch, event, ended, coverage),
            Event::Wait(event) => self.add_wait(batch, event, ended, coverage),
            Event::Checkpoint(event) => self.add_checkpoint(batch, event, coverage),
            Event::Artifact(event) => self.add_artifact(batch, event, coverage),
            Event::Pipeline(event) => self.add_pipeline(batch, event, coverage),
            Event::Barrier(event) => self.add_barrier(batch, event, ended, coverage),
            Event::Receipt(receipt) => {
                let agent = receipt.agent.as_ref().unwrap_or(&batch.agent);
                self.add_receipt(batch, agent, &receipt.key)
            }
            Event::Lock(event) => self.add_lock(batch, event, ended, coverage),
            Event::Awaited(keyed) => self.waits.begin_keyed(batch, keyed),
        }
    }

    fn add_state(
        &mut self,
        batch: &Batch,
        event: &StateEvent,
        ended: &BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit {
        let (namespace, key) = event.entry_key();
        demand!(
            self.rules(namespace, u64::MAX).is_some(),
            "`{key}` was changed in `{namespace}`, which is not there"
        );
        let place = (namespace.clone(), key.clone());
        let timeline = self.entries.entry(place).or_default();
        let before = timeline.now().cloned().flatten();
        let gone = before.clone();
        match event {
            StateEvent::Set { value, version, expires_at, bound_to, source, .. } => {
                let last = self.versions.entry((namespace.clone(), key.clone())).or_default();
                *last += 1;
                demand!(version.0 == *last, "`{key}` got version {version}, not {last}");
                demand!(
                    source.is_some()
                        || before.is_some()
                        || expires_at.is_none_or(|moment| moment > batch.time),
                    "`{key}` expired before it was written"
                );
                if source.is_some() {
                    coverage.met("batch: transfer");
                }
                let fact = EntryModel {
                    value: value.clone(),
                    version: version.0,
                    revision: batch.revision.0,
                    time: batch.time,
                    agent: batch.agent.clone(),
                    expires_at: *expires_at,
                    bound_to: bound_to.clone(),
                };
                timeline.set(batch.revision.0, Some(Arc::new(fact)));
            }
            StateEvent::Deleted { version, removal, .. } => {
                let Some(before) = before else {
                    return Err(Breach(format!("`{key}` was removed but is not there")));
                };
                demand!(version.0 == before.version, "`{key}` was removed at another version");
                timeline.set(batch.revision.0, None);
                engine_events::check_removal(batch, &before, *removal, ended)?;
                if *removal == Removal::Expired {
                    coverage.met("batch: entry expired");
                }
            }
        }
        if let Some(gone) = gone {
            self.let_go(batch, &gone.value, coverage);
        }
        Ok(())
    }

    fn add_agent(
        &mut self,
        batch: &Batch,
        event: &AgentEvent,
        ended: &mut BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit {
        let agent = event.agent();
        let before = self.agents.get(agent).and_then(Timeline::now).cloned();
        let active = before.as_ref().is_some_and(|before| before.active);
        let after = match (event, before) {
            (AgentEvent::Joined { ttl_ms, token, capabilities, replaces, parent, .. }, before) => {
                self.tokens.give(batch, *token, agent)?;
                let replaced = before.as_ref().filter(|_| active).map(|before| before.token);
                demand!(replaces.map(|it| it.0) == replaced, "`{agent}` replaces {replaces:?}");
                ended.extend(replaced.map(|_| agent.clone()));
                if let Some(before) = before {
                    self.tokens.end(batch, before.token);
                }
                Session {
                    active: true,
                    token: token.0,
                    ttl_ms: *ttl_ms,
                    seen: batch.time,
                    capabilities: capabilities.clone(),
                    parent: parent.clone(),
                }
            }
            (AgentEvent::Seen { .. }, Some(before)) => {
                demand!(active, "`{agent}` was seen without a session");
                Session { seen: batch.time, ..before }
            }
            (AgentEvent::Left { .. }, Some(before)) => {
                demand!(active, "`{agent}` left without a session");
                self.tokens.end(batch, before.token);
                ended.insert(agent.clone());
                Session { active: false, ..before }
            }
            (AgentEvent::Lost { .. }, Some(before)) => {
                demand!(active, "`{agent}` was lost without a session");
                self.check_lost(batch, &before, event, ended, coverage)?;
                self.tokens.end(batch, before.token);
                let bound = |fact: &Arc<EntryModel>| fact.bound_to.as_ref() == Some(agent);
                let mut held = self.entries.values().filter_map(|there| there.now()?.as_ref());
                if held.any(bound) {
                    coverage.met("batch: agent lost with ephemeral entries");
                }
                ended.insert(agent.clone());
                Session { active: false, ..before }
            }
            (AgentEvent::Forgotten { .. }, _) => {
                return Err(Breach(format!("`{agent}` was forgotten, there was room")));
            }
            (_, None) => return Err(Breach(format!("`{agent}` never joined"))),
        };
        self.agents.entry(agent.clone()).or_default().set(batch.revision.0, after);
        Ok(())
    }

    fn add_receipt(&mut self, batch: &Batch, agent: &AgentId, key: &IdempotencyKey) -> Audit {
        let name = (agent.clone(), key.clone());
        let timeline = self.receipts.entry(name).or_default();
        let again = timeline.now().is_some_and(|kept| batch.time.since(kept.time) <= RECEIPT_MS);
        demand!(!again, "the request under `{key}` took effect a second time");
        let (revision, time) = (batch.revision.0, batch.time);
        timeline.set(revision, Kept { revision, time });
        Ok(())
    }
}
