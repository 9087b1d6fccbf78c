//! `baton top`: a live view of a workspace.
//!
//! ```text
//!   keys ────────┐                                  ┌──▶ view ──▶ the terminal
//!   events ──────┼──▶ inputs ──▶ model: update ─────┤
//!   responses ───┤      ▲                           └──▶ effects: request, act, quit
//!   the clock ───┘      └───────────────────────────────────┘
//! ```
//!
//! 1. The terminal is restored: at the end, on an error, on a panic, on ctrl-c.
//! 2. The server is queried at most five times a second, however much happens, and the screen is
//!    drawn only when something has changed.
//! 3. When the server is unreachable, the header shows it within a few seconds, also if nothing
//!    happens in the workspace, and the view continues when it is back.
//! 4. Text from the server reaches the terminal only with control characters escaped.
//!
//! Deliberately absent: mouse support, which would disable the selection of the terminal.

mod filter;
mod keys;
mod model;
mod source;
#[cfg(test)]
mod tests;
mod view;

use std::cmp::Reverse;
use std::io::IsTerminal;
use std::pin::Pin;
use std::time::Duration;

use baton::clock::{Clock, SystemClock};
use baton_client::{Client, Error, Item, Options, Workspace};
use baton_core::Kind;
use baton_core::workspace::Listed;
use clap::Args;
use crossterm::event::{Event as TerminalEvent, EventStream};
use futures_core::Stream;
use ratatui::DefaultTerminal;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, interval, sleep_until};

use self::keys::Key;
use self::model::{Effect, Input, Model};
use self::view::Theme;
use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton top                              show the busiest workspace
  baton top --workspace research         show this workspace
  baton demo                             run a demo fleet in another terminal

Keys: tab and arrows move, enter shows details, / filters, r retries, c cancels, u releases, w shows
the next workspace, ? shows help, q quits. Actions that cannot be undone ask for confirmation.";

/// Minimum interval between requests to the server.
const REFRESH: Duration = Duration::from_millis(200);
/// Interval of clock ticks, which update the remaining lease times.
const TICK: Duration = Duration::from_millis(250);
/// Maximum interval between requests: how long a server can be gone before it is noticed, if
/// nothing happens in the workspace.
const CHECK: Duration = Duration::from_secs(2);
/// How long to wait for the server before it counts as unreachable.
const PATIENCE: Duration = Duration::from_secs(2);
/// Capacity of the input queue. A full queue delays the watch, which catches up later.
const INPUTS_MAX: usize = 1_024;
/// How long to observe workspaces to find the busiest.
const OBSERVATION: Duration = Duration::from_millis(250);
/// Maximum number of workspaces to consider.
const WORKSPACES_MAX: u64 = 1_000;

/// Maximum number of workspaces to try if their names are listed and reading them is refused.
const TRIES_MAX: usize = 50;
/// The beginning of the names of the server's own workspaces.
const INTERNAL: &str = "baton.";

/// Show agents, tasks, hand-offs, locks and events live
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Top {}

impl Top {
    pub(crate) async fn run(context: &Context, output: &Output) -> Result<(), Failure> {
        if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
            let reason = "`baton top` needs a terminal; programs can use `baton watch`";
            return Err(Fault::Usage { reason: reason.to_owned() }.into());
        }
        let options = Options { request_timeout: PATIENCE, ..Options::default() };
        let client = context.connect(options).await?;
        let any = client.workspace("default")?.as_agent(context.agent())?;
        let name = match context.workspace_said() {
            Some(name) => name.to_owned(),
            None => busiest(&client, &any).await?,
        };
        let workspace = client.workspace(&name)?.as_agent(context.agent())?;
        let theme = Theme { is_coloured: output.is_coloured() };
        let mut screen = Screen::open(client, any, workspace, theme)?;
        screen.run().await
    }
}

/// The workspaces, except those of the server itself, which no interface reaches.
async fn workspaces(any: &Workspace) -> Result<Vec<Listed>, Error> {
    let (mut all, _) = any.workspaces(Some(WORKSPACES_MAX), None).await?;
    all.retain(|listed| !listed.id.as_str().starts_with(INTERNAL));
    Ok(all)
}

