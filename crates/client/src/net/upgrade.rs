//! The upgrade from HTTP to a WebSocket.
//!
//! The request is sent with the HTTP library, so that an error response is read completely and its
//! problem is reported.

use std::time::Duration;

use baton_tls::Stream as Connection;
use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::{Method, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::{client::generate_key, derive_accept_key};
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use crate::Error;
use crate::net::dialer::{Dialer, odd};
use crate::net::options::Options;

/// The subprotocol: JSON in text frames.
const SUB_PROTOCOL: &str = "baton.v1.json";
/// The workspace that a connection is for.
const WORKSPACE: &str = "baton-workspace";
/// The server that owns it.
const OWNER: &str = "baton-owner";
/// Most answers are small, and a client has one connection.
const READ_BUFFER_BYTES: usize = 4 << 10;
/// The size of the write buffer.
const WRITE_BUFFER_BYTES: usize = 64 << 10;

pub(crate) type Socket = WebSocketStream<Connection>;

/// A connection, and the address of the server that owns the named workspace, if that is another.
pub(crate) struct Dialled {
    pub(crate) socket: Socket,
    pub(crate) owner: Option<String>,
}

/// Connects once, optionally naming the workspace that the connection is for.
pub(crate) async fn dial(
    dialer: &Dialer,
    options: &Options,
    workspace: Option<&str>,
) -> Result<Dialled, Error> {
    dialer.within_timeout(upgrade(dialer, options, workspace)).await
}

async fn upgrade(
    dialer: &Dialer,
    options: &Options,
    workspace: Option<&str>,
) -> Result<Dialled, Error> {
    let key = generate_key();
    let mut request = dialer
        .request(Method::GET, "/v1/ws")
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_VERSION, "13")
        .header(header::SEC_WEBSOCKET_KEY, &key)
        .header(header::SEC_WEBSOCKET_PROTOCOL, SUB_PROTOCOL);
    if let Some(workspace) = workspace {
        request = request.header(WORKSPACE, workspace);
    }
    let request = request.body(Empty::<Bytes>::new()).map_err(odd)?;
    // The attempt as a whole has a time limit.
    let response = dialer.ask(request, Duration::MAX).await?;
    agreed(&response, &derive_accept_key(key.as_bytes()))?;
    let owner = response.headers().get(OWNER).and_then(|owner| owner.to_str().ok());
    let owner = owner.map(str::to_owned);
    let upgraded = hyper::upgrade::on(response).await.map_err(|error| dialer.unreachable(error))?;
    let parts = upgraded.downcast::<TokioIo<Connection>>();
    let parts = parts.expect("the connection is the one that was dialled");
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_message_size(Some(options.frame_bytes_max))
        .max_frame_size(Some(options.frame_bytes_max));
    // The server may have sent frames together with its response.
    let (stream, begun) = (parts.io.into_inner(), parts.read_buf.to_vec());
    let socket = WebSocketStream::from_partially_read(stream, begun, Role::Client, Some(config));
    Ok(Dialled { socket: socket.await, owner })
}

/// Checks that the server accepts WebSocket with the subprotocol.
fn agreed<B>(response: &Response<B>, accept: &str) -> Result<(), Error> {
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Err(odd(format!("it answers {} to a WebSocket", response.status())));
    }
    for (name, wanted) in
        [(header::SEC_WEBSOCKET_ACCEPT, accept), (header::SEC_WEBSOCKET_PROTOCOL, SUB_PROTOCOL)]
    {
        if response.headers().get(&name).is_none_or(|given| given != wanted) {
            return Err(odd(format!("its `{name}` is not `{wanted}`")));
        }
    }
    Ok(())
}
