//! `baton artifact`: files, addressed by their content.

use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;

use baton_client::Artifacts;
use clap::{Args, Subcommand};

use crate::atomic_file::{AtomicFile, unreadable, unwritable};
use crate::context::Context;
use crate::failure::Failure;
use crate::input::milliseconds;
use crate::output::Output;
use crate::progress::Unit;
use crate::stdin::Stdin;

const AFTER_HELP: &str = "\
Examples:
  baton artifact put report.pdf                      store a file; its ID is its SHA-256
  ./build.sh | baton artifact put - --name out.tar   store stdin
  baton artifact put model.bin --keep 7d             keep it for 7 days without references
  baton state set report '{\"artifact\": \"sha256:…\"}'  an entry that refers to it keeps it
  baton task done t-7 --artifacts '[\"sha256:…\"]'     so does a task
  baton artifact get sha256:… --to report.pdf
  baton artifact show sha256:…                       show its metadata and references
  baton artifact ls --free                           list artifacts without references
  baton artifact rm sha256:…

Content is streamed in both directions. Identical content is stored as the same artifact.";

/// The mode of a downloaded file, before the umask.
const MODE: u32 = 0o666;

const COLUMNS: [&str; 6] = ["artifact", "name", "media_type", "bytes", "references", "expires_at"];

/// Store and fetch files
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Artifact {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Put(Put),
    Get(Get),
    Show(Show),
    Ls(Ls),
    Rm(Rm),
}

/// Store a file
#[derive(Args)]
struct Put {
    /// File, or - for stdin
    file: PathBuf,
    /// Name [default: the name of the file]
    #[arg(long)]
    name: Option<String>,
    /// Media type, such as application/pdf
    #[arg(long, value_name = "TYPE")]
    media_type: Option<String>,
    /// How long to keep it while nothing refers to it
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    keep: Option<u64>,
    /// Fail unless the artifact has this ID
    #[arg(long, value_name = "ARTIFACT")]
    expect: Option<String>,
}

/// Fetch the content of an artifact
#[derive(Args)]
struct Get {
    /// Artifact ID
    artifact: String,
    /// Write to this file [default: stdout]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

/// Show the metadata and references of an artifact
#[derive(Args)]
struct Show {
    /// Artifact ID
    artifact: String,
}

/// List artifacts
#[derive(Args)]
struct Ls {
    /// Only artifacts that nothing refers to
    #[arg(long)]
    free: bool,
}

/// Delete an artifact that nothing refers to
#[derive(Args)]
struct Rm {
    /// Artifact ID
    artifact: String,
}

impl Artifact {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let artifacts = context.workspace().await?.artifacts();
        match self.verb {
            Verb::Put(put) => put.run(&artifacts, output).await,
            Verb::Get(get) => get.run(&artifacts, output).await,
            Verb::Show(show) => output.one(&artifacts.get(&show.artifact).await?),
            Verb::Ls(ls) => {
                let found =
                    if ls.free { artifacts.free().await? } else { artifacts.list().await? };
                output.many("artifacts", &found, &COLUMNS)
            }
            Verb::Rm(rm) => {
                let gone = artifacts.delete(&rm.artifact).await?;
                output.said(&gone, &format!("{} deleted", gone.artifact))
            }
        }
    }
}

impl Put {
    async fn run(self, artifacts: &Artifacts, output: &mut Output) -> Result<(), Failure> {
        let is_stdin = self.file.as_os_str() == "-";
        let bytes: Box<dyn Read + Send> = if is_stdin {
            Box::new(Stdin::open())
        } else {
            let file = File::open(&self.file).map_err(|error| unreadable(&self.file, error))?;
            Box::new(output.reading("uploading", file))
        };
        let own_name = self.file.file_name().filter(|_| !is_stdin);
        let own_name = own_name.map(|name| name.to_string_lossy().into_owned());
        let mut putting = artifacts.put(bytes);
        if let Some(name) = self.name.or(own_name) {
            putting = putting.name(&name);
        }
        if let Some(media_type) = &self.media_type {
            putting = putting.media_type(media_type);
        }
        if let Some(keep_ms) = self.keep {
            putting = putting.keep_ms(keep_ms);
        }
        if let Some(expected) = &self.expect {
            putting = putting.expected(expected);
        }
        let put = putting.await?.artifact;
        output.said(&put, put.artifact.as_str())
    }
}

impl Get {
    async fn run(self, artifacts: &Artifacts, output: &mut Output) -> Result<(), Failure> {
        let mut reading = artifacts.read(&self.artifact).await?;
        let Some(path) = self.to else {
            while let Some(piece) = reading.next().await? {
                output.bytes(&piece)?;
            }
            return Ok(());
        };
        let failed = |error: std::io::Error| unwritable(&path, error);
        let (partial, file) = AtomicFile::create(&path, MODE)?;
        let bytes = artifacts.get(&self.artifact).await?.bytes;
        let progress = output.progress("downloading", Unit::Bytes, Some(bytes));
        let mut file = progress.counting(file);
        drop(progress);
        while let Some(piece) = reading.next().await? {
            file.write_all(&piece).map_err(failed)?;
        }
        partial.keep()
    }
}
