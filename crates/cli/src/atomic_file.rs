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
    /// Creates the temporary file with this mode, beside the file that it will replace. Of a
    /// symbolic link, that is its target.
    pub(crate) fn create(path: &Path, mode: u32) -> Result<(Self, File), Failure> {
        let path = &replaceable(path)?;
        let mut partial = path.clone().into_os_string();
        // Other programs may be writing the same file.
        partial.push(format!(".{}.partial", std::process::id()));
        let partial = PathBuf::from(partial);
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&partial);
        let file = file.map_err(|error| unwritable(path, error))?;
        Ok((Self { path: path.clone(), partial }, file))
    }

    /// Gives the file its final name.
    pub(crate) fn keep(self) -> Result<(), Failure> {
        let failed = |error: std::io::Error| unwritable(&self.path, error);
        File::open(&self.partial).and_then(|file| file.sync_all()).map_err(failed)?;
        std::fs::rename(&self.partial, &self.path).map_err(failed)
    }

    /// Verifies the file, and gives it its final name if it is valid.
    pub(crate) fn finish<T>(
        self,
        verify: impl FnOnce(File) -> Result<T, baton::error::Error>,
    ) -> Result<T, Failure> {
        let file = File::open(&self.partial).map_err(|error| unwritable(&self.path, error))?;
        let verified = verify(file).map_err(|error| unreadable(&self.partial, error))?;
        self.keep()?;
        Ok(verified)
    }
}

/// The path of the file that a new one may replace: a device or a pipe would be lost.
fn replaceable(path: &Path) -> Result<PathBuf, Failure> {
    let Ok(found) = path.symlink_metadata() else { return Ok(path.to_owned()) };
    let target = path.canonicalize().map_err(|error| unwritable(path, error))?;
    if found.is_file() || target.is_file() {
        return Ok(target);
    }
    Err(unwritable(path, "it exists and is not a file; name another path"))
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        // After it has been renamed, this does nothing.
        std::fs::remove_file(&self.partial).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::{FileTypeExt, symlink};
    use std::os::unix::net::UnixListener;

    use super::*;

    fn write(path: &Path, text: &str) -> Result<(), Failure> {
        let (partial, mut file) = AtomicFile::create(path, 0o600)?;
        file.write_all(text.as_bytes()).unwrap();
        partial.keep()
    }

    #[test]
    fn only_files_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        write(&at("file"), "one").unwrap();
        write(&at("file"), "two").unwrap();
        // A link stays one.
        symlink(at("file"), at("link")).unwrap();
        write(&at("link"), "three").unwrap();
        assert_eq!(std::fs::read_to_string(at("file")).unwrap(), "three");
        assert!(at("link").is_symlink());
        let _socket = UnixListener::bind(at("socket")).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        for kept in ["socket", "dangling", "."] {
            assert!(write(&at(kept), "four").is_err(), "{kept}");
        }
        assert!(at("socket").metadata().unwrap().file_type().is_socket());
        assert!(at("dangling").is_symlink());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4, "nothing is left behind");
    }

    #[test]
    fn a_file_of_the_user_with_a_similar_name_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("x"), folder.path().join("x.partial"));
        std::fs::write(&other, "mine").unwrap();
        write(&path, "new").unwrap();
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "mine");
    }
}
