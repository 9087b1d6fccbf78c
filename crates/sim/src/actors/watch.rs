//! Watchers that lag, leave and resume.
//!
//! ```text
//!   resting ──watch──▶ opening ──durable──▶ watching ──lagged, abandoned, left──▶ resting
//!                         │ lost                │ the server is gone                 ▲
//!                         └─────────────────────┴────────────────────────────────────┘
//! ```
//!
//! The driver does what the engine's own watch does: what is older than the registration is read
//! from the history, what is newer arrives in the queue.

use std::sync::Arc;

use baton::error::Error;
use baton::history::BatchLocation;
use baton::machine::Held;
use baton::watch::{Arrival, Filter, Notices, Queue};
use baton_core::{Pattern, Revision, WorkspaceName};

use crate::auditor::{Audit, demand};
use crate::models::watch::WatchModel;
use crate::plan::{Kind, Plan};
use crate::rng::Rng;
use crate::world::{World, broken, is_excused};

/// Patterns that match some of what agents write.
const PATTERNS: [&str; 9] = [
    "**",
    "state/**",
    "state/shared/**",
    "state/notes/*",
    "state/*/k1",
    "state/notes/task:*",
    "agents/**",
    "namespaces/*",
    "topics/**",
];

/// The maximum number of steps until a watcher has received everything.
const ROUNDS_MAX: usize = 1_000;

/// A watcher of one workspace.
pub(crate) struct Watcher {
    workspace: WorkspaceName,
    model: WatchModel,
    state: State,
    /// The revision to continue from; now if not set.
    from: Option<u64>,
    /// The number of arrivals it takes at a time.
    takes: u64,
}

enum State {
    Resting,
    Opening(Held<(Arc<Queue>, Revision)>),
    Watching { queue: Arc<Queue>, next: u64, registered: u64 },
}

impl Watcher {
    pub(crate) fn new(rng: &mut Rng, plan: &Plan) -> Self {
        let kinds = match rng.below(4) {
            0 => vec!["state.set".to_owned(), "state.expired".to_owned()],
            _ => Vec::new(),
        };
        // Live messages are received where agents send messages, by a watcher of everything.
        let is_listener = plan.agents.contains(&Kind::Talker) && rng.once_in(2);
        let pattern = if is_listener { "**" } else { *rng.pick(&PATTERNS) }.to_owned();
        let (home, waits) = (plan.workspaces[0].clone(), rng.once_in(2));
        Self {
            workspace: if is_listener { home } else { plan.somewhere(rng) },
            model: WatchModel { pattern, kinds, waits, next: (1, 0) },
            state: State::Resting,
            from: None,
            takes: *rng.pick(&[1, 5, 1_000]),
        }
    }

    /// The server is gone. A partly delivered commit counts as not delivered.
    pub(crate) fn cut_off(&mut self) {
        if let State::Watching { .. } = std::mem::replace(&mut self.state, State::Resting) {
            self.model.next.1 = 0;
            self.from = Some(self.model.next.0);
        }
    }

    fn filter(&self) -> Filter {
        let pattern = Pattern::parse(&self.model.pattern).expect("a good pattern");
        let kinds = self.model.kinds.iter();
        let kinds = kinds.map(|kind| Pattern::parse(kind).expect("a good pattern"));
        Filter { pattern, kinds: kinds.collect(), waits: self.model.waits }
    }
}

impl World {
    /// Some watcher performs its next action.
    pub(crate) fn watch_some(&mut self) -> Audit {
        if self.watchers.is_empty() {
            return Ok(());
        }
        let index = self.rng.index(self.watchers.len());
        self.watch(index)
    }

    /// A watcher starts, or polls its queue.
    pub(crate) fn watch(&mut self, index: usize) -> Audit {
        match &self.watchers[index].state {
            State::Resting => self.begin_watch(index),
            State::Opening(_) => self.open_watch(index),
            State::Watching { .. } if self.rng.once_in(25) => {
                self.leave(index);
                Ok(())
            }
            State::Watching { next, registered, .. } if next <= registered => self.catch_up(index),
            State::Watching { .. } => self.look(index),
        }
    }

