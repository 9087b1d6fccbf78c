//! The rules of agents, one function per command.

use std::collections::BTreeSet;

use super::refusals::Rejection;
use super::supervision;
use super::table::Table;
use super::vocabulary::{Agent, Command, Event, Query, Register, Reply, Signal, Status};
use crate::limits;
use crate::names::AgentId;
use crate::numbers::Token;
use crate::page;
use crate::primitive::{self, Rules};
use crate::quoted::quoted;
use crate::refusal::TooMany;
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space};

/// The outcome of a command.
type Decided = primitive::Decided<Event>;

/// The events, and the agent as it is after them.
fn decided(events: Vec<Event>, agent: AgentId) -> Decided {
    let plan = ReplyPlan::after(move |space| {
        let agent = space.agent.get(&agent).expect("only known agents are answered with");
        Reply::Agent(agent.clone())
    });
    Decided::new(events, plan)
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
        Ok(happening.take(decide(&space.agent, command, stamp)?))
    }

    fn expire(space: &Space, stamp: &Stamp) -> Vec<Event> {
        let table = &space.agent;
        let orphans = table.orphans().map(|agent| (agent, table.parent(agent).cloned()));
        let silent = table.silent(stamp.now).map(|agent| (agent, None));
        let mut ended = BTreeSet::new();
        let mut events = Vec::new();
        for (agent, because) in orphans.chain(silent).take(limits::LOST_PER_BATCH_MAX) {
            let lost = Event::Lost { agent: agent.clone(), because };
            let below = supervision::ended_below(table, agent, stamp);
            let both = std::iter::once(lost).chain(below);
            events.extend(both.filter(|event| ended.insert(event.agent().clone())));
        }
        events
    }

    fn query(space: &Space, query: &Query) -> Option<Result<Reply, Rejection>> {
        Some(self::query(&space.agent, query))
    }
}

/// Decides a command against the current table.
fn decide(table: &Table, command: Command, stamp: &Stamp) -> Result<Decided, Rejection> {
    match command {
        Command::Register(command) => register(table, command, stamp),
        Command::Heartbeat { agent, token } => heartbeat(table, agent, token, stamp),
        Command::Leave { agent, token } => leave(table, agent, token, stamp),
    }
}

fn register(table: &Table, command: Register, stamp: &Stamp) -> Result<Decided, Rejection> {
    let Register { agent, capabilities, metadata, ttl_ms, parent } = command;
    let (min, max) = (limits::AGENT_TTL_MS_MIN, limits::AGENT_TTL_MS_MAX);
    let ttl_ms = ttl_ms.unwrap_or(limits::AGENT_TTL_MS_DEFAULT);
    if !(min..=max).contains(&ttl_ms) {
        return Err(Rejection::TtlOutOfRange { given: ttl_ms, min, max });
    }
    if capabilities.len() > limits::CAPABILITIES_MAX {
        let reason = format!("there are more than {}", limits::CAPABILITIES_MAX);
        return Err(Rejection::BadCapabilities { reason });
    }
    let is_odd = |name: &&String| {
        name.is_empty()
            || name.len() > limits::CAPABILITY_BYTES_MAX
            || name.chars().any(char::is_control)
    };
    if let Some(odd) = capabilities.iter().find(is_odd) {
        let shown = quoted(odd, 40);
        let reason = format!(
            "`{shown}` must have 1 to {} bytes without control characters",
            limits::CAPABILITY_BYTES_MAX
        );
        return Err(Rejection::BadCapabilities { reason });
    }
    let bytes = metadata.as_ref().map_or(0, |metadata| metadata.as_bytes().len());
    if bytes > limits::METADATA_BYTES_MAX {
        let bytes_max = limits::METADATA_BYTES_MAX;
        return Err(Rejection::MetadataTooLarge { bytes, bytes_max });
    }
    if let Some(parent) = &parent {
        supervision::check_parent(table, &agent, parent)?;
    }
    let mut events = Vec::new();
    if table.get(&agent).is_none() && table.len() >= limits::AGENTS_MAX {
        match table.longest_ended() {
            Some(agent) => events.push(Event::Forgotten { agent: agent.clone() }),
            None => return Err(TooMany { what: "active agents", max: limits::AGENTS_MAX }.into()),
        }
    }
    let active = table.get(&agent).filter(|record| record.status == Status::Active);
    let (id, token, replaces) = (agent.clone(), stamp.token(), active.map(|record| record.token));
    let ended_below = supervision::ended_below(table, &agent, stamp);
    let joined =
        Event::Joined { agent: id, capabilities, metadata, ttl_ms, token, replaces, parent };
    events.push(joined);
    events.extend(ended_below);
    Ok(decided(events, agent))
}

fn heartbeat(
    table: &Table,
    agent: AgentId,
    token: Option<Token>,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    let record = session(table, &agent, token)?;
    let silence = stamp.now.since(record.last_seen_at);
    let events = if silence >= record.heartbeat_ms() {
        vec![Event::Seen { agent: agent.clone() }]
    } else {
        Vec::new()
    };
    Ok(decided(events, agent))
}

fn leave(
    table: &Table,
    agent: AgentId,
    token: Option<Token>,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    session(table, &agent, token)?;
    let mut events = vec![Event::Left { agent: agent.clone() }];
    events.extend(supervision::ended_below(table, &agent, stamp));
    Ok(decided(events, agent))
}

/// The current session, if the caller may act for it.
fn session<'a>(
    table: &'a Table,
    agent: &AgentId,
    token: Option<Token>,
) -> Result<&'a Agent, Rejection> {
    let Some(record) = table.get(agent) else {
        return Err(Rejection::NotFound { agent: agent.clone() });
    };
    if let Some(given) = token.filter(|given| *given != record.token) {
        return Err(Rejection::StaleToken { agent: agent.clone(), given });
    }
    if record.status != Status::Active {
        return Err(Rejection::Ended { agent: agent.clone(), status: record.status });
    }
    Ok(record)
}

/// Answers a query.
pub fn query(table: &Table, query: &Query) -> Result<Reply, Rejection> {
    match query {
        Query::Get { agent } => match table.get(agent) {
            Some(record) => Ok(Reply::Agent(record.clone())),
            None => Err(Rejection::NotFound { agent: agent.clone() }),
        },
        Query::List { capability, status, limit, cursor } => {
            let limit = limit.unwrap_or(limits::PAGE_DEFAULT);
            if !(1..=limits::PAGE_MAX).contains(&limit) {
                return Err(Rejection::LimitOutOfRange { given: limit, max: limits::PAGE_MAX });
            }
            let wanted = |agent: &&Agent| {
                status.is_none_or(|status| status == agent.status)
                    && capability.as_ref().is_none_or(|name| agent.capabilities.contains(name))
            };
            let found = table.after(cursor.as_ref()).filter(wanted).cloned();
            let (agents, cursor) = page::first(found, limit, |last| last.id.clone());
            Ok(Reply::Agents { agents, cursor })
        }
    }
}
