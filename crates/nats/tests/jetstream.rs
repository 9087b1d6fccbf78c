//! The log on a real `JetStream`, which `scripts/nats` starts; without one these tests check
//! nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use baton_cluster::{CutProxy, OwnedLog, Roster, Shards, Upstream, View};
use baton_log::shared_conformance::{Cut, MemoryStore, Shared};
use baton_log::{AppendError, BlobError, Log, MemoryLog, OpenError, Position, TruncateError};
use baton_nats::{Member, NatsLocation, Secrets};
use serde_json::{Value, json};

/// The text by which an append is recognised.
const APPEND: &[u8] = b".shard.0.log ";

/// The address with a prefix of its own; none if no server was started.
fn address() -> Option<(String, String)> {
    static PREFIXES: AtomicU32 = AtomicU32::new(0);
    let address = std::env::var("BATON_NATS").ok()?;
    let number = PREFIXES.fetch_add(1, Ordering::SeqCst);
    let prefix = format!("t{}_{number}", std::process::id());
    Some((format!("{address}&prefix={prefix}"), prefix))
}

fn parse(address: &str) -> NatsLocation {
    NatsLocation::parse(address, &Secrets::default(), None).expect("a good address")
}

/// A log that no other test uses.
struct Place {
    location: Box<NatsLocation>,
    prefix: String,
}

fn place() -> Option<Place> {
    let (address, prefix) = address()?;
    Some(Place { location: Box::new(parse(&address)), prefix })
}

impl Place {
    fn open(&self, name: &str) -> Result<Arc<dyn OwnedLog>, OpenError> {
        baton_nats::open(&self.location, name)
    }

    fn join(&self, name: &str) -> Arc<Member> {
        let joined = Member::join(*self.location.clone(), name, Shards::Exactly(3));
        joined.expect("it has three shards")
    }

    /// Replaces a stream by an empty one.
    fn empty(&self, stream: &str) {
        let name = format!("{}-{stream}", self.prefix);
        let info = ask(&format!("STREAM.INFO.{name}"), &json!({}));
        ask(&format!("STREAM.DELETE.{name}"), &json!({}));
        let created = ask(&format!("STREAM.CREATE.{name}"), &info["config"]);
        assert!(created["error"].is_null(), "{created}");
    }

    /// Publishes as an operator would.
    fn publish(&self, subject: &str, body: &Value) -> Value {
        request(&format!("{}.{subject}", self.prefix), body)
    }

    /// Declares servers gone, those of this name or all.
    fn declare_gone(&self, name: Option<&str>) {
        let stream = format!("{}-roster", self.prefix);
        let filter = json!({"subjects_filter": format!("{}.roster.server.*", self.prefix)});
        let info = ask(&format!("STREAM.INFO.{stream}"), &filter);
        for subject in info["state"]["subjects"].as_object().into_iter().flatten() {
            let asked = json!({"last_by_subj": subject.0});
            let found = ask(&format!("STREAM.MSG.GET.{stream}"), &asked);
            let mut fact = decoded(&found["message"]["data"]);
            if name.is_none_or(|name| fact["address"] == name) {
                fact["gone"] = true.into();
                request(subject.0, &fact);
            }
        }
    }
}

fn decoded(data: &Value) -> Value {
    use base64::Engine;
    let bytes = base64::engine::general_purpose::STANDARD.decode(data.as_str().unwrap_or_default());
    serde_json::from_slice(&bytes.expect("it is base64")).expect("it is a fact")
}

/// Asks `JetStream` as an operator would.
fn ask(what: &str, body: &Value) -> Value {
    request(&format!("$JS.API.{what}"), body)
}

fn request(subject: &str, body: &Value) -> Value {
    let address = std::env::var("BATON_NATS").expect("a location was made of it");
    let servers = address.split(['/', '?']).nth(2).expect("it names servers");
    let servers: Vec<async_nats::ServerAddr> =
        servers.split(',').map(|server| server.parse().expect("an address")).collect();
    let runtime = tokio::runtime::Runtime::new().expect("a thread can be started");
    runtime.block_on(async {
        let client = async_nats::connect(servers).await.expect("it is there");
        let answer = client.request(subject.to_owned(), body.to_string().into()).await;
        serde_json::from_slice(&answer.expect("it answers").payload).expect("it is JSON")
    })
}

fn bodies(log: &dyn Log, from: Position) -> Vec<Vec<u8>> {
    let records = log.read(from, usize::MAX).expect("it is readable");
    records.into_iter().map(|record| record.body).collect()
}

