//! The thread that waits for the network.
//!
//! The contract of a log is blocking, and its caller may be a thread of an executor, which must not
//! block inside another one. So nothing here enters the executor of the caller: work is sent to a
//! separate runtime, and its result comes back through a channel.

use std::future::Future;
use std::io;
use std::sync::mpsc;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

/// The thread that waits for the network. It ends when this is dropped.
pub struct Network(Option<Runtime>);

impl Network {
    /// Starts it.
    pub fn start(name: &str) -> io::Result<Self> {
        let runtime =
            Builder::new_multi_thread().worker_threads(1).thread_name(name).enable_all().build()?;
        Ok(Self(Some(runtime)))
    }

    /// Sends work to it. None if it has ended.
    #[must_use]
    pub fn sender(&self) -> Option<NetworkSender> {
        self.0.as_ref().map(|runtime| NetworkSender(runtime.handle().clone()))
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Sends work to the network thread. Cheap to clone.
#[derive(Clone, Debug)]
pub struct NetworkSender(Handle);

impl NetworkSender {
    /// Runs work on the network thread, and waits for it. None if that thread has ended.
    pub fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.0.spawn(async move {
            // The caller waits below; if it has gone, the result is dropped.
            drop(sender.send(work.await));
        });
        receiver.recv().ok()
    }

    /// Starts work whose result is not awaited here.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        self.0.spawn(work)
    }
}
