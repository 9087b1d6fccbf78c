//! Barriers according to the log: who has arrived, and when all may continue.
//!
//! Laws:
//!
//! 1. A generation opens once, with exactly the required number, in the batch of the last arrival.
//! 2. No agent arrives twice in a generation, and all arrivals give the same count.
//! 3. A waiting call is answered in the batch that opens the barrier, or withdrawn and not counted.
//! 4. Generations only grow.
//! 5. When a session ends, its arrivals are withdrawn in the same batch.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::barrier::{
    Arrival, Arrive, Command as BarrierCommand, Event, Query, Rejection, Reply as BarrierReply,
};
use baton_core::waiting::wait::Left;
use baton_core::{
    AgentId, Answer, BarrierName, Batch, Event as AnyEvent, Rejection as AnyRejection,
};
use baton_core::{Reply, WaitId};

use crate::auditor::answers::DecidedRequest;
use crate::auditor::explain::BatchReader;
use crate::auditor::ledger::Ledger;
use crate::auditor::timeline::Timeline;
use crate::auditor::{Audit, Breach, demand};
use crate::coverage::Coverage;
use crate::models::wait::WaitEnd;

/// An arrival.
#[derive(Clone, Debug, PartialEq)]
struct Arrived {
    agent: AgentId,
    wait: Option<u64>,
    revision: u64,
}

/// A barrier as it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarrierModel {
    generation: u64,
    count: u64,
    arrivals: Vec<Arrived>,
}

/// All barriers.
#[derive(Default)]
pub struct Barriers {
    all: BTreeMap<BarrierName, Timeline<BarrierModel>>,
    /// Arrivals that must pass in the current batch, and those whose barrier must be reset in it.
    passing: BTreeSet<(BarrierName, u64, u64)>,
    resetting: BTreeSet<(BarrierName, u64)>,
}

impl BarrierModel {
    fn take(&mut self, agent: &AgentId, wait: Option<WaitId>) -> Audit {
        let index = self.arrivals.iter().position(|party| party.agent == *agent);
        let Some(index) = index else {
            return Err(Breach(format!("`{agent}` has not arrived")));
        };
        let party = self.arrivals.remove(index);
        let wait = wait.map(|wait| wait.0);
        demand!(party.wait == wait, "`{agent}` waits as {:?}, not {wait:?}", party.wait);
        Ok(())
    }

    fn next(&mut self) {
        self.generation += 1;
        self.arrivals.clear();
    }
}

impl Barriers {
    fn at(&self, name: &BarrierName, at: u64) -> Option<&BarrierModel> {
        self.all.get(name)?.at(at)
    }

    /// Barriers with arrivals, now.
    pub fn waiting(&self) -> Option<(&BarrierName, &BarrierModel)> {
        let all = self.all.iter().filter_map(|(name, timeline)| Some((name, timeline.now()?)));
        all.into_iter().find(|(_, there)| there.arrivals.iter().any(|party| party.wait.is_some()))
    }
}

