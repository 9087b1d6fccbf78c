//! Snapshots of screens, and the effects of keys.

use baton_core::task::{Counts, Status};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::keys::Key;
use super::model::{
    Action, AgentRow, Effect, EventRow, HandoffRow, Input, LockRow, Mode, Model, Panel, Snapshot,
    Subject, TaskRow,
};
use super::source::task_row;
use super::view::{Theme, draw};

const NOW_MS: u64 = 1_700_000_000_000;

fn task(id: &str, status: Status) -> TaskRow {
    TaskRow {
        id: id.to_owned(),
        kind: "research".to_owned(),
        status,
        is_blocked: false,
        holder: None,
        since_ms: None,
        lease_until_ms: None,
        fraction: None,
        note: String::new(),
        tries: 0,
    }
}

fn agent(id: &str, role: &str) -> AgentRow {
    AgentRow { id: id.to_owned(), role: role.to_owned(), is_alive: true, is_lost: false }
}

fn snapshot() -> Snapshot {
    let held = TaskRow {
        holder: Some("mia".to_owned()),
        since_ms: Some(42),
        lease_until_ms: Some(NOW_MS + 2_300),
        fraction: Some(0.55),
        note: "comparing".to_owned(),
        tries: 2,
        ..task("tides-1.facts", Status::InProgress)
    };
    let blocked = TaskRow { is_blocked: true, ..task("tides-1.article", Status::Pending) };
    let lost = AgentRow { is_alive: false, is_lost: true, ..agent("rui", "researcher") };
    Snapshot {
        workspace: "demo".to_owned(),
        revision: 1_234,
        agents: vec![agent("ada", "planner"), agent("mia", "researcher"), lost],
        tasks: vec![
            task("maps-3.facts", Status::WaitingReview),
            held,
            task("moss-2.figures", Status::Failed),
            task("tides-1.figures", Status::Pending),
            blocked,
        ],
        finished: Vec::new(),
        counts: Counts {
            pending: 2,
            ready: 1,
            blocked: 1,
            in_progress: 1,
            waiting_review: 1,
            completed: 12,
            failed: 1,
            ..Counts::default()
        },
        handoffs: vec![HandoffRow {
            id: "h-9".to_owned(),
            from: "sam".to_owned(),
            to: "kim".to_owned(),
            task: "owls-4.article".to_owned(),
            status: "offered".to_owned(),
        }],
        locks: vec![LockRow {
            name: "library".to_owned(),
            holder: "mia".to_owned(),
            since_ms: 7,
            until_ms: 0,
            waiters: vec!["noa".to_owned(), "eve".to_owned()],
            is_deadlocked: false,
        }],
    }
}

fn event(kind: &str, subject: &str) -> Input {
    Input::Event(Box::new(EventRow {
        revision: 1_233,
        time: "2026-11-15T09:10:11.000Z".to_owned(),
        agent: "mia".to_owned(),
        kind: kind.to_owned(),
        subject: subject.to_owned(),
        fields: "fraction 0.55 · note comparing".to_owned(),
    }))
}

/// A model with some of everything.
fn model() -> Model {
    let mut model = Model::new("server at 127.0.0.1:4747", "demo");
    model.update(Input::Tick { now_ms: NOW_MS - 3_000 });
    model.update(Input::Snapshot(Box::new(snapshot())));
    for second in [2_000, 1_000, 0] {
        model.update(event("task.progressed", "tasks/tides-1.facts"));
        model.update(Input::Tick { now_ms: NOW_MS - second });
    }
    model
}

/// Also one that finished before the screen was opened.
#[test]
fn a_completed_task_is_done_to_the_end() {
    let row = |status: &str| {
        let task = serde_json::json!({
            "id": "x", "type": "research", "status": status, "requested_by": "cli", "priority": 0,
            "max_retries": 3,
            "backoff": {"initial_ms": 1000, "multiplier": 2.0, "max_ms": 60000, "jitter": 0.2},
            "on_exhausted": "fail", "attempts": 1, "retries": 0,
            "progress": {"fraction": 0.75, "note": "half", "at": "2026-11-19T21:08:23.290Z"},
            "created_at": "2026-11-19T21:08:23.045Z", "updated_at": "2026-11-19T21:08:23.422Z",
            "started_at": "2026-11-19T21:08:23.165Z", "finished_at": "2026-11-19T21:08:23.422Z",
            "revision": 4,
        });
        task_row(&serde_json::from_value(task).unwrap())
    };
    assert_eq!(row("completed").fraction, Some(1.0));
    assert_eq!(row("cancelled").fraction, Some(0.75));
}

