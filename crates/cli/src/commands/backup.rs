//! `baton backup` and `baton restore`: the whole server as a file.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use baton::backup::{self, Summary};
use baton::clock::{Clock, SystemClock};
use baton::error::Error;
use baton_client::Options;
use baton_core::WorkspaceName;
use baton_log::shard_folders;
use baton_server::{HOME, shard_of};
use clap::Args;

use crate::atomic_file::{AtomicFile, unreadable};
use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::output::Output;
use crate::progress::Unit;
use crate::settings::is_database;

/// Readable by the owner only: a backup contains secrets.
const MODE: u32 = 0o600;

const BACKUP_HELP: &str = "\
Examples:
  baton backup --to /var/backups                   write a file named after the current time
  baton backup --to today.backup                   write this file, replacing an existing one
  baton backup --to today.backup --data ./.baton   back up a data folder without a server

A backup contains every workspace at one revision, with history, artifacts, access tokens and the
values of secrets. The file is readable by its owner only; keep it that way. The server continues to
serve requests meanwhile. If it requires tokens, you need an unrestricted admin token.";

const RESTORE_HELP: &str = "\
Examples:
  baton restore today.backup --data ./restored     restore, then run: baton serve --data …
  baton restore today.backup --data ./restored --shards 4    divide the new folder into shards
  baton restore today.backup --log postgres://baton@db/fleet --shards 16    restore to PostgreSQL
  baton restore today.backup --check               verify the file without restoring it

The backup is verified completely before the folder is created. Stop the original server first: two
servers that continue from the same backup diverge.";

/// Back up a running server to a single file
#[derive(Args)]
#[command(after_help = BACKUP_HELP)]
pub(crate) struct Backup {
    /// File to write, or an existing folder
    #[arg(long, value_name = "FILE|FOLDER")]
    to: PathBuf,
    /// Back up this data folder directly; no server may be running on it
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
}

/// Restore a data folder from a backup
#[derive(Args)]
#[command(after_help = RESTORE_HELP)]
pub(crate) struct Restore {
    /// Backup file
    file: PathBuf,
    /// Folder to restore to; must be empty or not exist
    #[arg(long, value_name = "FOLDER", required_unless_present_any = ["check", "log"])]
    data: Option<PathBuf>,
    /// Postgres database or NATS servers to restore to; must have no data of Baton yet
    #[cfg_attr(not(any(feature = "nats", feature = "postgres")), arg(skip))]
    #[cfg_attr(
        any(feature = "nats", feature = "postgres"),
        arg(long, value_name = "URL", conflicts_with = "data")
    )]
    log: Option<String>,
    /// Number of shards of the folder, the schema or the streams that are created [default: 1]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=256))]
    shards: Option<u32>,
    /// Encrypt the secrets of the backup with the key in this file; required if it has some
    #[cfg_attr(not(any(feature = "nats", feature = "postgres")), arg(skip))]
    #[cfg_attr(
        any(feature = "nats", feature = "postgres"),
        arg(long, value_name = "FILE", requires = "log")
    )]
    secrets_key_file: Option<String>,
    /// Verify the backup and show what it contains
    #[arg(long, conflicts_with_all = ["data", "log", "shards"])]
    check: bool,
}

impl Backup {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let path = if self.to.is_dir() { self.to.join(name_of_now()) } else { self.to };
        let (partial, file) = AtomicFile::create(&path, MODE)?;
        let progress = output.progress("backing up", Unit::Bytes, None);
        let file = BufWriter::new(progress.counting(file));
        drop(progress);
        match self.data {
            None => {
                let client = context.connect(Options::default()).await?;
                client.backup(file).await?;
            }
            Some(folder) if is_database(&folder.to_string_lossy()) => {
                let reason = "--data is a folder; back up a database through its server";
                return Err(Fault::Usage { reason: reason.to_owned() }.into());
            }
            Some(folder) => {
                let is_divided = shard_folders(&folder).map_err(Error::from)?.is_some();
                let home = |shards| shard_of(HOME, shards);
                let file = Box::new(file);
                if is_divided {
                    backup::of_shards(&folder, home, file)?;
                } else {
                    backup::of_folder(&folder, file)?;
                }
            }
        }
        let verify = |file| backup::verify(output.reading("verifying", file));
        let summary = partial.finish(verify)?;
        said(output, &summary, &format!("saved to {}", path.display()))
    }
}

