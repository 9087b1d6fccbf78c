//! One connection, encrypted or not.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use rustix::net::{SendFlags, Shutdown, send, shutdown, sockopt};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsStream;

/// One connection, encrypted or not. Decided once, when it starts.
pub enum Stream {
    /// The socket. Shared, so that writers can send for its owner.
    Plain(Arc<TcpStream>),
    /// The socket with TLS. Boxed, so that a plain one need not have its size.
    Secure(Box<TlsStream<TcpStream>>),
}

impl From<TcpStream> for Stream {
    fn from(socket: TcpStream) -> Self {
        Self::Plain(Arc::new(socket))
    }
}

/// How long a connection is quiet before its peer is probed.
const PROBE_AFTER: Duration = Duration::from_secs(15);
/// How long to wait between probes, and after the last.
const PROBE_EVERY: Duration = Duration::from_secs(5);
/// After how many probes without a sign of the peer the connection is broken.
const PROBES_MAX: u32 = 3;

/// Lets the system notice within half a minute that the peer has vanished, although nothing is
/// sent: a machine that lost its power or its network closes nothing, and a request that waits for
/// its answer would wait for ever.
pub fn probe_quiet_peer(socket: &TcpStream) -> Result<()> {
    sockopt::set_tcp_keepidle(socket, PROBE_AFTER)?;
    sockopt::set_tcp_keepintvl(socket, PROBE_EVERY)?;
    sockopt::set_tcp_keepcnt(socket, PROBES_MAX)?;
    Ok(sockopt::set_socket_keepalive(socket, true)?)
}

/// Sends what can be sent without waiting.
pub fn try_send(socket: &TcpStream, bytes: &[u8]) -> Result<usize> {
    socket.try_io(Interest::WRITABLE, || Ok(send(socket, bytes, SendFlags::NOSIGNAL)?))
}

/// Receives what has arrived, as [`TcpStream`] does for an exclusive owner.
fn poll_receive(
    socket: &TcpStream,
    context: &mut Context<'_>,
    buffer: &mut ReadBuf<'_>,
) -> Poll<Result<()>> {
    loop {
        ready!(socket.poll_read_ready(context))?;
        let room = buffer.remaining();
        let mut is_received = false;
        let outcome = socket.try_io(Interest::READABLE, || {
            // Not into a slice, which would have to be cleared first.
            let count = socket.try_read_buf(buffer)?;
            is_received = true;
            // A short read means that nothing is left: another call would only return `WouldBlock`.
            if count > 0 && count < room {
                return Err(Error::from(ErrorKind::WouldBlock));
            }
            Ok(())
        });
        match outcome {
            _ if is_received => return Poll::Ready(Ok(())),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            outcome => return Poll::Ready(outcome),
        }
    }
}

/// Writes as soon as that is possible without waiting.
fn poll_send(
    socket: &TcpStream,
    context: &mut Context<'_>,
    try_send: impl Fn(&TcpStream) -> Result<usize>,
) -> Poll<Result<usize>> {
    loop {
        ready!(socket.poll_write_ready(context))?;
        match try_send(socket) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            outcome => return Poll::Ready(outcome),
        }
    }
}

impl Stream {
    /// Whether there is a layer above the socket, which may buffer writes.
    pub fn is_secure(&self) -> bool {
        matches!(self, Self::Secure(_))
    }

    /// Whether bytes accepted by [`Stream::try_write`] have not been sent. Always false for a plain
    /// socket.
    pub fn has_unsent(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Secure(stream) => stream.get_ref().1.wants_write(),
        }
    }

    /// Writes what can be written without waiting; without bytes, what was buffered.
    pub fn try_write(&mut self, bytes: &[u8]) -> Result<usize> {
        let stream = match self {
            Self::Plain(socket) => return try_send(socket, bytes),
            Self::Secure(stream) => Pin::new(&mut **stream),
        };
        // No waker is needed: a caller that has to wait uses `writable`.
        let mut context = Context::from_waker(Waker::noop());
        let outcome = if bytes.is_empty() {
            stream.poll_flush(&mut context).map_ok(|()| 0)
        } else {
            stream.poll_write(&mut context, bytes)
        };
        match outcome {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => Err(Error::from(ErrorKind::WouldBlock)),
        }
    }

    /// Waits until something can be written.
    pub async fn writable(&self) -> Result<()> {
        match self {
            Self::Plain(stream) => stream.writable().await,
            Self::Secure(stream) => stream.get_ref().0.writable().await,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        match &mut *self {
            Self::Plain(socket) => poll_receive(socket, context, buffer),
            Self::Secure(stream) => Pin::new(&mut **stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        match &mut *self {
            Self::Plain(socket) => poll_send(socket, context, |socket| try_send(socket, bytes)),
            Self::Secure(stream) => Pin::new(&mut **stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        match &mut *self {
            Self::Plain(socket) => {
                poll_send(socket, context, |socket| socket.try_write_vectored(slices))
            }
            Self::Secure(stream) => Pin::new(&mut **stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Secure(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        match &mut *self {
            Self::Plain(_) => Poll::Ready(Ok(())),
            Self::Secure(stream) => Pin::new(&mut **stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        match &mut *self {
            Self::Plain(socket) => Poll::Ready(Ok(shutdown(&**socket, Shutdown::Write)?)),
            Self::Secure(stream) => Pin::new(&mut **stream).poll_shutdown(context),
        }
    }
}
