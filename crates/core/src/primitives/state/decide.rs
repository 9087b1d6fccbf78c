//! The rules of shared state, one function per command.

use super::table::{Table, key_of};
use super::{
    Command, Delete, Event, List, Operation, PatchEntry, Query, Rejection, Removal, Reply, Set,
    Signal, Source, Transfer, Warning, queries,
};
use crate::json::Json;
use crate::limits;
use crate::names::{AgentId, Key, NamespaceName};
use crate::namespace::rules::Rules;
use crate::numbers::{Revision, Version};
use crate::pattern::Pattern;
use crate::primitive;
use crate::schema::Effort;
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space, TablesView};
use crate::state::merge::{self, Merge, MergeError, Patch};
use crate::storage;
use crate::time::Timestamp;

/// The other tables, as far as shared state reads them.
pub trait View {
    /// The rules of a namespace; none if there is no such namespace.
    fn rules(&self, namespace: &NamespaceName) -> Option<&Rules>;
    /// Whether the agent is registered and neither left nor lost.
    fn has_session(&self, agent: &AgentId) -> bool;
}

/// Which reply to build once the events are applied.
pub enum WritePlan {
    /// The entry of the one event, as it is then, with these warnings.
    Written(Vec<Warning>),
    /// This reply.
    Reply(Reply),
}

impl primitive::Rules for Table {
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
        let view = TablesView::of(space);
        let first = happening.len();
        let effort = happening.effort().schemas();
        let mut happen = |event| happening.add(event);
        match decide(&space.state, &view, command, stamp, effort, &mut happen)? {
            WritePlan::Written(warnings) => Ok(ReplyPlan::Written { event: first, warnings }),
            WritePlan::Reply(reply) => Ok(ReplyPlan::Reply(reply.into())),
        }
    }

    fn expire(space: &Space, stamp: &Stamp) -> Vec<Event> {
        let table = &space.state;
        let now = stamp.now;
        #[cfg(feature = "planted")]
        let now = if crate::planted::is("state.expire_early") { now.after(10_000) } else { now };
        let due = table.due(now).take(limits::EXPIRIES_PER_BATCH_MAX);
        removed(table, due, Removal::Expired)
    }

    fn let_go(space: &Space, agent: &AgentId, _stamp: &Stamp) -> Vec<Event> {
        let table = &space.state;
        removed(table, table.bound_to(agent), Removal::LetGo)
    }

    fn query(space: &Space, query: &Query) -> Option<Result<Reply, Rejection>> {
        queries::query(&space.state, &TablesView::of(space), query, space.revision())
    }
}

/// Decides a command against the current table. The events are passed to `happen`, none if nothing
/// changes; the reply is built once they are applied. If the command is refused, they must be
/// discarded. Schemas are checked within the effort, which all checks of a commit share.
#[inline]
pub fn decide(
    table: &Table,
    view: &impl View,
    command: Command,
    stamp: &Stamp,
    effort: &Effort,
    happen: &mut impl FnMut(Event),
) -> Result<WritePlan, Rejection> {
    match command {
        Command::Set(command) => set(table, view, command, stamp, effort, happen),
        Command::Patch(command) => patch(table, view, command, stamp, effort, happen),
        Command::Delete(command) => delete(table, view, command, happen),
        Command::Transfer(command) => transfer(table, view, command, stamp, effort, happen),
    }
}

fn set(
    table: &Table,
    view: &impl View,
    command: Set,
    stamp: &Stamp,
    effort: &Effort,
    happen: &mut impl FnMut(Event),
) -> Result<WritePlan, Rejection> {
    let rules = rules_for(view, &command.namespace, &command.key)?;
    let current = table.packed(&command.namespace, &command.key);
    if command.ephemeral {
        check_ephemeral(table, view, &command, &stamp.agent)?;
    }
    check_expectations(table, &command, current)?;
    let rule = rules.merge.unwrap_or(Merge::LastWriteWins);
    let adds_only = matches!(rule, Merge::Append | Merge::Union);
    check_append_only(table, rules, &command.namespace, current, adds_only)?;
    let value = if rule == Merge::LastWriteWins {
        command.value
    } else {
        let before = current.map(|entry| Json::trusted(entry.value()));
        merge::merge(rule, before.as_ref(), command.value).map_err(|reason| {
            merge_failed(table, &command.namespace, &command.key, reason, current)
        })?
    };
    let write = Write {
        namespace: command.namespace,
        key: command.key,
        value,
        operation: Operation::Set,
        expires_at: expiry(command.ttl_ms.or(rules.ttl_ms), stamp.now)?,
        bound_to: command.ephemeral.then(|| stamp.agent.clone()),
        source: None,
    };
    let before = table.last_version(&write.namespace, &write.key, current);
    written(rules, write, before, effort, happen)
}

