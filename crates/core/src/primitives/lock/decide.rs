//! The rules of locks, one function per command.

use super::refusals::Rejection;
use super::table::Table;
use super::vocabulary::{Acquire, Command, Event, Hold, Link, Query, Reply, Signal};
use crate::limits;
use crate::names::{AgentId, LockName};
use crate::numbers::{Token, WaitId};
use crate::page;
use crate::primitive::{self, Rules};
use crate::refusal::within;
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space};
use crate::waiting::deadlock::find_cycles;
#[cfg(feature = "planted")]
use crate::waiting::holds::Holding;
use crate::waiting::lease_time::{is_worth_renewing, ttl_ms as checked_ttl};
use crate::waiting::wait::Left;

/// The outcome of a command.
type Decided = primitive::Decided<Event>;

/// The hold on a lock, as it is after the events.
fn hold(name: LockName) -> ReplyPlan {
    ReplyPlan::after(move |space| Reply::Hold(space.lock.hold(&name).cloned()))
}

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
        Ok(happening.take(decide(&space.lock, command, stamp)?))
    }

    fn expire(space: &Space, stamp: &Stamp) -> Vec<Event> {
        let table = &space.lock;
        #[cfg(feature = "planted")]
        if crate::planted::is("lock.impatient") {
            let waits = table.holds().waits().overdue(stamp.now.after(20_000));
            let waits = waits.map(|waiter| Hold::gave_up(waiter, Left::Timeout));
            let rest = table.holds().expire(stamp.now).into_iter();
            let rest = rest.filter(|event| matches!(event, Event::Expired { .. }));
            return waits.chain(rest).take(limits::EXPIRIES_PER_BATCH_MAX).collect();
        }
        table.holds().expire(stamp.now)
    }

    fn give_up(space: &Space, wait: WaitId) -> Vec<Event> {
        space.lock.holds().give_up(wait)
    }

    fn let_go(space: &Space, agent: &AgentId, _stamp: &Stamp) -> Vec<Event> {
        let events = space.lock.holds().let_go(agent);
        #[cfg(feature = "planted")]
        if crate::planted::is("lock.ended_session_waits") {
            let is_wait = |event: &Event| matches!(event, Event::GaveUp { .. });
            return events.into_iter().filter(|event| !is_wait(event)).collect();
        }
        events
    }

    fn handle(space: &Space, signal: Signal, stamp: &Stamp) -> Result<Vec<Event>, Rejection> {
        let Signal::HandOver { name } = signal;
        Ok(hand_over(&space.lock, &name, stamp))
    }

    fn query(space: &Space, query: &Query) -> Option<Result<Reply, Rejection>> {
        Some(self::query(&space.lock, query))
    }

    fn ending(space: &Space, event: &Event) -> Result<Reply, Rejection> {
        ending(&space.lock, event)
    }
}

/// Decides a command against the current table.
fn decide(table: &Table, command: Command, stamp: &Stamp) -> Result<Decided, Rejection> {
    match command {
        Command::Acquire(command) => acquire(table, command, stamp),
        Command::Renew { name, token, ttl_ms } => renew(table, name, token, ttl_ms, stamp),
        Command::Release { name, token } => release(table, name, token),
    }
}

fn acquire(table: &Table, command: Acquire, stamp: &Stamp) -> Result<Decided, Rejection> {
    let Acquire { name, ttl_ms, wait_ms } = command;
    let ttl_ms = checked_ttl(ttl_ms, limits::HOLD_TTL_MS_DEFAULT)?;
    let wait_ms = within("wait_ms", wait_ms, 0, (0, limits::WAIT_MS_MAX))?;
    let holder = stamp.agent.clone();
    if table.hold(&name).is_none() {
        let all = ("locks held in this workspace", table.holds().len(), limits::LOCKS_MAX);
        table.holds().check_counts(&holder, all)?;
        let token = stamp.token();
        let event = Event::Acquired { name: name.clone(), holder, token, ttl_ms, wait: None };
        return Ok(Decided::new(vec![event], hold(name)));
    }
    if wait_ms == 0 {
        return Ok(Decided::reply(Vec::new(), Reply::Hold(None)));
    }
    let all = ("calls that wait for a lock", table.holds().waits().all().len(), limits::WAITS_MAX);
    table.holds().check_counts(&holder, all)?;
    let until = stamp.now.after(wait_ms);
    let event = Event::Queued { name, waiter: holder, wait: stamp.wait(), ttl_ms, until };
    Ok(Decided::waits(event))
}