impl Ledger {
    pub(crate) fn add_barrier(
        &mut self,
        batch: &Batch,
        event: &Event,
        ended: &BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit {
        let name = event.name();
        let words = |breach: Breach| Breach(format!("barrier `{name}`: {}", breach.0));
        let before = self.barriers.all.get(name).and_then(Timeline::now).cloned();
        let mut there = before.unwrap_or_default();
        self.change_barrier(batch, &mut there, event, ended, coverage).map_err(words)?;
        self.barriers.all.entry(name.clone()).or_default().set(batch.revision.0, there);
        Ok(())
    }

    fn change_barrier(
        &mut self,
        batch: &Batch,
        there: &mut BarrierModel,
        event: &Event,
        ended: &BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit {
        match event {
            Event::Arrived { party, generation, count, wait, until, .. } => {
                let first = there.arrivals.is_empty();
                let old = there.generation;
                demand!(old == 0 || old == generation.0, "{generation} is not generation {old}");
                demand!(first || there.count == *count, "it takes {}, not {count}", there.count);
                let twice = there.arrivals.iter().any(|there| there.agent == *party);
                demand!(
                    !twice && batch.agent == *party,
                    "the arrival of `{party}` is not its own request"
                );
                if let (Some(wait), Some(until)) = (wait, until) {
                    self.waits.begin(batch, party, *wait, *until)?;
                }
                (there.generation, there.count) = (generation.0, *count);
                let (agent, wait) = (party.clone(), wait.map(|wait| wait.0));
                there.arrivals.push(Arrived { agent, wait, revision: batch.revision.0 });
                demand!(there.arrivals.len() as u64 <= *count, "{:?} are too many", there.arrivals);
            }
            Event::Opened { name, generation } => {
                let arrived = there.arrivals.len() as u64;
                demand!(
                    there.generation == generation.0 && arrived == there.count && arrived > 0,
                    "generation {generation} opened with {arrived} of {}, it is at {}",
                    there.count,
                    there.generation
                );
                let waits = there.arrivals.iter().filter_map(|party| party.wait);
                let passing = waits.map(|wait| (name.clone(), generation.0, wait));
                self.barriers.passing.extend(passing);
                there.next();
                coverage.met("barrier: opened");
            }
            Event::Passed { name, party, generation, wait, .. } => {
                let due = self.barriers.passing.remove(&(name.clone(), generation.0, wait.0));
                demand!(due, "`{party}` passed generation {generation}, which has not opened");
                self.waits.granted(batch, *wait, party)?;
            }
            Event::Withdrawn { name, party, generation, wait, left, .. } => {
                demand!(there.generation == generation.0, "{generation} is over");
                there.take(party, *wait)?;
                if left.is_none() && wait.is_some() {
                    self.barriers.resetting.insert((name.clone(), generation.0));
                }
                self.withdrawn(batch, party, (*left, *wait), ended, coverage)?;
            }
            Event::Reset { name, generation } => {
                demand!(there.generation == generation.0, "{generation} is over");
                self.barriers.resetting.remove(&(name.clone(), generation.0));
                there.next();
                coverage.met("barrier: reset");
            }
            Event::Forgotten { .. } => return Err(Breach("there was room".to_owned())),
        }
        Ok(())
    }

    fn withdrawn(
        &mut self,
        batch: &Batch,
        party: &AgentId,
        how: (Option<Left>, Option<WaitId>),
        ended: &BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit {
        match how {
            (None, Some(wait)) => self.waits.reset(batch, wait, party)?,
            (Some(left), Some(wait)) => {
                self.waits.left(batch, wait, party, left, ended)?;
                coverage.left(left);
            }
            (left, None) => {
                let gone = left == Some(Left::SessionEnded) && ended.contains(party);
                demand!(gone, "`{party}` was withdrawn for {left:?}");
            }
        }
        coverage.met("barrier: arrival withdrawn");
        Ok(())
    }

    /// A batch is complete: every barrier that could open has, and every waiting call that could
    /// pass has.
    pub(crate) fn check_barriers(&self, revision: u64, ended: &BTreeSet<AgentId>) -> Audit {
        let Barriers { all, passing, resetting } = &self.barriers;
        demand!(passing.is_empty(), "{passing:?} did not pass");
        demand!(resetting.is_empty(), "{resetting:?} were not reset");
        for (name, there) in all.iter().filter_map(|(name, there)| Some((name, there.now()?))) {
            let full = !there.arrivals.is_empty() && there.arrivals.len() as u64 >= there.count;
            demand!(!full, "barrier `{name}` did not open: {there:?}");
            let gone = |party: &&Arrived| party.revision < revision && ended.contains(&party.agent);
            let left = there.arrivals.iter().find(gone);
            demand!(left.is_none(), "a session ended, and barrier `{name}` still has {left:?}");
        }
        Ok(())
    }

    /// Checks an accepted barrier command without effect.
    pub(crate) fn barrier_no_effect(
        &self,
        command: &BarrierCommand,
        reply: &Reply,
        at: u64,
    ) -> Audit {
        match (command, reply) {
            (BarrierCommand::Reset { name }, Reply::Barrier(BarrierReply::Barrier(_))) => {
                let there = self.barriers.at(name, at);
                let empty = there.is_none_or(|there| there.arrivals.is_empty());
                demand!(empty, "{there:?} was not reset");
                Ok(())
            }
            (command, reply) => Err(Breach(format!("{command:?} was answered with {reply:?}"))),
        }
    }

    /// Checks the answer to a barrier command with an effect.
    pub(crate) fn barrier_reply(
        &self,
        command: &BarrierCommand,
        reply: &BarrierReply,
        revision: u64,
    ) -> Audit {
        match (command, reply) {
            (BarrierCommand::Arrive(arrive), BarrierReply::Arrival(shown)) => {
                let opened = self.opened_at(&arrive.name, revision);
                let there = self.barriers.at(&arrive.name, revision);
                let arrived = there.map_or(0, |there| there.arrivals.len() as u64);
                let generation = there.map_or(0, |there| there.generation);
                let same = match opened {
                    Some(opened) => {
                        shown.opened
                            && shown.generation.0 == opened
                            && shown.arrived == arrive.count
                    }
                    None => {
                        !shown.opened
                            && shown.generation.0 == generation
                            && shown.arrived == arrived
                    }
                };
                demand!(
                    same && shown.count == arrive.count,
                    "{shown:?} was returned, it is {there:?}"
                );
                Ok(())
            }
            (BarrierCommand::Reset { name }, BarrierReply::Barrier(shown)) => {
                demand!(shown.name == *name && shown.arrived.is_empty(), "{shown:?} was reset");
                Ok(())
            }
            (command, reply) => Err(Breach(format!("{command:?} was answered with {reply:?}"))),
        }
    }

    /// The generation of a barrier that opened in a batch.
    fn opened_at(&self, barrier: &BarrierName, revision: u64) -> Option<u64> {
        self.batch(revision)?.events.iter().find_map(|event| match event {
            AnyEvent::Barrier(Event::Opened { name, generation }) if name == barrier => {
                Some(generation.0)
            }
            _ => None,
        })
    }

    /// Checks the answer to a query about barriers.
    pub(crate) fn barriers_shown(&self, query: &Query, reply: &BarrierReply, at: u64) -> Audit {
        let (Query::Get { name }, BarrierReply::Barrier(shown)) = (query, reply) else {
            return Err(Breach(format!("{query:?} was answered with {reply:?}")));
        };
        let there = self.barriers.at(name, at).cloned().unwrap_or_default();
        let arrived: BTreeSet<&AgentId> = there.arrivals.iter().map(|party| &party.agent).collect();
        let waiting = there.arrivals.iter().filter(|party| party.wait.is_some()).count() as u64;
        let same = shown.name == *name
            && (there.generation == 0 || shown.generation.0 == there.generation)
            && shown.arrived.iter().collect::<BTreeSet<_>>() == arrived
            && shown.waiting == waiting
            && shown.count == (!arrived.is_empty()).then_some(there.count);
        demand!(same, "{shown:?} is shown, it is {there:?}");
        Ok(())
    }

    /// Checks the answer to a call that waited at a barrier.
    pub(crate) fn arrival_ended(
        &self,
        asked: &DecidedRequest<'_>,
        arrive: &Arrive,
        (revision, how): (u64, WaitEnd),
        outcome: &Result<Answer, AnyRejection>,
    ) -> Audit {
        let reply = outcome.as_ref().map(|answer| &answer.reply);
        match (how, reply) {
            (WaitEnd::Granted, Ok(Reply::Barrier(BarrierReply::Arrival(shown)))) => {
                let Arrival { generation, opened, arrived, count, .. } = shown;
                let opened_now = self.opened_at(&arrive.name, revision);
                demand!(
                    *opened && opened_now == Some(generation.0) && arrived == count,
                    "the answer is {shown:?}, open is {opened_now:?}"
                );
                Ok(())
            }
            (
                WaitEnd::Left(Left::Timeout) | WaitEnd::Reset,
                Ok(Reply::Barrier(BarrierReply::Arrival(shown))),
            ) => {
                demand!(!shown.opened, "the answer is {shown:?}, but it did not open");
                Ok(())
            }
            (
                WaitEnd::Left(Left::SessionEnded),
                Err(AnyRejection::Barrier(Rejection::SessionEnded { name, agent })),
            ) => {
                let same = *name == arrive.name && agent == asked.agent;
                demand!(same, "the answer names the session of another agent");
                Ok(())
            }
            (_, outcome) => Err(Breach(format!("the answer is {outcome:?}"))),
        }
    }

    /// Checks a refused barrier command.
    pub(crate) fn refused_barrier(&self, rejection: &Rejection, at: u64) -> Audit {
        match rejection {
            Rejection::CountDiffers { name, given, count, .. } => {
                let there = self.barriers.at(name, at);
                let differs = there.is_some_and(|there| {
                    !there.arrivals.is_empty() && there.count == *count && given != count
                });
                demand!(differs, "the rejection is {rejection:?}, it is {there:?}");
            }
            Rejection::AlreadyArrived { name, party, .. } => {
                let there = self.barriers.at(name, at);
                let arrived = there
                    .is_some_and(|there| there.arrivals.iter().any(|there| there.agent == *party));
                demand!(arrived, "the rejection is {rejection:?}, it is {there:?}");
            }
            other => {
                let code = other.code();
                return Err(Breach(format!("no request can cause `{code}`")));
            }
        }
        Ok(())
    }

    /// Whether an arrival would have to wait.
    pub(crate) fn must_wait_at(&self, arrive: &Arrive, at: u64) -> bool {
        let there = self.barriers.at(&arrive.name, at);
        let arrived = there.map_or(0, |there| there.arrivals.len() as u64);
        arrive.wait_ms.is_some() && arrived + 1 < arrive.count
    }
}

impl BatchReader<'_> {
    /// The effects of a barrier command.
    pub(crate) fn barrier(&mut self, command: &BarrierCommand) -> Audit {
        match command {
            BarrierCommand::Arrive(arrive) => {
                let AnyEvent::Barrier(Event::Arrived { name, count, wait, until, .. }) =
                    self.take()?
                else {
                    return Err(Breach("an arrival was due".to_owned()));
                };
                demand!(*name == arrive.name && *count == arrive.count, "it is another arrival");
                let longest = arrive.wait_ms.map(|wait| self.batch.time.after(wait));
                demand!(wait.is_none() || *until == longest, "it waits until {until:?}");
                if let Some(AnyEvent::Barrier(Event::Opened { .. })) = self.peek() {
                    self.skip();
                }
                self.follow_grants();
                Ok(())
            }
            BarrierCommand::Reset { name } => {
                while let Some(AnyEvent::Barrier(Event::Withdrawn { left: None, .. })) = self.peek()
                {
                    self.skip();
                }
                match self.take()? {
                    AnyEvent::Barrier(Event::Reset { name: reset, .. }) if reset == name => Ok(()),
                    other => Err(Breach(format!("a reset was due, not {}", other.kind()))),
                }
            }
        }
    }
}
