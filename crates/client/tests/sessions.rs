//! The session of an agent that works: it is kept, and a worker continues when it ends.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use baton::clock::SystemClock;
use baton::log::MemoryLog;
use baton_client::core::agent::Status;
use baton_client::core::message::Message;
use baton_client::{Job, Lost, Worked, Workplace, Workspace, keep_held};
use serde_json::json;
use tokio::sync::{Notify, oneshot};
use tokio::task::yield_now;

use crate::peer::patiently;

/// Much shorter than a lease, and long enough for a machine that is busy.
const SESSION_MS: u64 = 3_000;
const LEASE_MS: u64 = 60_000;

/// A workspace as ada, and as bob, who has a session.
async fn pair() -> (Workspace, Workspace) {
    let options = baton::Options::default();
    let baton = baton::Baton::on(MemoryLog::default(), SystemClock::default(), options).unwrap();
    let ada = baton.workspace("lab").unwrap().as_agent("ada").unwrap();
    let bob = ada.as_agent("bob").unwrap();
    bob.agents().register().ttl_ms(SESSION_MS).await.unwrap();
    (ada, bob)
}

async fn status(ada: &Workspace, agent: &str) -> Status {
    let all = ada.agents().list(None, None).await.unwrap();
    all.iter().find(|found| found.id.as_str() == agent).unwrap().status
}

/// Waits until a session that begins now, and is not renewed, has ended: that of bob has not.
async fn outlived(ada: &Workspace) {
    let silent = ada.as_agent("silent").unwrap();
    silent.agents().register().ttl_ms(SESSION_MS).await.unwrap();
    while status(ada, "silent").await == Status::Active {
        yield_now().await;
    }
    assert_eq!(status(ada, "bob").await, Status::Active);
}

/// Ends the session of an agent, as another program of it may.
async fn end_session(agent: &Workspace) {
    let token = agent.agents().get(agent.agent().as_str()).await.unwrap().token;
    agent.agents().leave(token).await.unwrap();
}

#[tokio::test]
async fn a_worker_renews_its_lease_often_enough_for_its_session() {
    let (ada, bob) = pair().await;
    let task = ada.tasks().create("slow").await.unwrap();
    let done = Arc::new(Notify::new());
    let (watching, finished) = (ada.clone(), Arc::clone(&done));
    let working = bob.worker(&["slow"]).lease_ms(LEASE_MS).run(
        move |_: Job| {
            let (ada, done) = (watching.clone(), Arc::clone(&finished));
            async move {
                done.notify_one();
                outlived(&ada).await;
                Ok("done")
            }
        },
        done.notified(),
    );
    let worked = patiently(working).await.unwrap();
    assert_eq!(worked, Worked { completed: 1, ..Worked::default() });
    assert_eq!(ada.tasks().get(task.id.as_str()).await.unwrap().attempts, 1);
}

#[tokio::test]
async fn a_lock_is_renewed_often_enough_for_the_session_and_lost_with_it() {
    let (ada, bob) = pair().await;
    let locks = bob.locks();
    let hold = locks.acquire("door").ttl_ms(LEASE_MS).await.unwrap().unwrap();
    let renew = async || locks.renew("door", hold.token).await.map(drop);
    let lost = keep_held(&bob, Duration::from_millis(LEASE_MS), renew);
    let story = async {
        outlived(&ada).await;
        end_session(&bob).await;
    };
    let (lost, ()) = patiently(async { tokio::join!(lost, story) }).await;
    assert!(matches!(&lost, Lost::Refused(error) if error.code() == "lock.stale_token"), "{lost}");
}

#[tokio::test]
async fn a_worker_whose_session_ends_while_it_waits_continues() {
    for reads_mail in [false, true] {
        let (ada, bob) = pair().await;
        let (stop, stopped) = oneshot::channel::<()>();
        let stop = Arc::new(Mutex::new(Some(stop)));
        let mut worker = bob.worker(&["count"]);
        if reads_mail {
            worker = worker.on_message(|_, _: Message| async { Ok(json!(null)) });
        }
        let working = tokio::spawn(worker.run(
            move |_: Job| {
                let stop = stop.lock().unwrap().take();
                async move {
                    drop(stop);
                    Ok(())
                }
            },
            async move { drop(stopped.await) },
        ));
        let idle = async || {
            while ada.tasks().stats(None).await.unwrap().claims_waiting == 0 {
                yield_now().await;
            }
        };
        let worked = patiently(async {
            idle().await;
            end_session(&bob).await;
            idle().await;
            bob.agents().register().await.unwrap();
            ada.tasks().create("count").await.unwrap();
            working.await.unwrap().unwrap()
        });
        assert_eq!(worked.await, Worked { completed: 1, ..Worked::default() });
    }
}
