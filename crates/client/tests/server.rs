//! The real server: a program gets the same results as from the embedded engine, even if the
//! connection keeps breaking.

use std::fmt::Debug;
use std::future::IntoFuture;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use baton::Baton;
use baton::clock::ManualClock;
use baton::log::MemoryLog;
use baton_client::core::state::merge::Patch;
use baton_client::core::state::{Command, History, List as Entries, Set, Snapshot};
use baton_client::core::task::{Backoff, List, Next, OnExhausted, Verdict};
use baton_client::core::{
    Json, Key, NamespaceName, Pattern, Precondition, Revision, Rules, TaskId, Timestamp, Token,
    Version, checkpoint, pipeline,
};
use baton_client::{Client, Error, Item, Options, Workspace};
use baton_server::{Server, Settings};
use serde_json::json;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::peer::patiently;

struct Running {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    job: JoinHandle<()>,
}

impl Running {
    async fn start(baton: Baton, listen: SocketAddr) -> Self {
        let settings = Settings { listen, ..Settings::default() };
        let server = Server::bind(baton, settings).await.unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let address = server.address();
        let job = tokio::spawn(server.run(async move { drop(stopped.await) }));
        Self { address, stop, job }
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        self.job.await.unwrap();
    }
}

fn anywhere() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn in_memory() -> Baton {
    let clock = ManualClock::at(Timestamp(1_000_000));
    Baton::on(MemoryLog::default(), clock, baton::Options::default()).unwrap()
}

async fn client(address: SocketAddr) -> Client {
    let options = Options {
        backoff_min: Duration::from_millis(1),
        backoff_max: Duration::from_millis(20),
        ..Options::default()
    };
    baton_client::connect_with(&format!("http://{address}"), options).await.unwrap()
}

/// The answers, line by line, so that two carriers can be compared.
#[derive(Default)]
struct Transcript(Vec<String>);

impl Transcript {
    fn add<T: Debug>(&mut self, answer: Result<T, Error>) {
        self.0.push(match answer {
            Ok(answer) => format!("{answer:?}"),
            Err(error) => {
                let (code, kind, hint) = (error.code(), error.kind(), error.hint());
                format!("{code} {kind:?} {hint} {} {error}", error.is_unknown())
            }
        });
    }
}

async fn state_story(ada: &Workspace, log: &mut Transcript) {
    let shared = ada.state("shared");
    log.add(shared.set("plan", json!({"step": 1})).await);
    log.add(shared.set("plan", json!({"step": 2})).expected_version(1).await);
    log.add(shared.set("plan", json!({"step": 3})).expected_version(1).await);
    log.add(shared.set("plan", 4).if_absent().await);
    log.add(shared.set("plan", 5).expected_value(json!({"step": 1})).await);
    log.add(shared.set("plan", json!("ünï \"q\" \u{1f}")).ttl_ms(60_000).await);
    log.add(shared.set("leader", 1).ephemeral().await);
    log.add(shared.get("plan").await);
    log.add(shared.get_at("plan", Revision(1)).await);
    log.add(shared.get_at("plan", Revision(99)).await);
    log.add(shared.get("nothing").await);
    log.add(shared.increment("count", 41).await);
    log.add(shared.append("count", 1).await);
    log.add(shared.patch("count", Patch::Max(Json::of(&7).unwrap())).expected_version(1).await);
    log.add(shared.append("list", json!({"deep": [1, 2.5, null]})).await);
    let merge = Json::of(&json!({"a": null, "b": 1})).unwrap();
    log.add(shared.patch("object", Patch::Merge(merge)).await);
    log.add(shared.update("count", |entry| entry.map_or(0, |it| it.version().0) + 1).await);
    log.add(shared.delete("list").await);
    log.add(shared.delete_version("count", Version(77)).await);
    log.add(ada.once("same").unwrap().state("shared").increment("once", 1).await);
    log.add(ada.once("same").unwrap().state("shared").increment("once", 1).await);
    log.add(ada.once("same").unwrap().state("shared").increment("once", 2).await);
    let first = Entries { limit: Some(2), ..Entries::all(NamespaceName::shared()) };
    let page = shared.list(first.clone()).await.unwrap();
    log.add(shared.list(Entries { cursor: page.cursor.clone(), ..first }).await);
    log.add(Ok(page));
    log.add(shared.matching("p*").await);
    log.add(shared.snapshot(Snapshot::default()).await);
    log.add(shared.history(History { limit: Some(3), ..History::default() }).await);
    log.add(shared.diff(Revision(1), Revision(5)).await);
    log.add(ada.state("no such").get("plan").await);
    log.add(ada.revision().await);
}

