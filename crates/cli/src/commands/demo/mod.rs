//! `baton demo`: a small fleet of simulated agents.
//!
//! | command | what it shows | where |
//! |---|---|---|
//! | `baton demo` | agents write articles, with failures | the running server |
//! | `baton demo handoff` | one task is handed over several times | its own temporary server |
//!
//! ```text
//!   plan ──▶ agents: planner, researchers, writers, reviewer ──▶ the server
//!   (seed)     each with a connection, a session, and work         │ one watch
//!                                                                  ▼
//!   summary ◀── task.stats, handoff.stats, task.list         narrative, a line per event
//! ```
//!
//! 1. All output comes from the server: the narrative from its events, the summary from its
//!    responses. The agents themselves print nothing.
//! 2. The seed determines which failures happen, and when. Which agents they hit depends on timing.
//! 3. Nothing is lost whatever fails. Otherwise the demo reports it and exits with an error.
//!
//! Deliberately absent: models. The articles are fake; the coordination is real.

mod agents;
mod fleet;
mod narrative;
mod plan;
mod relay;
mod summary;

use std::time::Duration;

use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::Failure;
use crate::input::milliseconds;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton demo                             run until ctrl-c
  baton demo --for 30s                   run for 30 seconds
  baton demo --rounds 8 --pace fast      write eight articles, quickly
  baton demo --agents 12 --seed 7        more agents, and reproducible failures
  baton demo handoff                     follow one task through several hand-offs

The fleet works in the workspace `demo` of the running server, unless --workspace is given. Watch it
with `baton top`. Ctrl-c finishes the work in progress; a second ctrl-c exits immediately.";

/// Run a demo fleet of agents
#[derive(Args)]
#[command(after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct Demo {
    #[command(flatten)]
    fleet: fleet::Fleet,
    #[command(subcommand)]
    story: Option<Story>,
}

#[derive(Subcommand)]
enum Story {
    /// Follow one task through a rejection, a server crash, an approval and a return
    Handoff {
        /// Pause after each line
        #[arg(long, value_name = "DURATION", value_parser = milliseconds, default_value = "900ms")]
        pace: u64,
    },
}

impl Demo {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        match self.story {
            Some(Story::Handoff { pace }) => relay::run(output, Duration::from_millis(pace)).await,
            None => self.fleet.run(context, output).await,
        }
    }

    /// Whether it handles ctrl-c itself: the fleet finishes its work in progress.
    pub(crate) fn handles_signals(&self) -> bool {
        self.story.is_none()
    }
}