impl Restore {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let file = File::open(&self.file).map_err(|error| unreadable(&self.file, error))?;
        if let Some(address) = &self.log {
            let key = self.secrets_key_file.as_deref();
            return restore_to_database(address, (self.shards, key), file, context, output);
        }
        match self.data {
            None => {
                let summary = backup::verify(output.reading("verifying", file))?;
                said(output, &summary, "verified")
            }
            Some(folder) => {
                let input = output.reading("restoring", file);
                let summary = match self.shards.filter(|shards| *shards > 1) {
                    None => backup::restore_to(input, &folder)?,
                    Some(shards) => {
                        let of = |name: &WorkspaceName| shard_of(name.as_str(), shards) as usize;
                        backup::restore_to_shards(input, &folder, shards, of)?
                    }
                };
                said(output, &summary, &format!("restored to {}", next_step(&folder)))
            }
        }
    }
}

/// Restores into a database. Until everything was verified, no server can use it.
#[cfg(any(feature = "nats", feature = "postgres"))]
fn restore_to_database(
    address: &str,
    (shards, key): (Option<u32>, Option<&str>),
    file: File,
    context: &Context,
    output: &mut Output,
) -> Result<(), Failure> {
    use std::io::Seek;
    use std::sync::Arc;

    use baton_cluster::{EncryptedSecrets, SecretsKey, Shards, begin_restore, open_shards};

    use crate::settings::keys;

    let location =
        super::serve::database::location(address, context.settings().ca_file.as_deref())?;
    let place = location.description().to_owned();
    let key = context.sources().choose(&keys::SECRETS_KEY_FILE, key)?;
    let key = key.map(|file| SecretsKey::read(Path::new(&file))).transpose();
    let key = key.map_err(Error::from)?.map(Arc::new);
    // A database that is marked as being restored cannot be used for anything else, so what would
    // end the restore is found before.
    let unreadable =
        |error| Error::Storage { what: format!("the backup could not be read: {error}") };
    let mut file = file;
    let copy = file.try_clone().map_err(unreadable)?;
    backup::check_restorable(output.reading("verifying", copy), key.is_some())?;
    file.rewind().map_err(unreadable)?;
    let shards = shards.map_or(Shards::One, Shards::Exactly);
    let logs = open_shards(&*location, "baton restore", shards, key.as_deref());
    let logs = logs.map_err(Error::from)?;
    let shards = u32::try_from(logs.len()).unwrap_or(u32::MAX);
    if !begin_restore(&logs).map_err(Error::from)? {
        return Err(Error::RestoreLogTaken { place }.into());
    }
    let shard_of = |workspace: &WorkspaceName| shard_of(workspace.as_str(), shards) as usize;
    let input = output.reading("restoring", file);
    let encrypted = |log: &Arc<_>| EncryptedSecrets::new(Arc::clone(log), key.clone());
    let summary = backup::restore_shards(input, logs.iter().map(encrypted).collect(), shard_of)?;
    logs[0].finish_restore().map_err(Error::from)?;
    said(
        output,
        &summary,
        &format!("restored to {place}; start the server with: baton serve --log …"),
    )
}

#[cfg(not(any(feature = "nats", feature = "postgres")))]
fn restore_to_database(
    _: &str,
    _: (Option<u32>, Option<&str>),
    _: File,
    _: &Context,
    _: &mut Output,
) -> Result<(), Failure> {
    Err(Fault::NotBuilt { what: "a log in PostgreSQL", feature: "postgres" }.into())
}

fn next_step(folder: &Path) -> String {
    format!("{0}; start the server with: baton serve --data {0}", folder.display())
}

fn said(output: &mut Output, summary: &Summary, end: &str) -> Result<(), Failure> {
    let count = summary.workspaces.len();
    let noun = if count == 1 { "workspace" } else { "workspaces" };
    output.said(summary, &format!("{count} {noun} as of {} {end}", summary.time))
}

/// A file name that sorts by time.
fn name_of_now() -> String {
    let now = SystemClock::default().now().to_string();
    format!("baton-{}.backup", now.replace(':', "-"))
}