/// The hold, if the token is valid.
fn held<'a>(table: &'a Table, name: &LockName, token: Token) -> Result<&'a Hold, Rejection> {
    let hold = table.hold(name);
    match hold {
        Some(hold) if hold.token == token => Ok(hold),
        #[cfg(feature = "planted")]
        Some(hold) if crate::planted::is("lock.any_token_will_do") => Ok(hold),
        Some(_) | None => {
            let without_token = |hold: &Hold| Hold { token: Token::HIDDEN, ..hold.clone() };
            let hold = hold.map(without_token).map(Box::new);
            Err(Rejection::StaleToken { name: name.clone(), given: token, hold })
        }
    }
}

fn renew(
    table: &Table,
    name: LockName,
    token: Token,
    ttl_ms: Option<u64>,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    let hold = held(table, &name, token)?;
    let ttl_ms = checked_ttl(ttl_ms, hold.ttl_ms)?;
    let is_worth_it = is_worth_renewing(stamp.now, hold.expires_at, hold.ttl_ms, ttl_ms);
    let renewed = is_worth_it.then(|| Event::Renewed { name: name.clone(), ttl_ms });
    Ok(Decided::new(renewed.into_iter().collect(), self::hold(name)))
}

fn release(table: &Table, name: LockName, token: Token) -> Result<Decided, Rejection> {
    held(table, &name, token)?;
    let event = Event::Released { name: name.clone(), token };
    let lock = ReplyPlan::after(move |space| Reply::Lock(space.lock.lock(&name)));
    Ok(Decided::new(vec![event], lock))
}

fn hand_over(table: &Table, name: &LockName, stamp: &Stamp) -> Vec<Event> {
    let next = table.first_in_line(name).filter(|_| table.hold(name).is_none());
    let granted = next.map(|waiter| Event::Acquired {
        name: name.clone(),
        holder: waiter.wait.agent.clone(),
        token: stamp.token(),
        ttl_ms: waiter.ttl_ms,
        wait: Some(waiter.wait.id),
    });
    granted.into_iter().collect()
}

/// The result of the waiting call that this event ends.
pub fn ending(table: &Table, event: &Event) -> Result<Reply, Rejection> {
    match event {
        Event::Acquired { name, .. } => Ok(Reply::Hold(table.hold(name).cloned())),
        Event::GaveUp { name, waiter, left: Left::SessionEnded, .. } => {
            Err(Rejection::SessionEnded { name: name.clone(), agent: waiter.clone() })
        }
        Event::GaveUp { .. }
        | Event::Renewed { .. }
        | Event::Released { .. }
        | Event::Expired { .. }
        | Event::Dropped { .. }
        | Event::Queued { .. } => Ok(Reply::Hold(None)),
    }
}

/// Answers a query.
pub fn query(table: &Table, query: &Query) -> Result<Reply, Rejection> {
    match query {
        Query::Get { name } => Ok(Reply::Lock(table.lock(name))),
        Query::List { limit, cursor } => {
            let limit = page::limit(*limit)?;
            let holds = table.holds().after(cursor.as_ref());
            let locks = holds.map(|hold| table.lock(&hold.name));
            let (locks, cursor) = page::first(locks, limit, |last| last.name.clone());
            Ok(Reply::Locks { locks, deadlocks: deadlocks(table), cursor })
        }
    }
}

/// Deadlocks: cycles of agents each of which waits for the next.
fn deadlocks(table: &Table) -> Vec<Vec<Link>> {
    let links = table.holds().waits().all().filter_map(|waiter| {
        let hold = table.hold(&waiter.name)?;
        Some((waiter.wait.agent.clone(), waiter.name.clone(), hold.holder.clone()))
    });
    let cycles = find_cycles(links.collect());
    let link = |(agent, waits_for, held_by)| Link { agent, waits_for, held_by };
    cycles.into_iter().map(|cycle| cycle.into_iter().map(link).collect()).collect()
}