/// The first of these workspaces that may be read. Others are listed, too, and a view of them would
/// show nothing.
async fn permitted<'a>(
    client: &Client,
    agent: &str,
    listed: impl Iterator<Item = &'a Listed>,
) -> Result<Option<Workspace>, Failure> {
    for one in listed.take(TRIES_MAX) {
        let workspace = client.workspace(one.id.as_str())?.as_agent(agent)?;
        let read = workspace.revision().await;
        if !read.is_err_and(|error| error.kind() == Kind::Denied) {
            return Ok(Some(workspace));
        }
    }
    Ok(None)
}

/// The busiest workspace; if none is busy, the default one, or the one with most revisions.
async fn busiest(client: &Client, any: &Workspace) -> Result<String, Failure> {
    let before = workspaces(any).await?;
    tokio::time::sleep(OBSERVATION).await;
    let mut after = workspaces(any).await?;
    let changes = |id: &baton_core::WorkspaceName, revision: u64| {
        let earlier = before.iter().find(|listed| listed.id == *id);
        revision - earlier.map_or(0, |listed| listed.revision.0).min(revision)
    };
    after.sort_by_key(|listed| {
        let changed = changes(&listed.id, listed.revision.0);
        Reverse((changed, listed.id.as_str() == "default", listed.revision))
    });
    let best = permitted(client, any.agent().as_str(), after.iter()).await?;
    Ok(best.map_or_else(|| "default".to_owned(), |workspace| workspace.name().to_string()))
}

/// The terminal and the state of the view.
struct Screen {
    terminal: DefaultTerminal,
    client: Client,
    /// A workspace to list the others from, if the one that is shown is refused.
    any: Workspace,
    workspace: Workspace,
    model: Model,
    theme: Theme,
    sender: mpsc::Sender<Input>,
    inputs: mpsc::Receiver<Input>,
    /// Background tasks, which end with the view.
    background: JoinSet<()>,
    watching: Option<AbortHandle>,
    is_asking: bool,
    /// Whether something has changed since the last request.
    is_stale: bool,
    next_ask: Instant,
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

impl Screen {
    fn open(
        client: Client,
        any: Workspace,
        workspace: Workspace,
        theme: Theme,
    ) -> Result<Self, Failure> {
        let model = Model::new(&client.description(), workspace.name().as_str());
        let (sender, inputs) = mpsc::channel(INPUTS_MAX);
        // This also installs a panic hook that restores the terminal.
        let terminal = ratatui::try_init()?;
        let mut screen = Self {
            terminal,
            client,
            any,
            workspace,
            model,
            theme,
            sender,
            inputs,
            background: JoinSet::new(),
            watching: None,
            is_asking: false,
            is_stale: true,
            next_ask: Instant::now(),
        };
        screen.watch();
        Ok(screen)
    }

    async fn run(&mut self) -> Result<(), Failure> {
        let mut keys = EventStream::new();
        let mut terminated = signal(SignalKind::terminate())?;
        // Wall-clock time, which lease expiry is compared with.
        let (wall, mut clock) = (SystemClock::default(), interval(TICK));
        let mut is_changed = true;
        loop {
            if is_changed && self.inputs.is_empty() {
                self.draw()?;
            }
            self.ask_if_due();
            let is_due = self.is_stale && !self.is_asking;
            let input = tokio::select! {
                event = next_event(&mut keys) => match event {
                    Some(event) => read(&event?),
                    None => return Ok(()),
                },
                input = self.inputs.recv() => input,
                _ = clock.tick() => {
                    self.is_stale |= Instant::now() >= self.next_ask + CHECK;
                    Some(Input::Tick { now_ms: wall.now().0 })
                }
                () = sleep_until(self.next_ask), if is_due => None,
                _ = terminated.recv() => return Ok(()),
            };
            is_changed = input.is_some();
            let Some(input) = input else { continue };
            if matches!(input, Input::Snapshot(_) | Input::Unreachable { .. }) {
                self.is_asking = false;
                // An unreachable server is queried again, although no events arrive.
                self.is_stale |= matches!(input, Input::Unreachable { .. });
                // The server may have changed, if there are several.
                self.model.server = self.client.description();
            }
            match self.model.update(input) {
                Some(Effect::Quit) => return Ok(()),
                Some(effect) => self.apply(effect).await?,
                None => {}
            }
        }
    }

