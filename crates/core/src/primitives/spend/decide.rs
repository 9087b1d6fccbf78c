//! The rules of spending, one function per command.

use super::refusals::Rejection;
use super::table::{Table, payers};
use super::vocabulary::{
    Account, Command, Event, List, Query, Recorded, Reply, Signal, Spent, Total,
};
use crate::limits;
use crate::names::{AgentId, TaskId};
use crate::page;
use crate::primitive::{self, Rules};
use crate::refusal::{bad, has_room, text_fits, within};
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space, TasksView};
use crate::spending::{Amounts, Budget, Payer, Unit, UsedUp};

/// The tasks, as far as spending reads them.
pub trait View {
    /// A task and those above it, nearest first; none if it does not exist.
    fn lineage(&self, task: &TaskId) -> Option<Vec<TaskId>>;
}

/// The outcome of a command.
type Decided = primitive::Decided<Event>;

/// A total, as it is after the events.
fn account(of: Payer) -> ReplyPlan {
    ReplyPlan::after(move |space| {
        let above = above(&TasksView(&space.task), &of).unwrap_or_default();
        Reply::Spend(totalled(&space.spend, of, above))
    })
}

impl Rules for Table {
    type Command = Command;
    type Signal = Signal;
    type Query = Query;
    type Reply = Reply;
    type Rejection = Rejection;

    fn decide(
        space: &Space,
        command: Command,
        stamp: &Stamp,
        happening: &mut Happening<'_>,
    ) -> Result<ReplyPlan, Rejection> {
        Ok(happening.take(decide(&space.spend, &TasksView(&space.task), command, stamp)?))
    }

    fn query(space: &Space, query: &Query) -> Option<Result<Reply, Rejection>> {
        let view = TasksView(&space.task);
        Some(match query {
            Query::Get { task, agent } => total(&space.spend, &view, task.clone(), agent.clone()),
            Query::List(query) => list(&space.spend, query),
        })
    }
}

/// Decides a command against the current table.
fn decide(
    table: &Table,
    view: &impl View,
    command: Command,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    match command {
        Command::Record(spent) => record(table, view, spent, stamp),
        Command::Limit { of, budget } => limit(table, view, of, budget),
    }
}

fn lineage(view: &impl View, task: TaskId) -> Result<Vec<TaskId>, Rejection> {
    view.lineage(&task).ok_or(Rejection::UnknownTask { task })
}

fn record(
    table: &Table,
    view: &impl View,
    command: Spent,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    let Spent { task, tokens, cost_micros, calls, model, note, strict } = command;
    let amount = |what, given, usual| within(what, given, usual, (0, limits::SPENT_AT_ONCE_MAX));
    let spent = Amounts {
        tokens: amount("tokens", tokens, 0)?,
        cost_micros: amount("cost_micros", cost_micros, 0)?,
        calls: amount("calls", calls, 1)?,
    };
    if spent.is_nothing() {
        return Err(bad("calls", "at least one amount must be more than 0").into());
    }
    text_fits("model", model.as_ref(), limits::MODEL_BYTES_MAX)?;
    text_fits("note", note.as_ref(), limits::NOTE_BYTES_MAX)?;
    let tasks = task.map_or(Ok(Vec::new()), |task| lineage(view, task))?;
    let total = table.account(Payer::Workspace).spent.plus(&spent);
    for unit in Unit::ALL {
        within(unit.word(), Some(total.in_unit(unit)), 0, (0, limits::SPENT_MAX))?;
    }
    let payers: Vec<Payer> = payers(&tasks, &stamp.agent).collect();
    let (by, number) = (stamp.agent.clone(), table.recorded() + 1);
    let mut events = vec![Event::Recorded { number, by, tasks, spent, model, note }];
    for of in &payers {
        let Some(ledger) = table.ledger(of) else { continue };
        let (before, after) = (ledger.spent, ledger.spent.plus(&spent));
        let was_used_up = ledger.budget.used_up(of, &before);
        #[cfg(feature = "planted")]
        let strict = strict && !crate::planted::is("spend.strict_exceeds");
        if strict {
            fits(of, &ledger.budget, &before, &spent, was_used_up.as_ref())?;
        }
        let used_up = ledger.budget.used_up(of, &after);
        events.extend(used_up.filter(|_| was_used_up.is_none()).map(Event::Exhausted));
    }
    let plan = ReplyPlan::after(move |space| {
        let table = &space.spend;
        let record = table.before(&List::default()).next().expect("it was just recorded").clone();
        Reply::Recorded(Recorded { record, budgets: budgets(table, payers) })
    });
    Ok(Decided::new(events, plan))
}

