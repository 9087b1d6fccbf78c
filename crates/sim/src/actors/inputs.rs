//! The choices of agents: names, values and rules of a small world.
//!
//! A value contains its author and the time, so that no two writes are equal. A namespace that is
//! created again has the same rules, because its values must satisfy them.

use baton_core::schema::Schema;
use baton_core::state::merge::{Merge, Patch};
use baton_core::state::{self, PatchEntry, Set};
use baton_core::{AgentId, Command, Json, Key, NamespaceName, Pattern, Rules, Version};

use crate::actors::agent::{registration, write};
use crate::actors::handoff::some_capabilities;
use crate::plan::Plan;
use crate::rng::Rng;

/// Namespaces that are created and deleted.
const NAMESPACES: [&str; 6] = ["notes", "list", "count", "best", "typed", "brief"];

/// The choices of an agent in one step.
pub struct Inputs<'a> {
    /// The source of choices.
    pub rng: &'a mut Rng,
    /// The sizes of the world.
    pub plan: &'a Plan,
    /// The agent that chooses.
    pub agent: &'a AgentId,
    /// The number of its choices so far.
    pub counter: u64,
}

impl Inputs<'_> {
    /// A namespace of this name.
    pub fn namespace(name: &str) -> NamespaceName {
        NamespaceName::parse(name).expect("a good name")
    }

    /// A key.
    pub fn key(&mut self) -> Key {
        let number = self.rng.below(self.plan.keys);
        let group = if number.is_multiple_of(5) { "task:" } else { "k" };
        Key::parse(&format!("{group}{number}")).expect("a good key")
    }

    /// A pattern that some of the keys match.
    pub fn key_pattern(&mut self) -> Pattern {
        let pattern = *self.rng.pick(&["k*", "task:*", "**", "*1", "no*"]);
        Pattern::parse(pattern).expect("a good pattern")
    }

    /// A namespace and a key.
    pub fn entry_key(&mut self) -> (NamespaceName, Key) {
        let namespace = match self.rng.below(5) {
            0 | 1 => NamespaceName::shared(),
            2 => Self::namespace("notes"),
            _ => self.some_namespace(),
        };
        (namespace, self.key())
    }

    /// One of all namespaces.
    pub fn some_namespace(&mut self) -> NamespaceName {
        match self.rng.below(8) {
            0 => NamespaceName::shared(),
            1 => NamespaceName::of_agent(self.agent),
            _ => {
                let name: &str = NAMESPACES[self.rng.index(NAMESPACES.len())];
                Self::namespace(name)
            }
        }
    }

    /// The rules that the values of a namespace satisfy.
    pub fn rules_of(&mut self, namespace: &NamespaceName) -> Rules {
        let plain = Rules::default();
        match namespace.as_str() {
            "list" => {
                let append_only = self.rng.once_in(2);
                Rules { append_only, merge: Some(Merge::Append), ..plain }
            }
            "count" => Rules { merge: Some(Merge::Counter), ..plain },
            "best" => Rules { merge: Some(Merge::Max), ..plain },
            "typed" => {
                let text = Json::parse(r#"{"type":"object"}"#).expect("good JSON");
                Rules { schema: Some(Schema::compile(&text).expect("a good schema")), ..plain }
            }
            "brief" => Rules { ttl_ms: Some(self.rng.between(10, 30_000)), ..plain },
            _ => plain,
        }
    }

    /// Rules that the values may or may not satisfy.
    pub fn some_rules(&mut self) -> Rules {
        match self.rng.below(5) {
            0 => Rules { append_only: true, ..Rules::default() },
            1 => Rules { merge: Some(Merge::Reject), ..Rules::default() },
            2 => Rules { value_bytes_max: Some(60), ..Rules::default() },
            3 => Rules { ttl_ms: Some(5_000), ..Rules::default() },
            _ => Rules::default(),
        }
    }

    /// A value that usually satisfies the rules of a namespace.
    fn value(&mut self, namespace: &NamespaceName) -> Json {
        let number = self.rng.below(10);
        let text = match namespace.as_str() {
            "count" | "best" => number.to_string(),
            "list" => format!(r#"["{}",{}]"#, self.agent, self.counter),
            _ => {
                let bytes = self.rng.below(self.plan.value_bytes_max);
                let padding = "x".repeat(usize::try_from(bytes).unwrap_or_default());
                format!(r#"{{"by":"{}","n":{},"pad":"{padding}"}}"#, self.agent, self.counter)
            }
        };
        Json::parse(text).expect("good JSON")
    }

    /// A write, with conditions.
    pub fn set(
        &mut self,
        namespace: NamespaceName,
        key: Key,
        conditions: impl FnOnce(&mut Set),
    ) -> state::Command {
        let value = self.value(&namespace);
        let mut set = write(namespace, key, value);
        conditions(&mut set);
        state::Command::Set(set)
    }

    /// A patch that is usually valid in a namespace.
    pub fn patch(
        &mut self,
        namespace: NamespaceName,
        key: Key,
        expected_version: Option<Version>,
    ) -> state::Command {
        let value = self.value(&namespace);
        let patch = match namespace.as_str() {
            "count" => Patch::Increment(value),
            "best" => Patch::Max(value),
            "list" => Patch::Append(value),
            _ => Patch::Merge(value),
        };
        state::Command::Patch(PatchEntry {
            namespace,
            key,
            patch,
            expected_version,
            expected_revision: None,
        })
    }

    /// A new session.
    pub fn register(&mut self) -> Command {
        let ttl_ms = *self.rng.pick(&[100, 2_000, 30_000, 600_000]);
        let capabilities = some_capabilities(self);
        let somebody = format!("a{}", self.rng.below(4));
        let parent = AgentId::parse(&somebody).ok().filter(|_| self.rng.once_in(3));
        registration(self.agent, ttl_ms, capabilities, parent)
    }
}
