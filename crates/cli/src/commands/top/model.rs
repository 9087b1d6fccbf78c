//! What is on the screen, and what becomes of it: no terminal, no server, no clock.
//!
//! ```text
//!   Input ──▶ update ──▶ the model, changed ──▶ view
//!   keys, pictures,  └──▶ Effect: ask the server, do something, leave
//!   events, ticks
//! ```
//!
//! 1. All that is shown is in here, and every list has a limit.
//! 2. Whoever is selected stays selected while others come and go.
//! 3. What cannot be taken back is done only after a `y`.

use std::collections::VecDeque;

use baton_core::task::{Counts, Status};

use super::keys::{Key, Wish};

/// Rows of events that are kept to scroll back to.
const EVENTS_MAX: usize = 300;
/// Tasks that have ended and are still shown.
const FINISHED_MAX: usize = 40;
/// Seconds of which the number of changes is remembered.
const SECONDS_MAX: usize = 60;

/// A part of the screen with rows.
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
    /// It fell silent, instead of saying good-bye.
    pub(super) is_lost: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct TaskRow {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) status: Status,
    /// It is pending, and waits for another task or for its time.
    pub(super) is_blocked: bool,
    pub(super) holder: Option<String>,
    /// What whoever lets it go must show.
    pub(super) token: Option<u64>,
    pub(super) lease_until_ms: Option<u64>,
    pub(super) fraction: Option<f64>,
    pub(super) note: String,
    pub(super) tries: u64,
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
    pub(super) token: u64,
    pub(super) waiters: Vec<String>,
    /// It is part of a circle in which nobody goes on.
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

/// The server's answers at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Picture {
    pub(super) workspace: String,
    pub(super) revision: u64,
    pub(super) agents: Vec<AgentRow>,
    pub(super) tasks: Vec<TaskRow>,
    pub(super) counts: Counts,
    pub(super) handoffs: Vec<HandoffRow>,
    pub(super) locks: Vec<LockRow>,
}

/// Whether the server answers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Link {
    Live,
    Away { reason: String },
}

/// Something to be done at the server.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    Retry { task: String, is_finished: bool },
    CancelTask { task: String },
    CancelHandoff { handoff: String },
    ReleaseTask { task: String, token: u64 },
    ReleaseLock { lock: String, token: u64 },
}

impl Action {
    /// What is asked before it is done.
    pub(super) fn question(&self) -> String {
        match self {
            Self::Retry { task, .. } => format!("try {task} again?"),
            Self::CancelTask { task } => format!("cancel {task} and everything below it?"),
            Self::CancelHandoff { handoff } => format!("withdraw the offer {handoff}?"),
            Self::ReleaseTask { task, .. } => format!("take {task} from its worker?"),
            Self::ReleaseLock { lock, .. } => format!("take the lock {lock} from its holder?"),
        }
    }
}

/// Something to look at more closely.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Subject {
    Task(String),
    Agent(String),
    Handoff(String),
    Lock(String),
}

/// What the keys mean now.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Mode {
    Looking,
    Filtering,
    Asking(Action),
    Details { title: String, lines: Vec<String>, scrolled: u16 },
    Help,
}

/// What happens to the model.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Input {
    Key(Key),
    Picture(Box<Picture>),
    Event(Box<EventRow>),
    /// Something happened that is not worth a line.
    Stirred,
    Away {
        reason: String,
    },
    /// An action was carried out, or refused.
    Told {
        words: String,
        is_bad: bool,
    },
    Details {
        title: String,
        lines: Vec<String>,
    },
    /// What time it is, and whether a second has gone by since the last one.
    Tick {
        now_ms: u64,
    },
    Resized,
}

/// What shall happen outside.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Effect {
    Quit,
    Refresh,
    NextWorkspace,
    Do(Action),
    Look(Subject),
}

/// All that is on the screen.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) server: String,
    pub(super) link: Link,
    pub(super) picture: Picture,
    pub(super) finished: VecDeque<TaskRow>,
    pub(super) events: VecDeque<EventRow>,
    /// Changes in each of the last seconds, the present one last.
    pub(super) changes: VecDeque<u64>,
    pub(super) panel: Panel,
    selected: [Option<String>; Panel::ALL.len()],
    pub(super) filter: String,
    pub(super) mode: Mode,
    pub(super) words: Option<(String, bool)>,
    pub(super) now_ms: u64,
    second: u64,
}

impl Model {
    pub(super) fn new(server: &str, workspace: &str) -> Self {
        let picture = Picture { workspace: workspace.to_owned(), ..Picture::default() };
        Self {
            server: server.to_owned(),
            link: Link::Live,
            picture,
            finished: VecDeque::new(),
            events: VecDeque::new(),
            changes: VecDeque::from([0]),
            panel: Panel::Tasks,
            selected: Default::default(),
            filter: String::new(),
            mode: Mode::Looking,
            words: None,
            now_ms: 0,
            second: 0,
        }
    }