fn press(model: &mut Model, keys: &[Key]) -> Option<Effect> {
    keys.iter().fold(None, |_, key| model.update(Input::Key(*key)))
}

fn screen(model: &Model, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, model, Theme { is_coloured: false })).unwrap();
    terminal.backend().to_string()
}

#[test]
fn everything_is_on_the_smallest_screen() {
    insta::assert_snapshot!(screen(&model(), 80, 24));
}

#[test]
fn a_larger_screen_shows_more() {
    insta::assert_snapshot!(screen(&model(), 130, 34));
}

#[test]
fn an_empty_workspace_shows_what_to_try() {
    insta::assert_snapshot!(screen(&Model::new("", "default"), 80, 24));
}

#[test]
fn an_unreachable_server_is_shown_and_the_rest_stays() {
    let mut model = model();
    let reason = "no connection to http://127.0.0.1:4747".to_owned();
    model.update(Input::Unreachable { reason });
    insta::assert_snapshot!(screen(&model, 80, 24));
    model.update(Input::Snapshot(Box::new(snapshot())));
    assert!(screen(&model, 80, 24).contains("● live"));
}

#[test]
fn help_covers_the_screen() {
    let mut model = model();
    press(&mut model, &[Key::Letter('?')]);
    insta::assert_snapshot!(screen(&model, 80, 24));
    press(&mut model, &[Key::Letter('x')]);
    assert_eq!(model.mode, Mode::Browsing);
}

#[test]
fn no_screen_is_too_small_to_be_drawn() {
    let mut model = model();
    for (width, height) in [(1, 1), (10, 3), (30, 8), (79, 23), (300, 90)] {
        screen(&model, width, height);
    }
    press(&mut model, &[Key::Letter('?')]);
    for (width, height) in [(1, 1), (10, 3), (30, 8)] {
        screen(&model, width, height);
    }
}

#[test]
fn irreversible_actions_need_confirmation() {
    let mut model = model();
    // The second row is the task in progress.
    assert_eq!(press(&mut model, &[Key::Down, Key::Letter('c')]), None);
    assert!(screen(&model, 80, 24).contains("cancel tides-1.facts and its subtasks? y/n"));
    assert_eq!(press(&mut model, &[Key::Letter('n')]), None);
    assert_eq!(model.mode, Mode::Browsing);
    let released = press(&mut model, &[Key::Letter('u'), Key::Letter('y')]);
    let (task, holder) = ("tides-1.facts".to_owned(), "mia".to_owned());
    assert_eq!(released, Some(Effect::Do(Action::ReleaseTask { task, holder, since_ms: 42 })));
}

#[test]
fn the_hold_that_is_shown_is_released() {
    let mut model = model();
    press(&mut model, &[Key::BackTab, Key::BackTab]);
    assert_eq!(model.panel, Panel::Locks);
    let released = press(&mut model, &[Key::Letter('u'), Key::Letter('y')]);
    let (lock, holder) = ("library".to_owned(), "mia".to_owned());
    assert_eq!(released, Some(Effect::Do(Action::ReleaseLock { lock, holder, since_ms: 7 })));
    assert_eq!(press(&mut model, &[Key::Letter('c')]), None, "a lock is not cancelled");
    assert!(model.message.is_some());
}

#[test]
fn only_failed_tasks_are_retried() {
    let mut model = model();
    let reviewed = press(&mut model, &[Key::Letter('r')]);
    let task = "maps-3.facts".to_owned();
    assert_eq!(reviewed, Some(Effect::Do(Action::Retry { task, is_finished: false })));
    assert_eq!(press(&mut model, &[Key::Down, Key::Letter('r')]), None);
    assert!(screen(&model, 80, 24).contains("only tasks that have failed"));
    let failed = press(&mut model, &[Key::Down, Key::Letter('r')]);
    let task = "moss-2.figures".to_owned();
    assert_eq!(failed, Some(Effect::Do(Action::Retry { task, is_finished: true })));
}

