//! Send queues on real sockets: output keeps its order, waits for the disk, and returns to its
//! owner if the peer accepts nothing.

use std::time::Duration;

use baton::clock::SystemClock;
use baton::{Admission, Caller, Options};
use baton_core::state::{self, Set};
use baton_core::wire::Watch as Wanted;
use baton_core::{AgentId, Command, Json, Key, NamespaceName, WorkspaceName};
use baton_log::MemoryLog;
use baton_tls::Stream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::*;
use crate::access::Authority;
use crate::deadline_stream::DeadlineStream;
use crate::in_flight::InFlight;
use crate::settings::Settings;
use crate::shared::WatchSlot;

/// Far longer than anything here takes.
const LONG: Duration = Duration::from_secs(30);

struct Fixture {
    shared: Arc<Shared>,
    pool: WriterPool,
    workspace: WorkspaceName,
}

impl Fixture {
    async fn open() -> Self {
        let baton = Baton::on(MemoryLog::default(), SystemClock::default(), Options::default());
        let shared = Shared::new(baton.expect("memory does not fail"), Settings::default());
        let pool = shared.writers.spawn(2);
        let workspace = WorkspaceName::parse("w").expect("it is a good name");
        shared.baton.load(&workspace).await.expect("there is nothing to load");
        Self { shared, pool, workspace }
    }

    /// A queue, and the peer that it is sent to.
    async fn queue(&self) -> (Arc<SendQueue>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
        let address = listener.local_addr().expect("it listens");
        let (ours, theirs) = tokio::join!(TcpStream::connect(address), listener.accept());
        let queue = SendQueue::new(&self.shared, &Arc::new(ours.expect("it listens")), 1);
        (queue, theirs.expect("a client connected").0)
    }

    /// Makes writers active, as after a tick with many connections.
    fn make_busy(&self) {
        self.shared.writers.was_busy.store(true, Ordering::Relaxed);
    }

    fn agent() -> AgentId {
        AgentId::parse("ada").expect("it is a good name")
    }

    /// Submits a set.
    fn set(&self, in_flight: &mut InFlight<u64>, id: u64) {
        self.set_value(in_flight, id, "1");
    }

    fn set_value(&self, in_flight: &mut InFlight<u64>, id: u64, value: &str) {
        let (namespace, key) = (NamespaceName::parse("shared"), Key::parse("k"));
        let (namespace, key) = (namespace.expect("so it is called"), key.expect("it is a key"));
        let set = Set::new(namespace, key, Json::parse(value).expect("it is JSON"));
        let request = Command::from(state::Command::Set(set)).into();
        let baton = &self.shared.baton;
        let handed = in_flight.submit(baton, &self.workspace, &Self::agent(), request, id);
        assert!(matches!(handed, Ok(Admission::Answer(()))));
    }
}

/// Queues it, whichever thread sends it.
async fn say(queue: &Arc<SendQueue>, bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    while !matches!(queue.enqueue(&mut bytes, &mut InFlight::default()), Enqueued::Accepted) {
        yield_now().await;
    }
}

async fn hear(peer: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut heard = vec![0; count];
    let read = timeout(LONG, peer.read_exact(&mut heard)).await;
    read.expect("it is sent before long").expect("the connection is well");
    heard
}

#[tokio::test]
async fn few_connections_with_output_send_it_themselves() {
    let fixture = Fixture::open().await;
    let (queue, _peer) = fixture.queue().await;
    let (mut bytes, mut in_flight) = (b"hello".to_vec(), InFlight::default());
    assert!(matches!(queue.enqueue(&mut bytes, &mut in_flight), Enqueued::Declined));
    assert_eq!(bytes, b"hello", "the owner still has it");
    fixture.make_busy();
    assert!(matches!(queue.enqueue(&mut bytes, &mut in_flight), Enqueued::Accepted));
    assert!(bytes.is_empty());
}

#[tokio::test]
async fn output_of_a_connection_keeps_its_order() {
    let fixture = Fixture::open().await;
    let (queue, mut peer) = fixture.queue().await;
    fixture.make_busy();
    let mut expected = Vec::new();
    for number in 0..2_000_u32 {
        let text = format!("{number};");
        say(&queue, text.as_bytes()).await;
        expected.extend_from_slice(text.as_bytes());
        // The writers sleep as long as few queues are ready: the serving thread flushes them.
        fixture.shared.writers.drain_once();
    }
    assert_eq!(hear(&mut peer, expected.len()).await, expected);
}

