//! The state of the screen and its transitions, without terminal, server or clock.
//!
//! ```text
//!   Input ──▶ update ──▶ the model, changed ──▶ view
//!   keys, snapshots, └──▶ Effect: ask the server, act, quit
//!   events, ticks
//! ```
//!
//! 1. Everything on the screen is in the model, and every list is bounded.
//! 2. The selected row stays selected while other rows come and go.
//! 3. Actions that cannot be undone require a `y`.

use std::collections::VecDeque;

use baton_core::task::{Counts, Status};

use super::filter::{Filter, Texts};
use super::keys::{Intent, Key};

/// Events kept for scrolling back.
const EVENTS_MAX: usize = 300;
/// Finished tasks that are still shown.
pub(super) const FINISHED_MAX: usize = 40;
/// Seconds of change counts to keep.
const SECONDS_MAX: usize = 60;

/// A panel of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Panel {
    Tasks,
    Agents,
    Handoffs,
    Locks,
    Events,
}

impl Panel {
    pub(super) const ALL: [Self; 5] =
        [Self::Tasks, Self::Agents, Self::Handoffs, Self::Locks, Self::Events];

    fn place(self) -> usize {
        Self::ALL.iter().position(|panel| *panel == self).expect("all are in the list")
    }

    fn moved(self, by: usize) -> Self {
        Self::ALL[(self.place() + by) % Self::ALL.len()]
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AgentRow {
    pub(super) id: String,
    pub(super) role: String,
    pub(super) is_alive: bool,
    /// Its session expired, instead of ending properly.
    pub(super) is_lost: bool,
}

impl AgentRow {
    /// The status of its session, as a word.
    pub(super) fn status(&self) -> &'static str {
        match (self.is_alive, self.is_lost) {
            (true, _) => "alive",
            (false, true) => "lost",
            (false, false) => "left",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct TaskRow {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) status: Status,
    /// Pending, and waiting for another task or its start time.
    pub(super) is_blocked: bool,
    pub(super) holder: Option<String>,
    /// When its lease began: only that one is released.
    pub(super) since_ms: Option<u64>,
    pub(super) lease_until_ms: Option<u64>,
    pub(super) fraction: Option<f64>,
    pub(super) note: String,
    pub(super) tries: u64,
}

impl TaskRow {
    /// The status as it is shown: a mark and a word.
    pub(super) fn shown_status(&self) -> (&'static str, &'static str) {
        match self.status {
            Status::Pending if self.is_blocked => ("◌", "blocked"),
            Status::Pending => ("○", "ready"),
            Status::InProgress => ("▸", "working"),
            Status::HandedOff => ("→", "handed"),
            Status::WaitingReview => ("?", "review"),
            Status::Completed => ("✓", "done"),
            Status::Failed => ("✗", "failed"),
            Status::Cancelled => ("–", "cancel"),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct HandoffRow {
    pub(super) id: String,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) task: String,
    pub(super) status: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct LockRow {
    pub(super) name: String,
    pub(super) holder: String,
    /// When it was acquired: only that hold is released.
    pub(super) since_ms: u64,
    pub(super) until_ms: u64,
    pub(super) waiters: Vec<String>,
    /// Part of a deadlock.
    pub(super) is_deadlocked: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct EventRow {
    pub(super) revision: u64,
    pub(super) time: String,
    pub(super) agent: String,
    pub(super) kind: String,
    pub(super) subject: String,
    pub(super) fields: String,
}

/// The server's responses at one point in time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Snapshot {
    pub(super) workspace: String,
    pub(super) revision: u64,
    pub(super) agents: Vec<AgentRow>,
    pub(super) tasks: Vec<TaskRow>,
    /// Tasks that were completed before the first snapshot; later ones follow from events.
    pub(super) finished: Vec<TaskRow>,
    pub(super) counts: Counts,
    pub(super) handoffs: Vec<HandoffRow>,
    pub(super) locks: Vec<LockRow>,
}

/// The state of the connection.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Link {
    Live,
    Unreachable { reason: String },
}

/// A write to the server.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    Retry { task: String, is_finished: bool },
    CancelTask { task: String },
    CancelHandoff { handoff: String },
    ReleaseTask { task: String, holder: String, since_ms: u64 },
    ReleaseLock { lock: String, holder: String, since_ms: u64 },
}

impl Action {
    /// The confirmation prompt.
    pub(super) fn question(&self) -> String {
        match self {
            Self::Retry { task, .. } => format!("retry {task}?"),
            Self::CancelTask { task } => format!("cancel {task} and its subtasks?"),
            Self::CancelHandoff { handoff } => format!("withdraw offer {handoff}?"),
            Self::ReleaseTask { task, .. } => format!("release {task} from its holder?"),
            Self::ReleaseLock { lock, .. } => format!("release lock {lock} from its holder?"),
        }
    }
}

/// The subject of a details window.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Subject {
    Task(String),
    Agent(String),
    Handoff(String),
    Lock(String),
}

/// The input mode.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Mode {
    Browsing,
    Filtering,
    Confirming(Action),
    Details { title: String, lines: Vec<String>, scrolled: u16 },
    Help,
}

/// An input to the model.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Input {
    Key(Key),
    Snapshot(Box<Snapshot>),
    Event(Box<EventRow>),
    /// An event that is not shown.
    Changed,
    Unreachable {
        reason: String,
    },
    /// The outcome of an action.
    Outcome {
        message: String,
        is_bad: bool,
    },
    Details {
        title: String,
        lines: Vec<String>,
    },
    /// The current time.
    Tick {
        now_ms: u64,
    },
    Resized,
}

/// A side effect to perform.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Effect {
    Quit,
    Refresh,
    NextWorkspace,
    Do(Action),
    Look(Subject),
}

