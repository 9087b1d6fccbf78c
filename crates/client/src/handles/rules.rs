//! The rules for hand-offs of a workspace.

use baton_core::rule::{Add, CheckSpec, Command, On, Query, Rule, Severity};
use baton_core::schema::Schema;
use baton_core::{Json, Pattern, RuleName};
use serde::Serialize;

use crate::request::request;
use crate::{Error, HandoffRules};

impl HandoffRules {
    /// Adds a rule, or replaces the one with this name. It needs exactly one check.
    pub fn add(&self, name: &str) -> AddingRule {
        let add = RuleName::parse(name).map_err(Into::into).map(|name| {
            let (on, check, severity) = (On::default(), CheckSpec::default(), Severity::Error);
            Add { name, on, check, severity, message: None }
        });
        AddingRule::new(&self.workspace, add)
    }

    /// Removes a rule.
    pub async fn remove(&self, name: &str) -> Result<Rule, Error> {
        self.workspace.run(Command::Remove { name: RuleName::parse(name)? }).await
    }

    /// Lists the rules, by name.
    pub async fn list(&self) -> Result<Vec<Rule>, Error> {
        self.workspace.pages(None, |cursor| Query::List { limit: None, cursor }).await
    }
}

request! {
    /// Adds a rule when it is awaited.
    AddingRule(Add) -> Rule: |workspace, add| workspace.run(Command::Add(Box::new(add)));
    /// Applies to tasks whose type matches a pattern.
    on_type(pattern: &str) |add| add.on.task_type = Some(Pattern::parse(pattern)?);
    /// Applies to hand-offs from agents whose id matches a pattern.
    from(pattern: &str) |add| add.on.from = Some(Pattern::parse(pattern)?);
    /// Applies to hand-offs to agents whose id matches a pattern.
    to(pattern: &str) |add| add.on.to = Some(Pattern::parse(pattern)?);
    /// Requires these names in the state.
    required_keys(keys: &[&str]) |add|
        add.check.required_keys = Some(keys.iter().map(|key| (*key).to_owned()).collect());
    /// Requires that the state, as one object, satisfies a JSON Schema.
    schema(schema: impl Serialize) |add|
        add.check.schema = Some(Schema::compile(&Json::of(&schema)?)?);
    /// Requires that a CEL expression is true.
    expression(source: &str) |add| add.check.expression = Some(source.to_owned());
    /// Requires a capability of the receiver.
    capability(name: &str) |add| add.check.capability = Some(name.to_owned());
    /// Requires that the receiver has a session.
    receiver_alive() |add| add.check.receiver_alive = Some(true);
    /// Limits the size of the state: names and values together.
    state_bytes_max(bytes_max: u64) |add| add.check.state_bytes_max = Some(bytes_max);
    /// Limits how often the work is handed over.
    hops_max(hops_max: u64) |add| add.check.hops_max = Some(hops_max);
    /// A violation is reported as a warning and prevents nothing.
    warning() |add| add.severity = Severity::Warning;
    /// Sets a message that precedes the details of a violation.
    message(message: &str) |add| add.message = Some(message.to_owned());
}
