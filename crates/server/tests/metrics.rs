//! Metrics of a server: in the format of Prometheus, and everything that the dashboard shows.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::harness::Harness;

/// The page by metric family: its type, and its lines.
fn families(text: &str) -> BTreeMap<String, (String, Vec<(String, f64)>)> {
    let mut families: BTreeMap<String, (String, Vec<(String, f64)>)> = BTreeMap::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let help = line.strip_prefix("# HELP ").unwrap_or_else(|| panic!("no help: {line}"));
        let (name, sentence) = help.split_once(' ').expect("a name and a sentence");
        assert!(sentence.ends_with('.'), "{line}");
        let kind = lines.next().and_then(|line| line.strip_prefix(&format!("# TYPE {name} ")));
        let kind = kind.unwrap_or_else(|| panic!("no type of {name}")).to_owned();
        assert!(["counter", "gauge", "histogram"].contains(&kind.as_str()), "{kind}");
        let mut response = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with('#')) {
            assert!(line.starts_with(name), "{line} is under {name}");
            let (labelled, value) = line.rsplit_once(' ').expect("a name and a number");
            response.push((labelled.to_owned(), value.parse().expect("a number")));
        }
        assert!(families.insert(name.to_owned(), (kind, response)).is_none(), "{name} comes twice");
    }
    families
}

async fn page(harness: &Harness) -> String {
    let response = harness.http().await.get("/metrics").await;
    assert_eq!(response.status, 200);
    String::from_utf8(response.body).expect("metrics are text")
}

/// The names in an expression, without the suffixes of a histogram.
fn names(expression: &str) -> Vec<String> {
    let is_part = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    let words = expression.split(|sign| !is_part(sign));
    let ours = words.filter(|word| word.starts_with("baton_"));
    ours.map(|word| word.trim_end_matches("_bucket").to_owned()).collect()
}

#[tokio::test]
async fn every_metric_of_the_grafana_dashboard_exists() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    http.put("/v1/w/state/shared/k", &json!(1)).await;
    let ada = harness.baton.workspace("w").unwrap();
    harness.baton.compact(&ada).await.unwrap();
    let families = families(&page(&harness).await);
    let text = include_str!("../../../deploy/grafana/baton.json");
    let dashboard: Value = serde_json::from_str(text).unwrap();
    let mut shown = 0;
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            for name in names(target["expr"].as_str().unwrap()) {
                // A log in memory does not know how much is free.
                let is_known = families.contains_key(&name)
                    || name == "baton_disk_free_bytes"
                    || name.starts_with("baton_otel_") && !cfg!(feature = "otel");
                assert!(
                    is_known,
                    "the panel {} shows `{name}`, which is not exposed",
                    panel["title"]
                );
                shown += 1;
            }
        }
    }
    assert!(shown > 20, "{shown}");
    let alerts = include_str!("../../../deploy/prometheus/alerts.yaml");
    let watched = names(alerts);
    assert!(watched.len() > 6, "{watched:?}");
    for name in watched {
        let is_known = families.contains_key(&name) || name == "baton_disk_free_bytes";
        assert!(is_known, "an alert is about `{name}`, which is not exposed");
    }
    // And every metric is used there.
    for name in families.keys().filter(|name| *name != "baton_build") {
        assert!(text.contains(name.as_str()), "`{name}` is on no panel");
    }
    harness.end().await;
}

#[tokio::test]
async fn events_are_counted_and_no_name_becomes_a_label() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    for workspace in ["canary-one", "canary-two"] {
        let mut ask = async |command: Value| {
            let response = http.post(&format!("/v1/{workspace}/commands"), &command).await;
            assert_eq!(response.status, 200, "{command}");
        };
        ask(
            json!({"command": "state.set", "namespace": "shared", "key": "canary-key", "value": 1}),
        )
        .await;
        ask(json!({"command": "agent.register", "agent": "canary-agent"})).await;
        ask(json!({"command": "task.create", "type": "canary-type"})).await;
        ask(json!({"command": "lock.acquire", "name": "canary-lock"})).await;
        let check = json!({"expression": "false"});
        ask(json!({"command": "rule.add", "name": "canary-rule", "check": check})).await;
        // Other refusals are not counted as refused by rules.
        let offer = json!({"command": "handoff.offer", "to": "canary-agent"});
        ask(json!([offer, {"command": "task.get", "task": "canary-task"}])).await;
        let response = http.post(&format!("/v1/{workspace}/commands"), &offer).await;
        assert!(response.status >= 400, "{}", response.status);
    }
    let text = page(&harness).await;
    assert!(!text.contains("canary"), "{text}");
    for line in [
        // The two: the one of the tokens is not there before there is a token.
        "baton_workspaces 2",
        "baton_state_entries 2",
        "baton_agents{status=\"active\"} 2",
        "baton_tasks{status=\"ready\"} 2",
        "baton_held{kind=\"locks\"} 2",
        "baton_read_only 0",
        "baton_offers_refused_total 4",
    ] {
        assert!(text.lines().any(|response| response == line), "{line} is not in {text}");
    }
    let families = families(&text);
    let (kind, syncs) = &families["baton_sync_seconds"];
    let of = |name: &str| syncs.iter().find(|(response, _)| response == name).unwrap().1;
    assert_eq!(kind, "histogram");
    assert!(of("baton_sync_seconds_count") >= 4.0);
    let rest = of("baton_sync_seconds_bucket{le=\"+Inf\"}");
    assert!((rest - of("baton_sync_seconds_count")).abs() < 0.5);
    let buckets: Vec<f64> =
        syncs.iter().filter(|(name, _)| name.contains("_bucket")).map(|it| it.1).collect();
    assert!(buckets.is_sorted(), "{buckets:?}");
    harness.end().await;
}