    fn begin_watch(&mut self, index: usize) -> Audit {
        let workspace = self.watchers[index].workspace.clone();
        if self.server().shard.watermark().stopped().is_some() || !self.load(&workspace)? {
            return Ok(());
        }
        let watcher = &mut self.watchers[index];
        if watcher.from.is_none() && self.rng.once_in(2) {
            let head = self.auditor.ledger(&workspace).head();
            let from = self.rng.between(1, head + 1);
            watcher.from = Some(from);
            watcher.model.next = (from, 0);
        }
        let filter = watcher.filter();
        let Some(held) = self.server().shard.watch(&workspace, &filter) else {
            return Err(broken("a loaded workspace is not in memory"));
        };
        let watcher = &mut self.watchers[index];
        let (pattern, from) = (&watcher.model.pattern, watcher.from);
        self.trace.tell(|| format!("watcher {index} of `{pattern}` in {workspace} from {from:?}"));
        watcher.state = State::Opening(held);
        Ok(())
    }

    fn open_watch(&mut self, index: usize) -> Audit {
        let State::Opening(held) = &self.watchers[index].state else { return Ok(()) };
        let Some(fate) = self.server().shard.watermark().group_status(held.group()) else {
            return Ok(());
        };
        let state = std::mem::replace(&mut self.watchers[index].state, State::Resting);
        let (State::Opening(held), Ok(durable)) = (state, fate) else { return Ok(()) };
        let (queue, registered) = held.open(durable);
        let workspace = self.watchers[index].workspace.clone();
        if !self.load(&workspace)? {
            return Ok(());
        }
        let slack = self.slack(&workspace);
        let mut next = registered.0 + 1;
        if let Some(from) = self.watchers[index].from {
            match self.check_past(&workspace, from, registered) {
                Ok(()) => next = from,
                Err(Error::Gone { asked, .. }) => {
                    self.coverage.met("answer: history removed");
                    self.auditor.ledger(&workspace).gone(asked.0, slack)?;
                }
                Err(error) if is_excused(&error) => return Ok(()),
                Err(error) => return Err(broken(format!("a watch could not begin: {error}"))),
            }
        }
        let watcher = &mut self.watchers[index];
        watcher.model.next = (next, 0);
        watcher.state = State::Watching { queue, next, registered: registered.0 };
        self.trace.tell(|| format!("watcher {index} watches from {next}, queue from {registered}"));
        Ok(())
    }

    fn check_past(
        &mut self,
        workspace: &WorkspaceName,
        from: u64,
        registered: Revision,
    ) -> Result<(), Error> {
        let shard = &self.server().shard;
        let past = shard.past(workspace, registered)?;
        past.check(Revision(from.saturating_sub(1)).min(registered))
    }

    fn leave(&mut self, index: usize) {
        let watcher = &mut self.watchers[index];
        if let State::Watching { queue, .. } = &watcher.state {
            queue.leave();
        }
        watcher.cut_off();
        self.trace.tell(|| format!("watcher {index} leaves"));
    }

