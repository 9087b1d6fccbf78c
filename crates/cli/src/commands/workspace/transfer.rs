//! `baton workspace export` and `import`: a workspace as a file.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use baton_core::history::{At, Origin};
use baton_core::workspace::Forked;
use clap::Args;

use crate::atomic_file::{AtomicFile, unreadable};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::Unit;
use crate::unknown_workspace;

/// The usual file mode, subject to the umask.
const MODE: u32 = 0o666;

/// Export a workspace to a file, without its history and the values of secrets
#[derive(Args)]
pub(super) struct Export {
    /// Workspace name
    name: String,
    /// File to write, such as research.baton
    file: PathBuf,
    /// Export the state as of this revision, or time such as 2026-11-15T09:00:00Z
    #[arg(long, value_name = "MOMENT")]
    at: Option<At>,
}

/// Create a workspace from an exported file, without leases and locks
#[derive(Args)]
pub(super) struct Import {
    /// File to read
    file: PathBuf,
    /// Name of the new workspace [default: the name in the file]
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
}

impl Export {
    pub(super) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let mut workspace = context.workspace_named(&self.name).await?;
        unknown_workspace::refused(&workspace).await?;
        if let Some(at) = self.at {
            workspace = workspace.at(at);
        }
        let (partial, file) = AtomicFile::create(&self.file, MODE)?;
        let progress = output.progress("exporting", Unit::Bytes, None);
        workspace.export(BufWriter::new(progress.counting(file))).await?;
        drop(progress);
        let verify = |file| baton::export::verify(output.reading("verifying", file));
        let about = partial.finish(verify)?;
        let path = self.file.display();
        let sentence = format!(
            "workspace {} exported at revision {} to {path}",
            about.workspace, about.revision
        );
        output.said(&about, &sentence)
    }
}

impl Import {
    pub(super) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let open = || File::open(&self.file).map_err(|error| unreadable(&self.file, error));
        // Verified before anything is sent.
        let about = baton::export::verify(output.reading("verifying", open()?));
        let about = about.map_err(|error| Failure::from(error).about(&self.file))?;
        let name = self.name.as_deref().unwrap_or(about.workspace.as_str());
        let workspace = context.workspace_named(name).await?;
        let imported = workspace.import(output.reading("importing", open()?)).await?;
        let Forked { id, origin, .. } = &imported;
        let Origin { workspace, revision, .. } = origin;
        let sentence = format!("workspace {id} created from {workspace} at revision {revision}");
        output.said(&imported, &sentence)
    }
}
