//! The kernel: speed and memory of the engine in process, against a raw segment file.
//!
//! ```text
//!   round 1   ours ── raw       both with a fresh folder, the same runtime, as many tasks, and as
//!   round 2   raw ── ours       many bytes per operation; the ratio is taken per round, and the
//!   round 3   ours ── raw       median is reported with the minimum and the maximum
//! ```
//!
//! "Raw" is the segment file that the engine itself writes to, with group commit and nothing else:
//! nothing is validated, decided or stored in memory. See [`segment_file`].
//!
//! Deliberately absent: other databases. They have their own protocols and clients, which would be
//! measured instead: see [`crate::peers`].

mod cycles;
pub(crate) mod in_memory;
mod insert;
pub(crate) mod load;
mod memory;
mod reopen;
pub(crate) mod segment_file;
mod sets;
mod watchers;

use crate::Outcome;
use crate::options::{Options, Part};
use crate::peers::floor;
use crate::report::{Report, say};

type Load = fn(&Options, &mut Report) -> Outcome<()>;

const LOADS: [(&str, Load); 10] = [
    (cycles::NAME, cycles::run),
    ("sets, 1024 callers", |options, report| sets::many(options, report, 1024)),
    ("sets, 64 callers", |options, report| sets::many(options, report, 64)),
    ("sets, one caller", sets::one),
    ("gets, 1024 callers", sets::gets),
    ("memory, 1 M keys", memory::run),
    ("reopen after SIGKILL, 1 M keys", reopen::run),
    ("insert at 1 M against 10 k, machine", insert::machine),
    ("insert at 1 M against 10 k, end to end", insert::end_to_end),
    ("watchers, 1 event to 1,000", watchers::run),
];

/// Runs the selected loads.
pub(crate) fn run(options: &Options) -> Outcome<()> {
    let mut report = Report::default();
    for (_, load) in LOADS.iter().filter(|(name, _)| options.wants(name)) {
        load(options, &mut report)?;
    }
    say(&report.summary());
    if let Some(path) = &options.json {
        report.write_json(path)?;
    }
    Ok(())
}

/// Runs as one process of a load that needs several.
pub(crate) fn run_part(part: &Part) -> Outcome<()> {
    match part.name.as_str() {
        sets::PART => sets::be(part),
        memory::PART => memory::be(part),
        reopen::PART_FILL => reopen::fill(part),
        reopen::PART_OPEN => reopen::open(part),
        floor::PART => floor::be(part),
        other => Err(format!("`{other}` is not a part of a benchmark").into()),
    }
}
