//! Rules for hand-offs of a workspace.

use std::future::IntoFuture;

use baton_core::rule::CheckSpec;
use baton_core::rule::{Add, Command, On, Query, Reply as RuleReply, Rule, Severity};
use baton_core::schema::Schema;
use baton_core::{Json, Pattern, Rejection, Reply, RuleName};
use serde::Serialize;

use crate::carrier::{Carrier, Failure};
use crate::{Prepared, Sent, Workspace};

/// Rules for hand-offs of a workspace, as one agent sees them.
#[derive(Clone, Debug)]
pub struct HandoffRules<C> {
    workspace: Workspace<C>,
}

impl<C: Carrier> HandoffRules<C> {
    pub(crate) fn new(workspace: Workspace<C>) -> Self {
        Self { workspace }
    }

    /// Adds one, or replaces the one of that name. What it demands must follow, exactly once; when
    /// it applies and how serious it is may follow before it is awaited.
    pub fn add(&self, name: &str) -> AddingRule<C> {
        let add = RuleName::parse(name).map_err(Rejection::from).map(|name| Add {
            name,
            on: On::default(),
            check: CheckSpec::default(),
            severity: Severity::Error,
            message: None,
        });
        AddingRule { workspace: self.workspace.clone(), add }
    }

    /// Removes one.
    pub async fn remove(&self, name: &str) -> Result<Rule, C::Error> {
        let command = Command::Remove { name: RuleName::parse(name)? };
        rule(self.workspace.execute(command).await?.reply)
    }

    /// All of them, by name.
    pub async fn list(&self) -> Result<Vec<Rule>, C::Error> {
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let query = Query::List { limit: None, cursor };
            match self.workspace.ask(query).await?.reply {
                Reply::Rule(RuleReply::Rules { rules, cursor: next }) => {
                    all.extend(rules);
                    match next {
                        Some(next) => cursor = Some(next),
                        None => return Ok(all),
                    }
                }
                reply => return Err(C::Error::odd(&reply)),
            }
        }
    }
}

fn rule<F: Failure>(reply: Reply) -> Result<Rule, F> {
    match reply {
        Reply::Rule(RuleReply::Rule(rule)) => Ok(rule),
        reply => Err(F::odd(&reply)),
    }
}

/// A rule that is added when this is awaited.
#[must_use = "nothing is added before this is awaited"]
pub struct AddingRule<C> {
    workspace: Workspace<C>,
    add: Prepared<Add>,
}

impl<C: Carrier> AddingRule<C> {
    fn with(mut self, change: impl FnOnce(&mut Add) -> Prepared<()>) -> Self {
        self.add = self.add.and_then(|mut add| change(&mut add).map(|()| add));
        self
    }

    fn demand(self, change: impl FnOnce(&mut CheckSpec)) -> Self {
        self.with(|add| {
            change(&mut add.check);
            Ok(())
        })
    }

    fn when(self, pattern: &str, change: impl FnOnce(&mut On, Pattern)) -> Self {
        self.with(|add| {
            change(&mut add.on, Pattern::parse(pattern)?);
            Ok(())
        })
    }

    /// Only for tasks whose type matches this pattern.
    pub fn on_type(self, pattern: &str) -> Self {
        self.when(pattern, |on, pattern| on.task_type = Some(pattern))
    }

    /// Only for what an agent hands over whose id matches this pattern.
    pub fn from(self, pattern: &str) -> Self {
        self.when(pattern, |on, pattern| on.from = Some(pattern))
    }

    /// Only for what is meant for an agent whose id matches this pattern.
    pub fn to(self, pattern: &str) -> Self {
        self.when(pattern, |on, pattern| on.to = Some(pattern))
    }

    /// The state must have these names.
    pub fn required_keys(self, keys: &[&str]) -> Self {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        self.demand(|check| check.required_keys = Some(keys))
    }

    /// The state as one object must satisfy this JSON Schema.
    pub fn schema(self, schema: impl Serialize) -> Self {
        self.with(|add| {
            add.check.schema = Some(Schema::compile(&Json::of(&schema)?)?);
            Ok(())
        })
    }

    /// This must be true, in the syntax of CEL.
    pub fn expression(self, source: &str) -> Self {
        self.demand(|check| check.expression = Some(source.to_owned()))
    }

    /// The receiver must be able to do this.
    pub fn capability(self, name: &str) -> Self {
        self.demand(|check| check.capability = Some(name.to_owned()))
    }

    /// The receiver must have a session.
    pub fn receiver_alive(self) -> Self {
        self.demand(|check| check.receiver_alive = Some(true))
    }

    /// Names and values of the state must not have more bytes together.
    pub fn state_bytes_max(self, bytes_max: u64) -> Self {
        self.demand(|check| check.state_bytes_max = Some(bytes_max))
    }

    /// The work must not change hands more often.
    pub fn hops_max(self, hops_max: u64) -> Self {
        self.demand(|check| check.hops_max = Some(hops_max))
    }

    /// Breaking it is told, and hinders nothing.
    pub fn warning(self) -> Self {
        self.with(|add| {
            add.severity = Severity::Warning;
            Ok(())
        })
    }

    /// What to tell whoever breaks it, before what is wrong in particular.
    pub fn message(self, message: &str) -> Self {
        self.with(|add| {
            add.message = Some(message.to_owned());
            Ok(())
        })
    }
}

impl<C: Carrier> IntoFuture for AddingRule<C> {
    type Output = Result<Rule, C::Error>;
    type IntoFuture = Sent<Rule, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let command = Command::Add(Box::new(self.add?));
            rule(self.workspace.execute(command).await?.reply)
        })
    }
}
