//! The disk of the machine.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Seek, Write as _};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::{Disk, DiskFile, Entry, Locked, Write};

/// The files of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemDisk;

/// A file of the operating system.
#[derive(Debug)]
pub struct SystemFile(File);

/// A lock of the operating system. It ends with the process at the latest, however that ends.
#[derive(Debug)]
pub struct SystemLock {
    // Closing the files lets the locks go.
    _file: File,
    _folder: Option<File>,
}

impl Disk for SystemDisk {
    type File = SystemFile;
    type Lock = SystemLock;

    fn create(&self, path: &Path) -> io::Result<SystemFile> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true);
        private(&mut options).open(path).map(SystemFile)
    }

    fn open(&self, path: &Path) -> io::Result<SystemFile> {
        let file = File::open(path)?;
        // Linux opens folders as well, and fails only when they are read.
        if file.metadata()?.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        Ok(SystemFile(file))
    }

    fn open_for_write(&self, path: &Path, write: Write) -> io::Result<SystemFile> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        match write {
            Write::Buffered => {}
            Write::Direct => direct(&mut options)?,
        }
        options.open(path).map(SystemFile)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if let Ok(name) = entry.file_name().into_string() {
                entries.push(Entry { name, is_folder: entry.file_type()?.is_dir() });
            }
        }
        entries.sort();
        Ok(entries)
    }

    fn create_folder(&self, folder: &Path) -> io::Result<bool> {
        use std::os::unix::fs::DirBuilderExt;
        match fs::DirBuilder::new().mode(0o700).create(folder) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    fn free_bytes(&self, folder: &Path) -> io::Result<u64> {
        let room = rustix::fs::statvfs(folder)?;
        Ok(room.f_bavail.saturating_mul(room.f_frsize))
    }

    fn lock(&self, path: &Path) -> io::Result<Locked<SystemLock>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = private(&mut options).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Ok(Locked::InUse { holder: holder(&mut file) });
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // The folder is locked as well: the file can be removed under its holder, and a second
        // process would then lock a file of its own. Some network file systems lock no folders.
        let folder = path.parent().map(File::open).transpose()?;
        if let Some(Err(TryLockError::WouldBlock)) = folder.as_ref().map(File::try_lock) {
            return Ok(Locked::InUse { holder: "another process".to_owned() });
        }
        // The number helps a person find out which process uses the folder. The lock does not
        // depend on it, so a number left behind by a dead process does no harm, and neither does
        // one that a full disk does not take.
        file.set_len(0)?;
        file.rewind()?;
        write!(file, "{}", std::process::id()).unwrap_or_default();
        Ok(Locked::Held(SystemLock { _file: file, _folder: folder }))
    }

    fn salt(&self) -> u64 {
        // The standard library seeds its hash maps from the system's source of randomness.
        RandomState::new().hash_one("baton log")
    }
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    match file.read_to_string(&mut text) {
        Ok(_) if text.trim().parse::<u32>().is_ok() => format!("process {}", text.trim()),
        _ => "another process".to_owned(),
    }
}

/// Files are accessible only to the user that Baton runs as.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600)
}

#[cfg(target_os = "linux")]
#[expect(clippy::unnecessary_wraps, reason = "other systems refuse")]
fn direct(options: &mut OpenOptions) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    options.custom_flags(libc::O_DIRECT | libc::O_DSYNC);
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn direct(_options: &mut OpenOptions) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "direct writes are used on Linux only"))
}

impl DiskFile for SystemFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.0.read_at(&mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(bytes) => filled += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn length(&self) -> io::Result<u64> {
        self.0.metadata().map(|metadata| metadata.len())
    }
}
