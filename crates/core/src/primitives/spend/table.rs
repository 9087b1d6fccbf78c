//! The table of spending: totals, budgets and the latest records.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::vocabulary::{Account, Event, List, Record};
use crate::limits;
use crate::names::{AgentId, TaskId};
use crate::primitive;
use crate::space::batch::Moment;
use crate::spending::{Amounts, Budget, Payer, UsedUp};

/// A total and its budget.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// The total.
    pub spent: Amounts,
    /// The budget.
    pub budget: Budget,
    /// The number of the last record.
    pub last: u64,
}

/// All totals and budgets, and the latest records. Changes only by `Table::evolve`, `Table::undo`,
/// `Table::trim`, `Table::open` and `Table::forget`.
#[derive(Default)]
pub struct Table {
    workspace: Ledger,
    agents: BTreeMap<AgentId, Ledger>,
    tasks: BTreeMap<TaskId, Ledger>,
    // Tasks whose budget is used up.
    used_up: BTreeSet<TaskId>,
    // Agents without a budget: the first to be forgotten comes first.
    forgettable: BTreeSet<(u64, AgentId)>,
    records: VecDeque<Record>,
    // How many were ever recorded.
    recorded: u64,
    // How often budgets were used up.
    exhausted: u64,
}

/// Everything about spending that a snapshot holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The workspace.
    pub workspace: Ledger,
    /// Agents, by name.
    pub agents: Vec<(AgentId, Ledger)>,
    /// Tasks, by id.
    pub tasks: Vec<(TaskId, Ledger)>,
    /// The latest records, oldest first.
    pub records: Vec<Record>,
    /// How many were ever recorded.
    pub recorded: u64,
    /// How often budgets were used up.
    pub exhausted: u64,
}

/// How to undo one change: the previous totals.
pub struct Undo {
    before: Vec<(Payer, Option<Ledger>)>,
    recorded: u64,
    exhausted: u64,
}

impl primitive::Table for Table {
    type Event = Event;
    type Undo = Undo;
    type Facts = Facts;

    fn evolve(&mut self, event: &Event, moment: &Moment<'_>) -> Undo {
        let (recorded, exhausted) = (self.recorded, self.exhausted);
        let mut undo = Undo { before: Vec::new(), recorded, exhausted };
        match event {
            Event::Recorded { number, by: agent, tasks, spent, model, note } => {
                for of in payers(tasks, agent) {
                    #[cfg(feature = "planted")]
                    if crate::planted::is("spend.parent_not_charged")
                        && matches!(&of, Payer::Task(task) if Some(task) != tasks.first())
                    {
                        continue;
                    }
                    let before = self.ledger(&of).cloned().unwrap_or_default();
                    let spent = before.spent.plus(spent);
                    let after = Ledger { spent, last: *number, ..before };
                    undo.before.push((of.clone(), self.replace(&of, Some(after))));
                }
                self.recorded = *number;
                self.records.push_back(Record {
                    number: *number,
                    agent: agent.clone(),
                    task: tasks.first().cloned(),
                    spent: *spent,
                    model: model.clone(),
                    note: note.clone(),
                    time: moment.time,
                    revision: moment.revision,
                });
            }
            Event::Limited { of, budget } => undo.before.push((of.clone(), self.set(of, *budget))),
            Event::Exhausted(_) => self.exhausted += 1,
        }
        undo
    }

    fn undo(&mut self, undo: Undo) {
        for (of, before) in undo.before.into_iter().rev() {
            self.replace(&of, before);
        }
        if self.recorded > undo.recorded {
            self.records.pop_back();
        }
        (self.recorded, self.exhausted) = (undo.recorded, undo.exhausted);
    }

    fn facts(&self) -> Facts {
        let agents = self.agents.iter().map(|(agent, ledger)| (agent.clone(), ledger.clone()));
        let tasks = self.tasks.iter().map(|(task, ledger)| (task.clone(), ledger.clone()));
        Facts {
            workspace: self.workspace.clone(),
            agents: agents.collect(),
            tasks: tasks.collect(),
            records: self.records.iter().cloned().collect(),
            recorded: self.recorded,
            exhausted: self.exhausted,
        }
    }

    fn restore(facts: Facts) -> Self {
        let Facts { workspace, agents, tasks, records, recorded, exhausted } = facts;
        let records = records.into();
        let mut table = Self { workspace, records, recorded, exhausted, ..Self::default() };
        for (agent, ledger) in agents {
            table.replace(&Payer::Agent(agent), Some(ledger));
        }
        for (task, ledger) in tasks {
            table.replace(&Payer::Task(task), Some(ledger));
        }
        table
    }

    fn check(&self) {
        let total = &self.workspace.spent;
        for ledger in self.agents.values().chain(self.tasks.values()) {
            let all = Budget {
                tokens: Some(total.tokens),
                cost_micros: Some(total.cost_micros),
                calls: Some(total.calls),
            };
            assert_eq!(all.exceeded(&ledger.spent), None, "a part is no more than the whole");
        }
        let used_up = self.tasks.iter().filter(|(task, ledger)| {
            ledger.budget.used_up(&Payer::Task((*task).clone()), &ledger.spent).is_some()
        });
        assert!(used_up.map(|(task, _)| task).eq(&self.used_up), "what is used up is listed");
        let unlimited = self.agents.iter().filter(|(_, ledger)| ledger.budget.is_unlimited());
        let unlimited = unlimited.map(|(agent, ledger)| (ledger.last, agent.clone()));
        assert_eq!(unlimited.collect::<BTreeSet<_>>(), self.forgettable);
        let last = self.records.back().map_or(self.recorded, |record| record.number);
        assert_eq!(last, self.recorded, "the latest record is kept");
        let numbers = self.records.iter().rev().map(|record| record.number);
        assert!(numbers.eq((1..=last).rev().take(self.records.len())), "records have no gaps");
    }

