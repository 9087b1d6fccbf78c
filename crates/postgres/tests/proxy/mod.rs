//! A proxy before a database that cuts one connection at an append.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, mpsc};

use baton_log::shared_conformance::Cut;

/// What an append is recognised by in what a client sends.
const APPEND: &[u8] = b"insert into record";

/// What is stored while a cut is pending.
const BEFORE: u8 = 1;
const AFTER: u8 = 2;

/// A proxy on a socket in a folder.
pub(crate) struct Proxy {
    folder: tempfile::TempDir,
    next: Arc<AtomicU8>,
}

impl Proxy {
    /// Starts it before the database with this socket.
    pub(crate) fn start(socket: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).expect("a socket");
        let next = Arc::new(AtomicU8::new(0));
        let (socket, cut) = (PathBuf::from(socket), Arc::clone(&next));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(database) = UnixStream::connect(&socket) else { return };
                let cut = Arc::clone(&cut);
                std::thread::spawn(move || forward(client, &database, &cut));
            }
        });
        Self { folder, next }
    }

    /// The folder of its socket.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Cuts the connection of the next append.
    pub(crate) fn cut(&self, cut: Cut) {
        let number = match cut {
            Cut::Before => BEFORE,
            Cut::After => AFTER,
        };
        self.next.store(number, Ordering::SeqCst);
    }

    /// Whether no cut is pending.
    pub(crate) fn has_cut(&self) -> bool {
        self.next.load(Ordering::SeqCst) == 0
    }
}

/// Copies both ways until one side ends, or the connection is cut.
fn forward(mut client: UnixStream, database: &UnixStream, cut: &AtomicU8) {
    let mut to_database = database.try_clone().expect("a descriptor");
    let mut to_client = client.try_clone().expect("a descriptor");
    let (loses_next, is_lost) = mpsc::channel();
    let mut answers = database.try_clone().expect("a descriptor");
    let back = std::thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(count @ 1..) = answers.read(&mut bytes) {
            if is_lost.try_recv().is_ok() || to_client.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        let _ = to_client.shutdown(std::net::Shutdown::Both);
    });
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = client.read(&mut bytes) {
        let sent = &bytes[..count];
        let is_append = sent.windows(APPEND.len()).any(|window| window == APPEND);
        match if is_append { cut.swap(0, Ordering::SeqCst) } else { 0 } {
            BEFORE => break,
            AFTER => loses_next.send(()).unwrap_or_default(),
            _ => {}
        }
        if to_database.write_all(sent).is_err() {
            break;
        }
    }
    let _ = client.shutdown(std::net::Shutdown::Both);
    let _ = database.shutdown(std::net::Shutdown::Both);
    let _ = back.join();
}
