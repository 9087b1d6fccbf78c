//! Resident memory per key for a million keys of 200 bytes.
//!
//! Measured in a separate process, relative to an open and empty engine: right after the last key
//! was acknowledged, and again after background work, that is archiving and snapshots. The second
//! value is reported; the first is the peak that a machine needs.

use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

use super::load;
use crate::Outcome;
use crate::options::{Options, Part};
use crate::report::{Comparison, Report, Target, say};
use crate::resources::{count, resident_bytes, settle};

/// The name of the measured process.
pub(crate) const PART: &str = "memory";
const BYTES_PER_KEY_MAX: f64 = 320.0;

/// Starts the process and reports its result.
pub(crate) fn run(options: &Options, report: &mut Report) -> Outcome<()> {
    let folder = TempDir::with_prefix_in("baton-bench-", &options.folder)?;
    let child = Command::new(std::env::current_exe()?)
        .args(["part", PART])
        .arg(folder.path())
        .arg(options.keys.to_string())
        .output()?;
    if !child.status.success() {
        return Err(String::from_utf8_lossy(&child.stderr).into_owned().into());
    }
    let text = String::from_utf8(child.stdout)?;
    let numbers: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [loaded, rested, whole] = numbers[..] else {
        return Err(format!("the measured process said `{text}`").into());
    };
    report.add(Comparison {
        name: "memory per key, 1 M keys".to_owned(),
        ratio: rested / BYTES_PER_KEY_MAX,
        spread: (rested / BYTES_PER_KEY_MAX, rested / BYTES_PER_KEY_MAX),
        sides: (format!("{rested:.0} B"), format!("{BYTES_PER_KEY_MAX} B")),
        note: format!(
            "{loaded:.0} B right after loading, {whole:.0} B with the whole process counted in"
        ),
        target: Some(Target::AtMost(1.0)),
        facts: json!({
            "keys": options.keys,
            "bytes_per_key": rested,
            "bytes_per_key_after_loading": loaded,
            "bytes_per_key_whole_process": whole,
        }),
    });
    Ok(())
}

/// The measured process.
pub(crate) fn be(part: &Part) -> Outcome<()> {
    load::runtime()?.block_on(async {
        let baton = baton::open(&part.folder).await?;
        let workspace = load::workspace(&baton)?;
        workspace.revision().await?;
        let empty = resident_bytes();
        load::fill(&workspace, 0..part.number).await?;
        let loaded = resident_bytes();
        if !settle() {
            return Err("the engine does not come to rest".into());
        }
        let rested = resident_bytes();
        let keys = count(part.number as u64);
        let per_key = |bytes: u64| count(bytes) / keys;
        let (loaded, whole) = (per_key(loaded.saturating_sub(empty)), per_key(rested));
        say(&format!("{loaded} {} {whole}", per_key(rested.saturating_sub(empty))));
        Ok(())
    })
}
