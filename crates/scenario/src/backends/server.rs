//! A server in this process, on an engine with a manual clock.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread::JoinHandle;

use baton::clock::ManualClock;
use baton::log::MemoryLog;
use baton::{Baton, Options};
use baton_server::{Server, Settings};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use super::BEGINNING;
use super::harness::advance_clock;

/// A server that ends when this is dropped.
pub(super) struct TestServer {
    pub(super) address: SocketAddr,
    runtime: Runtime,
    baton: Option<Baton>,
    clock: ManualClock,
    passed_ms: u64,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

fn runtime() -> Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("there is room for a runtime")
}

impl TestServer {
    pub(super) fn new() -> Self {
        let clock = ManualClock::at(BEGINNING);
        let baton = Baton::on(MemoryLog::default(), clock.clone(), Options::default());
        let baton = baton.expect("memory does not fail");
        let (end, ended) = oneshot::channel();
        let (address_sender, address_receiver) = std::sync::mpsc::channel();
        let server = baton.clone();
        let thread = std::thread::spawn(move || {
            runtime().block_on(async {
                let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
                let settings = Settings { listen, ..Settings::default() };
                let server = Server::bind(server, settings).await.expect("a port is free");
                address_sender.send(server.address()).expect("it is waited for");
                let until = async {
                    // A dropped sender also means stop.
                    let _ = ended.await;
                };
                server.run(until).await;
            });
        });
        let address = address_receiver.recv().expect("the server begins");
        let (baton, end, thread) = (Some(baton), Some(end), Some(thread));
        Self { address, runtime: runtime(), baton, clock, passed_ms: 0, end, thread }
    }

    pub(super) fn advance_clock(&mut self, to_ms: u64) {
        let baton = self.baton.as_ref().expect("it is served until the end");
        self.runtime.block_on(advance_clock(baton, &self.clock, &mut self.passed_ms, to_ms));
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.baton = None;
        if let Some(end) = self.end.take() {
            let _ = end.send(());
        }
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            // A second panic during unwinding would abort the process without a message.
            assert!(ended.is_ok() || std::thread::panicking(), "the server ends in peace");
        }
    }
}
