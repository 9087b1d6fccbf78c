//! Spans for OpenTelemetry: derived from the log, sent to a collector, outside of every commit.
//!
//! ```text
//!   log ──▶ Follower ───▶ Lifecycles: one for each task, hand-off, request and pipeline
//!            (how far)       │ it has ended
//!               ▲            ▼
//!               │          spans ──▶ Endpoint: POST {endpoint}/v1/traces ──▶ collector
//!               └───────────────────────── delivered ◀─────┘
//! ```
//!
//! | span | from | to | parent |
//! |---|---|---|---|
//! | `task TYPE` | created | completed, failed, cancelled | of its trace, or its stage |
//! | `invoke_agent AGENT` | claimed, or handed over | whatever ends that | its task |
//! | `handoff FROM` | offered | rejected, expired, cancelled, completed, failed | its task |
//! | `invoke_agent AGENT` | requested | replied, timed out, lost | of its trace |
//! | `invoke_workflow PIPELINE` | created | completed, failed, aborted | of its trace |
//! | `stage STAGE` | ready | completed, failed, skipped | its pipeline |
//!
//! Invariants:
//!
//! 1. Ids depend on names alone, so that deriving a span again gives the same one.
//! 2. The log is the queue. Undelivered spans are not kept in memory but derived again; the
//!    delivered positions are stored beside the tokens. A span is delivered at least once.
//! 3. The beginning of a lifecycle is looked up in the log if it is not in memory: a restart loses
//!    nothing.
//! 4. No request waits for it: it has a separate thread, and all its work is bounded.
//! 5. Content of agents is not exported: no description, definition, body, result or error. Only
//!    names, types, times, counts, numbers of tokens, and the `code` of an error.
//!
//! Deliberately absent: metrics and logs over OTLP, since there are `/metrics` and the server log;
//! and gRPC, since every collector accepts OTLP over HTTP as JSON.

mod endpoint;
mod follower;
mod ids;
mod lifecycles;
mod otlp;
mod progress;
mod span;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use baton_tls::{TlsError, Trust};
use thiserror::Error;

use crate::shared::{Shared, Signal};
pub(crate) use endpoint::Endpoint;
use follower::Follower;

/// The export of spans.
#[derive(Clone, Debug)]
pub struct Otel {
    endpoint: Arc<Endpoint>,
    /// The maximum number of spans in one request.
    pub batch_spans_max: usize,
    /// How long a span waits for others to be sent with it.
    pub batch_delay: Duration,
    /// How often new commits are looked for.
    pub look_every: Duration,
    /// How long one request may take.
    pub deadline: Duration,
    /// The delay before the first retry; it doubles with each further one.
    pub retry_first: Duration,
    /// The maximum delay.
    pub retry_max: Duration,
    /// How often the delivered positions are stored.
    pub keep_every: Duration,
}

/// Why spans cannot be exported.
#[derive(Debug, Error)]
pub enum OtelError {
    /// The address of the collector is invalid.
    #[error("`{given}` is not the address of a collector: {reason}")]
    BadEndpoint {
        /// The given value.
        given: String,
        /// The reason.
        reason: String,
    },
    /// The headers are invalid. They are not shown, since they may be secret.
    #[error("the headers for the collector make no sense: {reason}")]
    BadHeaders {
        /// The reason.
        reason: &'static str,
    },
    /// There are no trusted certificate authorities.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl Otel {
    /// An export to a collector at this address, such as `http://127.0.0.1:4318`, with these
    /// headers as `name=value,name=value`.
    pub fn new(endpoint: &str, headers: Option<&str>) -> Result<Self, OtelError> {
        let endpoint = Endpoint::parse(endpoint, headers, || Trust::of(None))?;
        Ok(Self {
            endpoint: Arc::new(endpoint),
            batch_spans_max: 512,
            batch_delay: Duration::from_secs(1),
            look_every: Duration::from_millis(250),
            deadline: Duration::from_secs(10),
            retry_first: Duration::from_millis(500),
            retry_max: Duration::from_secs(30),
            keep_every: Duration::from_secs(5),
        })
    }
}

/// Exports spans until it is asked to stop.
pub(crate) struct Exporter {
    stop: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
}

impl Exporter {
    /// Starts the export, if it is configured.
    pub(crate) fn begin(shared: &Arc<Shared>) -> Self {
        let stop = Arc::new(Signal::default());
        let thread = shared.settings.otel.clone().and_then(|otel| {
            // Before any request is served, so that the positions at the start are known.
            let follower = Follower::new(Arc::clone(shared), otel, Arc::clone(&stop));
            let work = move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                // Without a thread nothing is exported, and everything else works.
                if let Ok(runtime) = runtime {
                    runtime.block_on(follower.run());
                }
            };
            std::thread::Builder::new().name("baton-otel".to_owned()).spawn(work).ok()
        });
        Self { stop, thread }
    }

    /// Sends pending spans once, and stops. The engine must not be closed before.
    pub(crate) async fn end(self) {
        self.stop.raise();
        if let Some(thread) = self.thread {
            // A panic in it does not affect anything else.
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }
}
