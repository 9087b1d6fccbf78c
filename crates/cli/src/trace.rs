//! Which trace a command line is a part of.

use baton_core::Traceparent;
use clap::Args;

/// The variable in which programs hand on what trace they are a part of.
pub(crate) const VARIABLE: &str = "TRACEPARENT";

/// The trace that something is a part of.
#[derive(Args)]
pub(crate) struct Trace {
    /// The trace it is a part of, as W3C Trace Context writes it [env: TRACEPARENT]
    #[arg(long, value_name = "TRACE")]
    traceparent: Option<String>,
}

impl Trace {
    /// What was said, or what whoever started the program is a part of. Nobody chose that for
    /// Baton, so that it is left out if it makes no sense.
    pub(crate) fn given(self) -> Option<String> {
        let inherited = || {
            let text = std::env::var(VARIABLE).ok()?;
            Traceparent::parse(&text).ok().map(|_| text)
        };
        self.traceparent.or_else(inherited)
    }
}
