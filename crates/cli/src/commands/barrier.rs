//! `baton barrier`: wait until a number of agents have arrived.

use baton_core::barrier::Arrival;
use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::input::milliseconds;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton barrier arrive start --count 3 --wait 10m && ./go.sh

Each agent arrives once, so every participant needs its own name: --agent. `arrive` exits with 10 if
the wait times out; the arrival is then withdrawn.";

/// Wait until a number of agents have arrived
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Barrier {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Arrive(Arrive),
    /// Discard all arrivals and start a new generation
    Reset {
        /// Barrier name
        name: String,
    },
    /// Show a barrier
    Get {
        /// Barrier name
        name: String,
    },
}

/// Arrive, and optionally wait for the others
#[derive(Args)]
struct Arrive {
    /// Barrier name
    name: String,
    /// Number of agents that must arrive
    #[arg(long)]
    count: u64,
    /// How long to wait for the others, such as 30s [default: do not wait]
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    wait: Option<u64>,
}

impl Barrier {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let barriers = context.workspace().await?.barriers();
        match self.verb {
            Verb::Arrive(Arrive { name, count, wait }) => {
                let arriving = barriers.arrive(&name, count).wait_ms(wait.unwrap_or(0));
                let arrival = arriving.await?;
                let Arrival { arrived, opened, .. } = arrival;
                if !opened && wait.is_some() {
                    let what = format!("the barrier `{name}` did not open");
                    return Err(Fault::NothingInTime { what }.into());
                }
                let how = if opened { "is open" } else { "is closed" };
                output.said(&arrival, &format!("barrier {name} {how}: {arrived} of {count}"))
            }
            Verb::Reset { name } => output.one(&barriers.reset(&name).await?),
            Verb::Get { name } => output.one(&barriers.get(&name).await?),
        }
    }
}
