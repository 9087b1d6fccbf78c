//! An agent that acquires permits of semaphores.

use baton_core::semaphore::{self, Acquire, Command as SemaphoreCommand};
use baton_core::{AgentId, Answer, Command, Rejection, Reply, SemaphoreName, Token};

use crate::actors::agent::Action;
use crate::actors::inputs::Inputs;
use crate::actors::lock::fenced;

/// Old tokens that an agent remembers.
const STALE_MAX: usize = 8;

type Permit = (SemaphoreName, Token);

/// The holds that an agent believes it has.
#[derive(Default)]
pub struct SemaphoreActor {
    held: Vec<Permit>,
    stale: Vec<Permit>,
}

impl SemaphoreActor {
    /// The next command.
    pub fn act(&mut self, inputs: &mut Inputs<'_>) -> Action {
        let some = |inputs: &mut Inputs<'_>, permits: &[Permit]| {
            (!permits.is_empty()).then(|| inputs.rng.pick(permits).clone())
        };
        let (held, stale) = (some(inputs, &self.held), some(inputs, &self.stale));
        let command: Command = match (inputs.rng.below(16), held, stale) {
            (0..=2, Some((name, token)), _) => {
                self.forget(&name, token);
                SemaphoreCommand::Release { name, token }.into()
            }
            (3, _, Some((name, token))) => SemaphoreCommand::Release { name, token }.into(),
            (4, Some((name, token)), _) | (5, _, Some((name, token))) => {
                let ttl_ms = inputs.rng.once_in(3).then(|| inputs.rng.between(100, 60_000));
                SemaphoreCommand::Renew { name, token, ttl_ms }.into()
            }
            (6, Some((_, token)), _) | (7, _, Some((_, token))) => {
                return Action::Submit(fenced(inputs, token));
            }
            (8, ..) => {
                return Action::Ask(match inputs.rng.below(2) {
                    0 => semaphore::Query::Get { name: name(inputs).0 }.into(),
                    _ => semaphore::Query::List { limit: None, cursor: None }.into(),
                });
            }
            (9, ..) => {
                let (name, usual) = name(inputs);
                let permits = *inputs.rng.pick(&[1, usual, usual + 1, 4]);
                SemaphoreCommand::Resize { name, permits }.into()
            }
            _ => {
                let (name, usual) = name(inputs);
                // Once in a while an agent gives the wrong number of permits.
                let permits = *inputs.rng.pick(&[None, Some(usual), Some(usual), Some(4)]);
                let ttl_ms = *inputs.rng.pick(&[Some(150), Some(3_000), Some(40_000), None]);
                let wait_ms = *inputs.rng.pick(&[None, Some(400), Some(30_000), Some(600_000)]);
                let weight = *inputs.rng.pick(&[None, Some(1), Some(2), Some(usual), Some(usual)]);
                let acquire = Acquire { name, permits, weight, ttl_ms, wait_ms };
                SemaphoreCommand::Acquire(acquire).into()
            }
        };
        Action::Submit(command.into())
    }

    /// Learns from an answer.
    pub fn learn(&mut self, id: &AgentId, answer: &Result<Answer, Rejection>) {
        match answer {
            Ok(Answer {
                reply: Reply::Semaphore(semaphore::Reply::Permit(Some(permit))), ..
            }) if permit.holder == *id => {
                let permit = (permit.name.clone(), permit.token);
                if !self.held.contains(&permit) && !self.stale.contains(&permit) {
                    self.held.push(permit);
                }
            }
            Err(Rejection::Semaphore(semaphore::Rejection::StaleToken { name, given, .. })) => {
                self.forget(name, *given);
            }
            Ok(_) | Err(_) => {}
        }
    }

    fn forget(&mut self, name: &SemaphoreName, token: Token) {
        let permit = (name.clone(), token);
        self.held.retain(|there| *there != permit);
        if !self.stale.contains(&permit) {
            self.stale.push(permit);
        }
        if self.stale.len() > STALE_MAX {
            self.stale.remove(0);
        }
    }
}

/// One of a few, and its usual number of permits.
fn name(inputs: &mut Inputs<'_>) -> (SemaphoreName, u64) {
    // Mostly the largest, so that calls of different weights meet in its queue.
    let permits = *inputs.rng.pick(&[1, 2, 3, 3, 3]);
    (SemaphoreName::parse(&format!("slots-{permits}")).expect("a good name"), permits)
}