    fn draw(&mut self) -> Result<(), Failure> {
        let (model, theme) = (&self.model, self.theme);
        self.terminal.draw(|frame| view::draw(frame, model, theme))?;
        Ok(())
    }

    async fn apply(&mut self, effect: Effect) -> Result<(), Failure> {
        match effect {
            Effect::Quit => {}
            Effect::Refresh => self.is_stale = true,
            Effect::NextWorkspace => self.next_workspace().await?,
            Effect::Do(action) => {
                let (workspace, sender) = (self.workspace.clone(), self.sender.clone());
                self.background.spawn(async move {
                    drop(sender.send(source::perform(&workspace, &action).await).await);
                });
            }
            Effect::Look(subject) => {
                let (workspace, sender) = (self.workspace.clone(), self.sender.clone());
                self.background.spawn(async move {
                    drop(sender.send(source::details(&workspace, &subject).await).await);
                });
            }
        }
        Ok(())
    }

    fn ask_if_due(&mut self) {
        // Reap finished tasks.
        while self.background.try_join_next().is_some() {}
        if self.is_asking || !self.is_stale || Instant::now() < self.next_ask {
            return;
        }
        (self.is_asking, self.is_stale) = (true, false);
        self.next_ask = Instant::now() + REFRESH;
        let (workspace, sender) = (self.workspace.clone(), self.sender.clone());
        let shown = &self.model.snapshot;
        let is_first = shown.revision == 0 || shown.workspace != workspace.name().as_str();
        self.background.spawn(async move {
            let input = match source::snapshot(&workspace, is_first).await {
                Ok(snapshot) => Input::Snapshot(Box::new(snapshot)),
                Err(error) => {
                    Input::Unreachable { reason: crate::output::plain(&error.to_string()) }
                }
            };
            drop(sender.send(input).await);
        });
    }

    /// Starts to watch the workspace, and restarts the watch if it ends.
    fn watch(&mut self) {
        if let Some(before) = self.watching.take() {
            before.abort();
        }
        let (workspace, sender) = (self.workspace.clone(), self.sender.clone());
        self.watching = Some(self.background.spawn(async move {
            loop {
                if let Ok(mut watch) = workspace.watch("**").with_waits().await {
                    while let Some(Ok(item)) = watch.next().await {
                        let Item::Event(notice) = item else { continue };
                        let input = if source::is_notable(&notice) {
                            Input::Event(Box::new(source::event_row(&notice)))
                        } else {
                            Input::Changed
                        };
                        if sender.send(input).await.is_err() {
                            return;
                        }
                    }
                }
                // The watch ended, for example because of a gap in the retained history: restart
                // from now.
                tokio::time::sleep(PATIENCE).await;
            }
        }));
    }

    async fn next_workspace(&mut self) -> Result<(), Failure> {
        let all = match workspaces(&self.workspace).await {
            Ok(all) => all,
            Err(_) => workspaces(&self.any).await.unwrap_or_default(),
        };
        let present = all.iter().position(|listed| listed.id == *self.workspace.name());
        let others = all.iter().cycle().skip(present.map_or(0, |place| place + 1));
        let agent = self.workspace.agent().as_str();
        if let Some(next) = permitted(&self.client, agent, others.take(all.len())).await? {
            self.workspace = next;
            self.is_stale = true;
            self.watch();
        }
        Ok(())
    }
}

async fn next_event(keys: &mut EventStream) -> Option<std::io::Result<TerminalEvent>> {
    std::future::poll_fn(|context| Pin::new(&mut *keys).poll_next(context)).await
}

fn read(event: &TerminalEvent) -> Option<Input> {
    match event {
        TerminalEvent::Key(key) => Key::of(*key).map(Input::Key),
        TerminalEvent::Resize(..) => Some(Input::Resized),
        _ => None,
    }
}
