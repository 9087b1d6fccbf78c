//! The check of a rule.
//!
//! | check | passes if |
//! |---|---|
//! | `required_keys` | the state has all of these names |
//! | `schema` | the state, as one object, satisfies the JSON Schema |
//! | `expression` | it is true |
//! | `capability` | the receiver has this capability, or is chosen by it |
//! | `receiver_alive` | the receiver has a session, or is chosen when it accepts |
//! | `state_bytes_max` | names and values of the state do not exceed this size |
//! | `hops_max` | the work was not handed over more often |

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Case, Proposal};
use crate::expression::{Expression, ExpressionError};
use crate::limits;
use crate::quoted::quoted;
use crate::schema::Schema;

/// The check of a rule, as it is given. Exactly one field must be given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "WantedCheck", extend("minProperties" = 1, "maxProperties" = 1))
)]
#[serde(deny_unknown_fields, default)]
pub struct CheckSpec {
    /// Names that the state must have. If omitted, another field is required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_keys: Option<Vec<String>>,
    /// A JSON Schema for the state as one object. If omitted, another field is required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Schema>,
    /// A CEL expression that must be true. If omitted, another field is required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
    /// A capability that the receiver must have. If omitted, another field is required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capability: Option<String>,
    /// `true`: the receiver must have a session. If omitted, another field is required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver_alive: Option<bool>,
    /// The maximum size of the state, names and values, in bytes. If omitted, another field is
    /// required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_bytes_max: Option<u64>,
    /// How often the work may change hands. If omitted, another field is required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hops_max: Option<u64>,
}

/// The check of a rule, compiled. It is stored as its source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// Names that the state must have.
    RequiredKeys(Vec<String>),
    /// A JSON Schema for the state as one object.
    Schema(Schema),
    /// A CEL expression that must be true.
    Expression(Expression),
    /// A capability that the receiver must have.
    Capability(String),
    /// `true`: the receiver must have a session.
    ReceiverAlive(bool),
    /// The maximum size of the state, names and values, in bytes.
    StateBytesMax(u64),
    /// How often the work may change hands.
    HopsMax(u64),
}

/// Why a [`Check`] is invalid. Serialized as its facts.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize)]
#[serde(untagged)]
pub enum CheckError {
    /// None or several were given.
    #[error("a check has exactly one field, got {}", counted(given))]
    NotOne {
        /// The fields that were given.
        given: Vec<&'static str>,
    },
    /// The expression is invalid.
    #[error("the expression cannot be used {0}")]
    Expression(ExpressionError),
    /// A field is invalid.
    #[error("`{field}` is invalid: {reason}")]
    BadField {
        /// The field.
        field: &'static str,
        /// Why it is invalid.
        reason: String,
    },
}

fn counted(given: &[&str]) -> String {
    if given.is_empty() {
        return "none".into();
    }
    let quoted: Vec<_> = given.iter().map(|field| format!("`{field}`")).collect();
    format!("{}: {}", given.len(), quoted.join(", "))
}

/// Why a check rejects a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objection {
    /// The violation, in words.
    pub detail: String,
    /// Whether the check could not be evaluated.
    pub broken: bool,
}

fn objection(detail: String) -> Objection {
    Objection { detail, broken: false }
}

fn broken(reason: &str) -> Objection {
    Objection { detail: format!("the rule cannot be run: {reason}"), broken: true }
}

