//! Spending according to the log: what tasks, agents and the workspace have cost, and their
//! budgets.
//!
//! Laws:
//!
//! 1. A record is charged to its task, to every task above that, to its agent and to the workspace:
//!    each total is the sum of the records that were accepted for it.
//! 2. A strict record never exceeds a budget.
//! 3. A used-up budget is announced in the batch that used it up, once.
//! 4. While a budget is used up, no task under it is claimed and none is created below it.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::spend::{
    Account, Amounts, Budget, Command, Event, Payer, Query, Record, Recorded, Rejection, Reply,
    Total, UsedUp,
};
use baton_core::{AgentId, Batch, Event as AnyEvent, TaskId, task};

use crate::auditor::explain::BatchReader;
use crate::auditor::ledger::Ledger;
use crate::auditor::timeline::Timeline;
use crate::auditor::{Audit, Breach, demand};
use crate::coverage::Coverage;

/// All totals and budgets at every revision.
#[derive(Default)]
pub struct Spending {
    totals: BTreeMap<Payer, Timeline<Amounts>>,
    budgets: BTreeMap<Payer, Timeline<Budget>>,
    records: Vec<Record>,
    /// Budgets that the current batch has used up without announcing it.
    unannounced: BTreeSet<Payer>,
}

impl Spending {
    fn total(&self, of: &Payer, at: u64) -> Amounts {
        self.totals.get(of).and_then(|total| total.at(at)).copied().unwrap_or_default()
    }

    fn budget(&self, of: &Payer, at: u64) -> Budget {
        self.budgets.get(of).and_then(|budget| budget.at(at)).copied().unwrap_or_default()
    }

    /// Whether a limit is reached.
    fn is_used_up(&self, of: &Payer, at: u64) -> bool {
        let (total, budget) = (self.total(of, at), self.budget(of, at));
        budget.tokens.is_some_and(|limit| total.tokens >= limit)
            || budget.cost_micros.is_some_and(|limit| total.cost_micros >= limit)
            || budget.calls.is_some_and(|limit| total.calls >= limit)
    }

    /// Whether an agent may claim nothing.
    pub fn stops_agent(&self, agent: &AgentId, at: u64) -> bool {
        self.is_used_up(&Payer::Workspace, at) || self.is_used_up(&Payer::Agent(agent.clone()), at)
    }

    /// A new task has this budget.
    pub fn open(&mut self, batch: &Batch, task: &TaskId, budget: Option<Budget>) {
        if let Some(budget) = budget {
            let budgets = self.budgets.entry(Payer::Task(task.clone())).or_default();
            budgets.set(batch.revision.0, budget);
        }
    }

    fn charge(&mut self, batch: &Batch, of: Payer, spent: &Amounts) {
        let was_used_up = self.is_used_up(&of, u64::MAX);
        let total = self.total(&of, u64::MAX);
        let total = Amounts {
            tokens: total.tokens + spent.tokens,
            cost_micros: total.cost_micros + spent.cost_micros,
            calls: total.calls + spent.calls,
        };
        self.totals.entry(of.clone()).or_default().set(batch.revision.0, total);
        if !was_used_up && self.is_used_up(&of, u64::MAX) {
            self.unannounced.insert(of);
        }
    }

    fn account(&self, of: &Payer, at: u64) -> Account {
        let (spent, budget) = (self.total(of, at), self.budget(of, at));
        let left = |limit: Option<u64>, used: u64| limit.map(|limit| limit.saturating_sub(used));
        let is_limited = budget != Budget::default();
        let left = Budget {
            tokens: left(budget.tokens, spent.tokens),
            cost_micros: left(budget.cost_micros, spent.cost_micros),
            calls: left(budget.calls, spent.calls),
        };
        Account {
            of: of.clone(),
            spent,
            budget: is_limited.then_some(budget),
            left: is_limited.then_some(left),
            used_up: self.is_used_up(of, at),
        }
    }
}

impl Ledger {
    /// A task and those above it.
    fn lineage(&self, task: &TaskId, at: u64) -> Vec<TaskId> {
        let mut chain = vec![task.clone()];
        while let Some(last) = chain.last()
            && let Some(parent) = self.tasks.at(last, at).and_then(|work| work.parent.clone())
        {
            chain.push(parent);
        }
        chain
    }

    /// Whether a task may not start, because a budget above it is used up.
    pub(crate) fn is_held_back(&self, task: &TaskId, at: u64) -> bool {
        let mut lineage = self.lineage(task, at).into_iter();
        lineage.any(|task| self.spending.is_used_up(&Payer::Task(task), at))
    }