async fn other_stories(ada: &Workspace, log: &mut Transcript) {
    let namespaces = ada.namespaces();
    log.add(
        namespaces.create("notes").rules(Rules { append_only: true, ..Rules::default() }).await,
    );
    log.add(namespaces.create("notes").await);
    log.add(ada.state("notes").set("a", 1).await);
    log.add(ada.state("notes").set("a", 2).await);
    log.add(namespaces.configure("notes", Rules::default()).await);
    log.add(ada.state("notes").transfer_to("shared", Some(&["a"])).await);
    log.add(ada.state("notes").transfer_to("shared", Some(&["a"])).await);
    log.add(namespaces.get("notes").await);
    log.add(namespaces.list().await);
    log.add(namespaces.delete("notes").await);

    let agents = ada.agents();
    let metadata = json!({"model": "m"});
    let register = agents.register().capability("search").metadata(metadata).ttl_ms(9_000);
    let session = register.await.unwrap();
    let token = session.token;
    log.add(Ok(session));
    log.add(ada.state("shared").set("leader", "ada").ephemeral().await);
    log.add(agents.heartbeat(token).await);
    log.add(agents.get("ada").await);
    log.add(agents.get("bob").await);
    log.add(agents.active().await);
    log.add(agents.list(Some("search"), None).await);
    log.add(agents.leave(token).await);
    log.add(agents.leave(token).await);
    log.add(ada.state("shared").get("leader").await);

    let set = |key: &str| {
        let (namespace, value) = (NamespaceName::shared(), Json::of(&1).unwrap());
        Command::Set(Set::new(namespace, Key::parse(key).unwrap(), value))
    };
    let both = || ada.transaction().command(set("x")).command(set("y"));
    log.add(both().commit().await);
    log.add(both().require(Precondition::Revision(Revision(1))).commit().await);
    log.add(ada.transaction().commit().await);
    log.add(ada.watch("state/**").from(99_999).await.map(|_| "a watch from the future"));
    log.add(ada.ask(baton_client::core::workspace::Query::Get).await);
}

