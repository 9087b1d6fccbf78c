//! The rules of semaphores, one function per command.

use super::refusals::Rejection;
use super::table::{Table, Waiter};
use super::vocabulary::{Acquire, Command, Event, Permit, Query, Reply, Signal};
use crate::limits;
use crate::names::{AgentId, SemaphoreName};
use crate::numbers::{Token, WaitId};
use crate::page;
use crate::primitive::{self, Rules};
use crate::refusal::{TooMany, within};
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space};
use crate::waiting::holds::Holding;
use crate::waiting::lease_time::{is_worth_renewing, ttl_ms as checked_ttl};
use crate::waiting::wait::Left;

/// The outcome of a command.
type Decided = primitive::Decided<Event>;

/// The permit under a token, as it is after the events.
fn permit(token: Token) -> ReplyPlan {
    ReplyPlan::after(move |space| Reply::Permit(space.semaphore.permit(token).cloned()))
}

/// The semaphore, as it is after the events.
fn semaphore(name: SemaphoreName) -> ReplyPlan {
    ReplyPlan::after(move |space| {
        Reply::Semaphore(space.semaphore.semaphore(&name).expect("it was just used"))
    })
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
        Ok(happening.take(decide(&space.semaphore, command, stamp)?))
    }

    fn expire(space: &Space, stamp: &Stamp) -> Vec<Event> {
        space.semaphore.holds().expire(stamp.now)
    }

    fn give_up(space: &Space, wait: WaitId) -> Vec<Event> {
        space.semaphore.holds().give_up(wait)
    }

    fn let_go(space: &Space, agent: &AgentId, _stamp: &Stamp) -> Vec<Event> {
        space.semaphore.holds().let_go(agent)
    }

    fn handle(space: &Space, signal: Signal, stamp: &Stamp) -> Result<Vec<Event>, Rejection> {
        let Signal::HandOver { name } = signal;
        Ok(hand_over(&space.semaphore, &name, stamp))
    }

    fn query(space: &Space, query: &Query) -> Option<Result<Reply, Rejection>> {
        Some(self::query(&space.semaphore, query))
    }

    fn ending(space: &Space, event: &Event) -> Result<Reply, Rejection> {
        ending(&space.semaphore, event)
    }
}

/// Decides a command against the current table.
fn decide(table: &Table, command: Command, stamp: &Stamp) -> Result<Decided, Rejection> {
    match command {
        Command::Acquire(command) => acquire(table, command, stamp),
        Command::Renew { name, token, ttl_ms } => renew(table, name, token, ttl_ms, stamp),
        Command::Release { name, token } => release(table, name, token),
        Command::Resize { name, permits } => resize(table, name, permits),
    }
}

fn acquire(table: &Table, command: Acquire, stamp: &Stamp) -> Result<Decided, Rejection> {
    let Acquire { name, permits, weight, ttl_ms, wait_ms } = command;
    let ttl_ms = checked_ttl(ttl_ms, limits::HOLD_TTL_MS_DEFAULT)?;
    let wait_ms = within("wait_ms", wait_ms, 0, (0, limits::WAIT_MS_MAX))?;
    let weight = within("weight", weight, 1, (1, limits::PERMITS_PER_SEMAPHORE_MAX))?;
    let permits = size(table, &name, permits)?;
    if weight > permits {
        return Err(Rejection::TooHeavy { name, weight, permits });
    }
    let mut events = created(table, &name, permits)?;
    let agent = stamp.agent.clone();
    let is_new = !events.is_empty();
    if is_new || is_available(table, &name, weight) {
        let all = ("permits held in this workspace", table.holds().len(), limits::PERMITS_MAX);
        table.holds().check_counts(&agent, all)?;
        let token = stamp.token();
        events.push(Event::Acquired { name, holder: agent, token, ttl_ms, weight, wait: None });
        return Ok(Decided::new(events, permit(token)));
    }
    if wait_ms == 0 {
        return Ok(Decided::reply(events, Reply::Permit(None)));
    }
    let all =
        ("calls that wait for a permit", table.holds().waits().all().len(), limits::WAITS_MAX);
    table.holds().check_counts(&agent, all)?;
    let until = stamp.now.after(wait_ms);
    events.push(Event::Queued { name, waiter: agent, wait: stamp.wait(), ttl_ms, until, weight });
    Ok(Decided::new(events, ReplyPlan::Waits))
}

/// Whether a call gets its permits at once. While others wait it does not, even if there are
/// enough: light calls must not keep a heavy one waiting.
fn is_available(table: &Table, name: &SemaphoreName, weight: u64) -> bool {
    #[cfg(feature = "planted")]
    if crate::planted::is("semaphore.light_overtakes") {
        return table.free(name) >= weight;
    }
    table.free(name) >= weight && table.line(name).next().is_none()
}

/// A number of permits that a caller has given.
fn checked_permits(given: u64) -> Result<u64, Rejection> {
    Ok(within("permits", Some(given), given, (1, limits::PERMITS_PER_SEMAPHORE_MAX))?)
}