baton_log::conformance!(nats, {
    let (place, memory) = (place(), MemoryLog::default());
    move || match &place {
        Some(place) => Box::new(place.open("tests").expect("it is free")) as Box<dyn Log>,
        None => Box::new(memory.clone()),
    }
});

/// NATS as the laws of shared logs use it; the log in memory if no server was started.
enum Store {
    Memory(MemoryStore),
    Nats { place: Place, through: Box<NatsLocation>, proxy: CutProxy, is_open: bool },
}

impl Store {
    fn new() -> Self {
        let Some((address, prefix)) = address() else {
            return Self::Memory(MemoryStore::default());
        };
        let (servers, query) = address["nats://".len()..].split_once('?').expect("parameters");
        let first = servers.split(',').next().expect("a server");
        let upstream = Upstream::Address(first.to_owned());
        let proxy = CutProxy::start(upstream, APPEND);
        let through = Box::new(parse(&format!("nats://{}?{query}", proxy.address())));
        let place = Place { location: Box::new(parse(&address)), prefix };
        Self::Nats { place, through, proxy, is_open: false }
    }
}

impl Shared for Store {
    fn open(&mut self) -> Box<dyn Log> {
        self.declare_gone();
        match self {
            Self::Memory(memory) => memory.open(),
            Self::Nats { through, is_open, .. } => {
                *is_open = true;
                Box::new(baton_nats::open(through, "tests").expect("the other is gone"))
            }
        }
    }

    fn declare_gone(&mut self) {
        match self {
            Self::Memory(memory) => memory.declare_gone(),
            Self::Nats { place, is_open: true, .. } => place.declare_gone(None),
            // The first opening creates the streams.
            Self::Nats { is_open: false, .. } => {}
        }
    }

    fn lose_last(&mut self) {
        match self {
            Self::Memory(memory) => memory.lose_last(),
            Self::Nats { place, .. } => place.empty("shard-0"),
        }
    }

    fn cut_next_append(&mut self, cut: Cut) {
        match self {
            Self::Memory(memory) => memory.cut_next_append(cut),
            Self::Nats { proxy, .. } => proxy.cut(cut),
        }
    }

    fn has_cut(&self) -> bool {
        match self {
            Self::Memory(memory) => memory.has_cut(),
            Self::Nats { proxy, .. } => proxy.has_cut(),
        }
    }
}

baton_log::shared_conformance!(shared, Store::new());

baton_cluster::roster_conformance!(roster, place().map(|place| *place.location));

#[test]
fn a_second_server_is_refused_by_the_name_of_the_first() {
    let Some(place) = place() else { return };
    let first = place.open("http://a:4747").expect("it is free");
    let refused = place.open("http://b:4747").err().expect("it is in use");
    assert_eq!(refused.code(), "log.in_use");
    assert!(refused.to_string().contains("http://a:4747"), "{refused}");
    drop(first);
    place.open("http://b:4747").expect("it was given back");
}

/// The view of a server at its next look, when the condition holds.
fn seen(member: &Member, is_it: impl Fn(&View) -> bool) -> Arc<View> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it can be built");
    let mut views = member.view();
    runtime.block_on(views.wait_for(|view| is_it(view))).expect("it beats").clone()
}

fn take(member: &Arc<Member>, shard: u32) -> Option<Arc<dyn OwnedLog>> {
    let epoch = seen(member, |_| true).shards[shard as usize].epoch;
    Arc::clone(member).take(shard, epoch).expect("NATS answers")
}

#[test]
fn servers_share_the_shards_of_a_log() {
    let Some(place) = place() else { return };
    let (a, b) = (place.join("http://a:4747"), place.join("http://b:4747"));
    let of_a = take(&a, 0).expect("it is free");
    let of_b = take(&b, 1).expect("it is free");
    let tail = of_a.append(of_a.tail(), b"of a").expect("it is the owner");
    of_b.append(of_b.tail(), b"of b").expect("it is the owner");
    let mut blob = of_a.create_blob("w/same.x").expect("the name is free");
    blob.write(b"of a").expect("there is space");
    blob.commit().expect("it is the owner");
    assert_eq!(of_b.list_blobs(""), Ok(vec![]), "shards have their own names");
    let view = seen(&b, |view| view.owner(0).is_some());
    assert_eq!(view.owner(0).map(|owner| owner.address.as_str()), Some("http://a:4747"));
    let other = Arc::clone(&b).take(0, view.shards[0].epoch).expect("it answers");
    assert!(other.is_none(), "it has an owner");
    drop(of_a);
    let view = seen(&b, |view| view.owner(0).is_none());
    let taken = Arc::clone(&b).take(0, view.shards[0].epoch).expect("it answers");
    let taken = taken.expect("it was given back");
    assert_eq!((taken.tail(), bodies(&*taken, Position(0))), (tail, vec![b"of a".to_vec()]));
    assert_eq!(taken.list_blobs(""), Ok(vec!["w/same.x".to_owned()]));
    a.announce_leaving();
    assert!(seen(&b, |view| view.servers.iter().any(|it| it.is_leaving)).servers.len() == 2);
    a.leave();
    let view = seen(&b, |view| view.servers.len() == 1);
    assert!(view.owner(0).is_some_and(|owner| owner.id == b.id()), "it beats on");
}

