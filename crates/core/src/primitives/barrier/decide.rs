//! The rules of barriers, one function per command.

use super::refusals::Rejection;
use super::table::{Record, Table};
use super::vocabulary::{Arrival, Arrive, Command, Event, Query, Reply, Signal};
use crate::limits;
use crate::names::{AgentId, BarrierName};
use crate::numbers::WaitId;
use crate::primitive::{self, Rules};
use crate::refusal::{TooMany, has_room, within};
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space};
use crate::waiting::wait::Left;

/// The outcome of a command.
type Decided = primitive::Decided<Event>;

impl Rules for Table {
    type Command = Command;
    type Signal = Signal;
    type Query = Query;
    type Reply = Reply;
    type Rejection = Rejection;

    fn decide(
        space: &Space,
        command: Command,
        stamp: &Stamp,
        happening: &mut Happening<'_>,
    ) -> Result<ReplyPlan, Rejection> {
        Ok(happening.take(decide(&space.barrier, command, stamp)?))
    }

    fn expire(space: &Space, stamp: &Stamp) -> Vec<Event> {
        let overdue = space.barrier.overdue(stamp.now).take(limits::EXPIRIES_PER_BATCH_MAX);
        let left = Some(Left::Timeout);
        overdue.filter_map(|(record, party)| withdrawn(record, party, left)).collect()
    }

    fn give_up(space: &Space, wait: WaitId) -> Vec<Event> {
        let waiting = space.barrier.waiting(wait);
        let event = waiting.and_then(|(record, party)| withdrawn(record, party, Some(Left::Gone)));
        event.into_iter().collect()
    }

    fn let_go(space: &Space, agent: &AgentId, _stamp: &Stamp) -> Vec<Event> {
        let there = space.barrier.arrivals_of(agent);
        #[cfg(feature = "planted")]
        let there = there.filter(|_| !crate::planted::is("barrier.the_dead_count"));
        let events = there.filter_map(|record| withdrawn(record, agent, Some(Left::SessionEnded)));
        events.collect()
    }

    fn query(space: &Space, query: &Query) -> Option<Result<Reply, Rejection>> {
        Some(Ok(self::query(&space.barrier, query)))
    }

    fn ending(space: &Space, event: &Event) -> Result<Reply, Rejection> {
        ending(&space.barrier, event)
    }
}

/// Decides a command against the current table.
fn decide(table: &Table, command: Command, stamp: &Stamp) -> Result<Decided, Rejection> {
    match command {
        Command::Arrive(command) => arrive(table, command, stamp),
        Command::Reset { name } => Ok(reset(table, name)),
    }
}

fn arrive(table: &Table, command: Arrive, stamp: &Stamp) -> Result<Decided, Rejection> {
    let Arrive { name, count, wait_ms } = command;
    let count = within("count", Some(count), count, (1, limits::BARRIER_COUNT_MAX))?;
    let wait_ms = within("wait_ms", wait_ms, 0, (0, limits::WAIT_MS_MAX))?;
    let (party, generation) = (stamp.agent.clone(), table.generation(&name));
    let record = table.get(&name);
    if let Some(record) = record.filter(|record| !record.parties.is_empty()) {
        if record.count != count {
            let (given, count) = (count, record.count);
            return Err(Rejection::CountDiffers { name, generation, given, count });
        }
        if record.parties.contains_key(&party) {
            return Err(Rejection::AlreadyArrived { name, generation, party });
        }
    }
    let arrived = record.map_or(0, |record| record.parties.len() as u64) + 1;
    let opened = arrived == count;
    #[cfg(feature = "planted")]
    let opened = opened || (crate::planted::is("barrier.one_too_few") && arrived + 1 == count);
    let waits = !opened && wait_ms > 0;
    let mut events = Vec::new();
    if record.is_none() && table.len() >= limits::BARRIERS_MAX {
        events.push(make_room(table)?);
    }
    if !opened {
        check_counts(table, &party, waits)?;
    }
    let wait = waits.then(|| stamp.wait());
    let until = waits.then(|| stamp.now.after(wait_ms));
    events.push(Event::Arrived { name: name.clone(), party, generation, count, wait, until });
    if waits {
        return Ok(Decided::new(events, ReplyPlan::Waits));
    }
    if opened {
        events.push(Event::Opened { name: name.clone(), generation });
        #[cfg(feature = "planted")]
        if crate::planted::is("barrier.opens_twice") {
            events.push(Event::Opened { name: name.clone(), generation });
        }
        events.extend(record.into_iter().flat_map(passed));
    }
    let arrival = Arrival { name, generation, opened, arrived, count };
    Ok(Decided::reply(events, Reply::Arrival(arrival)))
}

