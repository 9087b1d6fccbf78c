//! Rules for hand-offs.
//!
//! 1. An event about a rule contains what was requested, and whether it replaced another.
//! 2. A returned rule, alone or on a page by name, is that of its last event.
//! 3. A refusal is correct: there is no such rule, or it has no check, or an invalid one.

use std::collections::BTreeMap;

use baton_core::handoff::{Handoff, Receiver};
use baton_core::rule::{Check, CheckSpec};
use baton_core::rule::{Command, Event, On, Query, Rejection, Reply, Rule, Severity};
use baton_core::{Batch, Command as AnyCommand, Event as AnyEvent, Mutation, RuleName};

use crate::actors::rule::UNREADABLE;
use crate::auditor::explain::BatchReader;
use crate::auditor::timeline::Timeline;
use crate::auditor::{Audit, Breach, Ledger, demand};
use crate::coverage::Coverage;

/// The default page size.
const PAGE_DEFAULT: usize = 100;

/// Every rule at every revision.
#[derive(Default)]
pub struct RuleModels(BTreeMap<RuleName, Timeline<Option<Rule>>>);

impl RuleModels {
    fn at(&self, name: &RuleName, at: u64) -> Option<&Rule> {
        self.0.get(name)?.at(at)?.as_ref()
    }

    fn now(&self, name: &RuleName) -> Option<&Rule> {
        self.0.get(name)?.now()?.as_ref()
    }

    fn set(&mut self, name: &RuleName, revision: u64, rule: Option<Rule>) {
        self.0.entry(name.clone()).or_default().set(revision, rule);
    }
}

impl Ledger {
    /// Applies a durable event about a rule.
    pub(crate) fn add_rule(
        &mut self,
        batch: &Batch,
        event: &Event,
        coverage: &mut Coverage,
    ) -> Audit {
        let name = event.name();
        let there = self.rules_by_name.now(name).is_some();
        let rule = match event {
            Event::Added { on, check, severity, message, replaced, .. } => {
                demand!(*replaced == there, "rule `{name}` was there or was not: {there}");
                if *replaced {
                    coverage.met("rule: replaced");
                }
                Some(Rule {
                    name: name.clone(),
                    on: on.clone(),
                    check: check.clone(),
                    severity: *severity,
                    message: message.clone(),
                    added_at: batch.time,
                    added_by: batch.agent.clone(),
                    revision: batch.revision,
                })
            }
            Event::Removed { .. } => {
                coverage.met("rule: removed");
                demand!(there, "rule `{name}` went, but was not there");
                None
            }
        };
        self.rules_by_name.set(name, batch.revision.0, rule);
        Ok(())
    }

    /// Checks that the answer to a change is the rule after or before it.
    pub(crate) fn rule_reply(&self, command: &Command, reply: &Reply, revision: u64) -> Audit {
        let Reply::Rule(shown) = reply else {
            return Err(Breach("a change was answered with a page of rules".to_owned()));
        };
        let rule = match command {
            Command::Add(add) => self.rules_by_name.at(&add.name, revision),
            Command::Remove { name } => self.rules_by_name.at(name, revision - 1),
        };
        demand!(rule == Some(shown), "a rule is shown as {shown:?}, but it is {rule:?}");
        Ok(())
    }

    /// Checks a page of rules.
    pub(crate) fn rules_shown(&self, query: &Query, reply: &Reply, at: u64) -> Audit {
        let (Query::List { limit, cursor }, Reply::Rules { rules, cursor: next }) = (query, reply)
        else {
            return Err(Breach("a page of rules was requested".to_owned()));
        };
        let there = self.rules_by_name.0.iter().filter_map(|(name, rule)| {
            let rule = rule.at(at)?.as_ref()?;
            cursor.as_ref().is_none_or(|cursor| name > cursor).then_some(rule)
        });
        let there: Vec<&Rule> = there.collect();
        let due = &there[..there.len().min(limit.unwrap_or(PAGE_DEFAULT))];
        let same = due.iter().copied().eq(rules);
        demand!(same, "rules are shown as {rules:?}, but they are {due:?}");
        let more = due.len() < there.len();
        let last = due.last().filter(|_| more).map(|rule| &rule.name);
        demand!(next.as_ref() == last, "the rules go on at {next:?}, not {last:?}");
        Ok(())
    }