#[test]
fn the_shards_of_a_server_that_is_gone_can_be_taken_and_it_can_change_nothing() {
    let Some(place) = place() else { return };
    let (zombie, other) = (place.join("zombie"), place.join("other"));
    let old = take(&zombie, 2).expect("it is free");
    let tail = old.append(old.tail(), b"one").expect("it is the owner");
    place.declare_gone(Some("zombie"));
    let view = seen(&other, |view| view.servers.len() == 1);
    let new = Arc::clone(&other).take(2, view.shards[2].epoch).expect("it answers");
    let new = new.expect("it is free");
    let refused = old.append(tail, b"two").expect_err("it is fenced");
    assert_eq!(refused, AppendError::Fenced { expected: tail, tail });
    assert_eq!(old.truncate(tail), Err(TruncateError::Fenced));
    assert!(seen(&zombie, |view| view.is_gone).is_gone && zombie.is_gone());
    assert!(!old.is_current(), "it answers no reads");
    let again = Arc::clone(&zombie).take(0, 0).expect("NATS answers");
    assert!(again.is_none(), "it takes nothing any more");
    new.append(tail, b"two").expect("it is the owner");
}

#[test]
fn a_log_keeps_its_number_of_shards() {
    let Some(place) = place() else { return };
    let member = place.join("three");
    assert_eq!(member.shards(), 3);
    let four = Member::join(*place.location.clone(), "four", Shards::Exactly(4)).err();
    let said = four.expect("it has three").to_string();
    assert!(said.contains("created with 3 shards") && said.contains("?prefix="), "{said}");
    let several = Member::join(*place.location.clone(), "any", Shards::Several);
    let several = several.expect("any will do");
    assert_eq!((several.shards(), several.secret()), (3, member.secret()));
    let alone = place.open("alone").err().expect("it cannot have all");
    assert_eq!(alone.code(), "log.unfit");
}

#[test]
fn a_log_remembers_the_key_of_its_secrets() {
    let Some(place) = place() else { return };
    let member = place.join("first");
    assert_eq!(member.secrets_key(None), Ok(None));
    let kept = Some("first".to_owned());
    assert_eq!(member.secrets_key(Some("first")), Ok(kept.clone()));
    let other = place.join("second");
    assert_eq!(other.secrets_key(Some("second")), Ok(kept.clone()));
    assert_eq!(other.secrets_key(None), Ok(kept));
}

#[test]
fn a_full_stream_loses_nothing_and_recovers() {
    let Some(place) = place() else { return };
    let log = place.open("full").expect("it is free");
    let tail = log.append(log.tail(), b"before").expect("it is healthy");
    let limit = |stream: &str, bytes: i64| {
        let name = format!("{}-{stream}", place.prefix);
        let mut info = ask(&format!("STREAM.INFO.{name}"), &json!({}));
        info["config"]["max_bytes"] = bytes.into();
        let changed = ask(&format!("STREAM.UPDATE.{name}"), &info["config"]);
        assert!(changed["error"].is_null(), "{changed}");
    };
    limit("shard-0", 700_000);
    limit("blobs", 100_000);
    assert_eq!(log.append(tail, &vec![1; 800_000]), Err(AppendError::Full), "the first part fits");
    let mut blob = log.create_blob("w/a").expect("the name is free");
    assert_eq!(blob.write(&vec![0; 1 << 20]), Err(BlobError::Full));
    drop(blob);
    limit("shard-0", -1);
    limit("blobs", -1);
    log.append(tail, b"after").expect("there is space again");
    assert_eq!(log.list_blobs(""), Ok(vec![]));
    assert_eq!(bodies(&*log, Position(0)), [b"before".to_vec(), b"after".to_vec()]);
    drop(log);
    let log = place.open("again").expect("it was given back");
    assert_eq!(bodies(&*log, Position(0)), [b"before".to_vec(), b"after".to_vec()]);
}

