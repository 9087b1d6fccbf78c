//! A demo fleet on the running server: agents, narrative and summary.

use std::time::Duration;

use baton_client::{Error, Item, Options, Watch, Workspace};
use clap::Args;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::agents::{Member, Stop, stopped};
use super::narrative::Narrator;
use super::plan::{self, PLANNER, Pace, Role, Rounds};
use super::summary::Before;
use crate::context::Context;
use crate::failure::Failure;
use crate::input::milliseconds;
use crate::output::{Colour, Output};

/// The last event of a run, which ends the narrative.
const LAST_WORDS: &str = "demo.ended";

/// The size, speed and duration of the fleet.
#[derive(Args)]
pub(super) struct Fleet {
    /// Number of agents: a planner, a reviewer, and researchers and writers
    #[arg(long, value_name = "COUNT", default_value = "6", value_parser = count)]
    agents: usize,
    /// How fast the agents work
    #[arg(long, value_enum, default_value = "normal")]
    pace: Pace,
    /// Number of articles [default: until ctrl-c]
    #[arg(long, value_name = "COUNT")]
    rounds: Option<usize>,
    /// Start no new articles after this time, such as 30s
    #[arg(long = "for", value_name = "DURATION", value_parser = milliseconds)]
    time: Option<u64>,
    /// Seed that determines which failures happen, and when
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    seed: u64,
}

fn count(text: &str) -> Result<usize, String> {
    let (least, most) = (plan::AGENTS_MIN, plan::AGENTS_MAX);
    let count = text.parse().ok().filter(|count| (least..=most).contains(count));
    count.ok_or_else(|| format!("a fleet has between {least} and {most} agents"))
}

/// A running demo.
struct Running {
    crew: JoinSet<Result<(), Error>>,
    planning: JoinSet<Result<(), Error>>,
    /// Start nothing new.
    enough: watch::Sender<bool>,
    /// Stop the agents.
    stop: watch::Sender<bool>,
    /// When to start nothing new, if set.
    end: Option<Instant>,
}

impl Fleet {
    pub(super) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let here = context.workspace_or("demo").await?;
        let before = Before::of(&here).await?;
        let mut watch = here.watch("**").from(before.revision.next()).await?;
        let where_at = output.coloured(Colour::Bold, here.name().as_str());
        output.bytes(self.opening(&where_at).as_bytes())?;
        let mut narrator = Narrator::default();
        let mut running = self.begin(context, &here, &before.group()).await?;
        running.follow(&mut watch, &mut narrator, output).await?;
        let last = here.events().emit(LAST_WORDS, ()).await?;
        while let Some(item) = watch.next().await {
            let item = item?;
            let is_last = matches!(&item, Item::Event(notice) if notice.revision() >= last);
            if is_last {
                break;
            }
            print(&mut narrator, &item, output)?;
        }
        before.summarise(&here, output).await
    }

    fn opening(&self, workspace: &str) -> String {
        let Self { agents, seed, .. } = self;
        let until = match (self.rounds, self.time) {
            (Some(rounds), _) => format!("{rounds} articles"),
            (None, Some(ms)) => format!("{} s", ms / 1_000),
            (None, None) => "until ctrl-c".to_owned(),
        };
        format!(
            "A fleet of {agents} agents is writing articles in the workspace {workspace}: {until}, \
             seed {seed}.\n\
             Watch it with: baton top --workspace {workspace}\n\n"
        )
    }

    async fn begin(
        &self,
        context: &Context,
        here: &Workspace,
        group: &str,
    ) -> Result<Running, Failure> {
        let (enough, is_enough) = watch::channel(false);
        let (stop, is_stopped) = watch::channel(false);
        let (mut crew, mut planning) = (JoinSet::new(), JoinSet::new());
        let roster = plan::roster(self.agents);
        let writers = roster.iter().filter(|(_, role)| *role == Role::Writer).count();
        for (name, role) in roster {
            // Each agent has its own connection, as in reality.
            let client = context.connect(Options::default()).await?;
            let workspace = client.workspace(here.name().as_str())?.as_agent(name)?;
            let member = Member { role, workspace, pace: self.pace };
            if name == PLANNER {
                let (group, rounds) = (group.to_owned(), Rounds::new(self.seed));
                let rounds = rounds.take(self.rounds.unwrap_or(usize::MAX));
                planning.spawn(plan_all(
                    member.clone(),
                    rounds,
                    group,
                    writers + 1,
                    is_enough.clone(),
                ));
            }
            crew.spawn(member.live(is_stopped.clone()));
        }
        let end = self.time.map(|ms| Instant::now() + Duration::from_millis(ms));
        Ok(Running { crew, planning, enough, stop, end })
    }
}

/// Plans rounds, up to `width` at a time, and waits for them.
async fn plan_all(
    planner: Member,
    mut rounds: impl Iterator<Item = plan::Round>,
    group: String,
    width: usize,
    enough: Stop,
) -> Result<(), Error> {
    let (step, mut under_way) = (planner.pace.step(), JoinSet::new());
    loop {
        while under_way.len() < width && !*enough.borrow() {
            let Some(round) = rounds.next() else { break };
            let (planner, group) = (planner.clone(), group.clone());
            under_way.spawn(async move { planner.plan(&round, &group).await });
            // A short delay, so that the output is readable.
            tokio::select! {
                () = tokio::time::sleep(step) => {}
                () = stopped(enough.clone()) => {}
            }
        }
        match under_way.join_next().await {
            Some(done) => joined(done)?,
            None => return Ok(()),
        }
    }
}

/// The outcome of a task; panics are propagated.
fn joined(ended: Result<Result<(), Error>, JoinError>) -> Result<(), Error> {
    match ended.map_err(JoinError::try_into_panic) {
        Ok(outcome) => outcome,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        Err(Err(_)) => Ok(()),
    }
}

impl Running {
    /// Prints the narrative until all agents have stopped.
    async fn follow(
        &mut self,
        watch: &mut Watch,
        narrator: &mut Narrator,
        output: &mut Output,
    ) -> Result<(), Failure> {
        loop {
            let is_enough = *self.enough.borrow();
            let end = self.end.filter(|_| !is_enough);
            tokio::select! {
                item = watch.next() => match item {
                    Some(item) => print(narrator, &item?, output)?,
                    None => return Err(Error::Closed.into()),
                },
                planned = self.planning.join_next(), if !self.planning.is_empty() => {
                    planned.map_or(Ok(()), joined)?;
                    self.stop.send_replace(true);
                }
                ended = self.crew.join_next() => match ended {
                    Some(ended) => joined(ended)?,
                    None => return Ok(()),
                },
                () = sleep_until(end.unwrap_or_else(Instant::now)), if end.is_some() => {
                    self.enough.send_replace(true);
                }
                pressed = tokio::signal::ctrl_c() => {
                    if is_enough || pressed.is_err() {
                        return Err(Failure::Interrupted);
                    }
                    self.enough.send_replace(true);
                    output.bytes(b"\nFinishing work in progress; ctrl-c again exits now.\n\n")?;
                }
            }
        }
    }
}

fn print(narrator: &mut Narrator, item: &Item, output: &mut Output) -> Result<(), Failure> {
    let Item::Event(notice) = item else { return Ok(()) };
    match narrator.line(notice) {
        Some(line) => output.bytes(line.shown(output).as_bytes()),
        None => Ok(()),
    }
}
