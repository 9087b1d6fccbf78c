//! `baton demo`: a small fleet at work, to look at and to try things on.
//!
//! | command | what is acted out | where |
//! |---|---|---|
//! | `baton demo` | some agents write articles, and not all goes well | the running server |
//! | `baton demo handoff` | one task goes from hand to hand | a server of its own, in a folder |
//!
//! ```text
//!   plan ──▶ agents: planner, researchers, writers, reviewer ──▶ the server
//!   (seed)     each with a connection, a session, and work         │ one watch
//!                                                                  ▼
//!   summary ◀── task.stats, handoff.stats, task.list         narrative, a line per event
//! ```
//!
//! 1. What is told is what the server tells: the narrative is made of its events, and the summary
//!    of its answers. The agents themselves say nothing.
//! 2. A seed decides what goes wrong, and when. Who is first at what is for the fleet to find out.
//! 3. Whatever goes wrong, nothing is lost. If something is, the demo says so and fails.
//!
//! Deliberately absent: models. What the agents write is made up, how they work together is not.

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
  baton demo                             a fleet at work, until ctrl-c
  baton demo --for 30s                   for a while
  baton demo --rounds 8 --pace fast      eight articles, in a hurry
  baton demo --agents 12 --seed 7        more of them, and the same misfortunes every time
  baton demo handoff                     one task goes from hand to hand, on its own server

The fleet works in the workspace `demo` unless --workspace says otherwise, on the server that runs.
See it from outside with `baton top`. With ctrl-c what was begun is finished; twice, it is not.";

/// Watch a small fleet at work
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
    /// A task goes from hand to hand: a rejection, a crash, an approval, a return
    Handoff {
        /// How long to pause after each line
        #[arg(long, value_name = "DURATION", value_parser = milliseconds, default_value = "900ms")]
        pace: u64,
    },
}

impl Demo {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        match self.story {
            Some(Story::Handoff { pace }) => relay::act(output, Duration::from_millis(pace)).await,
            None => self.fleet.run(context, output).await,
        }
    }

    /// Whether it sees to ctrl-c itself: a fleet finishes what it has begun.
    pub(crate) fn ends_itself(&self) -> bool {
        self.story.is_none()
    }
}
