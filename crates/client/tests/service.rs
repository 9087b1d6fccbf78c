//! Services: every request has one answer, mail is acknowledged, and the session ends with the
//! service.

use baton::clock::SystemClock;
use baton::log::MemoryLog;
use baton_client::core::message::{List, Message, Status};
use baton_client::{Served, Service, Setback};
use serde_json::json;
use tokio::sync::oneshot;

use crate::peer::patiently;

#[tokio::test]
async fn requests_are_answered_and_mail_is_acknowledged() {
    let options = baton::Options::default();
    let baton = baton::Baton::on(MemoryLog::default(), SystemClock::default(), options).unwrap();
    let lab = baton.workspace("lab").unwrap().as_agent("ada").unwrap();
    let bob = lab.as_agent("bob").unwrap();
    lab.messages().send("bob", "hello").await.unwrap();
    let (end, stop) = oneshot::channel::<()>();
    let service = Service::new(bob.clone()).handler("double").concurrency(2);
    let serving = tokio::spawn(service.run(
        |message: Message| async move {
            if message.request.is_none() {
                return Ok(json!(null));
            }
            let number: i64 = message.body.to()?;
            assert_ne!(number, 13, "a handler may panic");
            if number < 0 {
                return Err(Setback::new(json!({"code": "negative"})));
            }
            Ok(json!(number * 2))
        },
        async {
            let _ = stop.await;
        },
    ));
    let handled = async {
        while lab.messages().handlers(None).await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    patiently(handled).await;
    for number in 0..5 {
        let asked = lab.messages().request_handler("double", number).await.unwrap();
        assert_eq!(asked.body.to::<i64>().unwrap(), number * 2);
    }
    // Live requests need nothing of a service, and leave nothing behind.
    let all = || List { agent: Some(bob.agent().clone()), ..List::default() };
    let kept = lab.messages().page(all()).await.unwrap().0.len();
    for number in 5..8 {
        let asked = lab.messages().request_handler("double", number).keep(false).await.unwrap();
        assert!(asked.request.is_live());
        assert_eq!(asked.body.to::<i64>().unwrap(), number * 2);
    }
    assert_eq!(lab.messages().page(all()).await.unwrap().0.len(), kept);
    for (bad, keep) in [(-1, true), (13, true), (-1, false)] {
        let request = lab.messages().request_handler("double", bad).keep(keep);
        assert_eq!(request.await.unwrap_err().code(), "message.handler_failed");
    }
    let acked = async {
        let list = || List { status: Some(Status::Acked), ..List::default() };
        while bob.messages().page(list()).await.unwrap().0.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    patiently(acked).await;
    end.send(()).unwrap();
    let served = patiently(serving).await.unwrap().unwrap();
    assert_eq!(served, Served { answered: 9, failed: 3, lost: 0 });
    assert!(lab.messages().handlers(None).await.unwrap().is_empty(), "they go with the session");
    let refused = lab.messages().request_handler("double", 1).await.unwrap_err();
    assert_eq!(refused.code(), "message.no_handler");
}