async fn lock_story(ada: &Workspace, log: &mut Transcript) {
    let bob = ada.as_agent("bob").unwrap();
    let locks = ada.locks();
    let hold = locks.acquire("door").ttl_ms(60_000).await.unwrap().unwrap();
    log.add(bob.locks().acquire("door").await);
    log.add(locks.get("door").await);
    log.add(locks.get("nobody/has this").await);
    log.add(locks.acquire("door").ttl_ms(1).await);
    log.add(locks.acquire("").await);
    log.add(locks.renew("door", hold.token).await);
    log.add(locks.renew_for("door", hold.token, 90_000).await);
    let fenced = bob.under(hold.token);
    log.add(fenced.state("shared").set("guarded", 1).await);
    let key = Key::parse("guarded").unwrap();
    let set = || Set::new(NamespaceName::shared(), key.clone(), Json::of(&2).unwrap());
    log.add(fenced.transaction().command(Command::Set(set())).commit().await);
    // A waiting call gets it in the commit that releases it.
    let waiter = bob.locks();
    let (granted, ()) = tokio::join!(waiter.acquire("door").wait_ms(60_000).into_future(), async {
        while locks.get("door").await.unwrap().waiters.is_empty() {
            tokio::task::yield_now().await;
        }
        log.add(locks.list().await);
        log.add(locks.release("door", hold.token).await);
    });
    log.add(granted);
    log.add(locks.release("door", hold.token).await);
    log.add(locks.renew("door", hold.token).await);
    log.add(fenced.state("shared").set("guarded", 3).await);
    log.add(fenced.transaction().command(Command::Set(set())).commit().await);
    log.add(fenced.locks().acquire("other").await);
    log.add(locks.list().await);

    let models = ada.semaphores();
    log.add(models.get("models").await);
    let permit = models.acquire("models").permits(1).ttl_ms(60_000).await.unwrap().unwrap();
    log.add(bob.semaphores().acquire("models").wait_ms(0).await);
    log.add(bob.semaphores().acquire("models").permits(9).await);
    log.add(models.renew("models", permit.token).await);
    log.add(models.renew_for("models", permit.token, 90_000).await);
    log.add(models.list().await);
    log.add(models.release("models", permit.token).await);
    log.add(models.release("models", permit.token).await);

    let start = ada.barriers();
    log.add(start.arrive("start", 2).await);
    log.add(start.arrive("start", 2).wait_ms(1).await);
    log.add(start.get("start").await);
    log.add(bob.barriers().arrive("start", 2).wait_ms(60_000).await);
    log.add(start.reset("start").await);
    log.add(start.arrive("", 2).await);
}

async fn task_story(ada: &Workspace, log: &mut Transcript) {
    let bob = ada.as_agent("bob").unwrap().tasks();
    let tasks = ada.tasks();
    let create = || tasks.create("review").description("look at it").definition(json!({"n": 1}));
    log.add(create().id("first").priority(3).group("g").metadata(json!({"a": 1})).await);
    log.add(create().id("first").await);
    log.add(create().id("second").after("first").capability("rust").schema_version(2).await);
    log.add(create().id("third").parent("second").delay_ms(60_000).deadline_ms(90_000).await);
    log.add(create().assigned_to("bob").max_retries(0).on_exhausted(OnExhausted::Review).await);
    log.add(create().backoff(Backoff { jitter: 2.0, ..Backoff::default() }).await);
    log.add(create().capability("cobol").if_capable().await);
    log.add(create().id("no good").await);
    log.add(bob.claim().of_type("write").await);
    log.add(bob.claim().task("second").await);
    let claimed = bob.claim().of_type("review").of_type("write").lease_ms(60_000).await;
    let claimed = claimed.unwrap().unwrap();
    let (id, token) = (claimed.id.as_str(), claimed.lease.as_ref().unwrap().token);
    log.add(bob.heartbeat(id, token).await);
    log.add(bob.heartbeat_for(id, token, 90_000).await);
    log.add(bob.progress(id, token, 0.5, Some("halfway")).await);
    log.add(bob.update(id, token, json!({"metadata": {"b": 2}})).await);
    log.add(bob.fail(id, Token(999), "who?").await);
    log.add(tasks.why(id).await);
    let next = Next { capabilities: Some(["rust".to_owned()].into()), ..Next::default() };
    let done = bob.complete(id, token).result(json!(7)).artifacts(json!([])).then_claim(next).await;
    log.add(Ok(done.as_ref().unwrap().clone()));
    let next = done.unwrap().next.unwrap();
    let token = next.lease.as_ref().unwrap().token;
    log.add(bob.release(next.id.as_str(), token, Some("tired")).await);
    let next = bob.claim().await.unwrap().unwrap();
    let token = next.lease.as_ref().unwrap().token;
    log.add(bob.fail(next.id.as_str(), token, json!({"code": "no"})).for_good().await);
    log.add(tasks.review(next.id.as_str(), Verdict::Complete).note("fine").result(1).await);
    log.add(tasks.review(next.id.as_str(), Verdict::Retry).await);
    log.add(tasks.cancel("second", Some("enough")).await);
    log.add(tasks.get("third").await);
    log.add(tasks.get("nothing").await);
    log.add(tasks.list(List::default()).await);
    log.add(tasks.list(List { limit: Some(2), ..List::default() }).await);
    log.add(tasks.stats(Some("review")).await);
    log.add(tasks.history("first").await);
    for name in ["fourth", "fifth", "sixth"] {
        log.add(tasks.create("several").id(name).await);
    }
    log.add(bob.claim().of_type("several").several(2).await);
    log.add(bob.claim().of_type("several").several(1).await);
    log.add(bob.claim().of_type("several").several(2).await);
    log.add(bob.claim().several(0).await);

    let joins = ada.joins();
    log.add(joins.of_group("g").id("all").deadline_ms(60_000).await);
    log.add(joins.of_group("g").id("all").await);
    log.add(joins.of_tasks(&["first", "second"]).need(2).await);
    log.add(joins.of_tasks(&["no good"]).await);
    log.add(joins.wait("all", 60_000).await);
    log.add(joins.wait("none", 0).await);
    log.add(joins.get("all").await);
}

