//! Evaluates rules for a proposed hand-off.
//!
//! ```text
//!                         rule 1 ──▶ passes
//!   Proposal ──▶ judge ─▶ rule 2 ──▶ objects, and is a warning ──▶ Judgement.warnings
//!                         rule 3 ──▶ objects, and is an error  ──▶ Judgement.errors
//!                         rule 4 ──▶ cannot be run             ──▶ Judgement.errors, `broken`
//! ```
//!
//! A rule has one [`Check`]. Checks see a [`Proposal`] and nothing else: no table, no clock, no
//! other rule. Hand-offs build the proposal and act on the judgement.
//!
//! Invariants:
//!
//! 1. The same proposal always has the same judgement.
//! 2. A rule that cannot be evaluated is an error, whatever its severity: it was meant to stop
//!    something, and this may be it.
//! 3. Evaluation is bounded: the number of rules, the work of each, and the work of all rules in
//!    one commit, which is refused beyond that.
//! 4. A rule has at most one finding, with one sentence of bounded length.
//!
//! Deliberately absent: rules that change what is handed over, and rules that depend on each other.

mod check;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use check::{Check, CheckError, CheckSpec, Objection};

use crate::expression::{Operand, Variable, Variables};
use crate::json::Json;
use crate::names::{AgentId, RuleName, TaskType};
use crate::space::CommitEffort;

/// A proposed hand-off, as rules see it.
#[derive(Clone, Copy, Debug)]
pub struct Proposal<'a> {
    /// The giver.
    pub from: &'a AgentId,
    /// The receiver; none if the offer is addressed to a capability.
    pub to: Option<&'a AgentId>,
    /// The capability that the receiver needs.
    pub capability: Option<&'a str>,
    /// The task.
    pub task: Option<&'a Json>,
    /// The task type.
    pub task_type: Option<&'a TaskType>,
    /// The state to hand over, by name; entries of shared state by `namespace/key`.
    pub state: &'a BTreeMap<String, Json>,
    /// The receiver, if it is known.
    pub receiver: Option<Receiver<'a>>,
    /// How often the work was handed over, including this time.
    pub hops: u64,
    /// The reason of the hand-off.
    pub reason: Option<&'a str>,
}

/// The facts about the receiver that rules can use.
#[derive(Clone, Copy, Debug)]
pub struct Receiver<'a> {
    /// Whether it has a session.
    pub is_active: bool,
    /// Its capabilities.
    pub capabilities: &'a BTreeSet<String>,
}

/// A violation that a rule found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The rule.
    pub rule: RuleName,
    /// The violation, in words.
    pub detail: String,
    /// Whether the rule could not be evaluated. It then counts as an error, whatever its severity.
    /// Absent if `false`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub broken: bool,
}

/// The findings of all rules, each list by rule name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Judgement {
    /// Findings that forbid it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Finding>,
    /// Findings that do not forbid it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Finding>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Judgement {
    /// Whether there are no errors.
    pub fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }
}

/// A proposal and the trees that some checks need, each built once on first use.
pub(crate) struct Case<'a> {
    pub(crate) proposal: &'a Proposal<'a>,
    /// All rules of a commit share it: there may be hundreds, and as many hand-offs.
    pub(crate) effort: &'a CommitEffort,
    state: OnceCell<Value>,
    task: OnceCell<Value>,
    receiver: OnceCell<Value>,
}

impl<'a> Case<'a> {
    pub(crate) fn new(proposal: &'a Proposal<'a>, effort: &'a CommitEffort) -> Self {
        let (state, task, receiver) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Self { proposal, effort, state, task, receiver }
    }

    /// The state as one object.
    pub(crate) fn state(&self) -> &Value {
        self.state.get_or_init(|| {
            let fields = self.proposal.state.iter();
            let fields = fields.map(|(name, value)| (name.clone(), value.to_value()));
            Value::Object(fields.collect::<Map<_, _>>())
        })
    }
}

impl Variables for Case<'_> {
    fn value(&self, variable: Variable) -> Operand<'_> {
        let proposal = self.proposal;
        match variable {
            Variable::Task => {
                let task = || proposal.task.map_or(Value::Null, Json::to_value);
                Operand::from(self.task.get_or_init(task))
            }
            Variable::TaskType => Operand::text(proposal.task_type.map(TaskType::as_str)),
            Variable::From => Operand::text(Some(proposal.from.as_str())),
            Variable::To => Operand::text(proposal.to.map(AgentId::as_str)),
            Variable::Capability => Operand::text(proposal.capability),
            Variable::State => Operand::from(self.state()),
            Variable::Hops => Operand::Integer(proposal.hops.into()),
            Variable::Reason => Operand::text(proposal.reason),
            Variable::Event => Operand::Null,
            Variable::Receiver => {
                let receiver = || proposal.receiver.map_or(Value::Null, seen);
                Operand::from(self.receiver.get_or_init(receiver))
            }
        }
    }
}

/// The receiver as expressions see it.
fn seen(receiver: Receiver<'_>) -> Value {
    let Receiver { is_active, capabilities } = receiver;
    json!({ "active": is_active, "capabilities": capabilities })
}
