//! `baton workspace export` and `import`: a workspace as one file.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use baton_core::history::{At, Origin};
use baton_core::workspace::Forked;
use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::Unit;
use crate::whole::{Partial, unreadable};

/// As others may read it as the system lets them.
const MODE: u32 = 0o666;

/// Write a workspace into one file: everything but its past and the values of secrets
#[derive(Args)]
pub(super) struct Export {
    /// Which workspace
    name: String,
    /// Where to, such as research.baton
    file: PathBuf,
    /// As it was then: a revision, or a time such as 2026-11-15T09:00:00Z
    #[arg(long, value_name = "MOMENT")]
    at: Option<At>,
}

/// Make a workspace of such a file; nothing is held there
#[derive(Args)]
pub(super) struct Import {
    /// Which file
    file: PathBuf,
    /// The name of the new one [default: the one in the file]
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
}

impl Export {
    pub(super) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let mut workspace = context.workspace_named(&self.name).await?;
        if let Some(at) = self.at {
            workspace = workspace.at(at);
        }
        let (partial, file) = Partial::create(&self.file, MODE)?;
        let progress = output.progress("exporting", Unit::Bytes, None);
        workspace.export(BufWriter::new(progress.counting(file))).await?;
        drop(progress);
        let verify = |file| baton::parcel::verify(output.reading("verifying", file));
        let about = partial.finish(verify)?;
        let place = self.file.display();
        let sentence = format!("{} at revision {} is in {place}", about.workspace, about.revision);
        output.said(&about, &sentence)
    }
}

impl Import {
    pub(super) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let open = || File::open(&self.file).map_err(|error| unreadable(&self.file, error));
        // What is not whole is not even sent.
        let about = baton::parcel::verify(output.reading("verifying", open()?));
        let about = about.map_err(|error| unreadable(&self.file, error))?;
        let name = self.name.as_deref().unwrap_or(about.workspace.as_str());
        let workspace = context.workspace_named(name).await?;
        let founded = workspace.import(output.reading("importing", open()?)).await?;
        let Forked { id, origin, .. } = &founded;
        let Origin { workspace, revision, .. } = origin;
        let sentence = format!("{id} begins as {workspace} was at revision {revision}");
        output.said(&founded, &sentence)
    }
}