/// The number of permits that the semaphore has, or will have if this call creates it.
fn size(table: &Table, name: &SemaphoreName, given: Option<u64>) -> Result<u64, Rejection> {
    let given = given.map(checked_permits).transpose()?;
    match (table.permits(name), given) {
        (Some(permits), Some(given)) if given != permits && !table.is_resized(name) => {
            Err(Rejection::PermitsDiffer { name: name.clone(), given, permits })
        }
        (Some(permits), _) | (None, Some(permits)) => Ok(permits),
        (None, None) => Err(Rejection::NotFound { name: name.clone() }),
    }
}

/// The events that create the semaphore; none if it exists.
fn created(table: &Table, name: &SemaphoreName, permits: u64) -> Result<Vec<Event>, Rejection> {
    let mut events = Vec::new();
    if table.permits(name).is_some() {
        return Ok(events);
    }
    if table.len() >= limits::SEMAPHORES_MAX {
        let too_many =
            || TooMany { what: "semaphores in use in this workspace", max: limits::SEMAPHORES_MAX };
        let idle = table.longest_idle().ok_or_else(too_many)?;
        events.push(Event::Forgotten { name: idle.clone() });
    }
    events.push(Event::Created { name: name.clone(), permits });
    Ok(events)
}

/// The permit, if the token is valid.
fn held<'a>(table: &'a Table, name: &SemaphoreName, token: Token) -> Result<&'a Permit, Rejection> {
    let permit = table.permit(token).filter(|permit| permit.name == *name);
    permit.ok_or_else(|| Rejection::StaleToken {
        name: name.clone(),
        given: token,
        free: table.free(name),
    })
}

fn renew(
    table: &Table,
    name: SemaphoreName,
    token: Token,
    ttl_ms: Option<u64>,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    let permit = held(table, &name, token)?;
    let ttl_ms = checked_ttl(ttl_ms, permit.ttl_ms)?;
    let is_worth_it = is_worth_renewing(stamp.now, permit.expires_at, permit.ttl_ms, ttl_ms);
    let renewed = is_worth_it.then_some(Event::Renewed { name, token, ttl_ms });
    Ok(Decided::new(renewed.into_iter().collect(), self::permit(token)))
}

fn release(table: &Table, name: SemaphoreName, token: Token) -> Result<Decided, Rejection> {
    held(table, &name, token)?;
    let event = Event::Released { name: name.clone(), token };
    Ok(Decided::new(vec![event], semaphore(name)))
}

fn resize(table: &Table, name: SemaphoreName, permits: u64) -> Result<Decided, Rejection> {
    let permits = checked_permits(permits)?;
    let Some(before) = table.permits(&name) else { return Err(Rejection::NotFound { name }) };
    let mut events = Vec::new();
    if permits != before {
        events.push(Event::Resized { name: name.clone(), permits });
        let in_vain = table.line(&name).filter(|waiter| waiter.weight > permits);
        #[cfg(feature = "planted")]
        let in_vain = in_vain.filter(|_| !crate::planted::is("semaphore.heavy_waits_in_vain"));
        events.extend(in_vain.map(|waiter| Permit::gave_up(waiter, Left::TooHeavy)));
    }
    Ok(Decided::new(events, semaphore(name)))
}

fn hand_over(table: &Table, name: &SemaphoreName, stamp: &Stamp) -> Vec<Event> {
    let mut free = table.free(name);
    let fits = |waiter: &&Waiter| {
        let left = free.checked_sub(waiter.weight);
        free = left.unwrap_or(free);
        left.is_some()
    };
    let granted = table.line(name).take_while(fits).zip(stamp.tokens());
    let granted = granted.map(|(waiter, token)| Event::Acquired {
        name: name.clone(),
        holder: waiter.wait.agent.clone(),
        token,
        ttl_ms: waiter.ttl_ms,
        weight: waiter.weight,
        wait: Some(waiter.wait.id),
    });
    granted.collect()
}

/// The result of the waiting call that this event ends.
pub fn ending(table: &Table, event: &Event) -> Result<Reply, Rejection> {
    match event {
        Event::Acquired { token, .. } => Ok(Reply::Permit(table.permit(*token).cloned())),
        Event::GaveUp { name, waiter, left: Left::SessionEnded, .. } => {
            Err(Rejection::SessionEnded { name: name.clone(), agent: waiter.clone() })
        }
        Event::GaveUp { name, left: Left::TooHeavy, weight, .. } => {
            let permits = table.permits(name).unwrap_or_default();
            Err(Rejection::TooHeavy { name: name.clone(), weight: *weight, permits })
        }
        Event::GaveUp { .. }
        | Event::Created { .. }
        | Event::Resized { .. }
        | Event::Renewed { .. }
        | Event::Released { .. }
        | Event::Expired { .. }
        | Event::Dropped { .. }
        | Event::Queued { .. }
        | Event::Forgotten { .. } => Ok(Reply::Permit(None)),
    }
}

/// Answers a query.
pub fn query(table: &Table, query: &Query) -> Result<Reply, Rejection> {
    match query {
        Query::Get { name } => {
            let found = table.semaphore(name).map(Reply::Semaphore);
            found.ok_or_else(|| Rejection::NotFound { name: name.clone() })
        }
        Query::List { limit, cursor } => {
            let limit = page::limit(*limit)?;
            let found = table.after(cursor.as_ref()).filter_map(|name| table.semaphore(name));
            let (semaphores, cursor) = page::first(found, limit, |last| last.name.clone());
            Ok(Reply::Semaphores { semaphores, cursor })
        }
    }
}
