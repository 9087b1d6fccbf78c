//! Spending as text.

use crate::names::TaskId;
use crate::primitive::Event as _;
use crate::spend::{Account, Budget, Event, Record, Recorded, Reply, Total, Unit, UsedUp};

pub(super) fn rendered(event: &Event) -> String {
    let kind = event.kind();
    match event {
        Event::Recorded { number, by, tasks, spent, .. } => {
            let tasks: Vec<&str> = tasks.iter().map(TaskId::as_str).collect();
            let units: Vec<String> =
                Unit::ALL.iter().map(|unit| spent.in_unit(*unit).to_string()).collect();
            format!("{kind} #{number} by {by} {}: {}", tasks.join("<"), units.join("/"))
        }
        Event::Limited { of, budget } => format!("{kind} {of} {}", limits(budget)),
        Event::Exhausted(UsedUp { of, unit, limit, used }) => {
            format!("{kind} {of} {used}/{limit} {unit}")
        }
    }
}

fn limits(budget: &Budget) -> String {
    let units = Unit::ALL.iter().map(|unit| match budget.limit(*unit) {
        Some(limit) => limit.to_string(),
        None => "-".to_owned(),
    });
    units.collect::<Vec<_>>().join("/")
}

fn account(account: &Account) -> String {
    let units: Vec<String> =
        Unit::ALL.iter().map(|unit| account.spent.in_unit(*unit).to_string()).collect();
    let left = account.left.as_ref().map(|left| format!(" left {}", limits(left)));
    let used_up = if account.used_up { " used up" } else { "" };
    format!("{}: {}{}{used_up}", account.of, units.join("/"), left.unwrap_or_default())
}

fn accounts(accounts: &[Account]) -> String {
    let mut text = String::new();
    for it in accounts {
        text.push_str("; ");
        text.push_str(&account(it));
    }
    text
}

fn record(record: &Record) -> String {
    format!("#{} {}", record.number, record.agent)
}

pub(super) fn shown(reply: &Reply) -> String {
    match reply {
        Reply::Spend(Total { account: total, above }) => {
            format!("{}{}", account(total), accounts(above))
        }
        Reply::Recorded(Recorded { record: new, budgets }) => {
            format!("{}{}", record(new), accounts(budgets))
        }
        Reply::Records { records, recorded, oldest, cursor } => {
            let records: Vec<String> = records.iter().map(record).collect();
            format!("{} of {recorded} from {oldest:?} cursor={cursor:?}", records.join(", "))
        }
    }
}
