//! The memory of an idle connection.

use baton::clock::SystemClock;
use baton::{Baton, Options};
use baton_log::MemoryLog;
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::settings::Settings;

/// Ten thousand idle connections may take at most 8 KB of memory each, of which this is the largest
/// part; the rest is a few small boxes and the runtime's data for a task and a socket.
const BYTES_MAX: usize = 4_096;

#[tokio::test]
async fn a_connection_is_small() {
    let baton = Baton::on(MemoryLog::default(), SystemClock::default(), Options::default());
    let shared = Shared::new(baton.expect("memory does not fail"), Settings::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
    let address = listener.local_addr().expect("it listens");
    let stream = TcpStream::connect(address).await.expect("it listens");
    let whole = (Stream::from(stream), None);
    let authority = Authority::default();
    let client = ConnectedClient { number: 1, authority, format: Format::Json, others: None };
    let serving = serve(shared, client, whole, Bytes::new());
    let bytes = size_of_val(&serving);
    assert!(bytes <= BYTES_MAX, "a connection takes {bytes} bytes");
}
