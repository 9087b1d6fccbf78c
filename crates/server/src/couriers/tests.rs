//! Bags on real sockets: what is said keeps its order, waits for the disk, and comes home if the
//! peer takes nothing.

use std::time::Duration;

use baton::Options;
use baton::clock::SystemClock;
use baton_core::state::{self, Set};
use baton_core::wire::Watch as Wanted;
use baton_core::{AgentId, Command, Json, Key, NamespaceName, WorkspaceName};
use baton_handle::{Caller, Carrier};
use baton_log::MemoryLog;
use baton_tls::Stream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::*;
use crate::access::Authority;
use crate::line::Line;
use crate::settings::Settings;
use crate::shared::Watching;
use crate::turn::{Handed, Turn};

/// Far longer than anything here takes.
const LONG: Duration = Duration::from_secs(30);

struct Office {
    shared: Arc<Shared>,
    crew: Crew,
    workspace: WorkspaceName,
}

impl Office {
    async fn open() -> Self {
        let baton = Baton::on(MemoryLog::default(), SystemClock::default(), Options::default());
        let shared = Shared::new(baton.expect("memory does not fail"), Settings::default());
        let crew = shared.couriers.hire(2);
        let workspace = WorkspaceName::parse("w").expect("it is a good name");
        shared.baton.load(&workspace).await.expect("there is nothing to load");
        Self { shared, crew, workspace }
    }

    /// A bag, and the peer that it is sent to.
    async fn bag(&self) -> (Arc<Bag>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
        let address = listener.local_addr().expect("it listens");
        let (ours, theirs) = tokio::join!(TcpStream::connect(address), listener.accept());
        let bag = Bag::new(&self.shared, &Arc::new(ours.expect("it listens")), 1);
        (bag, theirs.expect("somebody came").0)
    }

    /// As if there had been many before.
    fn make_busy(&self) {
        self.shared.couriers.was_many.store(true, Ordering::Relaxed);
    }

    fn agent() -> AgentId {
        AgentId::parse("ada").expect("it is a good name")
    }

    /// Hands in a set.
    fn set(&self, turn: &mut Turn<u64>, id: u64) {
        let (namespace, key) = (NamespaceName::parse("shared"), Key::parse("k"));
        let (namespace, key) = (namespace.expect("so it is called"), key.expect("it is a key"));
        let set = Set::new(namespace, key, Json::parse("1").expect("it is JSON"));
        let request = Command::from(state::Command::Set(set)).into();
        let baton = &self.shared.baton;
        let handed = turn.hand_in(baton, &self.workspace, &Self::agent(), request, id);
        assert!(matches!(handed, Ok(Handed::In)));
    }
}

