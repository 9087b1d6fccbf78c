//! Workers: every task once, nothing after the lease is lost, and tasks in progress are finished.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use baton::clock::SystemClock;
use baton::log::MemoryLog;
use baton_client::Workspace;
use baton_client::core::task::{List, Status, Task};
use baton_client::{Job, Setback, Worked, Worker, Workplace};
use baton_server::{Server, Settings};
use serde_json::json;
use tokio::sync::{Notify, mpsc, oneshot};

use crate::peer::patiently;

fn in_memory() -> baton::Baton {
    let options = baton::Options::default();
    baton::Baton::on(MemoryLog::default(), SystemClock::default(), options).unwrap()
}

fn embedded() -> Workspace {
    in_memory().workspace("lab").unwrap().as_agent("ada").unwrap()
}

async fn finished(lab: &Workspace) -> usize {
    let tasks = lab.tasks().list(List::default()).await.unwrap();
    tasks.iter().filter(|task| task.status.is_finished()).count()
}

/// Waits until this many tasks are finished.
async fn until_finished(lab: &Workspace, count: usize) {
    while finished(lab).await < count {
        tokio::task::yield_now().await;
    }
}

async fn works_through(lab: Workspace) {
    const COUNT: usize = 50;
    for number in 0..COUNT {
        lab.tasks().create("square").definition(number).await.unwrap();
    }
    lab.tasks().create("other").await.unwrap();
    let busy = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let seen = Arc::clone(&busy);
    let worker = lab.as_agent("bob").unwrap().worker(&["square"]).concurrency(4);
    let worked = worker.run(
        move |job: Job| {
            let (now, most) = (seen.0.fetch_add(1, Ordering::SeqCst) + 1, Arc::clone(&seen));
            most.1.fetch_max(now, Ordering::SeqCst);
            async move {
                let number: u64 = job.task().definition.as_ref().unwrap().to()?;
                job.progress(0.5, Some("halfway")).await?;
                job.workspace().state("shared").increment("count", 1).await?;
                most.0.fetch_sub(1, Ordering::SeqCst);
                if number == 13 {
                    return Err(Setback::new(json!({"code": "unlucky"})).for_good());
                }
                assert_ne!(number, 17, "a handler may panic");
                Ok(number * number)
            }
        },
        until_finished(&lab, COUNT - 1),
    );
    let worked = patiently(worked).await.unwrap();
    assert_eq!(worked, Worked { completed: 48, failed: worked.failed, ..Worked::default() });
    let tasks = lab.tasks().list(List::default()).await.unwrap();
    for task in tasks.iter().filter(|task| task.task_type.as_str() == "square") {
        let number: u64 = task.definition.as_ref().unwrap().to().unwrap();
        let error = task.error.as_ref().map(|error| error.as_str().to_owned());
        match (number, task.status) {
            (13, Status::Failed) => assert_eq!(error.unwrap(), r#"{"code":"unlucky"}"#),
            (17, _) => assert!(error.unwrap().contains("a handler may panic"), "{task:?}"),
            (number, Status::Completed) => {
                assert_eq!(task.result.as_ref().unwrap().to::<u64>().unwrap(), number * number);
            }
            other => panic!("{other:?}: {task:?}"),
        }
    }
    assert!((1..=4).contains(&busy.1.load(Ordering::SeqCst)), "four at a time");
}

#[tokio::test]
async fn a_worker_does_every_task_once_and_reports_its_counts() {
    works_through(embedded()).await;
}

#[tokio::test]
async fn the_same_over_a_server() {
    let listen: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let settings = Settings { listen, ..Settings::default() };
    let server = Server::bind(in_memory(), settings).await.unwrap();
    let url = format!("http://{}", server.address());
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(server.run(async move { drop(stopped.await) }));
    let client = baton_client::connect(&url).await.unwrap();
    works_through(client.workspace("lab").unwrap().as_agent("ada").unwrap()).await;
    client.close().await;
    stop.send(()).unwrap();
    serving.await.unwrap();
}

/// Reports when it is dropped.
struct Dropped(mpsc::UnboundedSender<&'static str>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

#[tokio::test]
async fn a_handler_is_dropped_when_its_lease_is_lost() {
    let lab = embedded();
    let task = lab.tasks().create("endless").await.unwrap();
    let (tell, mut steps) = mpsc::unbounded_channel();
    let (stop, stopped) = oneshot::channel::<()>();
    let worker = Worker::new(lab.as_agent("bob").unwrap()).lease_ms(300);
    let working = tokio::spawn(worker.run(
        move |_: Job| {
            let dropped = Dropped(tell.clone());
            let _ = tell.send("begun");
            async move {
                std::future::pending::<()>().await;
                drop(dropped);
                Ok(())
            }
        },
        async move { drop(stopped.await) },
    ));
    patiently(async {
        assert_eq!(steps.recv().await, Some("begun"));
        // Heartbeats keep it for far longer than a lease lasts.
        let lease = |task: &Task| task.lease.as_ref().unwrap().expires_at;
        let first = lease(&lab.tasks().get(task.id.as_str()).await.unwrap());
        while lease(&lab.tasks().get(task.id.as_str()).await.unwrap()) <= first.after(600) {
            tokio::task::yield_now().await;
        }
        lab.tasks().cancel(task.id.as_str(), None).await.unwrap();
        assert_eq!(steps.recv().await, Some("dropped"));
        stop.send(()).unwrap();
        let worked = working.await.unwrap().unwrap();
        assert_eq!(worked, Worked { lost: 1, ..Worked::default() });
    })
    .await;
}

#[tokio::test]
async fn a_task_that_its_handler_offered_is_neither_completed_nor_failed() {
    let lab = embedded();
    let task = lab.tasks().create("write").await.unwrap();
    let bob = lab.as_agent("bob").unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let working = tokio::spawn(Worker::new(lab.clone()).run(
        |job: Job| async move {
            let handoffs = job.workspace().handoffs();
            job.offer(handoffs.offer("bob").reason("your turn")).await?;
            Ok("not reported")
        },
        async move { drop(stopped.await) },
    ));
    patiently(async {
        let offered = bob.handoffs().receive(30_000).await.unwrap().unwrap();
        bob.handoffs().accept(offered.id.as_str()).await.unwrap();
        stop.send(()).unwrap();
        let worked = working.await.unwrap().unwrap();
        assert_eq!(worked, Worked { handed_over: 1, ..Worked::default() });
        let there = lab.tasks().get(task.id.as_str()).await.unwrap();
        assert_eq!(there.status, Status::InProgress);
        assert_eq!(there.lease.unwrap().holder.as_str(), "bob");
    })
    .await;
}

#[tokio::test]
async fn a_stopped_worker_finishes_its_tasks_and_claims_none() {
    let lab = embedded();
    for _ in 0..3 {
        lab.tasks().create("slow").await.unwrap();
    }
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (stop, stopped) = oneshot::channel::<()>();
    let hands = (Arc::clone(&begun), Arc::clone(&go_on));
    let working = tokio::spawn(Worker::new(lab.clone()).run(
        move |_: Job| {
            let (begun, go_on) = hands.clone();
            async move {
                begun.notify_one();
                go_on.notified().await;
                Ok("done")
            }
        },
        async move { drop(stopped.await) },
    ));
    patiently(async {
        begun.notified().await;
        stop.send(()).unwrap();
        // It is notified before the handler continues: both run on this thread.
        tokio::task::yield_now().await;
        go_on.notify_one();
        let worked = working.await.unwrap().unwrap();
        assert_eq!(worked, Worked { completed: 1, ..Worked::default() });
        let pending = List { status: Some(Status::Pending), ..List::default() };
        assert_eq!(lab.tasks().list(pending).await.unwrap().len(), 2);
    })
    .await;
}

#[tokio::test]
async fn an_invalid_worker_is_refused_with_a_reason() {
    let handler = |_: Job| async { Ok(()) };
    let worker = Worker::new(embedded()).of_type("no such type");
    let error = worker.run(handler, std::future::pending()).await.unwrap_err();
    assert_eq!(error.code(), "request.bad_name");
    let worker = Worker::new(embedded()).lease_ms(1).concurrency(3);
    let error = patiently(worker.run(handler, std::future::pending())).await.unwrap_err();
    assert_eq!(error.code(), "task.out_of_range");
}

#[tokio::test]
async fn handoffs_messages_and_tasks_come_with_one_call() {
    let lab = embedded();
    let bob = lab.as_agent("bob").unwrap();
    // It can be asked once it has received in its session.
    bob.agents().register().await.unwrap();
    lab.tasks().create("count").await.unwrap();
    lab.messages().send("bob", "hello").await.unwrap();
    lab.handoffs().offer("bob").reason("yours").await.unwrap();
    let (seen, mut order) = mpsc::unbounded_channel();
    let (took, read, counted) = (seen.clone(), seen.clone(), seen);
    let worker = bob
        .worker(&["count"])
        .on_handoff(move |workspace, handoff| {
            let took = took.clone();
            async move {
                workspace.handoffs().accept(handoff.id.as_str()).await?;
                Ok(took.send("handoff")?)
            }
        })
        .on_message(move |_, message| {
            let read = read.clone();
            async move {
                read.send("message")?;
                Ok(message.body)
            }
        });
    let (stop, stopped) = oneshot::channel::<()>();
    let running = worker.run(
        move |_: Job| {
            let counted = counted.clone();
            async move { Ok(counted.send("task")?) }
        },
        async move { drop(stopped.await) },
    );
    let ordered = async {
        let mut kinds = Vec::new();
        while kinds.len() < 3 {
            kinds.extend(order.recv().await);
        }
        let answer = lab.messages().request("bob", 1).await.unwrap();
        stop.send(()).unwrap();
        (kinds, answer)
    };
    let (worked, (kinds, answer)) = patiently(async { tokio::join!(running, ordered) }).await;
    assert_eq!(kinds, ["handoff", "message", "task"]);
    assert_eq!(answer.body.to::<u64>().unwrap(), 1);
    let expected = Worked { completed: 1, handoffs: 1, messages: 2, ..Worked::default() };
    assert_eq!(worked.unwrap(), expected);
}
