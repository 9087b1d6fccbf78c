//! The rules of artifacts, one function per command.

use super::refusals::Rejection;
use super::table::Table;
use super::vocabulary::{Artifact, Command, Event, List, Put, Query, Reply, Signal};
use crate::limits;
use crate::names::{ArtifactId, MediaType};
use crate::primitive::Rules;
use crate::refusal::{fits, has_room, within};
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan as SpacePlan, Space};

/// The events of a command, and how to build its reply.
pub struct Decided {
    /// The events. Empty if nothing changes.
    pub events: Vec<Event>,
    /// Which reply to build once the events are applied.
    pub plan: ReplyPlan,
}

/// Which reply to build.
pub enum ReplyPlan {
    /// The uploaded artifact, and whether it already existed.
    Put(ArtifactId, bool),
    /// The artifact before it was deleted.
    Gone(Box<Artifact>),
}

impl ReplyPlan {
    /// The reply, from the current table.
    pub(crate) fn reply(self, table: &Table) -> Reply {
        match self {
            Self::Put(artifact, known) => {
                let shown = table.shown(&artifact).expect("it was just put");
                Reply::Put { artifact: Box::new(shown), known }
            }
            Self::Gone(artifact) => Reply::Artifact(artifact),
        }
    }
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
        _stamp: &Stamp,
        happening: &mut Happening<'_>,
    ) -> Result<SpacePlan, Rejection> {
        let decided = decide(&space.artifact, command)?;
        happening.extend(decided.events);
        let plan = decided.plan;
        Ok(SpacePlan::after(move |space| Some(plan.reply(&space.artifact))))
    }

    fn expire(space: &Space, stamp: &Stamp) -> Vec<Event> {
        let overdue = space.artifact.overdue(stamp.now).take(limits::EXPIRIES_PER_BATCH_MAX);
        let events = overdue.map(|artifact| Event::Expired { artifact: artifact.clone() });
        events.collect()
    }

    fn query(space: &Space, query: &Query) -> Option<Result<Reply, Rejection>> {
        Some(self::query(&space.artifact, query))
    }
}

/// Decides a command against the current table.
pub fn decide(table: &Table, command: Command) -> Result<Decided, Rejection> {
    match command {
        Command::Put(command) => put(table, *command),
        Command::Delete { artifact } => delete(table, &artifact),
    }
}

/// Whether one artifact may have this size. Also checked during the upload, so that an upload that
/// is too large is refused early.
pub fn check_bytes(bytes: u64) -> Result<(), Rejection> {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    Ok(fits("artifact", bytes, limits::ARTIFACT_BYTES_MAX)?)
}

fn put(table: &Table, command: Put) -> Result<Decided, Rejection> {
    let Put { artifact, place, bytes, expected, media_type, name, keep_ms } = command;
    check_bytes(bytes)?;
    if let Some(expected) = expected.filter(|expected| *expected != artifact) {
        return Err(Rejection::Mismatch { artifact, expected });
    }
    let range = (limits::ARTIFACT_KEEP_MS_MIN, limits::TTL_MS_MAX);
    let known = table.get(&artifact);
    let usual = known.map_or(limits::ARTIFACT_KEEP_MS_DEFAULT, |record| record.keep_ms);
    let keep_ms = within("keep_ms", keep_ms, usual, range)?;
    if known.is_none() {
        // Exactly the maximum is allowed.
        let all = usize::try_from(table.bytes() + bytes).unwrap_or(usize::MAX).saturating_sub(1);
        has_room([
            ("artifacts", table.len(), limits::ARTIFACTS_MAX),
            ("bytes of artifacts", all, limits::ARTIFACTS_BYTES_MAX),
        ])?;
    }
    let event = Event::Put {
        artifact: artifact.clone(),
        place: known.is_none().then_some(place),
        bytes,
        media_type: media_type
            .or_else(|| known.map(|record| record.media_type.clone()))
            .unwrap_or_else(MediaType::any),
        name: name.or_else(|| known.and_then(|record| record.name.clone())),
        keep_ms,
    };
    Ok(Decided { events: vec![event], plan: ReplyPlan::Put(artifact, known.is_some()) })
}

fn shown(table: &Table, artifact: &ArtifactId) -> Result<Artifact, Rejection> {
    table.shown(artifact).ok_or_else(|| Rejection::NotFound { artifact: artifact.clone() })
}

fn delete(table: &Table, artifact: &ArtifactId) -> Result<Decided, Rejection> {
    let gone = shown(table, artifact)?;
    if let Some(holder) = gone.holders.into_iter().next() {
        let (artifact, references) = (artifact.clone(), gone.references);
        return Err(Rejection::InUse { artifact, references, holder });
    }
    let plan = ReplyPlan::Gone(Box::new(Artifact { holders: Vec::new(), ..gone }));
    Ok(Decided { events: vec![Event::Deleted { artifact: artifact.clone() }], plan })
}

/// Answers a query.
pub fn query(table: &Table, query: &Query) -> Result<Reply, Rejection> {
    match query {
        Query::Get { artifact } => Ok(Reply::Artifact(Box::new(shown(table, artifact)?))),
        Query::List(query) => list(table, query),
    }
}

fn list(table: &Table, query: &List) -> Result<Reply, Rejection> {
    let usual = limits::PAGE_DEFAULT as u64;
    let limit = within("limit", query.limit, usual, (1, limits::PAGE_MAX as u64))?;
    let mut artifacts: Vec<Artifact> = Vec::new();
    let mut cursor = None;
    for (examined, record) in table.after(query.cursor.as_ref()).enumerate() {
        let is_wanted = (!query.free || !table.is_held(&record.artifact))
            && (query.name.is_none() || query.name == record.name);
        if is_wanted && artifacts.len() as u64 == limit {
            cursor = artifacts.last().map(|last| last.artifact.clone());
            break;
        }
        if is_wanted {
            artifacts.extend(table.shown(&record.artifact));
        }
        if examined == limits::TASKS_EXAMINED_MAX {
            cursor = Some(record.artifact.clone());
            break;
        }
    }
    Ok(Reply::Artifacts { artifacts, bytes: table.bytes(), cursor })
}