/// Packs it, whoever is to say it.
async fn say(bag: &Arc<Bag>, bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    while !matches!(bag.pack(&mut bytes, &mut Turn::default()), Packed::Yes) {
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
async fn where_few_have_something_to_say_everybody_says_it() {
    let office = Office::open().await;
    let (bag, _peer) = office.bag().await;
    let (mut bytes, mut turn) = (b"hello".to_vec(), Turn::default());
    assert!(matches!(bag.pack(&mut bytes, &mut turn), Packed::No));
    assert_eq!(bytes, b"hello", "the owner still has it");
    office.make_busy();
    assert!(matches!(bag.pack(&mut bytes, &mut turn), Packed::Yes));
    assert!(bytes.is_empty());
}

#[tokio::test]
async fn what_is_said_keeps_its_order() {
    let office = Office::open().await;
    let (bag, mut peer) = office.bag().await;
    office.make_busy();
    let mut expected = Vec::new();
    for number in 0..2_000_u32 {
        let text = format!("{number};");
        say(&bag, text.as_bytes()).await;
        expected.extend_from_slice(text.as_bytes());
        // The couriers are asleep as long as the line is short: whoever serves helps.
        office.shared.couriers.help();
    }
    assert_eq!(hear(&mut peer, expected.len()).await, expected);
}

#[tokio::test]
async fn what_the_peer_does_not_take_comes_home_whole() {
    let office = Office::open().await;
    let (bag, mut peer) = office.bag().await;
    office.make_busy();
    let chunk: Vec<u8> = (0..=u8::MAX).cycle().take(60_000).collect();
    let mut packed = 0;
    while !bag.is_returned() {
        say(&bag, &chunk).await;
        packed += chunk.len();
        office.shared.couriers.help();
    }
    let mut bytes = b"more".to_vec();
    assert!(matches!(bag.pack(&mut bytes, &mut Turn::default()), Packed::No), "it is the owner's");
    let (rest, turn) = timeout(LONG, bag.unpacked()).await.expect("it is at home").expect("so");
    assert!(turn.is_empty() && !rest.is_empty());
    let heard = hear(&mut peer, packed - rest.len()).await;
    let all: Vec<u8> = chunk.iter().copied().cycle().take(packed).collect();
    assert!([heard, rest].concat() == all, "not a byte is lost or twice there");
    bag.give_back();
    say(&bag, b"more").await;
    office.shared.couriers.help();
    assert_eq!(hear(&mut peer, 4).await, b"more");
}

#[tokio::test]
async fn an_answer_waits_until_it_is_durable() {
    let office = Office::open().await;
    let (bag, mut peer) = office.bag().await;
    let mut turn = Turn::default();
    office.set(&mut turn, 7);
    assert!(matches!(bag.pack(&mut Vec::new(), &mut turn), Packed::Yes), "however few there are");
    assert_eq!((turn.len(), bag.unanswered()), (0, 1));
    office.shared.couriers.help();
    let mut nothing = [0; 1];
    let kind = peer.try_read(&mut nothing).map_err(|error| error.kind());
    assert_eq!(kind, Err(std::io::ErrorKind::WouldBlock), "nobody has written the group");
    let settling = office.shared.couriers.settle(&office.shared);
    tokio::select! {
        () = settling => unreachable!("it never ends"),
        heard = hear(&mut peer, 24) => {
            let text = String::from_utf8_lossy(&heard).into_owned();
            assert!(text.contains(r#"{"id":7,"revision":"#), "{text}");
        }
    }
    assert_eq!(bag.unanswered(), 0);
}

#[tokio::test]
async fn what_was_handed_in_later_is_answered_later() {
    let office = Office::open().await;
    let (bag, mut peer) = office.bag().await;
    let mut turn = Turn::default();
    office.set(&mut turn, 1);
    assert!(matches!(bag.pack(&mut Vec::new(), &mut turn), Packed::Yes));
    office.shared.baton.wait_all_durable().await.expect("memory does not fail");
    // Before the first is said: the bag has one that is durable and one that is not.
    office.set(&mut turn, 2);
    assert!(matches!(bag.pack(&mut Vec::new(), &mut turn), Packed::Yes));
    office.shared.couriers.release(&office.shared.baton, |_| {});
    office.shared.couriers.help();
    assert_eq!(bag.unanswered(), 1);
    let settling = office.shared.couriers.settle(&office.shared);
    tokio::select! {
        () = settling => unreachable!("it never ends"),
        () = async { while bag.unanswered() > 0 { yield_now().await; } } => {}
    }
    let mut heard = vec![0; 1_024];
    let count = peer.read(&mut heard).await.expect("the connection is well");
    let text = String::from_utf8_lossy(&heard[..count]).into_owned();
    let (first, second) = (text.find(r#"{"id":1,"#), text.find(r#"{"id":2,"#));
    assert!(first.is_some() && first < second, "{text}");
}

#[tokio::test]
async fn a_watch_brings_nothing_before_it_was_told_of() {
    let office = Office::open().await;
    let (bag, mut peer) = office.bag().await;
    let caller = Caller {
        workspace: office.workspace.clone(),
        agent: Office::agent(),
        idempotency_key: None,
    };
    let wanted: Wanted = serde_json::from_str(r#"{"pattern":"state/**"}"#).expect("it is one");
    let watch = office.shared.baton.watch(&caller, wanted).await.expect("it may be watched");
    let place = Watching::enter(&office.shared, &Authority::default(), &office.workspace);
    office.set(&mut Turn::default(), 1);
    office.shared.baton.wait_all_durable().await.expect("memory does not fail");
    let Ok(place) = place else { panic!("there is room") };
    bag.watch(&mut b"begun;".to_vec(), (9, watch, place));
    office.shared.couriers.help();
    let heard = hear(&mut peer, 40).await;
    let text = String::from_utf8_lossy(&heard).into_owned();
    assert!(text.starts_with("begun;"), "{text}");
    assert!(text.contains(r#"{"watch":9,"event":"#), "{text}");
}

#[tokio::test]
async fn a_line_to_a_slow_peer_loses_nothing() {
    let office = Office::open().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
    let address = listener.local_addr().expect("it listens");
    let (ours, theirs) = tokio::join!(TcpStream::connect(address), listener.accept());
    let (ours, mut peer) = (ours.expect("it listens"), theirs.expect("somebody came").0);
    let mut line = Line::new(Stream::from(ours), LONG).with_couriers(&office.shared, 1);
    let said: Vec<u8> = (0..=250_u8).cycle().take(8 << 20).collect();
    let saying = async {
        for (number, part) in said.chunks(20_011).enumerate() {
            // Some of it goes by the bag, some does not, and some is more than the sockets hold.
            office.shared.couriers.was_many.store(number % 5 != 0, Ordering::Relaxed);
            line.write_all(part).await.expect("the peer is there");
            line.flush().await.expect("the peer is there");
            office.shared.couriers.help();
        }
        line.shutdown().await.expect("the peer is there");
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
async fn a_peer_that_is_gone_is_said_to_be() {
    let office = Office::open().await;
    let (bag, peer) = office.bag().await;
    office.make_busy();
    drop(peer);
    let gone = async {
        while !matches!(bag.pack(&mut b"hello".to_vec(), &mut Turn::default()), Packed::Gone) {
            office.shared.couriers.help();
            yield_now().await;
        }
    };
    timeout(LONG, gone).await.expect("the second send is refused at the latest");
    assert!(bag.unpacked().await.is_none());
}

#[tokio::test]
async fn couriers_go_home_and_leave_nothing_behind() {
    let office = Office::open().await;
    let (bag, _peer) = office.bag().await;
    let mut turn = Turn::default();
    office.set(&mut turn, 1);
    assert!(matches!(bag.pack(&mut Vec::new(), &mut turn), Packed::Yes));
    assert_eq!(Arc::strong_count(&bag), 2, "it is with those who wait");
    drop(office.crew);
    assert_eq!(Arc::strong_count(&bag), 1);
}
