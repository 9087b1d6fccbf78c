//! When a budget is raised or removed, waiting claims get the tasks that may start now.

use crate::signal::Consequence;
use crate::space::{Space, TablesView};
use crate::spend::Event;
use crate::task::{self, budgets};

/// So no claim waits for a task that may start.
pub(super) fn a_larger_budget_lets_tasks_start(space: &Space, event: &Event) -> Vec<Consequence> {
    if !may_let_tasks_start(space, event) {
        return Vec::new();
    }
    let tasks = budgets::startable(&space.task, &TablesView::of(space));
    tasks.into_iter().map(|task| task::Signal::Assign { task }.into()).collect()
}

/// Whether it may affect a waiting call.
pub(super) fn may_let_tasks_start(space: &Space, event: &Event) -> bool {
    match event {
        Event::Limited { .. } => !space.task.claims().is_empty(),
        Event::Recorded { .. } | Event::Exhausted(_) => false,
    }
}
