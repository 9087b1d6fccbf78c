//! The laws, on a real folder with and without direct writes, and on a disk in memory.

use crate::faulty::FaultyDisk;
use crate::{FileLog, Log, Options, Prepare};

/// Small, so that the laws cross many segments.
fn small(folder: impl Into<std::path::PathBuf>) -> Options {
    Options { segment_bytes: 16 * 1024, ..Options::new(folder) }
}

crate::conformance!(direct, {
    let folder = tempfile::tempdir().expect("a temporary folder");
    move || {
        let log = FileLog::open(small(folder.path())).expect("a healthy folder");
        Box::new(log) as Box<dyn Log>
    }
});

crate::conformance!(buffered, {
    let folder = tempfile::tempdir().expect("a temporary folder");
    move || {
        let options = Options { direct: false, ..small(folder.path()) };
        Box::new(FileLog::open(options).expect("a healthy folder")) as Box<dyn Log>
    }
});

crate::conformance!(faulty_direct, {
    let disk = FaultyDisk::new(1);
    move || {
        let options = Options { prepare: Prepare::Inline, ..small("/baton") };
        Box::new(FileLog::open_on(disk.clone(), options).expect("a healthy disk")) as Box<dyn Log>
    }
});

crate::conformance!(faulty_buffered, {
    let disk = FaultyDisk::new(1);
    disk.refuse_direct(true);
    move || {
        let options = Options { prepare: Prepare::Inline, ..small("/baton") };
        Box::new(FileLog::open_on(disk.clone(), options).expect("a healthy disk")) as Box<dyn Log>
    }
});
