//! Reports to the service manager, as `sd_notify` does: a unit of `Type=notify` has started when
//! the server listens.
//!
//! The protocol is one datagram to the socket that `NOTIFY_SOCKET` names. A name that begins with
//! `@` is in the abstract namespace of Linux.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The server listens.
pub(super) const READY: &str = "READY=1\n";
/// The server has begun to stop.
pub(super) const STOPPING: &str = "STOPPING=1\n";

/// Sends a state, if a service manager asked for it.
pub(super) fn notify(state: &str) -> io::Result<()> {
    match std::env::var_os("NOTIFY_SOCKET") {
        Some(name) if !name.is_empty() => send(&name, state),
        Some(_) | None => Ok(()),
    }
}

fn send(name: &OsStr, state: &str) -> io::Result<()> {
    let address = match name.as_bytes().split_first() {
        Some((b'@', name)) => abstract_address(name)?,
        Some(_) | None => SocketAddr::from_pathname(name)?,
    };
    let sent = UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address)?;
    if sent < state.len() { Err(io::ErrorKind::WriteZero.into()) } else { Ok(()) }
}

#[cfg(target_os = "linux")]
fn abstract_address(name: &[u8]) -> io::Result<SocketAddr> {
    use std::os::linux::net::SocketAddrExt;

    SocketAddr::from_abstract_name(name)
}

#[cfg(not(target_os = "linux"))]
fn abstract_address(_: &[u8]) -> io::Result<SocketAddr> {
    Err(io::ErrorKind::Unsupported.into())
}
