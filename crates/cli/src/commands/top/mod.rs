//! `baton top`: the whole fleet on one screen, as it changes.
//!
//! ```text
//!   keys ────────┐                                  ┌──▶ view ──▶ the terminal
//!   the watch ───┼──▶ inputs ──▶ model: update ─────┤
//!   answers ─────┤      ▲                           └──▶ effects: ask, do, leave
//!   the clock ───┘      └───────────────────────────────────┘
//! ```
//!
//! 1. The terminal is given back as it was: at the end, on an error, on a panic, on ctrl-c.
//! 2. The server is asked at most five times a second, however much happens, and the screen drawn
//!    only when something has changed.
//! 3. When the server is away, the screen says so and stays; it goes on when the server is back.
//! 4. Nothing that was read from the server reaches the terminal with control characters in it.
//!
//! Deliberately absent: a mouse, which would take the terminal's own selection away.

mod keys;
mod model;
mod source;
#[cfg(test)]
mod tests;
mod view;

use std::io::IsTerminal;
use std::pin::Pin;
use std::time::Duration;

use baton::clock::{Clock, SystemClock};
use baton_client::{Client, Item, Options, Workspace};
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
  baton top                              the workspace in which most happens
  baton top --workspace research         this one
  baton demo                             in another terminal: something to look at

Keys: tab and arrows move, enter shows details, / filters, r tries again, c cancels, u releases,
w shows the next workspace, ? helps, q quits. What cannot be taken back is asked about first.";

/// At most so often is the server asked.
const REFRESH: Duration = Duration::from_millis(200);
/// So often the clock goes on: leases run out on the screen, too.
const TICK: Duration = Duration::from_millis(250);
/// A server that does not answer for so long is away.
const PATIENCE: Duration = Duration::from_secs(2);
/// Inputs that wait for the screen. More make the watch wait, which resumes by itself.
const INPUTS_MAX: usize = 1_024;
/// How long it is looked where something happens.
const GLANCE: Duration = Duration::from_millis(250);
/// Workspaces among which is looked.
const WORKSPACES_MAX: u64 = 1_000;

/// See agents, tasks, hand-offs, locks and events on one screen
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Top {}

impl Top {
    pub(crate) async fn run(context: &Context, output: &Output) -> Result<(), Failure> {
        if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
            let reason = "`baton top` needs a terminal; for programs there is `baton watch`";
            return Err(Fault::Usage { reason: reason.to_owned() }.into());
        }
        let options = Options { request_timeout: PATIENCE, ..Options::default() };
        let client = context.connect(options).await?;
        let any = client.workspace("default")?.as_agent(context.agent())?;
        let name = match context.workspace_said() {
            Some(name) => name.to_owned(),
            None => liveliest(&any).await?,
        };
        let workspace = client.workspace(&name)?.as_agent(context.agent())?;
        let theme = Theme { is_coloured: output.is_coloured() };
        let mut screen = Screen::open(client, workspace, theme)?;
        screen.run().await
    }
}

/// The workspace in which most happens; otherwise the usual one, or the fullest.
async fn liveliest(any: &Workspace) -> Result<String, Failure> {
    let (before, _) = any.workspaces(Some(WORKSPACES_MAX), None).await?;
    tokio::time::sleep(GLANCE).await;
    let (after, _) = any.workspaces(Some(WORKSPACES_MAX), None).await?;
    let changes = |id: &baton_core::WorkspaceName, revision: u64| {
        let earlier = before.iter().find(|listed| listed.id == *id);
        revision - earlier.map_or(0, |listed| listed.revision.0).min(revision)
    };
    let best = after.iter().max_by_key(|listed| {
        let changed = changes(&listed.id, listed.revision.0);
        (changed, listed.id.as_str() == "default", listed.revision)
    });
    Ok(best.map_or_else(|| "default".to_owned(), |listed| listed.id.to_string()))
}

