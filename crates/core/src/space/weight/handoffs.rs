//! The work of a hand-off.

use super::{BYTES_PER_UNIT, HASHED_BYTES_PER_UNIT, Space};
use crate::handoff::{Command, Offer, Receiver, Selected};
use crate::json::Json;
use crate::limits;
use crate::names::{HandoffId, NamespaceName};
use crate::schema::Schema;
use crate::state;
use crate::task::Record;

/// The number and the size of the keys of a hand-off.
#[derive(Default)]
struct Keys {
    /// The number of examined entries.
    examined: usize,
    /// The bytes of their values, all of which are hashed.
    bytes: usize,
}

impl Space {
    pub(super) fn handoff_units(&self, command: &Command, units_max: usize) -> usize {
        match command {
            Command::Offer(offer) | Command::Execute(offer) | Command::Validate(offer) => {
                self.offer_units(offer, units_max)
            }
            Command::ImportContext(import) => {
                let bytes = import.context.state.values().map(|value| value.as_bytes().len());
                self.rule.units(bytes.sum())
            }
            // The request does not contain how much its agent holds. Few requests are this one.
            Command::ExecuteAll(_) => limits::HANDOFF_KEYS_MAX,
            Command::Accept(accept) => self.units_of_known(&accept.handoff, units_max),
            Command::Approve { handoff, .. } => self.units_of_known(handoff, units_max),
            Command::Receive { .. }
            | Command::Reject { .. }
            | Command::Complete(_)
            | Command::Cancel { .. } => 0,
        }
    }

    fn offer_units(&self, offer: &Offer, units_max: usize) -> usize {
        let keys = self.keys(&offer.keys, units_max);
        let state: usize = offer.state.values().map(Json::as_bytes).map(<[u8]>::len).sum();
        let task = offer.task.as_ref().and_then(|task| self.task.get(task));
        let task = task.map_or(0, Record::bytes);
        let hashed = (keys.bytes + state + task) / HASHED_BYTES_PER_UNIT;
        let checked = self.checked_where_they_go(&offer.to, &keys);
        keys.examined + hashed + checked + self.rule.units(keys.bytes + state + task)
    }

    /// The units of an answer by the receiver or an approver.
    fn units_of_known(&self, handoff: &HandoffId, units_max: usize) -> usize {
        let Some(handoff) = self.handoff.get(handoff) else { return 0 };
        let keys = self.keys(&handoff.keys, units_max);
        let checked = self.checked_where_they_go(&handoff.to, &keys);
        keys.examined + checked + keys.bytes / HASHED_BYTES_PER_UNIT
    }

    /// The schemas of the receiver's namespace check the values.
    fn checked_where_they_go(&self, to: &Receiver, keys: &Keys) -> usize {
        let namespace = to.agent().map(NamespaceName::of_agent);
        let there = namespace.and_then(|namespace| self.namespace.get(&namespace));
        let schemas = there.map_or_else(Vec::new, |there| there.rules.schemas());
        let usual = keys.bytes / keys.examined.max(1);
        let units =
            |schema: &Schema| keys.bytes / BYTES_PER_UNIT + keys.examined * schema.units(usual);
        schemas.into_iter().map(units).max().unwrap_or_default()
    }

    fn keys(&self, keys: &[Selected], units_max: usize) -> Keys {
        let mut found = Keys::default();
        for selected in keys {
            if found.examined > units_max {
                break;
            }
            found.examined += 1;
            if selected.version.is_none() && selected.name.key().contains('*') {
                self.add_pattern(selected, units_max, &mut found);
            } else if let Some(entry) = self.state.find(&selected.name) {
                found.bytes += entry.value().len();
            }
        }
        found
    }

    fn add_pattern(&self, selected: &Selected, units_max: usize, found: &mut Keys) {
        let Ok(namespace) = NamespaceName::parse(selected.name.namespace()) else { return };
        let count = self.state.count(&namespace).min(limits::HANDOFF_KEYS_EXAMINED_MAX);
        found.examined += count;
        if count <= units_max {
            let list = state::List::all(namespace);
            let entries = self.state.listed(&list);
            found.bytes += entries.map(|entry| entry.as_bytes().len()).sum::<usize>();
        }
    }
}
