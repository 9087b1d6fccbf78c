//! The connection over a pipe. Time is paused, so it advances as soon as all tasks wait.

use tokio::io::{DuplexStream, duplex};
use tokio_tungstenite::tungstenite::protocol::Role;

use super::*;
use crate::net::frames::{EncodedRequest, Expects};
use crate::net::multiplexer::Effect;
use crate::net::options::Options;

async fn pipe() -> (WebSocketStream<DuplexStream>, WebSocketStream<DuplexStream>) {
    let (near, far) = duplex(1 << 16);
    let near = WebSocketStream::from_raw_socket(near, Role::Client, None).await;
    (near, WebSocketStream::from_raw_socket(far, Role::Server, None).await)
}

fn multiplexer() -> Multiplexer {
    Multiplexer::new("http://nowhere:1".to_owned(), false, Options::default())
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_is_kept_and_a_dead_one_is_closed() {
    let (near, mut far) = pipe().await;
    let (multiplexer, mut heard, begun) = (multiplexer(), false, Instant::now());
    let hour = Duration::from_hours(1);
    let (served, _far) = tokio::join!(serve(&multiplexer, near, &mut heard), async {
        // A reader answers pings. Then reading stops, but the connection is still open.
        let reading = async { while far.next().await.is_some() {} };
        assert!(timeout(hour, reading).await.is_err(), "the line was given up");
        far
    });
    let reason = "nothing was heard for 8000 ms".to_owned();
    assert_eq!(served.unwrap_err(), Broken { reason, is_silent: true });
    let after = begun.elapsed().saturating_sub(hour);
    assert!(after <= multiplexer.options().silence_max, "given up {after:?} after it died");
    assert!(!heard, "signs of life are no answers");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_read_does_not_block_the_reads_of_the_client() {
    // So small that the request does not fit before the server has read.
    let (near, far) = duplex(64);
    let near = WebSocketStream::from_raw_socket(near, Role::Client, None).await;
    let mut far = WebSocketStream::from_raw_socket(far, Role::Server, None).await;
    let (multiplexer, mut heard) = (multiplexer(), false);
    let encoded = EncodedRequest {
        text: "x".repeat(1_000),
        expects: Expects::One("state.get".to_owned()),
        awaits: None,
    };
    let refusal = r#"{"id":1,"error":{"code":"x.y","kind":"invalid","detail":"d","hint":"h"}}"#;
    tokio::select! {
        served = serve(&multiplexer, near, &mut heard) => panic!("the line broke: {served:?}"),
        (outcome, sent) = async { tokio::join!(
            multiplexer.call(1, encoded, Effect::Asks),
            far.send(Message::Text(refusal.into())),
        ) } => {
            sent.unwrap();
            assert_eq!(outcome.unwrap_err().code(), "x.y");
        }
    }
}
