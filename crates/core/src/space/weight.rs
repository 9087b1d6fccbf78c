//! How much work a request or a query is, estimated from what it is about and before anything is
//! done, so that long work can be done where nobody waits for it.
//!
//! | what | is work in proportion to |
//! |---|---|
//! | a value that a schema or contracts check | its bytes, and those of the automata it needs |
//! | a patch, or a write that is merged | the bytes of both values, which are parsed |
//! | moving or deleting a namespace | its entries |
//! | a list | the records that are looked at, and those that are returned |
//!
//! Deliberately absent: what a request causes. That is counted while it happens, see
//! [`Space::begin_commit`].

use super::Space;
use crate::command::{Command, Mutation, Query};
use crate::names::{Key, NamespaceName};
use crate::schema::Schema;
use crate::{context, contract, limits, namespace, state, task};

/// Bytes of a value that take about as long to parse and to check as an entry to move.
const BYTES_PER_UNIT: usize = 64;
/// Bytes of the automata of regular expressions that take about as long to build, if they are not
/// in memory. An ordinary schema is no more than a few units.
const AUTOMATA_BYTES_PER_UNIT: usize = 8 << 10;

impl Space {
    /// The units of work of a request that takes more than this many; none if it does not. A unit
    /// is an entry to move or delete, or 64 bytes to parse and check.
    pub fn long_work(&self, mutation: &Mutation, units_max: usize) -> Option<usize> {
        let units = mutation.commands().iter().map(|command| self.units(command)).sum();
        (units > units_max).then_some(units)
    }

    fn units(&self, command: &Command) -> usize {
        if let Command::Namespace(namespace::Command::Delete { name }) = command {
            return self.state.count(name);
        }
        let Command::State(command) = command else { return 0 };
        match command {
            state::Command::Set(set) => {
                let bytes = set.value.as_bytes().len();
                let (automata, is_merged) = self.handling(&set.namespace, &set.key);
                let before = if is_merged { self.bytes(&set.namespace, &set.key) } else { 0 };
                let parsed = if automata.is_some() || is_merged { bytes + before } else { 0 };
                parsed / BYTES_PER_UNIT + automata.unwrap_or_default() / AUTOMATA_BYTES_PER_UNIT
            }
            state::Command::Patch(patch) => {
                let bytes = patch.patch.value().as_bytes().len();
                (bytes + self.bytes(&patch.namespace, &patch.key)) / BYTES_PER_UNIT
            }
            state::Command::Transfer(transfer) => {
                let entries = self.state.count(&transfer.from_namespace);
                transfer.keys.as_ref().map_or(entries, Vec::len)
            }
            state::Command::Delete(_) => 0,
        }
    }

    /// The size of the automata of what checks the values of a key, if something does, and whether
    /// new values are merged with old ones.
    fn handling(&self, namespace: &NamespaceName, key: &Key) -> (Option<usize>, bool) {
        let rules = self.namespace.get(namespace).map(|there| there.rules.for_key(key));
        let own = rules.and_then(|rules| rules.schema.as_ref()).map(Schema::regexes_bytes);
        let is_merged = rules.is_some_and(|rules| rules.merge.is_some());
        if self.contract.is_empty() {
            return (own, is_merged);
        }
        let all = self.contract.concerning(&format!("{namespace}/{key}"));
        let schemas = all.into_iter().filter_map(|(_, terms)| terms.schema.as_ref());
        let promised: usize = schemas.map(Schema::regexes_bytes).sum();
        (Some(own.unwrap_or_default().saturating_add(promised)), is_merged)
    }

    fn bytes(&self, namespace: &NamespaceName, key: &Key) -> usize {
        self.state.packed(namespace, key).map_or(0, |entry| entry.as_bytes().len())
    }

    /// Whether a query about the present takes long: it looks at more than this many records, reads
    /// many values, or evaluates what callers have written.
    pub fn is_long_query(&self, query: &Query, records_max: usize) -> bool {
        let page = |limit: Option<usize>| limit.unwrap_or(limits::PAGE_DEFAULT);
        let records = match query {
            Query::State(state::Query::List(list)) if list.at.is_none() => {
                let all = self.state.count(&list.namespace);
                if list.pattern.is_some() { all } else { all.min(page(list.limit)) }
            }
            Query::State(state::Query::Snapshot(snapshot)) if snapshot.at.is_none() => {
                let is_present = match snapshot.revision() {
                    Ok(pinned) => pinned.is_none_or(|pinned| pinned == self.revision),
                    Err(_) => false,
                };
                let all = match &snapshot.namespace {
                    Some(namespace) => self.state.count(namespace),
                    None => self.entries(),
                };
                if is_present { all.min(page(snapshot.limit)) } else { 0 }
            }
            Query::Task(task::Query::List(list)) => {
                let limit = list.limit.and_then(|limit| usize::try_from(limit).ok());
                let examined = if selects(list) { limits::TASKS_EXAMINED_MAX } else { page(limit) };
                self.task.len().min(examined)
            }
            query => return is_always_long(query),
        };
        records > records_max
    }

    fn entries(&self) -> usize {
        self.state.namespaces().map(|(_, entries)| entries.len()).sum()
    }
}