/// The terminal, while it is ours.
struct Screen {
    terminal: DefaultTerminal,
    client: Client,
    workspace: Workspace,
    model: Model,
    theme: Theme,
    sender: mpsc::Sender<Input>,
    inputs: mpsc::Receiver<Input>,
    /// Whatever goes on beside the screen; it ends with it.
    beside: JoinSet<()>,
    watching: Option<AbortHandle>,
    is_asking: bool,
    /// Something has changed since the server was last asked.
    is_stale: bool,
    next_ask: Instant,
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

impl Screen {
    fn open(client: Client, workspace: Workspace, theme: Theme) -> Result<Self, Failure> {
        let model = Model::new(&client.description(), workspace.name().as_str());
        let (sender, inputs) = mpsc::channel(INPUTS_MAX);
        // A panic gives the terminal back, too: that is part of this.
        let terminal = ratatui::try_init()?;
        let mut screen = Self {
            terminal,
            client,
            workspace,
            model,
            theme,
            sender,
            inputs,
            beside: JoinSet::new(),
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
        // The one on the wall, which the ends of leases are compared with.
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
                _ = clock.tick() => Some(Input::Tick { now_ms: wall.now().0 }),
                () = sleep_until(self.next_ask), if is_due => None,
                _ = terminated.recv() => return Ok(()),
            };
            is_changed = input.is_some();
            let Some(input) = input else { continue };
            if matches!(input, Input::Picture(_) | Input::Away { .. }) {
                self.is_asking = false;
                // Who is away is asked again, although nothing is heard from there.
                self.is_stale |= matches!(input, Input::Away { .. });
            }
            match self.model.update(input) {
                Some(Effect::Quit) => return Ok(()),
                Some(effect) => self.bring_about(effect).await?,
                None => {}
            }
        }
    }

    fn draw(&mut self) -> Result<(), Failure> {
        let (model, theme) = (&self.model, self.theme);
        self.terminal.draw(|frame| view::draw(frame, model, theme))?;
        Ok(())
    }

    async fn bring_about(&mut self, effect: Effect) -> Result<(), Failure> {
        match effect {
            Effect::Quit => {}
            Effect::Refresh => self.is_stale = true,
            Effect::NextWorkspace => self.next_workspace().await?,
            Effect::Do(action) => {
                let (workspace, sender) = (self.workspace.clone(), self.sender.clone());
                self.beside.spawn(async move {
                    drop(sender.send(source::carry_out(&workspace, &action).await).await);
                });
            }
            Effect::Look(subject) => {
                let (workspace, sender) = (self.workspace.clone(), self.sender.clone());
                self.beside.spawn(async move {
                    drop(sender.send(source::details(&workspace, &subject).await).await);
                });
            }
        }
        Ok(())
    }

    fn ask_if_due(&mut self) {
        // What has ended is forgotten.
        while self.beside.try_join_next().is_some() {}
        if self.is_asking || !self.is_stale || Instant::now() < self.next_ask {
            return;
        }
        (self.is_asking, self.is_stale) = (true, false);
        self.next_ask = Instant::now() + REFRESH;
        let (workspace, sender) = (self.workspace.clone(), self.sender.clone());
        self.beside.spawn(async move {
            let input = match source::picture(&workspace).await {
                Ok(picture) => Input::Picture(Box::new(picture)),
                Err(error) => Input::Away { reason: crate::output::plain(&error.to_string()) },
            };
            drop(sender.send(input).await);
        });
    }

    /// Begins to watch the workspace, and goes on for as long as it is shown.
    fn watch(&mut self) {
        if let Some(before) = self.watching.take() {
            before.abort();
        }
        let (workspace, sender) = (self.workspace.clone(), self.sender.clone());
        self.watching = Some(self.beside.spawn(async move {
            loop {
                if let Ok(mut watch) = workspace.watch("**").await {
                    while let Some(Ok(item)) = watch.next().await {
                        let Item::Event(notice) = item else { continue };
                        let input = if source::is_told(&notice) {
                            Input::Event(Box::new(source::event_row(&notice)))
                        } else {
                            Input::Stirred
                        };
                        if sender.send(input).await.is_err() {
                            return;
                        }
                    }
                }
                // Whatever ended it, such as a gap that cannot be filled: it begins again from now.
                tokio::time::sleep(PATIENCE).await;
            }
        }));
    }

    async fn next_workspace(&mut self) -> Result<(), Failure> {
        let Ok((all, _)) = self.workspace.workspaces(Some(WORKSPACES_MAX), None).await else {
            return Ok(());
        };
        let present = all.iter().position(|listed| listed.id == *self.workspace.name());
        let next = present.map_or(0, |place| place + 1) % all.len().max(1);
        if let Some(listed) = all.get(next) {
            let next = self.client.workspace(listed.id.as_str())?;
            self.workspace = next.as_agent(self.workspace.agent().as_str())?;
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
