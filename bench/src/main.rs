//! Benchmarks of Baton: every number is a ratio against a peer that took turns with it in the same
//! run, because the machines they run on are never the same and rarely quiet.
//!
//! ```text
//!   baton-bench kernel [--seconds S] [--turns N] [--keys N] [--only WORD] [--folder F] [--json F]
//! ```
//!
//! | option | means | default |
//! |---|---|---|
//! | `--seconds` | how long one turn is measured | 1 |
//! | `--turns` | turns of each side | 5 |
//! | `--keys` | keys of the loads that say "1 M" | 1000000 |
//! | `--only` | only loads whose name contains this word | all |
//! | `--folder` | where temporary data goes, on the disk that is meant | the temporary folder |
//! | `--json` | where to write the results as JSON as well | nowhere |
//!
//! It always exits with 0 when it could measure: a missed target on a noisy machine is for a person
//! to judge.

mod kernel;
mod options;
mod report;
mod timing;

use std::process::ExitCode;

use options::{Mode, Options};

// The product has the same allocator; memory per key would mean little with another.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let outcome = match Options::parse(std::env::args().skip(1)) {
        Ok(Mode::Kernel(options)) => kernel::run(&options),
        Ok(Mode::Part(part)) => kernel::run_part(&part),
        Err(error) => Err(error.into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::complain(&error.to_string());
            ExitCode::FAILURE
        }
    }
}