    fn trim(&mut self) -> Vec<primitive::Forgotten> {
        while self.records.len() > limits::SPEND_RECORDS_MAX {
            self.records.pop_front();
        }
        while self.forgettable.len() > limits::SPEND_AGENTS_MAX {
            let Some((_, agent)) = self.forgettable.pop_first() else { break };
            self.agents.remove(&agent);
        }
        Vec::new()
    }
}

/// All that a record is charged to.
pub(super) fn payers(tasks: &[TaskId], agent: &AgentId) -> impl Iterator<Item = Payer> {
    let tasks = tasks.iter().cloned().map(Payer::Task);
    tasks.chain([Payer::Agent(agent.clone()), Payer::Workspace])
}

impl Table {
    fn replace(&mut self, of: &Payer, after: Option<Ledger>) -> Option<Ledger> {
        match of {
            Payer::Workspace => {
                Some(std::mem::replace(&mut self.workspace, after.unwrap_or_default()))
            }
            Payer::Agent(agent) => {
                if let Some(before) = self.agents.get(agent) {
                    self.forgettable.remove(&(before.last, agent.clone()));
                }
                if let Some(after) = after.as_ref().filter(|after| after.budget.is_unlimited()) {
                    self.forgettable.insert((after.last, agent.clone()));
                }
                match after {
                    Some(after) => self.agents.insert(agent.clone(), after),
                    None => self.agents.remove(agent),
                }
            }
            Payer::Task(task) => {
                let used_up = after.as_ref().and_then(|it| it.budget.used_up(of, &it.spent));
                match used_up {
                    Some(_) => self.used_up.insert(task.clone()),
                    None => self.used_up.remove(task),
                };
                match after {
                    Some(after) => self.tasks.insert(task.clone(), after),
                    None => self.tasks.remove(task),
                }
            }
        }
    }

    fn set(&mut self, of: &Payer, budget: Budget) -> Option<Ledger> {
        let before = self.ledger(of).cloned().unwrap_or_default();
        self.replace(of, Some(Ledger { budget, ..before }))
    }

    /// Gives a new task its budget.
    pub(crate) fn open(&mut self, task: &TaskId, budget: Budget) -> Undo {
        let (recorded, exhausted) = (self.recorded, self.exhausted);
        let of = Payer::Task(task.clone());
        Undo { before: vec![(of.clone(), self.set(&of, budget))], recorded, exhausted }
    }

    /// Removes the total of a task that was removed.
    pub(crate) fn forget(&mut self, task: &TaskId) {
        self.tasks.remove(task);
        self.used_up.remove(task);
    }

    /// A total and its budget, if anything was spent or limited.
    pub fn ledger(&self, of: &Payer) -> Option<&Ledger> {
        match of {
            Payer::Task(task) => self.tasks.get(task),
            Payer::Agent(agent) => self.agents.get(agent),
            Payer::Workspace => Some(&self.workspace),
        }
    }

    /// The same as callers see it.
    pub fn account(&self, of: Payer) -> Account {
        let Ledger { spent, budget, .. } = self.ledger(&of).cloned().unwrap_or_default();
        let used_up = budget.used_up(&of, &spent).is_some();
        let budget = Some(budget).filter(|budget| !budget.is_unlimited());
        let left = budget.map(|budget| budget.left(&spent));
        Account { of, spent, budget, left, used_up }
    }

    /// How a budget is used up, if it is.
    pub fn used_up(&self, of: &Payer) -> Option<UsedUp> {
        let ledger = self.ledger(of)?;
        ledger.budget.used_up(of, &ledger.spent)
    }

    /// Whether the budget of a task itself is used up.
    pub fn is_used_up(&self, task: &TaskId) -> bool {
        self.used_up.contains(task)
    }

    /// Whether the budget of any task is used up.
    pub fn has_used_up_tasks(&self) -> bool {
        !self.used_up.is_empty()
    }

    /// How many agents have a budget.
    pub fn limited_agents(&self) -> usize {
        self.agents.len() - self.forgettable.len()
    }

    /// Records for a list, latest first, before its cursor.
    pub fn before<'a>(&'a self, list: &'a List) -> impl Iterator<Item = &'a Record> {
        let is_listed = |record: &&Record| {
            list.cursor.is_none_or(|cursor| record.number < cursor)
                && list.agent.as_ref().is_none_or(|agent| *agent == record.agent)
                && list.task.as_ref().is_none_or(|task| Some(task) == record.task.as_ref())
        };
        self.records.iter().rev().filter(is_listed)
    }

    /// How many were ever recorded.
    pub fn recorded(&self) -> u64 {
        self.recorded
    }

    /// How often budgets were used up.
    pub fn exhausted(&self) -> u64 {
        self.exhausted
    }

    /// The number of the oldest record that is kept.
    pub fn oldest(&self) -> Option<u64> {
        self.records.front().map(|record| record.number)
    }

    /// The number of budgets that are used up now.
    pub fn used_up_now(&self) -> usize {
        let agents = self.agents.iter().filter(|(agent, ledger)| {
            ledger.budget.used_up(&Payer::Agent((*agent).clone()), &ledger.spent).is_some()
        });
        let workspace = usize::from(self.used_up(&Payer::Workspace).is_some());
        self.used_up.len() + agents.count() + workspace
    }
}