/// Refuses an amount that a budget has no room for.
fn fits(
    of: &Payer,
    budget: &Budget,
    before: &Amounts,
    spent: &Amounts,
    used_up: Option<&UsedUp>,
) -> Result<(), Rejection> {
    let exceeded = budget.exceeded(&before.plus(spent));
    let Some(unit) = used_up.map(|used_up| used_up.unit).or(exceeded) else { return Ok(()) };
    Err(Rejection::Exhausted {
        of: of.clone(),
        unit,
        limit: budget.limit(unit).unwrap_or_default(),
        used: before.in_unit(unit),
        asked: spent.in_unit(unit),
    })
}

fn limit(table: &Table, view: &impl View, of: Payer, budget: Budget) -> Result<Decided, Rejection> {
    budget.check()?;
    above(view, &of)?;
    let before = table.ledger(&of).cloned().unwrap_or_default();
    if budget == before.budget {
        return Ok(Decided::new(Vec::new(), account(of)));
    }
    if matches!(of, Payer::Agent(_)) && before.budget.is_unlimited() {
        let agents = table.limited_agents();
        has_room([("agents with a budget", agents, limits::SPEND_AGENTS_MAX)])?;
    }
    let was_used_up = before.budget.used_up(&of, &before.spent).is_some();
    let used_up = budget.used_up(&of, &before.spent).filter(|_| !was_used_up);
    let mut events = vec![Event::Limited { of: of.clone(), budget }];
    events.extend(used_up.map(Event::Exhausted));
    Ok(Decided::new(events, account(of)))
}

/// The other accounts that spending is charged to, without that of the agent.
fn above(view: &impl View, of: &Payer) -> Result<Vec<Payer>, Rejection> {
    Ok(match of {
        Payer::Task(task) => {
            let above = lineage(view, task.clone())?.into_iter().skip(1).map(Payer::Task);
            above.chain([Payer::Workspace]).collect()
        }
        Payer::Agent(_) => vec![Payer::Workspace],
        Payer::Workspace => Vec::new(),
    })
}

/// The accounts that have a budget.
fn budgets(table: &Table, payers: Vec<Payer>) -> Vec<Account> {
    let accounts = payers.into_iter().map(|of| table.account(of));
    accounts.filter(|account| account.budget.is_some()).collect()
}

fn totalled(table: &Table, of: Payer, above: Vec<Payer>) -> Total {
    Total { account: table.account(of), above: budgets(table, above) }
}

fn total(
    table: &Table,
    view: &impl View,
    task: Option<TaskId>,
    agent: Option<AgentId>,
) -> Result<Reply, Rejection> {
    let of = match (task, agent) {
        (Some(_), Some(_)) => return Err(bad("agent", "name a task or an agent").into()),
        (Some(task), None) => Payer::Task(task),
        (None, Some(agent)) => Payer::Agent(agent),
        (None, None) => Payer::Workspace,
    };
    let above = above(view, &of)?;
    Ok(Reply::Spend(totalled(table, of, above)))
}

fn list(table: &Table, query: &List) -> Result<Reply, Rejection> {
    let limit = page::limit(query.limit)?;
    let found = table.before(query).cloned();
    let (records, cursor) = page::first(found, limit, |last| last.number);
    let (recorded, oldest) = (table.recorded(), table.oldest());
    Ok(Reply::Records { records, recorded, oldest, cursor })
}