#[tokio::test]
async fn bytes_that_the_peer_does_not_accept_return_to_the_connection() {
    let fixture = Fixture::open().await;
    let (queue, mut peer) = fixture.queue().await;
    fixture.make_busy();
    let chunk: Vec<u8> = (0..=u8::MAX).cycle().take(60_000).collect();
    let mut enqueued = 0;
    while !queue.needs_owner() {
        say(&queue, &chunk).await;
        enqueued += chunk.len();
        fixture.shared.writers.drain_once();
    }
    let mut bytes = b"more".to_vec();
    assert!(
        matches!(queue.enqueue(&mut bytes, &mut InFlight::default()), Enqueued::Declined),
        "it is the owner's"
    );
    let (rest, in_flight) =
        timeout(LONG, queue.take_unsent()).await.expect("it is at home").expect("so");
    assert!(in_flight.is_empty() && !rest.is_empty());
    let heard = hear(&mut peer, enqueued - rest.len()).await;
    let all: Vec<u8> = chunk.iter().copied().cycle().take(enqueued).collect();
    assert!([heard, rest].concat() == all, "not a byte is lost or twice there");
    queue.release();
    say(&queue, b"more").await;
    fixture.shared.writers.drain_once();
    assert_eq!(hear(&mut peer, 4).await, b"more");
}

