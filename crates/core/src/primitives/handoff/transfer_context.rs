//! A hand-off as other systems write it: the `transfer_context` block of a message between agents.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Handoff, Offer, Receiver};
use crate::json::{Json, given};
use crate::names::{HandoffId, Traceparent};
use crate::trace::kept;

/// A hand-off in a portable form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TransferContext {
    /// The task at its origin. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub originating_task_id: Option<String>,
    /// The giver: an id or an address. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub originating_agent: Option<String>,
    /// The flat object of context.
    #[serde(default)]
    pub state: BTreeMap<String, Json>,
    /// Names of what was produced. Absent if none were given.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub output_keys: Option<Json>,
    /// The hand-off that this was exported from. Absent in contexts of other systems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff_id: Option<HandoffId>,
    /// The reason. Absent if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// W3C trace context (`traceparent`). Absent if none was given.
    #[serde(default, deserialize_with = "kept", skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
}

impl From<&Handoff> for TransferContext {
    fn from(handoff: &Handoff) -> Self {
        Self {
            originating_task_id: handoff.task.as_ref().map(|task| task.as_str().to_owned()),
            originating_agent: Some(handoff.from.as_str().to_owned()),
            state: handoff.state.clone(),
            output_keys: handoff.output_keys.clone(),
            handoff_id: Some(handoff.id.clone()),
            reason: handoff.reason.clone(),
            traceparent: handoff.traceparent.clone(),
        }
    }
}

impl TransferContext {
    /// An offer that hands on here what came from another system. Its origin becomes `notes`,
    /// because tasks and agents of another system have no meaning here.
    pub fn offer(self, to: Receiver) -> Offer {
        let mut origin = serde_json::Map::new();
        let mut note = |name: &str, text: Option<String>| {
            if let Some(text) = text {
                origin.insert(name.to_owned(), Value::String(text));
            }
        };
        note("originating_task_id", self.originating_task_id);
        note("originating_agent", self.originating_agent);
        note("handoff_id", self.handoff_id.map(|id| id.as_str().to_owned()));
        let notes = (!origin.is_empty())
            .then(|| Json::of(&Value::Object(origin)).expect("an object of texts is JSON"));
        Offer {
            notes,
            reason: self.reason,
            state: self.state,
            output_keys: self.output_keys,
            traceparent: self.traceparent,
            ..Offer::to(to)
        }
    }
}
