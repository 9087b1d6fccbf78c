//! Files that appear when they are whole, so that nobody takes a part for one.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Fault};

/// A file that is being written. Dropped before it is finished, it never was.
pub(crate) struct Partial {
    path: PathBuf,
    partial: PathBuf,
}

/// That a file cannot be read or written.
pub(crate) fn unreadable(path: &Path, error: impl std::fmt::Display) -> Failure {
    let (given, reason) = (path.display().to_string(), error.to_string());
    Fault::Unreadable { given, reason }.into()
}

impl Partial {
    /// Begins it, readable for those whom the mode says.
    pub(crate) fn create(path: &Path, mode: u32) -> Result<(Self, File), Failure> {
        let mut partial = path.to_owned().into_os_string();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        // One that was left behind may be readable for others.
        std::fs::remove_file(&partial).unwrap_or_default();
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&partial);
        let file = file.map_err(|error| unreadable(path, error))?;
        Ok((Self { path: path.to_owned(), partial }, file))
    }

    /// Reads it again, and lets it appear if that finds nothing wrong.
    pub(crate) fn finish<T>(
        self,
        verify: impl FnOnce(File) -> Result<T, baton::Error>,
    ) -> Result<T, Failure> {
        let failed = |error: std::io::Error| unreadable(&self.path, error);
        let open = || File::open(&self.partial).map_err(failed);
        let verified = verify(open()?);
        let verified = verified.map_err(|error| unreadable(&self.partial, error))?;
        open()?.sync_all().map_err(failed)?;
        std::fs::rename(&self.partial, &self.path).map_err(failed)?;
        Ok(verified)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // After it has appeared there is nothing of this name.
        std::fs::remove_file(&self.partial).unwrap_or_default();
    }
}