fn patch(
    table: &Table,
    view: &impl View,
    command: PatchEntry,
    stamp: &Stamp,
    effort: &Effort,
    happen: &mut impl FnMut(Event),
) -> Result<WritePlan, Rejection> {
    let PatchEntry { namespace, key, patch, expected_version, expected_revision } = command;
    let rules = rules_for(view, &namespace, &key)?;
    let current = table.packed(&namespace, &key);
    check_version(table, &namespace, &key, expected_version, current)?;
    check_revision(table, &namespace, &key, expected_revision, current)?;
    let adds_only = match patch {
        Patch::Append(_) | Patch::Union(_) => true,
        Patch::Merge(_) | Patch::JsonPatch(_) | Patch::Increment(_) | Patch::Max(_) => false,
    };
    check_append_only(table, rules, &namespace, current, adds_only)?;
    let before = current.map(|entry| Json::trusted(entry.value()));
    let value = merge::patch(before.as_ref(), &patch)
        .map_err(|reason| merge_failed(table, &namespace, &key, reason, current))?;
    // A patched entry keeps its expiry: incrementing a counter must not make it permanent.
    let (expires_at, bound_to) = match current {
        Some(_) => table.ending(&namespace, &key),
        None => (expiry(rules.ttl_ms, stamp.now)?, None),
    };
    let operation = Operation::Patched;
    let before = table.last_version(&namespace, &key, current);
    let write = Write { namespace, key, value, operation, expires_at, bound_to, source: None };
    written(rules, write, before, effort, happen)
}

fn delete(
    table: &Table,
    view: &impl View,
    command: Delete,
    happen: &mut impl FnMut(Event),
) -> Result<WritePlan, Rejection> {
    let Delete { namespace, key, expected_version, expected_revision } = command;
    let rules = rules_for(view, &namespace, &key)?;
    let current = table.packed(&namespace, &key);
    check_version(table, &namespace, &key, expected_version, current)
        .and_then(|()| check_revision(table, &namespace, &key, expected_revision, current))
        .map_err(Rejection::of_deletion)?;
    check_append_only(table, rules, &namespace, current, false)?;
    let Some(entry) = table.entry(&namespace, &key) else {
        return Err(Rejection::NotFound { namespace, key });
    };
    let removal = Removal::Deleted;
    happen(Event::Deleted { namespace, key, version: entry.version(), removal });
    Ok(WritePlan::Reply(Reply::Entry(entry)))
}

fn transfer(
    table: &Table,
    view: &impl View,
    command: Transfer,
    stamp: &Stamp,
    effort: &Effort,
    happen: &mut impl FnMut(Event),
) -> Result<WritePlan, Rejection> {
    let Transfer { from_namespace, to_namespace, keys, pattern, overwrite, copy } = command;
    if from_namespace == to_namespace {
        return Err(Rejection::SameNamespace { namespace: from_namespace });
    }
    let rules = |namespace: &NamespaceName| {
        let unknown = || Rejection::UnknownNamespace { namespace: namespace.clone() };
        view.rules(namespace).ok_or_else(unknown)
    };
    let (source_rules, target_rules) = (rules(&from_namespace)?, rules(&to_namespace)?);
    let keys = transferred_keys(table, &from_namespace, keys, pattern)?;
    let (source, target) = (table.entries(&from_namespace), table.entries(&to_namespace));
    for key in &keys {
        let Some(entry) = source.and_then(|entries| entries.get(key.as_str())) else {
            return Err(Rejection::NotFound { namespace: from_namespace, key: key.clone() });
        };
        if !copy {
            let rules = source_rules.for_key(key);
            check_append_only(table, rules, &from_namespace, Some(entry), false)?;
        }
        let rules = target_rules.for_key(key);
        let present = target.and_then(|entries| entries.get(key.as_str()));
        if let Some(there) = present.filter(|_| !overwrite) {
            let entry = Box::new(table.shown(&to_namespace, there));
            return Err(Rejection::Exists { entry, merge: None });
        }
        check_append_only(table, rules, &to_namespace, present, false)?;
        let expires_at = match table.ending(&from_namespace, key).0 {
            Some(moment) => Some(moment),
            None => expiry(rules.ttl_ms, stamp.now)?,
        };
        let version = Version(u64::from(entry.version()));
        let write = Write {
            namespace: to_namespace.clone(),
            key: key.clone(),
            value: Json::trusted(entry.value()),
            operation: if copy { Operation::Copied } else { Operation::Transferred },
            expires_at,
            bound_to: None,
            source: Some(Source {
                namespace: from_namespace.clone(),
                version,
                revision: Revision(entry.revision()),
                agent: table.authors().name(entry.author()).clone(),
            }),
        };
        let before = table.last_version(&to_namespace, key, present);
        written(rules, write, before, effort, happen)?;
        if !copy {
            let (namespace, key) = (from_namespace.clone(), key.clone());
            happen(Event::Deleted { namespace, key, version, removal: Removal::TransferredAway });
        }
    }
    Ok(WritePlan::Reply(Reply::Moved { keys }))
}