/// The state of the screen.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) server: String,
    pub(super) link: Link,
    pub(super) snapshot: Snapshot,
    pub(super) finished: VecDeque<TaskRow>,
    pub(super) events: VecDeque<EventRow>,
    /// Changes in each of the last seconds, the current one last.
    pub(super) changes: VecDeque<u64>,
    pub(super) panel: Panel,
    selected: [Option<String>; Panel::ALL.len()],
    pub(super) filter: String,
    pub(super) mode: Mode,
    pub(super) message: Option<(String, bool)>,
    pub(super) now_ms: u64,
    second: u64,
}

impl Model {
    pub(super) fn new(server: &str, workspace: &str) -> Self {
        let snapshot = Snapshot { workspace: workspace.to_owned(), ..Snapshot::default() };
        Self {
            server: server.to_owned(),
            link: Link::Live,
            snapshot,
            finished: VecDeque::new(),
            events: VecDeque::new(),
            changes: VecDeque::from([0]),
            panel: Panel::Tasks,
            selected: Default::default(),
            filter: String::new(),
            mode: Mode::Browsing,
            message: None,
            now_ms: 0,
            second: 0,
        }
    }

    /// Applies an input, and returns the effect to perform.
    pub(super) fn update(&mut self, input: Input) -> Option<Effect> {
        match input {
            Input::Key(key) => return self.pressed(key),
            Input::Snapshot(snapshot) => self.replace_snapshot(*snapshot),
            Input::Event(event) => {
                self.add_event(*event);
                return Some(Effect::Refresh);
            }
            Input::Changed => {
                self.count();
                return Some(Effect::Refresh);
            }
            Input::Unreachable { reason } => self.link = Link::Unreachable { reason },
            Input::Outcome { message, is_bad } => {
                self.message = Some((message, is_bad));
                return Some(Effect::Refresh);
            }
            Input::Details { title, lines } => {
                self.mode = Mode::Details { title, lines, scrolled: 0 };
            }
            Input::Tick { now_ms } => self.ticked(now_ms),
            Input::Resized => {}
        }
        None
    }

    fn replace_snapshot(&mut self, snapshot: Snapshot) {
        if snapshot.workspace != self.snapshot.workspace {
            self.finished.clear();
            self.events.clear();
            self.selected = Default::default();
        }
        self.link = Link::Live;
        if self.finished.is_empty() {
            self.finished = snapshot.finished.iter().take(FINISHED_MAX).cloned().collect();
        }
        self.finished.retain(|row| snapshot.tasks.iter().all(|task| task.id != row.id));
        self.snapshot = snapshot;
    }

    fn add_event(&mut self, event: EventRow) {
        self.count();
        if let Some(id) = event.subject.strip_prefix("tasks/") {
            let ended = match event.kind.as_str() {
                "task.completed" => Some(Status::Completed),
                "task.cancelled" => Some(Status::Cancelled),
                _ => None,
            };
            if let Some(status) = ended {
                self.ended(id, status);
            }
        }
        self.events.push_front(event);
        self.events.truncate(EVENTS_MAX);
    }

    fn count(&mut self) {
        if let Some(present) = self.changes.back_mut() {
            *present += 1;
        }
    }