#[test]
fn truncated_records_and_old_marks_leave_the_stream() {
    let Some(place) = place() else { return };
    let mut log = place.open("first").expect("it is free");
    for _ in 0..3 {
        let tail = log.append(log.tail(), &vec![7; 1 << 20]).expect("it is healthy");
        log.append(tail, b"small").expect("it is healthy");
        log.truncate(tail).expect("it is the owner");
        drop(log);
        log = place.open("next").expect("it was given back");
        assert_eq!(bodies(&*log, tail), [b"small".to_vec()]);
    }
    log.truncate(log.tail()).expect("it is the owner");
    let name = format!("{}-shard-0", place.prefix);
    // It is purged in the background.
    while ask(&format!("STREAM.INFO.{name}"), &json!({}))["state"]["messages"] != 1 {}
}

#[test]
fn streams_of_another_program_or_a_newer_one_are_refused_and_left_alone() {
    let Some(place) = place() else { return };
    let other = json!({"name": format!("{}-roster", place.prefix), "subjects": ["elsewhere"]});
    ask(&format!("STREAM.CREATE.{}-roster", place.prefix), &other);
    let refused = place.open("baton").err().expect("it is not ours");
    assert_eq!(refused.code(), "log.unfit");
    assert!(refused.to_string().contains("is of another program"), "{refused}");

    let Some(place) = self::place() else { return };
    let taken = json!({"name": format!("{}-x", place.prefix),
        "subjects": [format!("{}.roster.server.*", place.prefix)]});
    ask(&format!("STREAM.CREATE.{}-x", place.prefix), &taken);
    let refused = place.open("baton").err().expect("the subjects are not free");
    assert!(refused.to_string().contains("another stream has subjects"), "{refused}");

    let Some(place) = self::place() else { return };
    drop(place.open("first").expect("it is free"));
    let name = format!("{}-roster", place.prefix);
    let mut info = ask(&format!("STREAM.INFO.{name}"), &json!({}));
    info["config"]["metadata"]["baton-format"] = "2".into();
    ask(&format!("STREAM.UPDATE.{name}"), &info["config"]);
    let newer = place.open("old").err();
    assert_eq!(newer, Some(OpenError::Newer { found: 2, supported: 1 }));
}

#[test]
fn a_log_that_lost_a_stream_or_a_record_is_refused() {
    let Some(place) = place() else { return };
    let log = place.open("first").expect("it is free");
    let tail = log.append(log.tail(), b"one").expect("it is healthy");
    log.append(tail, b"two").expect("it is healthy");
    drop(log);
    let name = format!("{}-shard-0", place.prefix);
    let deleted = ask(&format!("STREAM.MSG.DELETE.{name}"), &json!({"seq": 2}));
    assert_eq!(deleted["success"], true, "{deleted}");
    let refused = place.open("next").err().expect("a record is missing");
    assert!(refused.to_string().contains("no record begins here"), "{refused}");
    ask(&format!("STREAM.DELETE.{name}"), &json!({}));
    let refused = place.open("next").err().expect("the stream is missing");
    assert!(refused.to_string().contains("is missing"), "{refused}");
}

#[test]
fn a_log_cannot_be_opened_while_it_is_restored() {
    let Some(place) = place() else { return };
    let log = place.open("restore").expect("it is free");
    assert_eq!(log.begin_restore(), Ok(true));
    drop(log);
    let refused = place.open("server").err().expect("it is not complete");
    assert_eq!(refused.code(), "log.unfit");
    let meta = json!({"shards": 1, "secret": "s"});
    place.publish("roster.meta", &meta);
    let log = place.open("server").expect("it is complete");
    log.append(log.tail(), b"data").expect("it is healthy");
    assert_eq!(log.begin_restore(), Ok(false), "it has data");
}

#[test]
fn servers_that_are_not_there_are_named_without_their_password() {
    let location = parse("nats://ada:secret@127.0.0.1:1");
    let refused = baton_nats::open(&location, "nobody").err().expect("nothing is there");
    assert_eq!(refused.code(), "log.away");
    let said = refused.to_string();
    assert!(said.contains("nats://127.0.0.1:1") && !said.contains("secret"), "{said}");
}

#[test]
fn whether_messages_are_synced_must_be_known() {
    let Some((address, _)) = address() else { return };
    let blind = address.replace("?monitor=", "?monitor=127.0.0.1:1&unused=");
    let blind = blind.split("&unused=").next().expect("the first part").to_owned();
    let refused = baton_nats::open(&parse(&blind), "blind").err().expect("it cannot be seen");
    assert_eq!(refused.code(), "log.unfit");
    let said = refused.to_string();
    assert!(said.contains("sync_interval: always") && said.contains("durability"), "{said}");
}
