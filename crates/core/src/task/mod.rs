//! Tasks: what is to be done, and who does it.

mod vocabulary;

pub use vocabulary::{
    Backoff, Cause, Claim, Command, Complete, Counts, Create, Created, Durations, Event, Fact,
    Fail, Failure, Heartbeat, Lease, List, Next, OnExhausted, Outcome, Progress, Query, Rejection,
    Release, Reply, Report, Review, Statistics, Status, Task, TimeInState, Transition, Update,
    Verdict, Warning, Why,
};
