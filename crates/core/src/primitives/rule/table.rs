//! The table of rules.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::vocabulary::{Event, Rule, Severity};
use crate::json::shortened;
use crate::limits;
use crate::names::RuleName;
use crate::primitive;
use crate::rule::{Case, Check, Finding, Judgement, Proposal};
use crate::space::batch::Moment;
use crate::space::{CommitEffort, RulesTooCostly};

/// All rules of a workspace. Changes only by `Table::evolve` and `Table::undo`.
#[derive(Default)]
pub struct Table {
    by_name: BTreeMap<RuleName, Rule>,
}

/// How to undo one change: the previous rule.
pub struct Undo {
    name: RuleName,
    before: Option<Rule>,
}

impl primitive::Table for Table {
    type Event = Event;
    type Undo = Undo;
    type Facts = Vec<Rule>;

    fn evolve(&mut self, event: &Event, moment: &Moment<'_>) -> Undo {
        let name = event.name().clone();
        let before = match event {
            Event::Added { name, on, check, severity, message, replaced } => {
                let rule = Rule {
                    name: name.clone(),
                    on: on.clone(),
                    check: check.clone(),
                    severity: *severity,
                    message: message.clone(),
                    added_at: moment.time,
                    added_by: moment.agent.clone(),
                    revision: moment.revision,
                };
                #[cfg(feature = "planted")]
                let rule = match self.by_name.get(name) {
                    Some(before) if crate::planted::is("rule.keeps_the_old_check") => {
                        Rule { check: before.check.clone(), ..rule }
                    }
                    Some(_) | None => rule,
                };
                let before = self.by_name.insert(name.clone(), rule);
                assert_eq!(before.is_some(), *replaced, "what is replaced was there");
                before
            }
            Event::Removed { name } => self.by_name.remove(name),
        };
        Undo { name, before }
    }

    fn undo(&mut self, undo: Undo) {
        #[cfg(feature = "planted")]
        if crate::planted::is("rule.undone_stays") {
            return;
        }
        match undo.before {
            Some(rule) => self.by_name.insert(undo.name, rule),
            None => self.by_name.remove(&undo.name),
        };
    }

    fn facts(&self) -> Vec<Rule> {
        self.after(None).cloned().collect()
    }

    fn restore(rules: Self::Facts) -> Self {
        #[cfg(feature = "planted")]
        let rules: Vec<_> =
            if crate::planted::is("rule.lost_in_a_snapshot") { Vec::new() } else { rules };
        Self { by_name: rules.into_iter().map(|rule| (rule.name.clone(), rule)).collect() }
    }

    fn check(&self) {
        assert!(self.by_name.len() <= limits::RULES_MAX, "all rules may be asked at once");
        for (name, rule) in &self.by_name {
            assert_eq!(*name, rule.name);
        }
    }
}

impl Table {
    /// Evaluates every rule that applies to a proposal, unless the rules of this commit take too
    /// much.
    pub(crate) fn judge(
        &self,
        proposal: &Proposal<'_>,
        effort: &CommitEffort,
    ) -> Result<Judgement, RulesTooCostly> {
        effort.check_schemas()?;
        effort.spend_steps(self.len());
        let case = Case::new(proposal, effort);
        let mut judgement = Judgement::default();
        for rule in self.by_name.values().filter(|rule| rule.on.matches(proposal)) {
            effort.check_left()?;
            let Err(objection) = rule.check.run(&case) else { continue };
            let detail = match &rule.message {
                Some(message) => format!("{message}: {}", shortened(&objection.detail)),
                None => shortened(&objection.detail),
            };
            let finding = Finding { rule: rule.name.clone(), detail, broken: objection.broken };
            match rule.severity {
                Severity::Warning if !objection.broken => judgement.warnings.push(finding),
                Severity::Warning | Severity::Error => judgement.errors.push(finding),
            }
        }
        effort.check_left()?;
        Ok(judgement)
    }

    /// Whether a rule may read the task that is handed over.
    pub(crate) fn has_expressions(&self) -> bool {
        self.by_name.values().any(|rule| matches!(rule.check, Check::Expression(_)))
    }

    /// Units of work, each about an entry to move, to judge a hand-off of this many bytes.
    pub(crate) fn units(&self, bytes: usize) -> usize {
        self.by_name.values().map(|rule| rule.check.units(bytes)).sum()
    }

    /// A rule.
    pub fn get(&self, name: &RuleName) -> Option<&Rule> {
        self.by_name.get(name)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Rules by name, after this one.
    pub fn after(&self, cursor: Option<&RuleName>) -> impl Iterator<Item = &Rule> {
        let from = cursor.map_or(Bound::Unbounded, Bound::Excluded);
        self.by_name.range::<RuleName, _>((from, Bound::Unbounded)).map(|(_, there)| there)
    }
}