    /// Takes in what happened; what shall happen because of it.
    pub(super) fn update(&mut self, input: Input) -> Option<Effect> {
        match input {
            Input::Key(key) => return self.pressed(key),
            Input::Picture(picture) => self.seen(*picture),
            Input::Event(event) => {
                self.happened(*event);
                return Some(Effect::Refresh);
            }
            Input::Stirred => {
                self.count();
                return Some(Effect::Refresh);
            }
            Input::Away { reason } => self.link = Link::Away { reason },
            Input::Told { words, is_bad } => {
                self.words = Some((words, is_bad));
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

    fn seen(&mut self, picture: Picture) {
        if picture.workspace != self.picture.workspace {
            self.finished.clear();
            self.events.clear();
            self.selected = Default::default();
        }
        self.link = Link::Live;
        self.finished.retain(|row| picture.tasks.iter().all(|task| task.id != row.id));
        self.picture = picture;
    }

    fn happened(&mut self, event: EventRow) {
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

    /// A task that has ended stays on the screen for a while.
    fn ended(&mut self, id: &str, status: Status) {
        let place = self.picture.tasks.iter().position(|task| task.id == id);
        let Some(place) = place else { return };
        let mut row = self.picture.tasks.remove(place);
        (row.status, row.token, row.lease_until_ms) = (status, None, None);
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
        // After a long sleep of the machine there is nothing to remember.
        for _ in 0..second.saturating_sub(self.second).min(SECONDS_MAX as u64) {
            self.changes.push_back(0);
        }
        self.second = second;
        while self.changes.len() > SECONDS_MAX {
            self.changes.pop_front();
        }
    }

    fn pressed(&mut self, key: Key) -> Option<Effect> {
        let wish = Wish::of(&self.mode, key)?;
        self.words = None;
        match wish {
            Wish::Quit => return Some(Effect::Quit),
            Wish::Close => self.mode = Mode::Looking,
            Wish::Help => self.mode = Mode::Help,
            Wish::Filter => self.mode = Mode::Filtering,
            Wish::ClearFilter => {
                self.filter.clear();
                self.mode = Mode::Looking;
            }
            Wish::Type(letter) => self.filter.push(letter),
            Wish::Erase => drop(self.filter.pop()),
            Wish::Panel(by) => self.panel = self.panel.moved(by),
            Wish::Row(by) => self.row_moved(by),
            Wish::Scroll(by) => {
                if let Mode::Details { lines, scrolled, .. } = &mut self.mode {
                    let most = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_sub(1);
                    *scrolled = scrolled.saturating_add_signed(by).min(most);
                }
            }
            Wish::Look => return self.looked(),
            Wish::Retry => return self.retry(),
            Wish::Cancel => self.ask(Self::cancelling),
            Wish::Release => self.ask(Self::releasing),
            Wish::Yes => {
                if let Mode::Asking(action) = std::mem::replace(&mut self.mode, Mode::Looking) {
                    return Some(Effect::Do(action));
                }
            }
            Wish::NextWorkspace => return Some(Effect::NextWorkspace),
        }
        None
    }

    fn say(&mut self, words: &str) {
        self.words = Some((words.to_owned(), true));
    }

    fn ask(&mut self, what: fn(&Self) -> Result<Action, &'static str>) {
        match what(self) {
            Ok(action) => self.mode = Mode::Asking(action),
            Err(words) => self.say(words),
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
            self.say("only a task that has failed or waits for review is tried again");
        }
        retried.map(Effect::Do)
    }

    fn cancelling(&self) -> Result<Action, &'static str> {
        const NOT: &str = "only tasks that are not finished and hand-offs that wait are cancelled";
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
        const NOT: &str = "only locks that are held and tasks in work are released";
        match self.panel {
            Panel::Tasks => {
                let row = self.task().ok_or(NOT)?;
                let token = row.token.ok_or(NOT)?;
                Ok(Action::ReleaseTask { task: row.id.clone(), token })
            }
            Panel::Locks => {
                let name = self.selected_id().ok_or(NOT)?;
                let row = self.picture.locks.iter().find(|row| row.name == name).ok_or(NOT)?;
                Ok(Action::ReleaseLock { lock: name, token: row.token })
            }
            Panel::Agents | Panel::Handoffs | Panel::Events => Err(NOT),
        }
    }

    fn looked(&mut self) -> Option<Effect> {
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

    /// Where the selected row of a panel is; the first if the one that was is gone.
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

    fn fits(&self, texts: &[&str]) -> bool {
        let wanted = self.filter.to_lowercase();
        texts.iter().any(|text| text.to_lowercase().contains(&wanted))
    }

    /// What is under way, then what waits, then what has just ended.
    pub(super) fn shown_tasks(&self) -> impl Iterator<Item = &TaskRow> {
        self.picture.tasks.iter().chain(&self.finished).filter(|row| {
            let holder = row.holder.as_deref().unwrap_or_default();
            self.fits(&[&row.id, &row.kind, holder, row.status.word(), &row.note])
        })
    }

    pub(super) fn shown_agents(&self) -> impl Iterator<Item = &AgentRow> {
        self.picture.agents.iter().filter(|row| self.fits(&[&row.id, &row.role]))
    }

    pub(super) fn shown_handoffs(&self) -> impl Iterator<Item = &HandoffRow> {
        let rows = self.picture.handoffs.iter();
        rows.filter(|row| self.fits(&[&row.id, &row.from, &row.to, &row.task]))
    }

    pub(super) fn shown_locks(&self) -> impl Iterator<Item = &LockRow> {
        self.picture.locks.iter().filter(|row| {
            self.fits(&[&row.name, &row.holder]) || row.waiters.iter().any(|who| self.fits(&[who]))
        })
    }

    pub(super) fn shown_events(&self) -> impl Iterator<Item = &EventRow> {
        let rows = self.events.iter();
        rows.filter(|row| self.fits(&[&row.agent, &row.kind, &row.subject]))
    }

    /// What an agent holds: its tasks and locks.
    pub(super) fn held_by(&self, agent: &str) -> Vec<&str> {
        let is_its = |holder: Option<&String>| holder.is_some_and(|holder| holder == agent);
        let tasks = self.picture.tasks.iter().filter(|row| is_its(row.holder.as_ref()));
        let locks = self.picture.locks.iter().filter(|row| row.holder == agent);
        tasks.map(|row| row.id.as_str()).chain(locks.map(|row| row.name.as_str())).collect()
    }
}