impl CheckSpec {
    /// The names of the fields that were given.
    fn given(&self) -> Vec<&'static str> {
        let fields = [
            ("required_keys", self.required_keys.is_some()),
            ("schema", self.schema.is_some()),
            ("expression", self.expression.is_some()),
            ("capability", self.capability.is_some()),
            ("receiver_alive", self.receiver_alive.is_some()),
            ("state_bytes_max", self.state_bytes_max.is_some()),
            ("hops_max", self.hops_max.is_some()),
        ];
        fields.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect()
    }

    /// Validates and compiles a check.
    pub fn compile(self) -> Result<Check, CheckError> {
        let given = self.given();
        if given.len() != 1 {
            return Err(CheckError::NotOne { given });
        }
        if let Some(keys) = self.required_keys {
            check_keys(&keys).map_err(|reason| bad("required_keys", reason))?;
            return Ok(Check::RequiredKeys(keys));
        }
        if let Some(schema) = self.schema {
            return Ok(Check::Schema(schema));
        }
        if let Some(source) = self.expression {
            let compiled = Expression::compile(&source).map_err(CheckError::Expression)?;
            return Ok(Check::Expression(compiled));
        }
        if let Some(name) = self.capability {
            let limit = limits::CAPABILITY_BYTES_MAX;
            check_text(&name, limit).map_err(|reason| bad("capability", reason))?;
            return Ok(Check::Capability(name));
        }
        if let Some(is_wanted) = self.receiver_alive {
            let reason = "it can only be true; remove the rule to allow any receiver";
            return if is_wanted {
                Ok(Check::ReceiverAlive(true))
            } else {
                Err(bad("receiver_alive", reason.into()))
            };
        }
        if let Some(bytes_max) = self.state_bytes_max {
            return Ok(Check::StateBytesMax(bytes_max));
        }
        Ok(Check::HopsMax(self.hops_max.expect("exactly one field was given")))
    }
}

fn bad(field: &'static str, reason: String) -> CheckError {
    CheckError::BadField { field, reason }
}

fn check_keys(keys: &[String]) -> Result<(), String> {
    if keys.is_empty() {
        return Err("it names nothing".into());
    }
    if keys.len() > limits::RULE_KEYS_MAX {
        return Err(format!("it has {} names, at most {}", keys.len(), limits::RULE_KEYS_MAX));
    }
    // A name may be that of an entry: its namespace, a slash and its key.
    let bytes_max = limits::NAMESPACE_BYTES_MAX + 1 + limits::KEY_BYTES_MAX;
    keys.iter().try_for_each(|key| check_text(key, bytes_max))
}

fn check_text(text: &str, bytes_max: usize) -> Result<(), String> {
    if text.is_empty() || text.len() > bytes_max || text.chars().any(char::is_control) {
        let shown = quoted(text, 40);
        return Err(format!("`{shown}` must have 1 to {bytes_max} bytes, none of them a control"));
    }
    Ok(())
}

impl Check {
    /// Whether a proposal passes; if not, why.
    pub(crate) fn run(&self, case: &Case<'_>) -> Result<(), Objection> {
        let proposal = case.proposal;
        case.effort.spend_steps(self.steps(proposal));
        match self {
            Self::RequiredKeys(keys) => required_keys(keys, proposal),
            Self::Schema(schema) => {
                let state = case.state();
                let effort = case.effort.schemas();
                schema.check_effort(state, effort).map_err(|reason| broken(&reason))?;
                schema.check_tree(state, effort).map_err(|found| {
                    // A check that was stopped by its limit has found nothing.
                    let is_broken = effort.is_exhausted();
                    if is_broken { broken(&found.reason) } else { objection(found.to_string()) }
                })
            }
            Self::Expression(expression) => match holds(expression, case) {
                Ok(true) => Ok(()),
                Ok(false) => Err(objection(format!("`{}` is false", expression.source()))),
                Err(error) => Err(broken(&error.to_string())),
            },
            Self::Capability(name) => capability(name, proposal),
            Self::ReceiverAlive(_) => receiver_alive(proposal),
            Self::StateBytesMax(bytes_max) => {
                let bytes = |(name, value): (&String, &crate::json::Json)| {
                    name.len() + value.as_bytes().len()
                };
                let given = proposal.state.iter().map(bytes).sum::<usize>() as u64;
                at_most("bytes of state", given, *bytes_max)
            }
            Self::HopsMax(hops_max) => at_most("hops", proposal.hops, *hops_max),
        }
    }

