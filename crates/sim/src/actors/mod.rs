//! The scripted agents: one module for each primitive that they use.
//!
//! | module | what its agents do |
//! |---|---|
//! | `agent` | the agents themselves: the next action of each kind |
//! | `inputs` | names, values and rules that all of them use |
//! | `query`, `search` | queries about the present and the past |
//! | `watch` | watchers that lag, leave and resume |
//! | `fork` | forks of a workspace, and the agents that write to them |
//! | all others | the primitive of that name |

pub mod agent;
pub mod artifact;
pub mod barrier;
pub mod checkpoint;
pub mod contract;
pub mod fork;
pub mod handoff;
pub mod inputs;
pub mod lock;
pub mod message;
pub mod pipeline;
pub mod query;
pub mod reaction;
pub mod rule;
pub mod search;
pub(crate) mod secret;
pub mod semaphore;
pub mod spend;
pub mod task;
pub(crate) mod watch;
