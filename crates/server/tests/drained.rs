//! Servers that an operator empties without stopping them, and lets take shards again.

use baton_core::access::Role;
use baton_server::Recorded;
use serde_json::{Value, json};

use crate::cluster::{Two, workspace};
use crate::elsewhere::guarded;
use crate::harness::{Harness, settings};

const DRAIN: &str = "/v1/access/cluster/drain";
const UNDRAIN: &str = "/v1/access/cluster/undrain";

/// Answers the next request at this server as the log would: with this, or by recording it.
fn serve(two: &mut Two, at: usize, answer: Recorded) -> tokio::task::JoinHandle<(String, bool)> {
    let mut drains = two.members[at].drains.take().expect("it is served once");
    tokio::spawn(async move {
        let asked = drains.recv().await.expect("a request is made");
        let seen = (asked.server.clone(), asked.is_drained);
        asked.answer(answer);
        seen
    })
}

#[tokio::test]
async fn any_server_is_asked_about_any_server() {
    let mut two = Two::new(&settings()).await;
    let serving = serve(&mut two, 0, Recorded::Done);
    let mut http = two.members[0].http().await;
    let answer = http.post(DRAIN, &json!({"server": "server-1"})).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let server = answer.json();
    assert_eq!((&server["id"], &server["draining"]), (&json!("server-1"), &json!(true)));
    assert_eq!(serving.await.expect("it ends"), ("server-1".to_owned(), true));
    // Without a name, the server that is asked is meant.
    let serving = serve(&mut two, 1, Recorded::Done);
    let answer = two.members[1].http().await.request("POST", UNDRAIN, &[], "").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["draining"], false);
    assert_eq!(serving.await.expect("it ends"), ("server-1".to_owned(), false));
    two.end().await;
}

#[tokio::test]
async fn a_drained_server_is_not_ready_but_forwards() {
    let mut two = Two::new(&settings()).await;
    two.draining.insert(0);
    two.publish();
    let mut http = two.members[0].http().await;
    let refused = http.get("/readyz").await;
    assert_eq!(refused.problem(), (503, "cluster.drained".to_owned()));
    assert_eq!(two.members[1].http().await.get("/readyz").await.status, 200);
    assert_eq!(http.get("/healthz").await.status, 200);
    let path = format!("/v1/{}/state/shared/plan", workspace(1, 0));
    assert_eq!(http.put(&path, &json!(1)).await.status, 200);
    let status = http.get("/v1/access/cluster").await.json();
    let draining = |number: usize| status["servers"][number]["draining"].clone();
    assert_eq!((draining(0), draining(1)), (json!(true), json!(false)), "{status}");
    // If all are drained, requests must go somewhere.
    two.draining.insert(1);
    two.publish();
    assert_eq!(http.get("/readyz").await.status, 200);
    two.end().await;
}

#[tokio::test]
async fn a_drain_that_is_not_possible_is_refused_with_the_reason() {
    let mut two = Two::new(&settings()).await;
    let mut http = two.members[0].http().await;
    for (path, body, expected) in [
        (DRAIN, json!({"server": "server-7"}), (404, "cluster.unknown_server")),
        (DRAIN, json!({"server": ""}), (404, "cluster.unknown_server")),
        (DRAIN, json!({"server": "server-"}), (400, "cluster.ambiguous_server")),
        (UNDRAIN, json!({"server": "server-"}), (400, "cluster.ambiguous_server")),
        (DRAIN, json!({"server": 7}), (400, "request.bad_field")),
        (DRAIN, json!({"sever": "server-1"}), (400, "request.unknown_field")),
        (DRAIN, json!([]), (400, "request.malformed")),
    ] {
        let refused = http.post(path, &body).await;
        assert_eq!(refused.problem(), (expected.0, expected.1.to_owned()), "{body}");
    }
    let ambiguous = http.post(DRAIN, &json!({"server": "ser"})).await.json();
    assert_eq!(ambiguous["servers"], json!(["server-0", "server-1"]), "{ambiguous}");
    two.draining.insert(1);
    two.publish();
    let last = http.post(DRAIN, &json!({})).await;
    assert_eq!(last.problem(), (409, "cluster.last_server".to_owned()));
    two.end().await;
}

#[tokio::test]
async fn the_answer_of_the_log_to_a_drain_is_reported() {
    for (recorded, expected) in [
        (Recorded::Unknown, (404, "cluster.unknown_server")),
        (Recorded::Leaving, (409, "cluster.leaving")),
        (Recorded::Away, (503, "log.away")),
    ] {
        let mut two = Two::new(&settings()).await;
        let serving = serve(&mut two, 0, recorded);
        let mut http = two.members[0].http().await;
        let refused = http.post(UNDRAIN, &json!({"server": "server-1"})).await.problem();
        assert_eq!(refused, (expected.0, expected.1.to_owned()), "{recorded:?}");
        serving.await.expect("it ends");
        two.end().await;
    }
}

#[tokio::test]
async fn only_an_admin_drains_a_server() {
    let roles = Role::ALL.map(|role| (role, None));
    let (mut two, bearers) = guarded(roles).await;
    let serving = serve(&mut two, 0, Recorded::Done);
    for (role, bearer) in Role::ALL.into_iter().zip(&bearers) {
        let headers = [("authorization", bearer.as_str())];
        let mut http = two.members[0].http().await;
        let answer = http.request("POST", DRAIN, &headers, "").await;
        let expected = if role == Role::Admin { 200 } else { 403 };
        assert_eq!(answer.status, expected, "{role:?}: {answer:?}");
    }
    let refused = two.members[0].http().await.request("POST", DRAIN, &[], "").await;
    assert_eq!(refused.problem(), (401, "access.no_token".to_owned()));
    assert_eq!(serving.await.expect("it ends"), ("server-0".to_owned(), true));
    two.end().await;
}

#[tokio::test]
async fn a_server_with_its_own_folder_cannot_be_drained() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    for path in [DRAIN, UNDRAIN] {
        let refused = http.post(path, &Value::Null).await;
        assert_eq!(refused.problem(), (400, "cluster.alone".to_owned()), "{path}");
    }
}
