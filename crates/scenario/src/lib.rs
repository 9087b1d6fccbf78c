//! Scenario files: what Baton guarantees, as readable text that every interface is tested with.
//!
//! ```text
//!                          ┌─▶ core: the rules alone
//!   spec/scenarios/*.txt   ├─▶ engine on a log in memory, reopened before every step
//!     │                    ├─▶ engine on a log in files, reopened before every step
//!     └ script ─▶ run ─────┼─▶ HTTP, one command per request, or a list of one
//!                          ├─▶ WebSocket, baton.v1.json
//!                          ├─▶ WebSocket, baton.v1.msgpack
//!                          └─▶ a client library in another language
//! ```
//!
//! [`script`] parses a file into steps; [`run()`] executes each of them on a [`Backend`] and
//! compares the result with the expected one. The format is described in
//! `spec/scenarios/README.md`.
//!
//! Invariants:
//!
//! 1. One text for all: a backend has no separate scenarios, and cannot change the expected
//!    results.
//! 2. Time is part of the script. The clock of a backend does not advance between steps, and
//!    everything that was due is done before a step is executed.
//! 3. A failure has the file, the line, the expected and the actual result.
//!
//! Deliberately absent: dependence on speed. A waiting call waits until a later step ends its wait.

pub mod backends;
pub mod matching;
pub mod run;
pub mod script;

pub use run::{Backend, run};
pub use script::Script;

use std::fs;
use std::path::{Path, PathBuf};

/// Reads every scenario of a folder, in the order of their names.
pub fn scripts(folder: &Path) -> Vec<Script> {
    let listed = fs::read_dir(folder).expect("the scenarios are there");
    let mut paths: Vec<PathBuf> = listed.map(|file| file.expect("it is there").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    assert!(!paths.is_empty(), "there are scenarios");
    let parse = |path: &PathBuf| {
        let text = fs::read_to_string(path).expect("it is text");
        let name = path.file_name().expect("it is a file").to_string_lossy();
        let name = format!("spec/scenarios/{name}");
        Script::parse(&name, &text).unwrap_or_else(|error| panic!("{error}"))
    };
    paths.iter().map(parse).collect()
}
