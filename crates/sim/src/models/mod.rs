//! The models of the auditor, one per primitive, each built from the log alone.
//!
//! | module | checks that |
//! |---|---|
//! | `wait` | waiting calls end once, correctly; tokens grow |
//! | `lock_pool` | never too many holders, queues keep their order, nothing ends early |
//! | `lock`, `semaphore` | answers about them are correct, and batches are what was requested |
//! | `barrier` | each generation opens once, with the required number of arrivals |
//! | `task`, `task_handoff`, `task_retry` | one lease at a time, one end, no starvation |
//! | `status_wait` | calls are answered when their status is reached |
//! | `next` | a call that waits for work of any kind gets one thing, from one queue |
//! | `join` | each settles once, with the outcome of its tasks |
//! | `pipeline` | stages start in order, once, and follow their tasks |
//! | `handoff`, `handoff_invariants` | work is handed over once, with all that belongs to it |
//! | `handoff_batches` | a batch about hand-offs is what was requested |
//! | `rule` | rules are stored and returned as requested |
//! | `artifact` | referenced artifacts stay, others expire in time |
//! | `checkpoint` | states are restored as saved, and only lease holders save |
//! | `checkpoint_batches` | a batch about checkpoints is what was requested |
//! | `pending_write` | writes stay or are replaced as asked; keys are unique; copies are whole |
//! | `live` | live requests are delivered once at most, and leave no trace |
//! | `message`, `stream` | messages in order, until acknowledged; frames without gaps |
//! | `spend` | totals are the sums of the records, and nothing starts without a budget |
//! | `silence` | no agent is lost before it was silent for its time to live |
//! | `supervision` | sessions end with the session of their supervisor |
//! | `secret` | values are in no file but their own |
//! | `reaction` | each runs on its trigger, and has the effects of its script |
//! | `declared` | no batch breaks a declared contract in silence, or one that refuses |
//! | `fork` | a forked workspace is independent of its origin |
//! | `watch` | a watcher gets matching events, in order, without gap or duplicate |
//! | `search`, `contract` | results match the ledger |
//! | `<primitive>_answers` | every answer and refusal was correct when it was decided |

pub mod artifact;
pub mod barrier;
pub mod checkpoint;
pub mod checkpoint_batches;
pub mod contract;
pub mod declared;
pub mod fork;
pub mod handoff;
pub mod handoff_answers;
pub mod handoff_batches;
pub mod handoff_invariants;
pub mod handoff_keys;
pub mod join;
pub mod live;
pub mod lock;
pub mod lock_pool;
pub mod message;
pub mod message_answers;
pub mod next;
pub mod pending_write;
pub mod pipeline;
pub mod pipeline_answers;
pub mod reaction;
pub mod rule;
pub mod search;
pub mod secret;
pub mod semaphore;
pub mod silence;
pub mod spend;
pub mod stage_review;
pub mod stage_worker;
pub mod status_wait;
pub mod stream;
pub mod supervision;
pub mod task;
pub mod task_answers;
pub mod task_handoff;
pub mod task_retry;
pub mod task_review;
pub mod wait;
pub mod watch;
