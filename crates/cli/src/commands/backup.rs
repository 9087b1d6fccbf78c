//! `baton backup` and `baton restore`: the whole server as one file.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use baton::backup::{self, Summary};
use baton::clock::{Clock, SystemClock};
use baton_client::Options;
use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::Unit;
use crate::whole::{Partial, unreadable};

/// Only for whoever took it: there are secrets in it.
const MODE: u32 = 0o600;

const BACKUP_HELP: &str = "\
Examples:
  baton backup --to /var/backups                   a file named after the moment, from the server
  baton backup --to today.backup                   a file of this name, in place of any before
  baton backup --to today.backup --data ./.baton   without a server, as whoever owns the data

It has every workspace at one revision, with its past, its artifacts, the tokens of those who may
come in, and the values of secrets: the file is readable for its owner alone, keep it so. Work goes
on meanwhile. The server asks for the token of an admin of everything.";

const RESTORE_HELP: &str = "\
Examples:
  baton restore today.backup --data ./restored     make a folder of it, then: baton serve --data …
  baton restore today.backup --check               read it to its end, restore nothing

All of it is verified before the folder appears. Stop the server whose data it was: two servers
that go on from the same backup do not know of each other.";

/// Back up the whole server into one file, while it works
#[derive(Args)]
#[command(after_help = BACKUP_HELP)]
pub(crate) struct Backup {
    /// Where to: a file, or a folder that is there
    #[arg(long, value_name = "FILE|FOLDER")]
    to: PathBuf,
    /// Back up the data in this folder, while no server does
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
}

/// Make a data folder of a backup
#[derive(Args)]
#[command(after_help = RESTORE_HELP)]
pub(crate) struct Restore {
    /// Which backup
    file: PathBuf,
    /// The new folder: empty, or not there yet
    #[arg(long, value_name = "FOLDER", required_unless_present = "check")]
    data: Option<PathBuf>,
    /// Only read it to its end, and say what is in it
    #[arg(long, conflicts_with = "data")]
    check: bool,
}

impl Backup {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let path = if self.to.is_dir() { self.to.join(name_of_now()) } else { self.to };
        let (partial, file) = Partial::create(&path, MODE)?;
        let progress = output.progress("saving", Unit::Bytes, None);
        let file = BufWriter::new(progress.counting(file));
        drop(progress);
        match self.data {
            None => {
                let client = context.connect(Options::default()).await?;
                client.backup(file).await?;
            }
            Some(folder) => {
                backup::of_folder(&folder, Box::new(file))?;
            }
        }
        let verify = |file| backup::verify(output.reading("verifying", file));
        let summary = partial.finish(verify)?;
        said(output, &summary, &format!("are in {}", path.display()))
    }
}

impl Restore {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let file = File::open(&self.file).map_err(|error| unreadable(&self.file, error))?;
        match self.data {
            None => {
                let summary = backup::verify(output.reading("verifying", file))?;
                said(output, &summary, "are in it, and it is whole")
            }
            Some(folder) => {
                let summary = backup::restore_to(output.reading("restoring", file), &folder)?;
                said(output, &summary, &format!("are in {}", shown(&folder)))
            }
        }
    }
}

fn shown(folder: &Path) -> String {
    format!("{0}; go on with: baton serve --data {0}", folder.display())
}

fn said(output: &mut Output, summary: &Summary, end: &str) -> Result<(), Failure> {
    let count = summary.workspaces.len();
    let noun = if count == 1 { "workspace" } else { "workspaces" };
    output.said(summary, &format!("{count} {noun} as of {} {end}", summary.time))
}

/// A name that sorts by time.
fn name_of_now() -> String {
    let now = SystemClock::default().now().to_string();
    format!("baton-{}.backup", now.replace(':', "-"))
}
