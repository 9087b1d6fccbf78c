//! Scenarios of tasks.