/// Whether a list of tasks leaves out some.
fn selects(list: &task::List) -> bool {
    let task::List { status, task_type, agent, group, parent, limit: _, cursor: _ } = list;
    let named = [task_type.is_some(), agent.is_some(), group.is_some(), parent.is_some()];
    status.is_some() || named.contains(&true)
}

/// Whether a query takes long whatever the workspace has.
fn is_always_long(query: &Query) -> bool {
    matches!(
        query,
        Query::Contract(contract::Query::Check { .. }) | Query::Context(context::Query::Build(_))
    )
}

#[cfg(test)]
mod tests {
    use crate::command::{Mutation, Query, Request};
    use crate::names::AgentId;
    use crate::space::Space;
    use crate::time::Timestamp;
    use crate::wire::{Call, Frame};

    fn call(text: &str) -> Call {
        Frame::parse(text).unwrap().call().unwrap()
    }

    fn mutation(text: &str) -> Mutation {
        match call(text) {
            Call::Command(command) => Mutation::Command(command),
            Call::Transaction(mutation) => mutation,
            _ => panic!("{text} changes nothing"),
        }
    }

    fn query(text: &str) -> Query {
        match call(text) {
            Call::Query(query) => query,
            _ => panic!("{text} is no query"),
        }
    }

    fn set(namespace: &str, key: &str, bytes: usize) -> String {
        let value = "x".repeat(bytes);
        format!(
            r#"{{"command":"state.set","namespace":"{namespace}","key":"{key}","value":"{value}"}}"#
        )
    }

    fn space(texts: &[String]) -> Space {
        let (mut space, ada) = (Space::default(), AgentId::parse("ada").unwrap());
        for text in texts {
            let request = Request { mutation: mutation(text), idempotency_key: None };
            space.commit(request, &ada, Timestamp(1_000)).unwrap();
        }
        space
    }

    #[test]
    fn a_value_is_work_if_somebody_checks_it() {
        let rules = r#"{"command":"namespace.create","name":"checked",
            "rules":{"schema":{"type":"string"}}}"#;
        let space = space(&[rules.to_owned(), set("shared", "large", 64_000)]);
        let work = |text: &str| space.long_work(&mutation(text), 256);
        assert_eq!(work(&set("shared", "k", 64_000)), None);
        assert_eq!(work(&set("checked", "k", 16_000)), None);
        assert_eq!(work(&set("checked", "k", 63_998)), Some(1_000));
        let small = set("checked", "k", 9_000);
        let together = format!(r#"{{"command":"transaction","commands":[{small},{small}]}}"#);
        assert!(work(&together).is_some());
        // A patch reads all of what it changes.
        let patch = r#"{"command":"state.patch","namespace":"shared","key":"large",
            "merge":{"a":1}}"#;
        assert!(work(patch).is_some());
        assert_eq!(work(&patch.replace("large", "other")), None);
    }

    #[test]
    fn a_check_is_as_much_work_as_its_automata() {
        let rules = |name: &str, pattern: &str| {
            format!(
                r#"{{"command":"namespace.create","name":"{name}",
                    "rules":{{"schema":{{"pattern":"{pattern}"}}}}}}"#
            )
        };
        let space = space(&[rules("plain", "^[a-z]{1,64}$"), rules("hungry", r"^\\p{L}{24}$")]);
        let work = |name: &str| space.long_work(&mutation(&set(name, "k", 10)), 32);
        assert_eq!(work("plain"), None);
        assert!(work("hungry").is_some());
    }

    #[test]
    fn a_namespace_is_as_much_work_as_it_has_entries() {
        let entries: Vec<String> =
            (0..20).map(|number| set("shared", &format!("k{number}"), 1)).collect();
        let space = space(&entries);
        let transfer = r#"{"command":"state.transfer","from_namespace":"shared",
            "to_namespace":"other","copy":true}"#;
        assert_eq!(space.long_work(&mutation(transfer), 10), Some(20));
        assert_eq!(space.long_work(&mutation(transfer), 20), None);
        let is_long = |fields: &str, max: usize| {
            let text = format!(r#"{{"command":"state.list","namespace":"shared"{fields}}}"#);
            space.is_long_query(&query(&text), max)
        };
        assert!(is_long("", 19) && !is_long("", 20));
        assert!(!is_long(r#","limit":5"#, 10), "no more are looked at");
        assert!(is_long(r#","limit":5,"pattern":"*9""#, 10), "all are looked at");
        let snapshot = r#"{"command":"state.snapshot"}"#;
        assert!(space.is_long_query(&query(snapshot), 19));
        // A page of an earlier revision is not read from here.
        let pinned = r#"{"command":"state.snapshot","cursor":"3/shared/k1"}"#;
        assert!(!space.is_long_query(&query(pinned), 0));
        // Nor is one that names a revision, even if it is the present one.
        let at = format!(r#"{{"command":"state.snapshot","at":{}}}"#, space.revision());
        assert!(!space.is_long_query(&query(&at), 0));
        assert!(space.is_long_query(&query(r#"{"command":"contract.check"}"#), usize::MAX));
    }
}
