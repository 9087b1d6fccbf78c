//! Checks of the local machine: settings, folder, space, log, files, clock, limits.

use std::fs;
use std::path::Path;

use baton::clock::{Clock, SystemClock};
use baton::core::Timestamp;
use baton::verify::{VerifyReport, verify_folder};
use baton_log::OpenError;
use rustix::process::{Resource, getrlimit};

use super::Finding;
use crate::context::Context;
use crate::data_folder::{DataLog, logs};
use crate::output::counted;
use crate::settings::ServerSettings;

/// Files that the server has open besides its connections.
const FILES_BESIDES: u64 = 128;
/// How far the clock may be behind the newest change.
const CLOCK_BEHIND_MS_MAX: u64 = 60_000;

pub(super) fn settings(context: &Context) -> Finding {
    let settings = context.settings();
    match (&settings.fault, settings.sources.file()) {
        (Some(fault), _) => {
            Finding::bad("settings", fault, "fix the file, then run `baton config check`")
        }
        (None, Some(path)) => Finding::good("settings", format!("{} is valid", path.display())),
        (None, None) => Finding::good("settings", "no configuration file (optional)"),
    }
}

/// Whether the TLS certificate is usable, if one is configured.
pub(super) fn certificate(serving: &ServerSettings) -> Option<Finding> {
    match serving.identity() {
        Ok(None) => None,
        Ok(Some(_)) => Some(Finding::good("certificate", "readable, and its key matches")),
        Err(failure) => {
            let remedy = "specify a certificate and its key in PEM format: --tls-cert, --tls-key";
            Some(Finding::bad("certificate", failure.detail(), remedy))
        }
    }
}

/// Whether the JWT keys are usable, if configured.
pub(super) fn issuer(serving: &ServerSettings) -> Option<Finding> {
    match serving.issuer() {
        Ok(None) => None,
        Ok(Some(_)) => Some(Finding::good("issuer", "JWT keys are readable")),
        Err(failure) => {
            let remedy = "specify the issuer's keys: --jwt-key or --jwt-jwks";
            Some(Finding::bad("issuer", failure.detail(), remedy))
        }
    }
}

/// Checks the data folder. Returns whether a server has it open.
pub(super) fn data(serving: &ServerSettings, findings: &mut Vec<Finding>) -> bool {
    let folder = &serving.data;
    let checked = check_folder(folder);
    let is_usable = checked.state == super::State::Good;
    findings.push(checked);
    if !is_usable {
        return false;
    }
    let free = rustix::fs::statvfs(folder).map_or(0, |it| it.f_bavail * it.f_frsize);
    findings.push(space(free, serving.disk_free_bytes_min));
    match logs(folder) {
        Ok(logs) => logs.iter().any(|log| data_log(log, findings)),
        Err(error) => {
            findings.push(Finding::bad("log", error.to_string(), error.hint()));
            false
        }
    }
}

/// Checks one log of the folder. Returns whether a server has it open.
fn data_log(data: &DataLog, findings: &mut Vec<Finding>) -> bool {
    let (mut log, is_running) = log(&data.folder);
    let is_sound = log.state == super::State::Good && !is_running;
    if let Some(shard) = data.shard.filter(|_| !is_running) {
        log.found = format!("shard {shard}: {}", log.found);
    }
    findings.push(log);
    if is_sound {
        files(&data.folder, findings);
    }
    is_running
}

fn check_folder(folder: &Path) -> Finding {
    let shown = folder.display();
    match fs::metadata(folder) {
        Err(_) => {
            let found = format!("{shown} does not exist");
            Finding::fair(
                "folder",
                found,
                "`baton serve` creates it; or specify another with --data",
            )
        }
        Ok(it) if !it.is_dir() => Finding::bad(
            "folder",
            format!("{shown} is not a folder"),
            "specify a folder with --data",
        ),
        Ok(_) => {
            let probe = folder.join(format!(".doctor-{}", std::process::id()));
            let written = fs::write(&probe, "write test");
            fs::remove_file(&probe).unwrap_or_default();
            match written {
                Ok(()) => Finding::good("folder", format!("{shown} is writable")),
                Err(error) => {
                    let found = format!("{shown} is not writable: {error}");
                    Finding::bad(
                        "folder",
                        found,
                        "make it writable for the user that runs the server",
                    )
                }
            }
        }
    }
}