/// The keys that a transfer selects, in order and once each.
fn transferred_keys(
    table: &Table,
    namespace: &NamespaceName,
    keys: Option<Vec<Key>>,
    pattern: Option<Pattern>,
) -> Result<Vec<Key>, Rejection> {
    // Each moved entry causes two events.
    let max = limits::BATCH_EVENTS_MAX / 2;
    let fits = |entries: usize| {
        let too_large = Rejection::TransferTooLarge { entries, max };
        if entries <= max { Ok(()) } else { Err(too_large) }
    };
    let mut keys = match (keys, pattern) {
        (Some(keys), pattern) => {
            fits(keys.len())?;
            let wanted = |key: &Key| pattern.as_ref().is_none_or(|it| it.matches(key.as_str()));
            keys.into_iter().filter(wanted).collect()
        }
        (None, Some(pattern)) => {
            let list = List { pattern: Some(pattern), ..List::all(namespace.clone()) };
            let keys: Vec<Key> = table.listed(&list).take(max + 1).map(key_of).collect();
            fits(keys.len())?;
            keys
        }
        (None, None) => {
            fits(table.count(namespace))?;
            table.keys(namespace)
        }
    };
    keys.sort_unstable();
    keys.dedup();
    Ok(keys)
}

fn removed<'a>(
    table: &Table,
    places: impl Iterator<Item = (&'a NamespaceName, &'a Key)>,
    removal: Removal,
) -> Vec<Event> {
    let event = |(namespace, key): (&NamespaceName, &Key)| {
        let entry = table.packed(namespace, key).expect("what is listed to end is there");
        let version = Version(u64::from(entry.version()));
        Event::Deleted { namespace: namespace.clone(), key: key.clone(), version, removal }
    };
    places.map(event).collect()
}

/// A write whose conditions hold; the value itself is still to be checked.
struct Write {
    namespace: NamespaceName,
    key: Key,
    value: Json,
    operation: Operation,
    expires_at: Option<Timestamp>,
    bound_to: Option<AgentId>,
    source: Option<Source>,
}

fn written(
    rules: &Rules,
    write: Write,
    before: u32,
    effort: &Effort,
    happen: &mut impl FnMut(Event),
) -> Result<WritePlan, Rejection> {
    let Write { namespace, key, value, operation, expires_at, bound_to, source } = write;
    check_value(rules, &namespace, &key, &value, effort)?;
    let Some(version) = before.checked_add(1) else {
        return Err(Rejection::VersionsExhausted { namespace, key });
    };
    let warnings = if rules.flat { warn_if_nested(&key, &value) } else { Vec::new() };
    let version = Version(u64::from(version));
    #[cfg(feature = "planted")]
    let version = if crate::planted::is("state.version_stands_still") && version.0 > 1 {
        Version(version.0 - 1)
    } else {
        version
    };
    happen(Event::Set { namespace, key, value, version, operation, expires_at, bound_to, source });
    Ok(WritePlan::Written(warnings))
}

fn rules_for<'a>(
    view: &'a impl View,
    namespace: &NamespaceName,
    key: &Key,
) -> Result<&'a Rules, Rejection> {
    match view.rules(namespace) {
        Some(rules) => Ok(rules.for_key(key)),
        None => Err(Rejection::UnknownNamespace { namespace: namespace.clone() }),
    }
}

fn check_expectations(
    table: &Table,
    command: &Set,
    current: Option<&storage::Entry>,
) -> Result<(), Rejection> {
    let Set { namespace, key, .. } = command;
    check_version(table, namespace, key, command.expected_version, current)?;
    check_revision(table, namespace, key, command.expected_revision, current)?;
    if let Some(there) = current.filter(|_| command.if_absent) {
        let entry = Box::new(table.shown(namespace, there));
        return Err(Rejection::Exists { entry, merge: None });
    }
    if let Some(expected) = &command.expected_value {
        let same = |there: &storage::Entry| Json::trusted(there.value()).same_value(expected);
        if !current.is_some_and(same) {
            return Err(Rejection::ValueConflict {
                namespace: namespace.clone(),
                key: key.clone(),
                entry: current.map(|there| Box::new(table.shown(namespace, there))),
            });
        }
    }
    Ok(())
}

