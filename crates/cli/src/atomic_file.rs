//! Files that appear only when they are complete.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Fault};

/// A file that is being written under a temporary name. Dropping it unfinished deletes it.
pub(crate) struct AtomicFile {
    path: PathBuf,
    partial: PathBuf,
}

/// The error that a file cannot be read.
pub(crate) fn unreadable(path: &Path, error: impl std::fmt::Display) -> Failure {
    let (given, reason) = (format!("`{}`", path.display()), error.to_string());
    Fault::Unreadable { given, reason }.into()
}

/// The error that a file cannot be written.
pub(crate) fn unwritable(path: &Path, error: impl std::fmt::Display) -> Failure {
    let (given, reason) = (format!("`{}`", path.display()), error.to_string());
    Fault::Unwritable { given, reason }.into()
}

impl AtomicFile {
    /// Creates the temporary file with this mode.
    pub(crate) fn create(path: &Path, mode: u32) -> Result<(Self, File), Failure> {
        let mut partial = path.to_owned().into_os_string();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        // A leftover file may have another mode.
        std::fs::remove_file(&partial).unwrap_or_default();
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&partial);
        let file = file.map_err(|error| unwritable(path, error))?;
        Ok((Self { path: path.to_owned(), partial }, file))
    }

    /// Verifies the file, and gives it its final name if it is valid.
    pub(crate) fn finish<T>(
        self,
        verify: impl FnOnce(File) -> Result<T, baton::error::Error>,
    ) -> Result<T, Failure> {
        let failed = |error: std::io::Error| unwritable(&self.path, error);
        let open = || File::open(&self.partial).map_err(failed);
        let verified = verify(open()?);
        let verified = verified.map_err(|error| unreadable(&self.partial, error))?;
        open()?.sync_all().map_err(failed)?;
        std::fs::rename(&self.partial, &self.path).map_err(failed)?;
        Ok(verified)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        // After it has been renamed, this does nothing.
        std::fs::remove_file(&self.partial).unwrap_or_default();
    }
}
