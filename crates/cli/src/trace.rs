//! The trace context of a command.

use baton_core::Traceparent;
use clap::Args;

/// The environment variable that carries the trace context.
pub(crate) const VARIABLE: &str = "TRACEPARENT";

/// The trace context option.
#[derive(Args)]
pub(crate) struct Trace {
    /// Trace context (W3C traceparent) [env: TRACEPARENT]
    #[arg(long, value_name = "TRACE")]
    traceparent: Option<String>,
}

impl Trace {
    /// The option, or the environment variable. The variable was not set for Baton in particular,
    /// so an invalid one is ignored.
    pub(crate) fn given(self) -> Option<String> {
        let inherited = || {
            let text = std::env::var(VARIABLE).ok()?;
            Traceparent::parse(&text).ok().map(|_| text)
        };
        self.traceparent.or_else(inherited)
    }
}