    /// Checks a task event against the budgets, before it is applied.
    pub(crate) fn check_start(&mut self, batch: &Batch, event: &task::Event) -> Audit {
        match event {
            task::Event::Created(created) => {
                if let Some(parent) = &created.parent {
                    let is_held_back = self.is_held_back(parent, u64::MAX);
                    demand!(!is_held_back, "`{parent}` has used up its budget, and got a part");
                }
                self.spending.open(batch, &created.task, created.budget);
            }
            task::Event::Claimed { task, holder, .. } => {
                let is_held_back = self.is_held_back(task, u64::MAX);
                demand!(!is_held_back, "`{task}` was claimed although its budget is used up");
                let is_stopped = self.spending.stops_agent(holder, u64::MAX);
                demand!(!is_stopped, "`{holder}` has used up its budget, and claimed `{task}`");
            }
            _ => {}
        }
        Ok(())
    }

    /// Applies a durable event about spending.
    pub(crate) fn add_spend(
        &mut self,
        batch: &Batch,
        event: &Event,
        coverage: &mut Coverage,
    ) -> Audit {
        match event {
            Event::Recorded { number, by: agent, tasks, spent, model, note } => {
                let task = tasks.first();
                let above = task.map(|task| self.lineage(task, u64::MAX)).unwrap_or_default();
                demand!(*tasks == above, "{tasks:?} are charged, not {above:?}");
                demand!(*agent == batch.agent, "`{agent}` is charged for another");
                let spending = &mut self.spending;
                let next = spending.records.len() as u64 + 1;
                demand!(*number == next, "record {next} has the number {number}");
                let tasks = tasks.iter().cloned().map(Payer::Task);
                for of in tasks.chain([Payer::Agent(agent.clone()), Payer::Workspace]) {
                    spending.charge(batch, of, spent);
                }
                spending.records.push(Record {
                    number: *number,
                    agent: agent.clone(),
                    task: task.cloned(),
                    spent: *spent,
                    model: model.clone(),
                    note: note.clone(),
                    time: batch.time,
                    revision: batch.revision,
                });
                coverage.met("spend: recorded");
            }
            Event::Limited { of, budget } => {
                let was_used_up = self.spending.is_used_up(of, u64::MAX);
                let budgets = self.spending.budgets.entry(of.clone()).or_default();
                budgets.set(batch.revision.0, *budget);
                if !was_used_up && self.spending.is_used_up(of, u64::MAX) {
                    self.spending.unannounced.insert(of.clone());
                }
                if was_used_up && !self.spending.is_used_up(of, u64::MAX) {
                    coverage.met("spend: budget raised");
                }
                self.tasks.touch();
            }
            Event::Exhausted(used_up) => {
                let was_due = self.spending.unannounced.remove(&used_up.of);
                demand!(was_due, "{used_up:?} was announced, and nothing used it up");
                self.check_used_up(used_up, u64::MAX)?;
                coverage.met("spend: used up");
            }
        }
        Ok(())
    }

    /// A batch is complete: every budget that it used up was announced.
    pub(crate) fn check_spending(&self) -> Audit {
        let silent = self.spending.unannounced.first();
        demand!(silent.is_none(), "the budget of {silent:?} was used up, and nothing said so");
        Ok(())
    }

    /// Checks that a budget is used up as stated.
    fn check_used_up(&self, used_up: &UsedUp, at: u64) -> Audit {
        let (total, budget) =
            (self.spending.total(&used_up.of, at), self.spending.budget(&used_up.of, at));
        let limit = budget.limit(used_up.unit);
        let used = total.in_unit(used_up.unit);
        let is_true = limit == Some(used_up.limit) && used == used_up.used && used >= used_up.limit;
        demand!(is_true, "{used_up:?} is stated, {used} of {limit:?} are used");
        Ok(())
    }

    /// Checks a refusal to start a task.
    pub(crate) fn refused_start(
        &self,
        used_up: &UsedUp,
        at: u64,
        coverage: &mut Coverage,
    ) -> Audit {
        coverage.met("spend: start refused");
        self.check_used_up(used_up, at)
    }

    /// Checks the answer to a command with an effect.
    pub(crate) fn spend_reply(&self, command: &Command, reply: &Reply, revision: u64) -> Audit {
        match (command, reply) {
            (Command::Record(_), Reply::Recorded(Recorded { record, budgets })) => {
                let there = self.spending.records.iter().find(|it| it.revision.0 == revision);
                demand!(there == Some(record), "{record:?} is shown, it is {there:?}");
                self.accounts_shown(budgets, revision)
            }
            (Command::Limit { of, .. }, Reply::Spend(Total { account, above })) => {
                demand!(account.of == *of, "another budget is shown");
                self.accounts_shown(std::slice::from_ref(account), revision)?;
                self.accounts_shown(above, revision)
            }
            (command, reply) => Err(Breach(format!("{command:?} was answered with {reply:?}"))),
        }
    }