fn make_room(table: &Table) -> Result<Event, Rejection> {
    let idle = table
        .longest_idle()
        .ok_or(TooMany { what: "barriers with arrivals", max: limits::BARRIERS_MAX })?;
    Ok(Event::Forgotten { name: idle.clone(), generation: table.generation(idle) })
}

/// Whether another agent may arrive and stay, and perhaps wait. The last arrival is always allowed.
fn check_counts(table: &Table, party: &AgentId, waits: bool) -> Result<(), Rejection> {
    let (own, all) = (table.arrivals_of(party).count(), table.arrivals());
    let counts = [
        ("barriers at which this agent has arrived", own, limits::HOLDS_PER_AGENT_MAX),
        ("arrivals in this workspace", all, limits::ARRIVALS_MAX),
    ];
    let waiting = ("calls that wait at a barrier", table.waits().len(), limits::BARRIER_WAITS_MAX);
    Ok(has_room(counts.into_iter().chain(waits.then_some(waiting)))?)
}

/// The answers to all calls that wait at a barrier that opens.
fn passed(record: &Record) -> impl Iterator<Item = Event> {
    let waits =
        record.parties.iter().filter_map(|(party, there)| Some((party, there.wait.as_ref()?)));
    waits.map(|(party, wait)| Event::Passed {
        name: record.name.clone(),
        party: party.clone(),
        generation: record.generation,
        count: record.count,
        wait: wait.id,
    })
}

/// The withdrawal of an arrival; none if the agent has not arrived.
fn withdrawn(record: &Record, party: &AgentId, left: Option<Left>) -> Option<Event> {
    let there = record.parties.get(party)?;
    Some(Event::Withdrawn {
        name: record.name.clone(),
        party: party.clone(),
        generation: record.generation,
        count: record.count,
        wait: there.wait.as_ref().map(|wait| wait.id),
        left,
    })
}

fn reset(table: &Table, name: BarrierName) -> Decided {
    let mut events = Vec::new();
    if let Some(record) = table.get(&name).filter(|record| !record.parties.is_empty()) {
        // Each waiting call is answered by its own event; the other arrivals need none.
        let waiting = record.parties.iter().filter(|(_, there)| there.wait.is_some());
        events.extend(waiting.filter_map(|(party, _)| withdrawn(record, party, None)));
        events.push(Event::Reset { name: name.clone(), generation: record.generation });
    }
    let barrier = move |space: &Space| Reply::Barrier(space.barrier.barrier(&name));
    Decided::new(events, ReplyPlan::after(barrier))
}

/// The result of the waiting call that this event ends.
pub fn ending(table: &Table, event: &Event) -> Result<Reply, Rejection> {
    let (opened, generation, count, arrived) = match event {
        Event::Withdrawn { name, party, left: Some(Left::SessionEnded), .. } => {
            return Err(Rejection::SessionEnded { name: name.clone(), agent: party.clone() });
        }
        Event::Withdrawn { name, generation, count, .. }
        | Event::Arrived { name, generation, count, .. } => {
            let there = table.get(name).map_or(0, |record| record.parties.len());
            (false, *generation, *count, there as u64)
        }
        Event::Passed { generation, count, .. } => (true, *generation, *count, *count),
        Event::Opened { .. } | Event::Reset { .. } | Event::Forgotten { .. } => {
            unreachable!("no call waits for it")
        }
    };
    let name = event.name().clone();
    Ok(Reply::Arrival(Arrival { name, generation, opened, arrived, count }))
}

/// Answers a query.
pub fn query(table: &Table, query: &Query) -> Reply {
    match query {
        Query::Get { name } => Reply::Barrier(table.barrier(name)),
    }
}