    /// Whether there was such a rule with severity `error`.
    pub(crate) fn has_rule(&self, name: &RuleName, at: u64) -> bool {
        self.rules_by_name.at(name, at).is_some_and(|rule| rule.severity == Severity::Error)
    }

    /// A rule that applies to all and forbids a hand-off, as far as that is simple to determine.
    pub(crate) fn forbidding(&self, handoff: &Handoff) -> Option<&RuleName> {
        let all = self.rules_by_name.0.values().filter_map(|rule| rule.now()?.as_ref());
        let mut strict =
            all.filter(|rule| rule.severity == Severity::Error && rule.on == On::default());
        let is_alive = |agent| self.session(agent, u64::MAX).is_some_and(|session| session.active);
        let forbids = |rule: &&Rule| match (&rule.check, &handoff.to) {
            (Check::HopsMax(most), _) => handoff.hops + 1 > *most,
            (Check::ReceiverAlive(_), Receiver::Agent(to)) => !is_alive(to),
            (Check::Capability(name), Receiver::Capability(asked)) => name != asked,
            _ => false,
        };
        strict.find(forbids).map(|rule| &rule.name)
    }

    /// Checks a refused change of rules.
    pub(crate) fn refused_rule(
        &self,
        mutation: &Mutation,
        rejection: &Rejection,
        at: u64,
    ) -> Audit {
        let wanted = wanted(mutation);
        match rejection {
            Rejection::NotFound { name } => {
                demand!(self.rules_by_name.at(name, at).is_none(), "rule `{name}` was there");
            }
            Rejection::FaultyCheck { name, .. } => {
                let is_empty = wanted.is_some_and(|wanted| *wanted == CheckSpec::default());
                demand!(is_empty, "rule `{name}` had a check");
            }
            Rejection::BadExpression { name, .. } => {
                let source = wanted.and_then(|wanted| wanted.expression.as_deref());
                demand!(source == Some(UNREADABLE), "the expression of `{name}` can be read");
            }
            other => {
                let code = other.code();
                return Err(Breach(format!("no request can cause `{code}`")));
            }
        }
        Ok(())
    }
}

/// The check of the first command, if it adds a rule.
fn wanted(mutation: &Mutation) -> Option<&CheckSpec> {
    match mutation.commands().first()? {
        AnyCommand::Rule(Command::Add(add)) => Some(&add.check),
        _ => None,
    }
}

/// A check in the form in which it is requested.
fn as_wanted(check: &Check) -> CheckSpec {
    let mut wanted = CheckSpec::default();
    match check.clone() {
        Check::RequiredKeys(keys) => wanted.required_keys = Some(keys),
        Check::Schema(schema) => wanted.schema = Some(schema),
        Check::Expression(expression) => wanted.expression = Some(expression.source().to_owned()),
        Check::Capability(name) => wanted.capability = Some(name),
        Check::ReceiverAlive(alive) => wanted.receiver_alive = Some(alive),
        Check::StateBytesMax(bytes_max) => wanted.state_bytes_max = Some(bytes_max),
        Check::HopsMax(hops_max) => wanted.hops_max = Some(hops_max),
    }
    wanted
}

impl BatchReader<'_> {
    /// One command about a rule, one event.
    pub(crate) fn rule(&mut self, command: &Command) -> Audit {
        let event = match self.take()? {
            AnyEvent::Rule(event) => event,
            other => return Err(Breach(format!("a rule was due, not {}", other.kind()))),
        };
        match (command, event) {
            (Command::Remove { name }, Event::Removed { name: gone }) => {
                demand!(name == gone, "another rule went");
            }
            (Command::Add(add), Event::Added { name, on, check, severity, message, .. }) => {
                let same = (&add.name, &add.on, add.severity, &add.message)
                    == (name, on, *severity, message)
                    && add.check == as_wanted(check);
                demand!(same, "another rule was added than {add:?}");
            }
            (command, event) => {
                return Err(Breach(format!("{command:?} became {event:?}")));
            }
        }
        Ok(())
    }
}