    /// Checks an accepted command without effect.
    pub(crate) fn spend_no_effect(&self, command: &Command, at: u64) -> Audit {
        let Command::Limit { of, budget } = command else {
            return Err(Breach("a record has no effect".to_owned()));
        };
        demand!(self.spending.budget(of, at) == *budget, "another budget was set before");
        Ok(())
    }

    fn accounts_shown(&self, accounts: &[Account], at: u64) -> Audit {
        for account in accounts {
            let there = self.spending.account(&account.of, at);
            demand!(*account == there, "{account:?} is shown, it is {there:?}");
        }
        Ok(())
    }

    /// Checks answers to queries.
    pub(crate) fn spending_shown(&self, query: &Query, reply: &Reply, at: u64) -> Audit {
        match (query, reply) {
            (Query::Get { task, agent }, Reply::Spend(Total { account, above })) => {
                let of = task.clone().map(Payer::Task);
                let of = of.or(agent.clone().map(Payer::Agent)).unwrap_or_default();
                demand!(account.of == of, "another total is shown");
                self.accounts_shown(std::slice::from_ref(account), at)?;
                self.accounts_shown(above, at)
            }
            (Query::List(_), Reply::Records { records, recorded, .. }) => {
                let there = self.spending.records.iter();
                let there = there.filter(|record| record.revision.0 <= at);
                demand!(there.clone().count() as u64 == *recorded, "{recorded} were recorded");
                let same = there.rev().take(records.len()).eq(records.iter());
                demand!(same, "other records are there than {records:?}");
                Ok(())
            }
            (query, reply) => Err(Breach(format!("{query:?} was answered with {reply:?}"))),
        }
    }

    /// Checks a refused command.
    pub(crate) fn refused_spend(
        &self,
        rejection: &Rejection,
        at: u64,
        coverage: &mut Coverage,
    ) -> Audit {
        match rejection {
            Rejection::Exhausted { of, unit, limit, used, asked } => {
                let (total, budget) = (self.spending.total(of, at), self.spending.budget(of, at));
                let same = budget.limit(*unit) == Some(*limit) && total.in_unit(*unit) == *used;
                let has_room = used + asked <= *limit && used < limit;
                demand!(same && !has_room, "{rejection:?}, it is {total:?} of {budget:?}");
                coverage.met("spend: strict record refused");
                Ok(())
            }
            Rejection::UnknownTask { task } => {
                demand!(self.tasks.at(task, at).is_none(), "`{task}` was there");
                Ok(())
            }
            other => Err(Breach(format!("no request can cause `{}`", other.code()))),
        }
    }
}

impl BatchReader<'_> {
    /// One command about spending: its event, and which budgets it used up.
    pub(crate) fn spend(&mut self, command: &Command) -> Audit {
        let before = self.batch.revision.0 - 1;
        match (command, self.take()?) {
            (Command::Record(asked), AnyEvent::Spend(Event::Recorded { tasks, spent, .. })) => {
                let wanted = Amounts {
                    tokens: asked.tokens.unwrap_or(0),
                    cost_micros: asked.cost_micros.unwrap_or(0),
                    calls: asked.calls.unwrap_or(1),
                };
                demand!(*spent == wanted, "{spent:?} was recorded, not {wanted:?}");
                demand!(tasks.first() == asked.task.as_ref(), "another task was charged");
                let agent = self.batch.agent.clone();
                let payers = tasks.iter().cloned().map(Payer::Task);
                let payers = payers.chain([Payer::Agent(agent), Payer::Workspace]);
                for of in payers.filter(|_| asked.strict) {
                    let total = self.ledger.spending.total(&of, before).plus(spent);
                    let exceeded = self.ledger.spending.budget(&of, before).exceeded(&total);
                    demand!(exceeded.is_none(), "a strict record exceeds the budget of {of}");
                }
            }
            (
                Command::Limit { of: asked, budget: wanted },
                AnyEvent::Spend(Event::Limited { of, budget }),
            ) => demand!(asked == of && wanted == budget, "another budget was set"),
            (command, event) => return Err(Breach(format!("{command:?} became {event:?}"))),
        }
        while let Some(AnyEvent::Spend(Event::Exhausted(_))) = self.peek() {
            self.skip();
        }
        self.follow_stages()
    }
}