async fn rule_story(ada: &Workspace, log: &mut Transcript) {
    let rules = ada.rules();
    log.add(rules.add("tests").on_type("code:*").required_keys(&["tests"]).message("why").await);
    log.add(rules.add("shape").schema(json!({"type": "object"})).to("b*").warning().await);
    log.add(rules.add("shape").schema(json!({"type": "nonsense"})).await);
    log.add(rules.add("green").from("**").expression("state.failed == 0").await);
    log.add(rules.add("green").expression("state.failed = 0").await);
    log.add(rules.add("green").on_type("***").receiver_alive().await);
    log.add(rules.add("two").capability("review").hops_max(3).await);
    log.add(rules.add("no good").state_bytes_max(3).await);
    log.add(rules.remove("tests").await);
    log.add(rules.remove("tests").await);
    log.add(rules.list().await);
}

async fn checkpoint_story(ada: &Workspace, log: &mut Transcript) {
    let checkpoints = ada.checkpoints();
    log.add(checkpoints.latest("thread").await);
    log.add(checkpoints.save("thread", json!({"step": 1})).label("one").await);
    let second = checkpoints.save("thread", json!({"step": 2})).description("half");
    log.add(second.metadata(json!({"node": "plan"})).await);
    log.add(checkpoints.save("thread", 3).parent("c-0000000001").await);
    log.add(checkpoints.save("no good", 3).await);
    log.add(checkpoints.latest("thread").await);
    log.add(checkpoints.get("c-0000000002").await);
    log.add(checkpoints.restore("c-0000000002").await);
    log.add(checkpoints.fork("c-0000000002", "other").await);
    log.add(checkpoints.label("c-0000000002", None).await);
    log.add(checkpoints.list(checkpoint::List::default()).await);
    let task = TaskId::parse("thread").unwrap();
    log.add(checkpoints.save_bytes("keyed", "raw", &[0xff, 0]).key("k-1").await);
    let write = checkpoint::NewWrite {
        index: 0,
        channel: "c".to_owned(),
        value: Json::parse("1").unwrap(),
        content_type: None,
        replace: false,
    };
    log.add(checkpoints.write("keyed", "k-1", "w", vec![write]).await);
    log.add(checkpoints.copy("keyed", "copied").await);
    let copied = TaskId::parse("copied").unwrap();
    let history = checkpoint::History { limit: Some(1), ..checkpoint::History::of(&copied) };
    log.add(checkpoints.history(history).await);
    let prune = checkpoint::Prune { keep: Some(0), ..checkpoint::Prune::of(&task) };
    log.add(checkpoints.prune(prune).await);
    let retain = checkpoint::Retain { keep: Some(2), ..checkpoint::Retain::default() };
    log.add(checkpoints.retain(retain).await);
    log.add(checkpoints.retention().await);
    log.add(ada.under(Token(99)).checkpoints().save("thread", 3).await);
}

