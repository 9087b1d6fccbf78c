//! The servers that a client can use: one, or several that share their data.

use std::fmt::{self, Display, Formatter};
use std::sync::atomic::{AtomicUsize, Ordering};

use baton_core::{Kind, WorkspaceName};

use crate::Error;
use crate::net::address::Address;
use crate::net::dialer::Dialer;
use crate::net::options::Options;
use crate::net::upgrade::{self, Dialled, Socket};

/// The index of no server.
const NONE: usize = usize::MAX;

/// More than a cluster has servers, and few enough to try all of them.
const SERVERS_MAX: usize = 32;

/// The servers that a client can use, any of which takes any request. The client is connected to
/// one of them at a time.
pub(crate) struct Servers {
    dialers: Vec<Dialer>,
    /// The server that was last connected to, or the next one if that connection is over.
    current: AtomicUsize,
    /// The server that was left because it did not answer, or could not serve, until another one is
    /// connected to: others may still name it as the owner of a workspace.
    suspect: AtomicUsize,
}

impl Servers {
    /// Parses one URL, or several that are separated by commas.
    pub(crate) fn parse(urls: &str, options: &Options) -> Result<Self, Error> {
        let dialer = |url: &str| Dialer::new(Address::parse(url.trim())?, options);
        let dialers = urls.split(',').map(dialer).collect::<Result<Vec<_>, _>>()?;
        if dialers.len() > SERVERS_MAX {
            let reason = format!("it names more than {SERVERS_MAX} servers");
            return Err(Error::BadUrl { url: urls.chars().take(200).collect(), reason });
        }
        Ok(Self { dialers, current: AtomicUsize::new(0), suspect: AtomicUsize::new(NONE) })
    }

    /// Whether there are several.
    pub(crate) fn has_others(&self) -> bool {
        self.dialers.len() > 1
    }

    /// The server that was last connected to, or the next one if that connection is over.
    pub(crate) fn current(&self) -> &Dialer {
        &self.dialers[self.current.load(Ordering::Relaxed)]
    }

    /// The connection is over: the server that it was to is tried last. One that is suspect is not
    /// preferred as the owner either.
    pub(crate) fn leave(&self, is_suspect: bool) {
        let left = self.current.load(Ordering::Relaxed);
        self.suspect.store(if is_suspect { left } else { NONE }, Ordering::Relaxed);
        self.current.store((left + 1) % self.dialers.len(), Ordering::Relaxed);
    }

    /// Connects to the first server that accepts it, beginning with the current one. If none does,
    /// the error is that of the current one.
    pub(crate) async fn dial(&self, options: &Options) -> Result<Socket, Error> {
        let (count, first) = (self.dialers.len(), self.current.load(Ordering::Relaxed));
        let (mut error, mut failed) = (None, Vec::new());
        for turn in 0..count {
            let index = (first + turn) % count;
            let is_named = |name: &&str| count > 1 && WorkspaceName::check(name).is_ok();
            let workspace = options.workspace.as_deref().filter(is_named);
            // Boxed, since it would make every future that connects larger.
            let dialling = Box::pin(upgrade::dial(&self.dialers[index], options, workspace));
            match dialling.await {
                Ok(dialled) => {
                    let (socket, index) = self.prefer_owner(index, dialled, &failed, options).await;
                    self.current.store(index, Ordering::Relaxed);
                    self.suspect.store(NONE, Ordering::Relaxed);
                    return Ok(socket);
                }
                Err(other) if is_of_this_server(&other) => {
                    failed.push(index);
                    error.get_or_insert(other);
                }
                Err(other) => return Err(other),
            }
        }
        Err(error.expect("there is at least one server"))
    }

    /// Connects to the owner of the workspace instead, if that is one of the servers: the token is
    /// shown to no other. If it cannot be reached, the connection that there is will do.
    async fn prefer_owner(
        &self,
        index: usize,
        Dialled { socket, owner }: Dialled,
        failed: &[usize],
        options: &Options,
    ) -> (Socket, usize) {
        let owner = owner.and_then(|owner| Address::parse(&owner).ok());
        let is_owner = |dialer: &Dialer| owner.as_ref() == Some(dialer.address());
        let Some(better) = self.dialers.iter().position(is_owner) else { return (socket, index) };
        if failed.contains(&better) || better == self.suspect.load(Ordering::Relaxed) {
            return (socket, index);
        }
        match Box::pin(upgrade::dial(&self.dialers[better], options, None)).await {
            Ok(dialled) => (dialled.socket, better),
            Err(_) => (socket, index),
        }
    }
}

/// Whether another server may accept what one did not: not if the request itself is at fault, such
/// as by its token.
fn is_of_this_server(error: &Error) -> bool {
    match error {
        Error::Refused(problem) => problem.kind() == Kind::Unavailable,
        _ => true,
    }
}

impl Display for Servers {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        for (index, dialer) in self.dialers.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(formatter, "{comma}{}", dialer.address())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_separated_by_commas() {
        let servers = |urls| Servers::parse(urls, &Options::default()).map(|all| all.to_string());
        assert_eq!(servers("http://a").unwrap(), "http://a:4747");
        assert_eq!(servers("http://a, ws://b:1").unwrap(), "http://a:4747,http://b:1");
        let many = vec!["http://a"; SERVERS_MAX + 1].join(",");
        for urls in ["", "http://a,", ",http://a", "http://a,b", &many] {
            assert_eq!(servers(urls).unwrap_err().code(), "client.bad_url", "{urls:?}");
        }
    }
}
