//! The models of the auditor, one per primitive, each built from the log alone.
//!
//! | module | what it demands |
//! |---|---|
//! | `wait` | calls that wait end once, as they should; tokens grow |
//! | `lock_pool` | never too many holders, queues keep their order, nothing ends early |
//! | `lock`, `semaphore` | answers and batches about them are true, and what was asked for |
//! | `barrier` | each generation opens once, with as many as it takes |
//! | `task`, `task_handoff`, `task_retry` | one lease at a time, one end, nobody starves |
//! | `join` | each settles once, as what its tasks have made of it |
//! | `pipeline` | stages begin in order, once, and go where their tasks go |
//! | `handoff`, `handoff_invariants` | work changes hands once, with all that belongs to it |
//! | `handoff_batches` | a batch about hand-offs is what was asked for |
//! | `rule` | what is said about hand-offs is what was asked for, and kept |
//! | `artifact` | what is named stays, what is not goes in its time |
//! | `checkpoint` | states come back as they were saved, by the holder of the lease |
//! | `message`, `stream` | mail comes in order, until it is acknowledged; frames without gap |
//! | `secret` | values are in no file but their own |
//! | `reaction` | each runs on what triggers it, and does what its script says |
//! | `fork` | a workspace that began with another's content goes its own way |
//! | `watch` | a watcher gets what concerns it, in order, without gap or duplicate |
//! | `search`, `contract` | what is found and derived is what the ledger says |
//! | `<primitive>_answers` | every answer and refusal was true when it was decided |

pub mod artifact;
pub mod barrier;
pub mod checkpoint;
pub mod contract;
pub mod fork;
pub mod handoff;
pub mod handoff_answers;
pub mod handoff_batches;
pub mod handoff_invariants;
pub mod join;
pub mod lock;
pub mod lock_pool;
pub mod message;
pub mod message_answers;
pub mod pipeline;
pub mod pipeline_answers;
pub mod reaction;
pub mod rule;
pub mod search;
pub mod secret;
pub mod semaphore;
pub mod stream;
pub mod task;
pub mod task_answers;
pub mod task_handoff;
pub mod task_retry;
pub mod wait;
pub mod watch;