async fn pipeline_story(ada: &Workspace, log: &mut Transcript) {
    let json = |text: &str| Json::parse(text).unwrap();
    let (pipelines, bob) = (ada.pipelines(), ada.as_agent("bob").unwrap().pipelines());
    log.add(pipelines.create("p").stage_for("a", "bob").stage("b").input(json("1")).await);
    log.add(pipelines.create("p").stage("a").await);
    log.add(pipelines.create("no good").stage("a").await);
    log.add(pipelines.create("q").await);
    log.add(pipelines.start("p", "a", None).await);
    log.add(bob.start("p", "a", None).await);
    log.add(bob.fail("p", "a", json("\"no\"")).await);
    log.add(bob.retry("p", "a").await);
    log.add(bob.start("p", "a", Some(json("{}"))).await);
    log.add(bob.complete("p", "a", Some(json("null"))).await);
    log.add(pipelines.output("p", "a").await);
    log.add(pipelines.output("p", "z").await);
    log.add(pipelines.skip("p", "b", Some("short".to_owned())).await);
    log.add(pipelines.delete("p").await);
    let metadata = json(r#"{"team":1}"#);
    log.add(pipelines.create("q").automatic().metadata(metadata).stage("own").await);
    log.add(pipelines.get("q").await);
    log.add(pipelines.abort("q", None).await);
    log.add(pipelines.list(pipeline::List::default()).await);
    log.add(pipelines.list(pipeline::List { limit: Some(1), ..Default::default() }).await);
}

async fn whole_story(lab: Workspace) -> Vec<String> {
    let ada = lab.as_agent("ada").unwrap();
    let mut log = Transcript::default();
    state_story(&ada, &mut log).await;
    other_stories(&ada, &mut log).await;
    lock_story(&ada, &mut log).await;
    task_story(&ada, &mut log).await;
    rule_story(&ada, &mut log).await;
    checkpoint_story(&ada, &mut log).await;
    pipeline_story(&ada, &mut log).await;
    log.0
}

#[tokio::test]
async fn a_program_has_the_same_results_embedded_and_with_a_server() {
    let embedded = whole_story(in_memory().workspace("lab").unwrap()).await;
    let running = Running::start(in_memory(), anywhere()).await;
    let client = client(running.address).await;
    let served = whole_story(client.workspace("lab").unwrap()).await;
    for (served, embedded) in served.iter().zip(&embedded) {
        assert_eq!(served, embedded);
    }
    assert_eq!(served.len(), embedded.len());
    client.close().await;
    running.stop().await;
}

/// A proxy to a server that breaks every connection after this many bytes.
async fn breaking_line(
    to: SocketAddr,
    bytes_max: impl Fn(u64) -> u64 + Send + 'static,
    lines: Arc<AtomicU64>,
) -> SocketAddr {
    let listener = TcpListener::bind(anywhere()).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut near, _) = listener.accept().await.unwrap();
            let count = lines.fetch_add(1, Ordering::Relaxed);
            let far = TcpStream::connect(to).await.unwrap();
            let mut far = Limited { stream: far, bytes_left: bytes_max(count) };
            tokio::spawn(async move { drop(copy_bidirectional(&mut near, &mut far).await) });
        }
    });
    address
}