    /// Reads what is older than the registration.
    fn catch_up(&mut self, index: usize) -> Audit {
        let watcher = &mut self.watchers[index];
        let State::Watching { queue, next, registered } = &mut watcher.state else {
            return Ok(());
        };
        let server = self.server.as_ref().expect("a server runs between steps");
        let workspace = &watcher.workspace;
        let whereabouts = {
            let mut machine = server.shard.machine();
            machine.resident(workspace).map(|there| there.history.find(Revision(*next)))
        };
        let last = Revision(*registered);
        let batches = match server.shard.batches(workspace, Revision(*next), last, 600) {
            Ok(batches) => batches,
            Err(Error::Gone { asked, .. }) => {
                let slack = self.slack(&self.watchers[index].workspace);
                let watcher = &mut self.watchers[index];
                let ledger = self.auditor.ledger(&watcher.workspace);
                ledger.gone(asked.0.saturating_sub(1), slack)?;
                watcher.state = State::Resting;
                watcher.from = None;
                return Ok(());
            }
            Err(error) => {
                // An evicted workspace is no longer in memory; the queue reports it.
                let absent = server.shard.machine().resident(workspace).is_none();
                demand!(absent || is_excused(&error), "a watch could not go on: {error}");
                *registered = *next - 1;
                self.leave(index);
                return Ok(());
            }
        };
        if let Some(BatchLocation::Run(_)) = whereabouts {
            self.coverage.met("watch: resumed from a run");
        }
        let ledger = self.auditor.ledger(workspace);
        demand!(!batches.is_empty(), "the past from {next} on is empty");
        for batch in batches {
            *next = batch.revision.0 + 1;
            let notices = Notices::of(&Arc::new(batch));
            for notice in notices.wanted(queue.filter()) {
                watcher.model.notified(ledger, notice)?;
            }
            watcher.model.complete(ledger, *next)?;
        }
        self.trace.tell(|| format!("watcher {index} has caught up to {next}"));
        Ok(())
    }

    /// Takes some items of the queue.
    fn look(&mut self, index: usize) -> Audit {
        let watcher = &mut self.watchers[index];
        let State::Watching { queue, next, registered } = &mut watcher.state else {
            return Ok(());
        };
        let ledger = self.auditor.ledger(&watcher.workspace);
        for _ in 0..watcher.takes {
            match queue.try_next() {
                // It is in no log, and follows everything before it.
                Some(Arrival::Notice(notice)) if notice.is_live() => {
                    self.coverage.met("watch: live message received");
                    let (stated, head) = (notice.revision().0, ledger.head());
                    demand!(
                        stated <= head,
                        "it is delivered after revision {stated}, {head} is durable"
                    );
                    watcher.model.complete(ledger, notice.revision().0 + 1)?;
                }
                Some(Arrival::Notice(notice)) if notice.revision().0 <= *registered => {}
                Some(Arrival::Notice(notice)) => {
                    watcher.model.notified(ledger, &notice)?;
                    self.trace.sum_numbers(&[3, notice.revision().0, notice.index() as u64]);
                    self.trace.tell(|| format!("   watcher {index} hears {notice:?}"));
                    *next = notice.revision().0;
                }
                Some(Arrival::Ended(ended)) => {
                    if ended.lagged {
                        self.coverage.met("watch: lagged");
                    }
                    let resume_from = ended.resume_from.0.max(*registered + 1);
                    self.trace.tell(|| format!("watcher {index} ended: {ended:?}"));
                    watcher.model.complete(ledger, resume_from)?;
                    watcher.from = Some(resume_from);
                    watcher.model.next = (resume_from, 0);
                    watcher.state = State::Resting;
                    return Ok(());
                }
                None => return watcher.model.complete(ledger, ledger.head() + 1),
            }
        }
        Ok(())
    }

    /// Lets every watcher receive everything, and checks that nothing is missing.
    pub(crate) fn drain_watchers(&mut self) -> Audit {
        for index in 0..self.watchers.len() {
            self.watchers[index].takes = 1_000;
            for _ in 0..ROUNDS_MAX {
                match &self.watchers[index].state {
                    State::Watching { next, registered, .. } if next > registered => {
                        self.look(index)?;
                        if let State::Watching { .. } = self.watchers[index].state {
                            break;
                        }
                    }
                    State::Watching { .. } => self.catch_up(index)?,
                    State::Resting | State::Opening(_) => self.watch(index)?,
                }
            }
            let watcher = &mut self.watchers[index];
            let ledger = self.auditor.ledger(&watcher.workspace);
            watcher.model.complete(ledger, ledger.head() + 1)?;
        }
        Ok(())
    }
}
