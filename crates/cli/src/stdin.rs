//! Stdin, which ctrl-c interrupts.
//!
//! A read of stdin cannot be cancelled, and it blocks the one thread that handles signals. So once
//! stdin is read, another thread ends the process on ctrl-c, as it would end without a handler: a
//! command that reads stdin has nothing to finish or to clean up.

use std::io::{self, Read};
use std::sync::{Once, mpsc};

use tokio::signal::unix::{SignalKind, signal};

use crate::failure::EXIT_INTERRUPTED;

static GUARDED: Once = Once::new();

/// Stdin.
pub(crate) struct Stdin(io::Stdin);

impl Stdin {
    pub(crate) fn open() -> Self {
        GUARDED.call_once(guard);
        Self(io::stdin())
    }
}

impl Read for Stdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

/// Starts the thread, and returns when it listens. Without it, stdin is read nevertheless.
fn guard() {
    let (ready, is_ready) = mpsc::channel();
    let listening = std::thread::Builder::new().spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        runtime.block_on(async {
            let mut interrupt = signal(SignalKind::interrupt())?;
            // Nobody waits for it if the caller is gone, which is as good.
            let _ = ready.send(());
            if interrupt.recv().await.is_some() {
                std::process::exit(EXIT_INTERRUPTED.into());
            }
            io::Result::Ok(())
        })
    });
    if listening.is_ok() {
        // An error means that the thread has ended: then there is nothing to wait for.
        let _ = is_ready.recv();
    }
}