#[test]
fn a_filter_is_typed_applied_and_cleared() {
    let mut model = model();
    let typed = [Key::Letter('/'), Key::Letter('M'), Key::Letter('i'), Key::Letter('q')];
    press(&mut model, &typed);
    press(&mut model, &[Key::Backspace, Key::Letter('a'), Key::Enter]);
    assert_eq!((model.filter.as_str(), &model.mode), ("Mia", &Mode::Browsing));
    assert_eq!(model.shown_tasks().count(), 1, "what mia holds");
    assert_eq!(model.shown_agents().count(), 1);
    press(&mut model, &[Key::Escape]);
    assert_eq!(model.shown_tasks().count(), 5);
}

#[test]
fn a_filter_names_fields_as_a_search_does() {
    let mut model = model();
    let shown = |model: &mut Model, filter: &str| {
        filter.clone_into(&mut model.filter);
        (model.shown_tasks().count(), model.shown_agents().count(), model.shown_locks().count())
    };
    assert_eq!(shown(&mut model, "status:failed"), (1, 0, 0));
    assert_eq!(shown(&mut model, "status:blocked"), (1, 0, 0), "as it is shown");
    assert_eq!(shown(&mut model, "agent:mia"), (1, 1, 1), "what it holds");
    assert_eq!(shown(&mut model, "type:research -tides"), (2, 0, 0));
    assert_eq!(shown(&mut model, "status:lost"), (0, 1, 0));
}

#[test]
fn the_selection_stays_while_rows_come_and_go() {
    let mut model = model();
    press(&mut model, &[Key::Down]);
    let mut next = snapshot();
    next.tasks.insert(0, task("amber-0.facts", Status::WaitingReview));
    model.update(Input::Snapshot(Box::new(next)));
    let looked = press(&mut model, &[Key::Enter]);
    assert_eq!(looked, Some(Effect::Look(Subject::Task("tides-1.facts".to_owned()))));
    let mut gone = snapshot();
    gone.tasks.truncate(1);
    model.update(Input::Snapshot(Box::new(gone)));
    assert_eq!(model.selected_row(Panel::Tasks), Some(0));
}

#[test]
fn finished_tasks_stay_for_a_while_and_lists_are_bounded() {
    let mut model = model();
    model.update(event("task.completed", "tasks/tides-1.facts"));
    let last = model.shown_tasks().last().unwrap();
    assert_eq!((last.id.as_str(), last.status), ("tides-1.facts", Status::Completed));
    for number in 0..2_000 {
        let id = format!("t-{number}");
        model.snapshot.tasks.push(task(&id, Status::InProgress));
        model.update(event("task.completed", &format!("tasks/{id}")));
    }
    assert!(model.events.len() <= 300 && model.finished.len() <= 40);
    model.update(Input::Tick { now_ms: NOW_MS * 2 });
    assert!(model.changes.len() <= 60);
}

#[test]
fn tasks_that_were_completed_before_the_start_are_listed() {
    let mut model = Model::new("server", "demo");
    let past = vec![task("old-1", Status::Completed)];
    model.update(Input::Snapshot(Box::new(Snapshot { finished: past, ..snapshot() })));
    assert_eq!(model.shown_tasks().last().unwrap().id, "old-1");
    model.update(Input::Snapshot(Box::new(snapshot())));
    assert_eq!(model.shown_tasks().last().unwrap().id, "old-1", "it stays");
}

#[test]
fn another_workspace_starts_empty() {
    let mut model = model();
    model.update(event("task.completed", "tasks/tides-1.facts"));
    let elsewhere = Snapshot { workspace: "research".to_owned(), ..Snapshot::default() };
    model.update(Input::Snapshot(Box::new(elsewhere)));
    assert_eq!((model.events.len(), model.finished.len()), (0, 0));
}
