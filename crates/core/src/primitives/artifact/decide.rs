//! The rules of artifacts, one function per command.

use super::refusals::Rejection;
use super::table::{Record, Table};
use super::vocabulary::{Artifact, Command, Event, List, Put, Query, Reply, Signal};
use crate::limits;
use crate::names::{ArtifactId, MediaType};
use crate::page::{self, Selection};
use crate::primitive::{self, Rules};
use crate::refusal::{fits, has_room, within};
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space};

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
        _stamp: &Stamp,
        happening: &mut Happening<'_>,
    ) -> Result<ReplyPlan, Rejection> {
        Ok(happening.take(decide(&space.artifact, command)?))
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
fn decide(table: &Table, command: Command) -> Result<Decided, Rejection> {
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
    let known = known.is_some();
    let plan = ReplyPlan::after(move |space| {
        let shown = space.artifact.shown(&artifact).expect("it was just put");
        Reply::Put { artifact: Box::new(shown), known }
    });
    Ok(Decided::new(vec![event], plan))
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
    let gone = Box::new(Artifact { holders: Vec::new(), ..gone });
    let deleted = Event::Deleted { artifact: artifact.clone() };
    Ok(Decided::reply(vec![deleted], Reply::Artifact(gone)))
}

/// Answers a query.
pub fn query(table: &Table, query: &Query) -> Result<Reply, Rejection> {
    match query {
        Query::Get { artifact } => Ok(Reply::Artifact(Box::new(shown(table, artifact)?))),
        Query::List(query) => list(table, query),
    }
}

fn list(table: &Table, query: &List) -> Result<Reply, Rejection> {
    let limit = page::limit(query.limit)?;
    let is_wanted = |record: &Record| {
        (!query.free || !table.is_held(&record.artifact))
            && (query.name.is_none() || query.name == record.name)
    };
    let selection = Selection { candidates: table.after(query.cursor.as_ref()), is_wanted, limit };
    let shown = |record: &Record| (table.shown(&record.artifact).expect("it is listed"), 0);
    let (artifacts, cursor) = selection.first(shown, |record| record.artifact.clone());
    Ok(Reply::Artifacts { artifacts, bytes: table.bytes(), cursor })
}
