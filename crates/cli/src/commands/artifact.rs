//! `baton artifact`: files that work makes, found by what is in them.

use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;

use baton_client::Artifacts;
use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::Failure;
use crate::input::milliseconds;
use crate::output::Output;
use crate::progress::Unit;
use crate::whole::unreadable;

const AFTER_HELP: &str = "\
Examples:
  baton artifact put report.pdf                     its id is the SHA-256 of its bytes
  ./build.sh | baton artifact put - --name out.tar  from stdin
  baton artifact put model.bin --keep 7d            kept so long while nobody names it
  baton state set report '{\"artifact\": \"sha256:…\"}'  an entry that names it keeps it
  baton task done t-7 --artifacts '[\"sha256:…\"]'     so does a task
  baton artifact get sha256:… --to report.pdf
  baton artifact show sha256:…                      what is known of it, and who names it
  baton artifact ls --free                          what goes by itself unless it is named
  baton artifact rm sha256:…

Bytes are sent and received as they are, a piece at a time. The same content is the same artifact.";

const COLUMNS: [&str; 6] = ["artifact", "name", "media_type", "bytes", "references", "expires_at"];

/// Keep files that work makes, and get them back
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

/// Put a file
#[derive(Args)]
struct Put {
    /// Which file; - for stdin
    file: PathBuf,
    /// What it is called; the file's name unless given
    #[arg(long)]
    name: Option<String>,
    /// What kind of content it is, as HTTP says it
    #[arg(long, value_name = "TYPE")]
    media_type: Option<String>,
    /// How long it is kept while nobody names it
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    keep: Option<u64>,
    /// What it must turn out to be
    #[arg(long, value_name = "ARTIFACT")]
    expect: Option<String>,
}

/// Get the bytes of one
#[derive(Args)]
struct Get {
    /// Which artifact
    artifact: String,
    /// Where to put them; stdout unless given
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

/// Show what is known of one, and who names it
#[derive(Args)]
struct Show {
    /// Which artifact
    artifact: String,
}

/// List them
#[derive(Args)]
struct Ls {
    /// Only those that nobody names
    #[arg(long)]
    free: bool,
}

/// Remove one that nobody names, before its time
#[derive(Args)]
struct Rm {
    /// Which artifact
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
                output.many(&found, &COLUMNS)
            }
            Verb::Rm(rm) => {
                let gone = artifacts.delete(&rm.artifact).await?;
                output.said(&gone, &format!("{} is gone", gone.artifact))
            }
        }
    }
}

impl Put {
    async fn run(self, artifacts: &Artifacts, output: &mut Output) -> Result<(), Failure> {
        let is_stdin = self.file.as_os_str() == "-";
        let bytes: Box<dyn Read + Send> = if is_stdin {
            Box::new(std::io::stdin())
        } else {
            let file = File::open(&self.file).map_err(|error| unreadable(&self.file, error))?;
            Box::new(output.reading("sending", file))
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
        // Under another name until it is whole, so that nobody takes a part for it.
        let mut partial = path.clone().into_os_string();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let failed = |error: std::io::Error| unreadable(&path, error);
        let bytes = artifacts.get(&self.artifact).await?.bytes;
        let progress = output.progress("receiving", Unit::Bytes, Some(bytes));
        let mut file = progress.counting(File::create(&partial).map_err(failed)?);
        drop(progress);
        let received = async {
            while let Some(piece) = reading.next().await? {
                file.write_all(&piece).map_err(failed)?;
            }
            std::fs::rename(&partial, &path).map_err(failed)
        };
        let received: Result<(), Failure> = received.await;
        if received.is_err() {
            std::fs::remove_file(&partial).unwrap_or_default();
        }
        received
    }
}
