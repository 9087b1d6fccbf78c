//! An agent that meets others at barriers.

use baton_core::BarrierName;
use baton_core::barrier::{self, Arrive, Command as BarrierCommand};

use crate::actors::agent::Action;
use crate::actors::inputs::Inputs;

/// Its next command. It remembers nothing: the answers contain where it has arrived.
pub fn act_at_barrier(inputs: &mut Inputs<'_>) -> Action {
    let count = inputs.rng.between(2, 3);
    let name = BarrierName::parse(&format!("phase-{count}")).expect("a good name");
    let command = match inputs.rng.below(12) {
        0 => BarrierCommand::Reset { name },
        1 => return Action::Ask(barrier::Query::Get { name }.into()),
        choice => {
            // Once in a while an agent gives the wrong count.
            let count = if choice == 2 { 4 } else { count };
            let wait_ms = *inputs.rng.pick(&[None, Some(400), Some(30_000), Some(600_000)]);
            BarrierCommand::Arrive(Arrive { name, count, wait_ms })
        }
    };
    Action::Submit(baton_core::Command::from(command).into())
}