mod limited {
    //! A stream that breaks after this many bytes.

    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll, ready};

    use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
    use tokio::net::TcpStream;

    pub(super) struct Limited {
        pub(super) stream: TcpStream,
        pub(super) bytes_left: u64,
    }

    impl Limited {
        fn spend(&mut self, bytes: usize) -> io::Result<()> {
            let left = self.bytes_left.checked_sub(bytes as u64);
            self.bytes_left = left.unwrap_or(0);
            left.map(|_| ()).ok_or_else(|| io::ErrorKind::ConnectionReset.into())
        }
    }

    impl AsyncRead for Limited {
        fn poll_read(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let before = buffer.filled().len();
            ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
            let bytes = buffer.filled().len() - before;
            Poll::Ready(self.spend(bytes))
        }
    }

    impl AsyncWrite for Limited {
        fn poll_write(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            // Part of it may get through, so that a frame is truncated.
            let part = bytes.len().min(usize::try_from(self.bytes_left).unwrap_or(usize::MAX));
            if part == 0 {
                return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
            }
            let written = ready!(Pin::new(&mut self.stream).poll_write(context, &bytes[..part]))?;
            self.bytes_left -= written as u64;
            Poll::Ready(Ok(written))
        }

        fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.stream).poll_flush(context)
        }

        fn poll_shutdown(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.stream).poll_shutdown(context)
        }
    }
}
use limited::Limited;

/// Takes events until the counter has reached its end, and checks that each arrived once, in order.
async fn follow(client: &Client, last: u64) {
    let lab = client.workspace("lab").unwrap();
    let mut watch = lab.watch("state/shared/count").from(1).await.unwrap();
    let mut expected = 1;
    while expected <= last {
        match watch.next().await.unwrap().unwrap() {
            Item::Event(notice) => {
                let event: serde_json::Value = serde_json::from_slice(&notice.json()).unwrap();
                assert_eq!(event["version"], expected, "{event}");
                expected += 1;
            }
            Item::Snapshot { .. } => panic!("no snapshot was asked for"),
        }
    }
}

async fn count(client: &Client, times: u64) {
    let shared = client.workspace("lab").unwrap().as_agent("ada").unwrap().state("shared");
    for _ in 0..times {
        shared.increment("count", 1).await.unwrap();
    }
}

#[tokio::test]
async fn a_broken_connection_repeats_no_command_and_loses_no_event() {
    let running = Running::start(in_memory(), anywhere()).await;
    // Enough for a handshake and a little more; different every time.
    let (bytes_max, lines) = (|count| 1_500 + count * 577 % 3_001, Arc::default());
    let line = breaking_line(running.address, bytes_max, Arc::clone(&lines)).await;
    let client = client(line).await;
    patiently(async {
        tokio::join!(count(&client, 100), count(&client, 100), follow(&client, 200));
        let entry = client.workspace("lab").unwrap().state("shared").get("count").await.unwrap();
        assert_eq!(entry.value(), b"200");
    })
    .await;
    let lines = lines.load(Ordering::Relaxed);
    assert!(lines > 20, "the line broke only {lines} times");
    client.close().await;
    running.stop().await;
}

async fn restarted(running: Running, folder: &Path) -> Running {
    let address = running.address;
    running.stop().await;
    Running::start(baton::open(folder).await.unwrap(), address).await
}