    /// A finished task stays on the screen for a while.
    fn ended(&mut self, id: &str, status: Status) {
        let place = self.snapshot.tasks.iter().position(|task| task.id == id);
        let Some(place) = place else { return };
        let mut row = self.snapshot.tasks.remove(place);
        (row.status, row.since_ms, row.lease_until_ms) = (status, None, None);
        if status == Status::Completed {
            row.fraction = Some(1.0);
        }
        self.finished.push_front(row);
        self.finished.truncate(FINISHED_MAX);
    }

    fn ticked(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        let second = now_ms / 1_000;
        if self.second == 0 {
            self.second = second;
        }
        // Bounded, for the case that the machine was suspended.
        for _ in 0..second.saturating_sub(self.second).min(SECONDS_MAX as u64) {
            self.changes.push_back(0);
        }
        self.second = second;
        while self.changes.len() > SECONDS_MAX {
            self.changes.pop_front();
        }
    }

    fn pressed(&mut self, key: Key) -> Option<Effect> {
        let intent = Intent::of(&self.mode, key)?;
        self.message = None;
        match intent {
            Intent::Quit => return Some(Effect::Quit),
            Intent::Close => self.mode = Mode::Browsing,
            Intent::Help => self.mode = Mode::Help,
            Intent::Filter => self.mode = Mode::Filtering,
            Intent::ClearFilter => {
                self.filter.clear();
                self.mode = Mode::Browsing;
            }
            Intent::Type(letter) => self.filter.push(letter),
            Intent::Erase => drop(self.filter.pop()),
            Intent::Panel(by) => self.panel = self.panel.moved(by),
            Intent::Row(by) => self.row_moved(by),
            Intent::Scroll(by) => {
                if let Mode::Details { lines, scrolled, .. } = &mut self.mode {
                    let most = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_sub(1);
                    *scrolled = scrolled.saturating_add_signed(by).min(most);
                }
            }
            Intent::Look => return self.show_details(),
            Intent::Retry => return self.retry(),
            Intent::Cancel => self.confirm(Self::cancelling),
            Intent::Release => self.confirm(Self::releasing),
            Intent::Yes => {
                if let Mode::Confirming(action) = std::mem::replace(&mut self.mode, Mode::Browsing)
                {
                    return Some(Effect::Do(action));
                }
            }
            Intent::NextWorkspace => return Some(Effect::NextWorkspace),
        }
        None
    }

    fn say(&mut self, message: &str) {
        self.message = Some((message.to_owned(), true));
    }

    fn confirm(&mut self, what: fn(&Self) -> Result<Action, &'static str>) {
        match what(self) {
            Ok(action) => self.mode = Mode::Confirming(action),
            Err(message) => self.say(message),
        }
    }

    fn retry(&mut self) -> Option<Effect> {
        let row = self.task();
        let retried = row.and_then(|row| {
            let task = row.id.clone();
            let wanted = matches!(row.status, Status::WaitingReview | Status::Failed);
            wanted.then(|| Action::Retry { task, is_finished: row.status == Status::Failed })
        });
        if retried.is_none() {
            self.say("only tasks that have failed or wait for review can be retried");
        }
        retried.map(Effect::Do)
    }

