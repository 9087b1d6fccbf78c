//! A proxy before a store that cuts one connection at an append, for tests of logs.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, mpsc};

use baton_log::shared_conformance::Cut;

/// What is stored while a cut is pending.
const BEFORE: u8 = 1;
const AFTER: u8 = 2;

/// Where the store listens.
#[derive(Clone, Debug)]
pub enum Upstream {
    /// At an address.
    Address(String),
    /// At a socket in a folder.
    Socket(PathBuf),
}

impl Upstream {
    fn connect(&self) -> io::Result<Box<dyn Duplex>> {
        match self {
            Self::Address(address) => Ok(Box::new(TcpStream::connect(address)?)),
            Self::Socket(path) => Ok(Box::new(UnixStream::connect(path)?)),
        }
    }
}

/// A connection of either kind.
trait Duplex: Read + Write + Send {
    fn again(&self) -> io::Result<Box<dyn Duplex>>;

    fn end(&self);
}

impl Duplex for TcpStream {
    fn again(&self) -> io::Result<Box<dyn Duplex>> {
        Ok(Box::new(self.try_clone()?))
    }

    fn end(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

impl Duplex for UnixStream {
    fn again(&self) -> io::Result<Box<dyn Duplex>> {
        Ok(Box::new(self.try_clone()?))
    }

    fn end(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

/// A proxy on a free port of this machine.
pub struct CutProxy {
    address: SocketAddr,
    next: Arc<AtomicU8>,
}

impl CutProxy {
    /// Starts it before a store. An append is recognised by what a client sends.
    #[must_use]
    pub fn start(upstream: Upstream, append: &'static [u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let next = Arc::new(AtomicU8::new(0));
        let cut = Arc::clone(&next);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(store) = upstream.connect() else { return };
                let cut = Arc::clone(&cut);
                std::thread::spawn(move || forward(client, &*store, append, &cut));
            }
        });
        Self { address, next }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Cuts the connection of the next append.
    pub fn cut(&self, cut: Cut) {
        let number = match cut {
            Cut::Before => BEFORE,
            Cut::After => AFTER,
        };
        self.next.store(number, Ordering::SeqCst);
    }

    /// Whether no cut is pending.
    #[must_use]
    pub fn has_cut(&self) -> bool {
        self.next.load(Ordering::SeqCst) == 0
    }
}

/// Copies both ways until one side ends, or the connection is cut.
fn forward(mut client: TcpStream, store: &dyn Duplex, append: &[u8], cut: &AtomicU8) {
    let mut to_store = store.again().expect("a descriptor");
    let mut to_client = client.try_clone().expect("a descriptor");
    let (loses_next, is_lost) = mpsc::channel();
    let mut answers = store.again().expect("a descriptor");
    let back = std::thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(count @ 1..) = answers.read(&mut bytes) {
            if is_lost.try_recv().is_ok() || to_client.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        to_client.end();
    });
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = client.read(&mut bytes) {
        let sent = &bytes[..count];
        let is_append = sent.windows(append.len()).any(|window| window == append);
        match if is_append { cut.swap(0, Ordering::SeqCst) } else { 0 } {
            BEFORE => break,
            AFTER => loses_next.send(()).unwrap_or_default(),
            _ => {}
        }
        if to_store.write_all(sent).is_err() {
            break;
        }
    }
    client.end();
    store.end();
    let _ = back.join();
}
