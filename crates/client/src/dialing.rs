//! How the server is reached: its address, and whom to believe that it is the one.

use std::time::Duration;

use baton_tls::{Stream, TlsError, Trust};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::address::Address;
use crate::error::Error;
use crate::options::Options;

/// How the server is reached, as often as that is necessary.
#[derive(Clone)]
pub(crate) struct Dialing {
    address: Address,
    /// None where nothing is encrypted.
    trust: Option<Trust>,
}

impl Dialing {
    /// Reads what there is to read, so that a bad file is told before anything is tried.
    pub(crate) fn new(address: Address, options: &Options) -> Result<Self, Error> {
        let trust =
            if address.is_secure() { Some(Trust::of(options.ca_file.as_deref())?) } else { None };
        Ok(Self { address, trust })
    }

    /// Where the server is.
    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Connects once.
    pub(crate) async fn dial(&self, patience: Duration) -> Result<Stream, Error> {
        let address = &self.address;
        let unreachable = |reason: String| Error::Unreachable { url: address.to_string(), reason };
        let attempt = async {
            let stream = TcpStream::connect(address.authority()).await;
            let stream = stream.map_err(|error| unreachable(error.to_string()))?;
            // What is flushed is wanted at once; failing to say so costs only speed.
            let _ = stream.set_nodelay(true);
            let Some(trust) = &self.trust else { return Ok(Stream::from(stream)) };
            let shaken = trust.connect(address.host(), stream).await;
            shaken.map_err(|error| match error {
                TlsError::Broken { .. } => unreachable(error.to_string()),
                error => error.into(),
            })
        };
        let late =
            || unreachable(format!("there was no answer within {} ms", patience.as_millis()));
        timeout(patience, attempt).await.unwrap_or_else(|_| Err(late()))
    }
}
