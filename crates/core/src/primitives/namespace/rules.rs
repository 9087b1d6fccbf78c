//! Rules about values: the requirements of a namespace for the values written into it.

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::names::Key;
use crate::pattern::Pattern;
use crate::schema::Schema;
use crate::state::merge::Merge;

/// Rules for the values that are written to a namespace, or to keys that match a pattern.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// Existing keys only grow, by `append` and `union`; they cannot be overwritten or deleted.
    ///
    #[serde(skip_serializing_if = "is_false")]
    pub append_only: bool,
    /// A JSON Schema that every new value must satisfy. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Schema>,
    /// The version of the schema, for readers. It can only increase. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<u32>,
    /// How `state.set` combines the new value with the existing one.
    #[cfg_attr(feature = "schema", schemars(extend("default" = "last_write_wins")))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<Merge>,
    /// Time to live of entries without their own, in milliseconds. If omitted, entries do not
    /// expire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// The maximum size of a value in bytes. If omitted, the general limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_bytes_max: Option<u64>,
    /// Warn about values that contain objects or lists of objects.
    #[serde(skip_serializing_if = "is_false")]
    pub flat: bool,
    /// Rules for some keys. The first pattern that matches applies instead of the rules above.
    ///
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<KeyRules>,
}

/// Rules for the keys that match a pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KeyRules {
    /// The keys.
    pub pattern: Pattern,
    /// The rules for these keys.
    pub rules: Rules,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Rules {
    /// The rules that apply to this key.
    pub fn for_key(&self, key: &Key) -> &Rules {
        let special = self.keys.iter().find(|special| special.pattern.matches(key.as_str()));
        special.map_or(self, |special| &special.rules)
    }

    /// The schemas for any of the keys.
    pub(crate) fn schemas(&self) -> Vec<&Schema> {
        let special = self.keys.iter().map(|special| &special.rules);
        std::iter::once(self).chain(special).filter_map(|rules| rules.schema.as_ref()).collect()
    }

    /// Whether there are no rules at all.
    pub fn is_plain(&self) -> bool {
        let Self { append_only, schema, merge, ttl_ms, value_bytes_max, flat, keys, .. } = self;
        let demands = [schema.is_some(), merge.is_some(), ttl_ms.is_some(), !keys.is_empty()];
        !append_only && !flat && value_bytes_max.is_none() && !demands.contains(&true)
    }

    /// An upper bound of their size in the log, in bytes.
    pub(crate) fn weight(&self) -> usize {
        const FRAME: usize = 128;
        let schema = self.schema.as_ref().map_or(0, |schema| schema.source().as_bytes().len());
        let keys = self.keys.iter().map(|special| {
            let pattern = special.pattern.as_str().len();
            FRAME + pattern + special.rules.weight()
        });
        FRAME + schema + keys.sum::<usize>()
    }

    /// The error in the rules, as a sentence.
    pub fn fault(&self) -> Option<String> {
        if self.keys.len() > limits::KEY_RULES_MAX {
            return Some(format!("more than {} key patterns", limits::KEY_RULES_MAX));
        }
        if let Some(nested) = self.keys.iter().find(|special| !special.rules.keys.is_empty()) {
            return Some(format!(
                "the rules for keys `{}` hold rules for keys again",
                nested.pattern.as_str()
            ));
        }
        let special = self.keys.iter().find_map(|special| special.rules.own_fault());
        self.own_fault().or(special)
    }

    fn own_fault(&self) -> Option<String> {
        let ttl = limits::TTL_MS_MIN..=limits::TTL_MS_MAX;
        if let Some(given) = self.ttl_ms.filter(|given| !ttl.contains(given)) {
            let (min, max) = (ttl.start(), ttl.end());
            return Some(format!("ttl_ms must be between {min} and {max}, not {given}"));
        }
        let general = limits::VALUE_BYTES_MAX as u64;
        let given = self.value_bytes_max.filter(|given| *given == 0 || *given > general)?;
        Some(format!("value_bytes_max must be between 1 and {general}, not {given}"))
    }
}