fn space(free_bytes: u64, bytes_min: u64) -> Finding {
    let found = format!("{} MiB free", free_bytes >> 20);
    if free_bytes < bytes_min.max(1) {
        Finding::bad("space", found, "free some space, or move the data to a larger disk")
    } else if free_bytes < bytes_min.saturating_mul(8) {
        Finding::fair("space", found, "space is low: free some before it runs out")
    } else {
        Finding::good("space", found)
    }
}

/// Verifies the log. Returns whether a server has it open.
fn log(folder: &Path) -> (Finding, bool) {
    match baton_log::verify(folder) {
        Ok(report) => match report.damage {
            None => {
                let found = format!("{} verified", counted(report.records, "record"));
                (Finding::good("log", found), false)
            }
            Some(damage) => {
                let found = format!(
                    "{} is damaged at byte {}: {}",
                    damage.file.display(),
                    damage.offset,
                    damage.reason
                );
                let remedy = "restore a backup, or copy the folder and run `baton log repair`";
                (Finding::bad("log", found, remedy), false)
            }
        },
        Err(OpenError::InUse { holder, .. }) => {
            (Finding::good("log", format!("in use by {holder}; not verified")), true)
        }
        Err(error) => (Finding::bad("log", error.to_string(), error.hint()), false),
    }
}

fn files(folder: &Path, findings: &mut Vec<Finding>) {
    match verify_folder(folder) {
        Err(error) => findings.push(Finding::bad("files", error.to_string(), error.hint())),
        Ok(inspected) => {
            findings.push(readable(&inspected));
            findings.push(clock(SystemClock::default().now(), inspected.newest));
        }
    }
}

fn readable(inspected: &VerifyReport) -> Finding {
    let VerifyReport { workspaces, files, damaged, .. } = inspected;
    match damaged.first() {
        None => {
            let are = if *files == 1 { "is" } else { "are" };
            let (files, workspaces) = (counted(*files, "file"), counted(*workspaces, "workspace"));
            let found = format!("{files} of {workspaces} {are} readable");
            Finding::good("files", found)
        }
        Some((name, why)) => {
            let found =
                format!("{} of {files} files are not readable; {name}: {why}", damaged.len());
            Finding::bad("files", found, "restore a backup, and keep a copy of the folder as it is")
        }
    }
}

fn clock(now: Timestamp, newest: Timestamp) -> Finding {
    if newest.0 > now.0 + CLOCK_BEHIND_MS_MAX {
        let found = format!("the clock says {now}, but the newest change is from {newest}");
        return Finding::bad("clock", found, "correct the clock, and synchronise it with NTP");
    }
    Finding::good("clock", format!("{now}, not behind the newest change"))
}

pub(super) fn open_files(connections_max: usize) -> Finding {
    // The server raises its soft limit to the hard limit.
    allowed(getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX), connections_max as u64)
}

fn allowed(files_max: u64, connections_max: u64) -> Finding {
    if files_max >= connections_max + FILES_BESIDES {
        return Finding::good("open files", format!("limit allows {connections_max} connections"));
    }
    let found = format!("the limit is {files_max}, but {connections_max} connections are allowed");
    let remedy = "raise the limit (`ulimit -Hn`, LimitNOFILE=), or lower `serve.connections_max`";
    Finding::fair("open files", found, remedy)
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn numbers_are_judged() {
        let states = [0, 99, 100, 800].map(|free| space(free, 100).state);
        assert_eq!(states, [State::Bad, State::Bad, State::Fair, State::Good]);
        let now = Timestamp(1_700_000_000_000);
        assert_eq!(clock(now, Timestamp(now.0 + 60_001)).state, State::Bad);
        assert_eq!(clock(now, Timestamp(now.0 + 60_000)).state, State::Good);
        assert_eq!(allowed(1_024, 16_384).state, State::Fair);
        assert_eq!(allowed(1_024, 896).state, State::Good);
    }

    #[test]
    fn unreadable_files_are_reported_as_bad() {
        let sound = VerifyReport { files: 3, workspaces: 1, ..VerifyReport::default() };
        assert_eq!(readable(&sound).state, State::Good);
        assert_eq!(readable(&sound).found, "3 files of 1 workspace are readable");
        let damaged = vec![("workspaces/w/run-1".to_owned(), "it is truncated".to_owned())];
        let found = readable(&VerifyReport { damaged, ..sound });
        assert_eq!((found.state, found.found.contains("run-1")), (State::Bad, true));
    }
}