#[tokio::test]
async fn a_server_that_restarts_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let baton = baton::open(folder.path()).await.unwrap();
    let mut running = Running::start(baton, anywhere()).await;
    let client = client(running.address).await;
    patiently(async {
        let counting = async {
            for _ in 0..5 {
                let (next, ()) =
                    tokio::join!(restarted(running, folder.path()), count(&client, 20));
                running = next;
            }
            running
        };
        let (running, ()) = tokio::join!(counting, follow(&client, 100));
        let entry = client.workspace("lab").unwrap().state("shared").get("count").await.unwrap();
        assert_eq!(entry.value(), b"100");
        client.close().await;
        running.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_waiting_lock_call_survives_a_restart_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let baton = baton::open(folder.path()).await.unwrap();
    let running = Running::start(baton, anywhere()).await;
    let client = client(running.address).await;
    let lab = client.workspace("lab").unwrap();
    let (ada, bob) = (lab.as_agent("ada").unwrap().locks(), lab.as_agent("bob").unwrap().locks());
    patiently(async {
        let hold = ada.acquire("door").await.unwrap().unwrap();
        let waits = async || {
            while ada.get("door").await.unwrap().waiters.is_empty() {
                tokio::task::yield_now().await;
            }
        };
        let acquiring = bob.acquire("door").wait_ms(3_600_000).into_future();
        let (granted, running) = tokio::join!(acquiring, async {
            waits().await;
            let running = restarted(running, folder.path()).await;
            waits().await;
            ada.release("door", hold.token).await.unwrap();
            running
        });
        assert_eq!(granted.unwrap().unwrap().holder.as_str(), "bob");
        client.close().await;
        running.stop().await;
    })
    .await;
}

#[tokio::test]
async fn an_abandoned_call_leaves_nothing_behind() {
    let running = Running::start(in_memory(), anywhere()).await;
    let client = client(running.address).await;
    let lab = client.workspace("lab").unwrap();
    let (ada, bob) = (lab.as_agent("ada").unwrap().locks(), lab.as_agent("bob").unwrap().locks());
    patiently(async {
        let hold = ada.acquire("door").await.unwrap().unwrap();
        let seen = async {
            while ada.get("door").await.unwrap().waiters.is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            granted = bob.acquire("door").wait_ms(3_600_000).into_future() => panic!("{granted:?}"),
            () = seen => {}
        }
        ada.release("door", hold.token).await.unwrap();
        while ada.get("door").await.unwrap().hold.is_some() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    client.close().await;
    running.stop().await;
}

#[tokio::test]
async fn a_server_refuses_invalid_patterns_and_revisions_that_are_gone() {
    let running = Running::start(in_memory(), anywhere()).await;
    let client = client(running.address).await;
    let lab = client.workspace("lab").unwrap();
    assert_eq!(lab.watch("***").await.unwrap_err().code(), "request.bad_pattern");
    assert!(Pattern::parse("***").is_err(), "it was refused before it was sent");
    let large = "x".repeat(9 << 20);
    let error = lab.state("shared").set("large", &large).await.unwrap_err();
    assert_eq!(error.code(), "request.too_large");
    let error = lab.state("shared").set("large", &large[..2 << 20]).await.unwrap_err();
    assert_eq!(error.code(), "state.value_too_large");
    client.close().await;
    running.stop().await;
}

/// It has no idempotency key, so it is not sent again when the connection breaks.
#[tokio::test]
async fn a_live_request_is_answered_once_or_lost_with_the_server() {
    let running = Running::start(in_memory(), anywhere()).await;
    let lab = client(running.address).await.workspace("lab").unwrap();
    let (ada, bob) = (lab.as_agent("ada").unwrap(), lab.as_agent("bob").unwrap());
    bob.agents().register().await.unwrap();
    assert!(bob.messages().receive().await.unwrap().is_empty(), "it can receive from now on");
    let ask = |body: i64| {
        let ada = ada.clone();
        tokio::spawn(async move { ada.messages().request("bob", body).keep(false).await })
    };
    let received = async || {
        loop {
            let found = bob.messages().receive().wait_ms(60_000).await.unwrap();
            if let Some(message) = found.into_iter().next() {
                return message;
            }
        }
    };
    let asking = ask(1);
    let request = patiently(received()).await;
    assert_eq!(request.keep, Some(false));
    bob.messages().reply(request.id.as_str(), 2).await.unwrap();
    let answered = patiently(asking).await.unwrap().unwrap();
    assert_eq!((answered.request, answered.body.to::<i64>().unwrap()), (request.id, 2));
    let asking = ask(3);
    patiently(received()).await;
    running.stop().await;
    assert!(patiently(asking).await.unwrap().is_err(), "it is lost, and its caller learns that");
}
