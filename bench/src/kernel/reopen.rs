//! How long a killed engine takes to answer again.
//!
//! ```text
//!   process 1   fills a million keys, reports it ── SIGKILL at once
//!   process 2   opens the folder, gets one key, reports the time ── SIGKILL
//!   process 3   the same, and so on: every one finds what a killed one left
//! ```

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;
use tempfile::TempDir;

use super::load;
use crate::Outcome;
use crate::options::{Options, Part};
use crate::report::{Comparison, Report, Target, median, say, spread};
use crate::resources::Stopwatch;

/// The name of the process that is killed.
pub(crate) const PART_FILL: &str = "reopen-fill";
/// The name of the process that follows it.
pub(crate) const PART_OPEN: &str = "reopen-open";
const OPENINGS: usize = 3;
const SECONDS_MAX: f64 = 1.0;

/// Starts and kills the processes, and reports their results.
pub(crate) fn run(options: &Options, report: &mut Report) -> Outcome<()> {
    let folder = TempDir::with_prefix_in("baton-bench-", &options.folder)?;
    hear_and_kill(PART_FILL, folder.path(), options.keys)?;
    let seconds = (0..OPENINGS).map(|_| {
        let said = hear_and_kill(PART_OPEN, folder.path(), options.keys)?;
        Ok(said.parse::<f64>()?)
    });
    let seconds = seconds.collect::<Outcome<Vec<f64>>>()?;
    let took = median(&seconds);
    let (least, greatest) = spread(&seconds);
    report.add(Comparison {
        name: "reopen after SIGKILL, 1 M keys".to_owned(),
        ratio: took / SECONDS_MAX,
        spread: (least / SECONDS_MAX, greatest / SECONDS_MAX),
        sides: (format!("{took:.2} s"), format!("{SECONDS_MAX:.2} s")),
        note: "from opening to the first answer".to_owned(),
        target: Some(Target::AtMost(1.0)),
        facts: json!({ "keys": options.keys, "seconds": seconds }),
    });
    Ok(())
}

/// Starts a process, waits for its report, and kills it at once.
fn hear_and_kill(part: &str, folder: &Path, keys: usize) -> Outcome<String> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["part", part])
        .arg(folder)
        .arg(keys.to_string())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut said = String::new();
    let output = child.stdout.take().ok_or("a piped output is there")?;
    BufReader::new(output).read_line(&mut said)?;
    // On Unix this is SIGKILL: no destructor runs and nothing is flushed.
    child.kill()?;
    child.wait()?;
    if said.is_empty() {
        return Err(format!("process `{part}` ended without a word").into());
    }
    Ok(said.trim().to_owned())
}

/// The process that is killed.
pub(crate) fn fill(part: &Part) -> Outcome<()> {
    load::runtime()?.block_on(async {
        let baton = baton::open(&part.folder).await?;
        load::fill(&load::workspace(&baton)?, 0..part.number).await?;
        say("filled");
        // The parent is about to kill this process; a clean shutdown must not happen.
        std::future::pending::<Outcome<()>>().await
    })
}

/// The process that follows it.
pub(crate) fn open(part: &Part) -> Outcome<()> {
    load::runtime()?.block_on(async {
        let watch = Stopwatch::start();
        let baton = baton::open(&part.folder).await?;
        let workspace = load::workspace(&baton)?;
        let last = part.number - 1;
        let entry = workspace.state("shared").get(&load::key(last)).await?;
        let took = watch.elapsed();
        if entry.value() != load::value(last).as_bytes() {
            return Err("the last key that was acknowledged has another value".into());
        }
        let revision = workspace.revision().await?;
        if revision.0 < part.number as u64 {
            return Err(format!("{revision} of {} writes are there", part.number).into());
        }
        say(&took.as_secs_f64().to_string());
        std::future::pending::<Outcome<()>>().await
    })
}
