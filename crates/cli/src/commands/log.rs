//! `baton log`: offline access to a data folder.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use baton::codec;
use baton_core::Notice;
use baton_log::{Damage, OpenError, Record, Report};
use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::data_folder::{DataLog, existing_logs};
use crate::failure::{Failure, Fault};
use crate::output::{Output, plain};
use crate::settings::is_database;

const AFTER_HELP: &str = "\
Examples:
  baton log verify --data ./.baton          check the log without changing it
  baton log dump --data ./.baton -o jsonl   print every event in the log
  baton log repair --data ./.baton --yes    truncate the log at the first damaged record

Stop the server first: these commands need exclusive access to the folder. The log contains recent
changes; older history is in archive files beside it, which `baton state history` reads.";

const COLUMNS: [&str; 6] = ["shard", "segments", "records", "start", "tail", "damage"];

/// Verify, repair and dump a data folder offline
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Log {
    #[command(subcommand)]
    verb: Verb,
    /// Data folder
    #[arg(
        long,
        value_name = "FOLDER",
        global = true,
        default_value = "./.baton",
        env = "BATON_DATA",
        hide_env = true
    )]
    data: PathBuf,
}

#[derive(Subcommand)]
enum Verb {
    /// Verify all records and report damage, without changes
    Verify,
    /// Truncate the log at the first damaged record; the removed part is kept in a separate file
    Repair {
        /// Confirm: acknowledged changes may be lost
        #[arg(long)]
        yes: bool,
    },
    /// Print every event in the log, oldest first, without changes
    Dump {
        /// Only events of this workspace
        #[arg(value_name = "WORKSPACE")]
        only: Option<String>,
    },
}

impl Log {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let folder = &self.data;
        if is_database(&folder.to_string_lossy()) {
            let reason = "`baton log` reads a data folder; PostgreSQL checks and repairs its own \
                files: see pg_amcheck";
            return Err(Fault::Usage { reason: reason.to_owned() }.into());
        }
        let logs = existing_logs(folder)?;
        match self.verb {
            Verb::Verify => {
                let reports = reports(&logs, baton_log::verify)?;
                show_reports(&reports, output)?;
                reports.into_iter().try_for_each(|(_, report)| refuse_damage(report.damage))
            }
            Verb::Repair { yes: false } => {
                let reports = reports(&logs, baton_log::verify)?;
                let damage: Vec<_> =
                    reports.iter().filter_map(|(_, report)| report.damage.as_ref()).collect();
                if damage.is_empty() {
                    return output.said(&json!({"damage": null}), "the log is not damaged");
                }
                let what: Vec<_> = damage.into_iter().map(discarded).collect();
                Err(Fault::Unconfirmed { what: what.join("; ") }.into())
            }
            Verb::Repair { yes: true } => show_reports(&reports(&logs, baton_log::repair)?, output),
            Verb::Dump { only } => {
                logs.iter().try_for_each(|log| dump(log, only.as_deref(), output))
            }
        }
    }
}

fn discarded(damage: &Damage) -> String {
    format!(
        "truncating `{}` at byte {} discards {} valid records after it",
        damage.file.display(),
        damage.offset,
        damage.records_after
    )
}

/// A report, and the shard that it is about if there are several.
type ShardReport = (Option<u32>, Report);

fn reports(
    logs: &[DataLog],
    of: impl Fn(PathBuf) -> Result<Report, OpenError>,
) -> Result<Vec<ShardReport>, OpenError> {
    logs.iter().map(|log| Ok((log.shard, of(log.folder.clone())?))).collect()
}

/// Prints the only report, or a table of those of all shards.
fn show_reports(reports: &[ShardReport], output: &mut Output) -> Result<(), Failure> {
    if let [(None, report)] = reports {
        return show_report(report, output);
    }
    let rows: Vec<Value> = reports
        .iter()
        .map(|(shard, report)| {
            let mut row = described(report);
            row["shard"] = json!(shard);
            row
        })
        .collect();
    output.many("shards", &rows, &COLUMNS)
}

/// Prints a report; for people, without what there is none of, and with the absence of damage in
/// words.
fn show_report(report: &Report, output: &mut Output) -> Result<(), Failure> {
    let all = described(report);
    let mut own = all.clone();
    if let Some(fields) = own.as_object_mut() {
        fields.retain(|_, value| !value.is_null() && *value != json!([]));
        fields.entry("damage").or_insert_with(|| "no damage".into());
    }
    output.one_as(&all, &own)
}

/// A report as JSON.
fn described(report: &Report) -> Value {
    let damage = report.damage.as_ref().map(|damage| {
        let Damage { file, offset, reason, records_after, bytes_after } = damage;
        json!({
            "file": file, "offset": offset, "reason": reason, "records_after": records_after,
            "bytes_after": bytes_after,
        })
    });
    let Report { segments, records, start, tail, torn_bytes, kept, .. } = report;
    json!({
        "segments": segments, "records": records, "start": start.0, "tail": tail.0,
        "torn_bytes": torn_bytes, "damage": damage, "kept": kept,
    })
}

fn refuse_damage(damage: Option<Damage>) -> Result<(), Failure> {
    match damage {
        None => Ok(()),
        Some(Damage { file, offset, reason, .. }) => {
            Err(OpenError::Corrupt { file, offset, reason }.into())
        }
    }
}

fn dump(log: &DataLog, only: Option<&str>, output: &mut Output) -> Result<(), Failure> {
    let mut result = Ok(());
    let report = baton_log::visit(&log.folder, |record| {
        result = show(log.shard, record, only, output);
        if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    result?;
    refuse_damage(report.damage)
}

/// Prints the events of the batches in a record.
fn show(
    shard: Option<u32>,
    record: &Record,
    only: Option<&str>,
    output: &mut Output,
) -> Result<(), Failure> {
    let position = record.position;
    for found in codec::outlines(&record.body) {
        let (offset, outline) = found.map_err(baton::error::Error::from)?;
        let workspace = outline.workspace;
        if only.is_some_and(|only| only != workspace) {
            continue;
        }
        let batch =
            codec::decode(&record.body[offset as usize..]).map_err(baton::error::Error::from)?;
        let batch = Arc::new(batch);
        for index in 0..batch.events.len() {
            let notice = Notice::new(Arc::clone(&batch), index);
            output.next(
                &Kept { shard, position: position.0, workspace, event: event(&notice) },
                |_| {
                    let (revision, time, agent) =
                        (notice.revision(), notice.time(), notice.agent());
                    let (kind, subject) = (notice.kind(), plain(notice.subject()));
                    let place = format!("{position:>10}  {workspace} {revision}.{index}");
                    format!("{place}  {time}  {agent}  {kind}  {subject}")
                },
            )?;
        }
    }
    Ok(())
}

/// An event and its position in the log.
#[derive(Serialize)]
struct Kept<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    shard: Option<u32>,
    position: u64,
    workspace: &'a str,
    event: Box<RawValue>,
}

/// The event as watchers see it. An internal event has only its position, type and subject.
fn event(notice: &Notice) -> Box<RawValue> {
    let text = if notice.event().is_public() {
        String::from_utf8_lossy(&notice.json()).into_owned()
    } else {
        let event = json!({
            "revision": notice.revision(), "index": notice.index(), "time": notice.time(),
            "agent": notice.agent(), "type": notice.kind(), "subject": notice.subject(),
        });
        event.to_string()
    };
    RawValue::from_string(text).expect("notices are JSON")
}