    /// How many steps it takes, beside those that an expression or a schema counts.
    fn steps(&self, proposal: &Proposal<'_>) -> usize {
        match self {
            Self::RequiredKeys(keys) => keys.len(),
            Self::StateBytesMax(_) => proposal.state.len(),
            Self::Schema(_)
            | Self::Expression(_)
            | Self::Capability(_)
            | Self::ReceiverAlive(_)
            | Self::HopsMax(_) => 0,
        }
    }

    /// How much work it is to check this many bytes, in units of an entry to move.
    pub(crate) fn units(&self, bytes: usize) -> usize {
        const BYTES_PER_UNIT: usize = 64;
        const SOURCE_PER_READ: usize = 256;
        const KEYS_PER_UNIT: usize = 16;
        match self {
            Self::RequiredKeys(keys) => 1 + keys.len() / KEYS_PER_UNIT,
            Self::Schema(schema) => 1 + bytes / BYTES_PER_UNIT + schema.units(bytes),
            // It may read the same value many times.
            Self::Expression(expression) => {
                let reads = 1 + expression.source().len() / SOURCE_PER_READ;
                let steps = reads * (1 + bytes / BYTES_PER_UNIT);
                steps.min(limits::EXPRESSION_STEPS_MAX)
            }
            Self::Capability(_)
            | Self::ReceiverAlive(_)
            | Self::StateBytesMax(_)
            | Self::HopsMax(_) => 1,
        }
    }

    /// An upper bound of its size in the log, in bytes.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::RequiredKeys(keys) => keys.iter().map(|key| key.len() + 5).sum(),
            Self::Schema(schema) => schema.source().as_bytes().len(),
            Self::Expression(expression) => expression.source().len(),
            Self::Capability(name) => name.len(),
            Self::ReceiverAlive(_) | Self::StateBytesMax(_) | Self::HopsMax(_) => 0,
        }
    }
}

fn holds(expression: &Expression, case: &Case<'_>) -> Result<bool, ExpressionError> {
    let steps_max = limits::EXPRESSION_STEPS_MAX.min(case.effort.steps());
    let (holds, steps) = expression.holds_within(case, steps_max);
    case.effort.spend_steps(steps);
    holds
}

fn at_most(what: &str, given: u64, max: u64) -> Result<(), Objection> {
    if given > max {
        return Err(objection(format!("there are {given} {what}, at most {max} are allowed")));
    }
    Ok(())
}

fn required_keys(keys: &[String], proposal: &Proposal<'_>) -> Result<(), Objection> {
    const SHOWN: usize = 5;
    let missing = || keys.iter().filter(|key| !proposal.state.contains_key(*key));
    let count = missing().count();
    if count == 0 {
        return Ok(());
    }
    let shown: Vec<_> = missing().take(SHOWN).map(|key| format!("`{key}`")).collect();
    let more = if count > SHOWN { format!(" and {} more", count - SHOWN) } else { String::new() };
    Err(objection(format!("the state lacks {}{more}", shown.join(", "))))
}

fn capability(name: &str, proposal: &Proposal<'_>) -> Result<(), Objection> {
    match (proposal.to, proposal.receiver) {
        (_, Some(receiver)) if receiver.capabilities.contains(name) => Ok(()),
        (Some(to), Some(_)) => Err(objection(format!("`{to}` does not have capability `{name}`"))),
        (Some(to), None) => Err(objection(format!(
            "`{to}` is not registered, so it is not known to have capability `{name}`"
        ))),
        // Only an agent with the capability can accept it.
        (None, _) if proposal.capability == Some(name) => Ok(()),
        (None, _) => {
            Err(objection(format!("it names neither an agent nor the capability `{name}`")))
        }
    }
}

fn receiver_alive(proposal: &Proposal<'_>) -> Result<(), Objection> {
    match (proposal.to, proposal.receiver) {
        // Only an agent with a session can accept it.
        (None, _) => Ok(()),
        (Some(_), Some(receiver)) if receiver.is_active => Ok(()),
        (Some(to), Some(_)) => Err(objection(format!("the session of `{to}` has ended"))),
        (Some(to), None) => Err(objection(format!("`{to}` is not registered"))),
    }
}