fn check_version(
    table: &Table,
    namespace: &NamespaceName,
    key: &Key,
    expected: Option<Version>,
    current: Option<&storage::Entry>,
) -> Result<(), Rejection> {
    let Some(expected) = expected else { return Ok(()) };
    let version = current.map_or(0, |entry| u64::from(entry.version()));
    #[cfg(feature = "planted")]
    if crate::planted::is("state.ignore_expected_version") {
        return Ok(());
    }
    if expected.0 == version {
        return Ok(());
    }
    Err(Rejection::VersionConflict {
        namespace: namespace.clone(),
        key: key.clone(),
        expected,
        entry: current.map(|there| Box::new(table.shown(namespace, there))),
        deletes: false,
    })
}

fn check_revision(
    table: &Table,
    namespace: &NamespaceName,
    key: &Key,
    expected: Option<Revision>,
    current: Option<&storage::Entry>,
) -> Result<(), Rejection> {
    let revision = current.map_or(0, storage::Entry::revision);
    match expected {
        Some(expected) if expected.0 != revision => Err(Rejection::RevisionConflict {
            namespace: namespace.clone(),
            key: key.clone(),
            expected,
            entry: current.map(|there| Box::new(table.shown(namespace, there))),
            deletes: false,
        }),
        Some(_) | None => Ok(()),
    }
}

fn check_append_only(
    table: &Table,
    rules: &Rules,
    namespace: &NamespaceName,
    current: Option<&storage::Entry>,
    adds_only: bool,
) -> Result<(), Rejection> {
    match current {
        Some(there) if rules.append_only && !adds_only => {
            Err(Rejection::AppendOnly { entry: Box::new(table.shown(namespace, there)) })
        }
        Some(_) | None => Ok(()),
    }
}

fn check_ephemeral(
    table: &Table,
    view: &impl View,
    command: &Set,
    agent: &AgentId,
) -> Result<(), Rejection> {
    if !view.has_session(agent) {
        return Err(Rejection::NoSession { agent: agent.clone() });
    }
    let bound = table.ending(&command.namespace, &command.key).1;
    let max = limits::EPHEMERAL_PER_AGENT_MAX;
    if bound.as_ref() != Some(agent) && table.bound_to(agent).count() >= max {
        return Err(Rejection::TooManyEphemeral { agent: agent.clone(), max });
    }
    Ok(())
}

fn check_value(
    rules: &Rules,
    namespace: &NamespaceName,
    key: &Key,
    value: &Json,
    effort: &Effort,
) -> Result<(), Rejection> {
    let own = rules.value_bytes_max.and_then(|bytes| usize::try_from(bytes).ok());
    let bytes_max = own.unwrap_or(limits::VALUE_BYTES_MAX).min(limits::VALUE_BYTES_MAX);
    let bytes = value.as_bytes().len();
    if bytes > bytes_max {
        return Err(Rejection::ValueTooLarge { key: key.clone(), bytes, bytes_max });
    }
    let Some(schema) = &rules.schema else { return Ok(()) };
    schema.check_within(value, effort).map_err(|violation| Rejection::Schema {
        namespace: namespace.clone(),
        key: key.clone(),
        path: violation.path,
        reason: violation.reason,
    })
}

fn merge_failed(
    table: &Table,
    namespace: &NamespaceName,
    key: &Key,
    reason: MergeError,
    current: Option<&storage::Entry>,
) -> Rejection {
    match (reason, current) {
        (MergeError::Exists, Some(there)) => {
            let entry = Box::new(table.shown(namespace, there));
            Rejection::Exists { entry, merge: Some(Merge::Reject) }
        }
        (MergeError::Absent, None) => {
            Rejection::NotFound { namespace: namespace.clone(), key: key.clone() }
        }
        (reason, Some(_) | None) => {
            Rejection::PatchFailed { namespace: namespace.clone(), key: key.clone(), reason }
        }
    }
}

fn expiry(ttl_ms: Option<u64>, now: Timestamp) -> Result<Option<Timestamp>, Rejection> {
    let (min, max) = (limits::TTL_MS_MIN, limits::TTL_MS_MAX);
    match ttl_ms {
        None => Ok(None),
        Some(given) if (min..=max).contains(&given) => Ok(Some(now.after(given))),
        Some(given) => Err(Rejection::TtlOutOfRange { given, min, max }),
    }
}

/// A flat object survives a hand-off; nested documents tend to be misread.
fn warn_if_nested(key: &Key, value: &Json) -> Vec<Warning> {
    let is_compound = |value: &serde_json::Value| value.is_object() || value.is_array();
    let is_nested = |value: &serde_json::Value| match value.as_array() {
        Some(items) => items.iter().any(is_compound),
        None => value.is_object(),
    };
    let value = value.to_value();
    let nested = value.as_object().into_iter().flatten().find(|(_, value)| is_nested(value));
    let warning = |(name, _): (&String, &serde_json::Value)| Warning {
        code: "state.nested_value".into(),
        detail: format!("field `{name}` of `{key}` is not flat; receivers expect plain fields"),
    };
    nested.map(warning).into_iter().collect()
}