#[tokio::test]
async fn an_answer_waits_until_it_is_durable() {
    let fixture = Fixture::open().await;
    let (queue, mut peer) = fixture.queue().await;
    let mut in_flight = InFlight::default();
    fixture.set(&mut in_flight, 7);
    assert!(
        matches!(queue.enqueue(&mut Vec::new(), &mut in_flight), Enqueued::Accepted),
        "however few there are"
    );
    assert_eq!((in_flight.len(), queue.unanswered()), (0, 1));
    fixture.shared.writers.drain_once();
    let mut nothing = [0; 1];
    let kind = peer.try_read(&mut nothing).map_err(|error| error.kind());
    assert_eq!(kind, Err(std::io::ErrorKind::WouldBlock), "the group is not written");
    let settling = fixture.shared.writers.watch_durability(&fixture.shared);
    tokio::select! {
        () = settling => unreachable!("it never ends"),
        heard = hear(&mut peer, 24) => {
            let text = String::from_utf8_lossy(&heard).into_owned();
            assert!(text.contains(r#"{"id":7,"revision":"#), "{text}");
        }
    }
    assert_eq!(queue.unanswered(), 0);
}

#[tokio::test]
async fn later_requests_are_answered_later() {
    let fixture = Fixture::open().await;
    let (queue, mut peer) = fixture.queue().await;
    let mut in_flight = InFlight::default();
    fixture.set(&mut in_flight, 1);
    assert!(matches!(queue.enqueue(&mut Vec::new(), &mut in_flight), Enqueued::Accepted));
    fixture.shared.baton.wait_all_durable().await.expect("memory does not fail");
    // Before the first is sent: the queue has one durable request and one that is not.
    fixture.set(&mut in_flight, 2);
    assert!(matches!(queue.enqueue(&mut Vec::new(), &mut in_flight), Enqueued::Accepted));
    fixture.shared.writers.make_ready(&fixture.shared.baton, |_| {});
    fixture.shared.writers.drain_once();
    assert_eq!(queue.unanswered(), 1);
    let settling = fixture.shared.writers.watch_durability(&fixture.shared);
    tokio::select! {
        () = settling => unreachable!("it never ends"),
        () = async { while queue.unanswered() > 0 { yield_now().await; } } => {}
    }
    let mut heard = vec![0; 1_024];
    let count = peer.read(&mut heard).await.expect("the connection is well");
    let text = String::from_utf8_lossy(&heard[..count]).into_owned();
    let (first, second) = (text.find(r#"{"id":1,"#), text.find(r#"{"id":2,"#));
    assert!(first.is_some() && first < second, "{text}");
}

/// Its owner encodes it on another thread, and sends it in parts.
#[tokio::test]
async fn a_large_answer_returns_to_the_connection() {
    let fixture = Fixture::open().await;
    let (queue, mut peer) = fixture.queue().await;
    let mut in_flight = InFlight::default();
    fixture.set(&mut in_flight, 1);
    let large = format!("\"{}\"", "x".repeat(1_000_000));
    fixture.set_value(&mut in_flight, 2, &large);
    fixture.set(&mut in_flight, 3);
    assert!(matches!(queue.enqueue(&mut Vec::new(), &mut in_flight), Enqueued::Accepted));
    fixture.shared.baton.wait_all_durable().await.expect("memory does not fail");
    fixture.shared.writers.make_ready(&fixture.shared.baton, |_| {});
    fixture.shared.writers.drain_once();
    let text = String::from_utf8_lossy(&hear(&mut peer, 40).await).into_owned();
    assert!(text.contains(r#"{"id":1,"#), "what is before it is sent: {text}");
    assert!(queue.needs_owner());
    let (bytes, mut left) = queue.take_unsent().await.expect("the peer is there");
    assert!(bytes.is_empty(), "it is not encoded");
    let baton = &fixture.shared.baton;
    assert!(left.has_large(baton));
    let (id, outcome) = left.known(baton).expect("it is durable");
    assert_eq!((id, outcome.is_ok()), (2, true));
    assert!(!left.has_large(baton));
    assert_eq!(left.known(baton).map(|(id, _)| id), Some(3));
}

#[tokio::test]
async fn a_watch_delivers_nothing_before_its_start_was_confirmed() {
    let fixture = Fixture::open().await;
    let (queue, mut peer) = fixture.queue().await;
    let caller = Caller {
        workspace: fixture.workspace.clone(),
        agent: Fixture::agent(),
        idempotency_key: None,
        sees_tokens: false,
    };
    let wanted: Wanted = serde_json::from_str(r#"{"pattern":"state/**"}"#).expect("it is one");
    let watch = fixture.shared.baton.watch(&caller, wanted).await.expect("it may be watched");
    let slot = WatchSlot::enter(&fixture.shared, &Authority::default(), &fixture.workspace);
    fixture.set(&mut InFlight::default(), 1);
    fixture.shared.baton.wait_all_durable().await.expect("memory does not fail");
    let Ok(slot) = slot else { panic!("there is room") };
    queue.watch(&mut b"begun;".to_vec(), (9, watch, slot));
    fixture.shared.writers.drain_once();
    let heard = hear(&mut peer, 40).await;
    let text = String::from_utf8_lossy(&heard).into_owned();
    assert!(text.starts_with("begun;"), "{text}");
    assert!(text.contains(r#"{"watch":9,"event":"#), "{text}");
}

#[tokio::test]
async fn a_connection_to_a_slow_peer_loses_nothing() {
    let fixture = Fixture::open().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
    let address = listener.local_addr().expect("it listens");
    let (ours, theirs) = tokio::join!(TcpStream::connect(address), listener.accept());
    let (ours, mut peer) = (ours.expect("it listens"), theirs.expect("a client connected").0);
    let mut stream = DeadlineStream::new(Stream::from(ours), LONG).with_writers(&fixture.shared, 1);
    let said: Vec<u8> = (0..=250_u8).cycle().take(8 << 20).collect();
    let saying = async {
        for (number, part) in said.chunks(20_011).enumerate() {
            // Some of it is sent through the queue, some is not, and some exceeds the socket
            // buffers.
            fixture.shared.writers.was_busy.store(number % 5 != 0, Ordering::Relaxed);
            stream.write_all(part).await.expect("the peer is there");
            stream.flush().await.expect("the peer is there");
            fixture.shared.writers.drain_once();
        }
        stream.shutdown().await.expect("the peer is there");
    };
    let hearing = async {
        let mut heard = Vec::new();
        let mut part = vec![0; 30_000];
        loop {
            let count = peer.read(&mut part).await.expect("the connection is well");
            heard.extend_from_slice(&part[..count]);
            if count == 0 {
                return heard;
            }
        }
    };
    let ((), heard) = timeout(LONG, async { tokio::join!(saying, hearing) }).await.expect("so");
    assert!(heard == said, "{} of {} bytes", heard.len(), said.len());
}

#[tokio::test]
async fn a_peer_that_is_gone_is_reported() {
    let fixture = Fixture::open().await;
    let (queue, peer) = fixture.queue().await;
    fixture.make_busy();
    drop(peer);
    let gone = async {
        while !matches!(
            queue.enqueue(&mut b"hello".to_vec(), &mut InFlight::default()),
            Enqueued::Gone
        ) {
            fixture.shared.writers.drain_once();
            yield_now().await;
        }
    };
    timeout(LONG, gone).await.expect("the second send is refused at the latest");
    assert!(queue.take_unsent().await.is_none());
}

#[tokio::test]
async fn writers_stop_and_leave_nothing_behind() {
    let fixture = Fixture::open().await;
    let (queue, _peer) = fixture.queue().await;
    let mut in_flight = InFlight::default();
    fixture.set(&mut in_flight, 1);
    assert!(matches!(queue.enqueue(&mut Vec::new(), &mut in_flight), Enqueued::Accepted));
    assert_eq!(Arc::strong_count(&queue), 2, "it is with those who wait");
    drop(fixture.pool);
    assert_eq!(Arc::strong_count(&queue), 1);
}