    fn cancelling(&self) -> Result<Action, &'static str> {
        const NOT: &str = "only unfinished tasks and open hand-offs can be cancelled";
        match self.panel {
            Panel::Tasks => {
                let row = self.task().filter(|row| !row.status.is_finished()).ok_or(NOT)?;
                Ok(Action::CancelTask { task: row.id.clone() })
            }
            Panel::Handoffs => {
                let handoff = self.selected_id().ok_or(NOT)?;
                Ok(Action::CancelHandoff { handoff })
            }
            Panel::Agents | Panel::Locks | Panel::Events => Err(NOT),
        }
    }

    fn releasing(&self) -> Result<Action, &'static str> {
        const NOT: &str = "only held locks and tasks in progress can be released";
        match self.panel {
            Panel::Tasks => {
                let row = self.task().ok_or(NOT)?;
                let (since_ms, holder) = row.since_ms.zip(row.holder.clone()).ok_or(NOT)?;
                Ok(Action::ReleaseTask { task: row.id.clone(), holder, since_ms })
            }
            Panel::Locks => {
                let name = self.selected_id().ok_or(NOT)?;
                let row = self.snapshot.locks.iter().find(|row| row.name == name).ok_or(NOT)?;
                let (holder, since_ms) = (row.holder.clone(), row.since_ms);
                Ok(Action::ReleaseLock { lock: name, holder, since_ms })
            }
            Panel::Agents | Panel::Handoffs | Panel::Events => Err(NOT),
        }
    }

    fn show_details(&mut self) -> Option<Effect> {
        let id = self.selected_id()?;
        match self.panel {
            Panel::Tasks => Some(Effect::Look(Subject::Task(id))),
            Panel::Agents => Some(Effect::Look(Subject::Agent(id))),
            Panel::Handoffs => Some(Effect::Look(Subject::Handoff(id))),
            Panel::Locks => Some(Effect::Look(Subject::Lock(id))),
            Panel::Events => {
                let place = self.selected_row(Panel::Events)?;
                let event = self.shown_events().nth(place)?;
                let EventRow { revision, time, agent, kind, subject, fields } = event;
                let lines = vec![
                    format!("revision  {revision}"),
                    format!("time      {time}"),
                    format!("agent     {agent}"),
                    format!("subject   {subject}"),
                    String::new(),
                    fields.clone(),
                ];
                let title = kind.clone();
                self.mode = Mode::Details { title, lines, scrolled: 0 };
                None
            }
        }
    }

    fn row_moved(&mut self, by: isize) {
        let ids = self.ids(self.panel);
        let Some(last) = ids.len().checked_sub(1) else { return };
        let present = self.selected_row(self.panel).unwrap_or(0);
        let place = present.saturating_add_signed(by).min(last);
        self.selected[self.panel.place()] = Some(ids[place].clone());
    }

    /// The index of the selected row of a panel; the first if it no longer exists.
    pub(super) fn selected_row(&self, panel: Panel) -> Option<usize> {
        let ids = self.ids(panel);
        if ids.is_empty() {
            return None;
        }
        let wanted = self.selected[panel.place()].as_ref();
        Some(wanted.and_then(|wanted| ids.iter().position(|id| id == wanted)).unwrap_or(0))
    }

    fn selected_id(&self) -> Option<String> {
        let place = self.selected_row(self.panel)?;
        self.ids(self.panel).into_iter().nth(place)
    }

    fn task(&self) -> Option<&TaskRow> {
        let place = self.selected_row(Panel::Tasks).filter(|_| self.panel == Panel::Tasks)?;
        self.shown_tasks().nth(place)
    }

    fn ids(&self, panel: Panel) -> Vec<String> {
        match panel {
            Panel::Tasks => self.shown_tasks().map(|row| row.id.clone()).collect(),
            Panel::Agents => self.shown_agents().map(|row| row.id.clone()).collect(),
            Panel::Handoffs => self.shown_handoffs().map(|row| row.id.clone()).collect(),
            Panel::Locks => self.shown_locks().map(|row| row.name.clone()).collect(),
            Panel::Events => {
                let id = |row: &EventRow| format!("{} {} {}", row.revision, row.kind, row.subject);
                self.shown_events().map(id).collect()
            }
        }
    }

    /// The rows that match the filter.
    fn matching<'a, Row: Texts + 'a>(
        &self,
        rows: impl Iterator<Item = &'a Row>,
    ) -> impl Iterator<Item = &'a Row> {
        let filter = Filter::parse(&self.filter);
        rows.filter(move |row| filter.matches(&row.texts()))
    }

    /// Unfinished tasks, then recently finished ones.
    pub(super) fn shown_tasks(&self) -> impl Iterator<Item = &TaskRow> {
        self.matching(self.snapshot.tasks.iter().chain(&self.finished))
    }

    pub(super) fn shown_agents(&self) -> impl Iterator<Item = &AgentRow> {
        self.matching(self.snapshot.agents.iter())
    }

    pub(super) fn shown_handoffs(&self) -> impl Iterator<Item = &HandoffRow> {
        self.matching(self.snapshot.handoffs.iter())
    }

    pub(super) fn shown_locks(&self) -> impl Iterator<Item = &LockRow> {
        self.matching(self.snapshot.locks.iter())
    }

    pub(super) fn shown_events(&self) -> impl Iterator<Item = &EventRow> {
        self.matching(self.events.iter())
    }

    /// The tasks and locks that an agent holds.
    pub(super) fn held_by(&self, agent: &str) -> Vec<&str> {
        let is_its = |holder: Option<&String>| holder.is_some_and(|holder| holder == agent);
        let tasks = self.snapshot.tasks.iter().filter(|row| is_its(row.holder.as_ref()));
        let locks = self.snapshot.locks.iter().filter(|row| row.holder == agent);
        tasks.map(|row| row.id.as_str()).chain(locks.map(|row| row.name.as_str())).collect()
    }
}
