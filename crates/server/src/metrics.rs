//! What the doors count, in the text form of Prometheus.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use baton_core::Kind;

/// Counts how often, by door and outcome.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Connections that are open.
    pub connections: Gauge,
    /// Those among them that are upgraded to the WebSocket protocol.
    pub websockets: Gauge,
    /// Watches that are open.
    pub watches: Gauge,
    /// Events that were pushed to watchers.
    pub pushed: Counter,
    /// Connections that were refused because there were too many.
    pub refused: Counter,
    http: Outcomes,
    websocket: Outcomes,
}

/// Something that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// So many more.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Something of which there is more or less.
#[derive(Debug, Default)]
pub struct Gauge(AtomicU64);

impl Gauge {
    /// One more, unless there are as many as may be.
    pub fn enter(&self, max: usize) -> bool {
        let room = |count: u64| (count < max as u64).then_some(count + 1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).is_ok()
    }

    /// One less.
    pub fn leave(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Which door a request came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// HTTP.
    Http,
    /// The WebSocket.
    WebSocket,
}

const KINDS: [(&str, Option<Kind>); 9] = [
    ("ok", None),
    ("invalid", Some(Kind::Invalid)),
    ("denied", Some(Kind::Denied)),
    ("not_found", Some(Kind::NotFound)),
    ("conflict", Some(Kind::Conflict)),
    ("stale", Some(Kind::Stale)),
    ("too_large", Some(Kind::TooLarge)),
    ("exhausted", Some(Kind::Exhausted)),
    ("unavailable", Some(Kind::Unavailable)),
];

#[derive(Debug, Default)]
struct Outcomes([Counter; KINDS.len()]);

impl Metrics {
    /// A request was answered, well or not.
    pub fn answered(&self, door: Door, outcome: Option<Kind>) {
        let outcomes = match door {
            Door::Http => &self.http,
            Door::WebSocket => &self.websocket,
        };
        let place = KINDS.iter().position(|(_, kind)| *kind == outcome);
        outcomes.0[place.expect("every kind is in the list")].add(1);
    }

    /// All of it, and what is known of the engine.
    pub fn text(&self, resident_workspaces: usize) -> String {
        let mut out = String::new();
        let mut family = |name: &str, kind: &str, help: &str, lines: &[(String, u64)]| {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, value) in lines {
                let _ = writeln!(out, "{name}{labels} {value}");
            }
        };
        let plain = |value: u64| vec![(String::new(), value)];
        let mut requests = Vec::new();
        for (door, outcomes) in [("http", &self.http), ("websocket", &self.websocket)] {
            for ((outcome, _), counter) in KINDS.iter().zip(&outcomes.0) {
                let labels = format!("{{door=\"{door}\",outcome=\"{outcome}\"}}");
                requests.push((labels, counter.count()));
            }
        }
        family("baton_requests_total", "counter", "Requests by door and outcome.", &requests);
        let gauges = [
            ("baton_connections", "Connections that are open.", self.connections.count()),
            ("baton_websockets", "WebSockets that are open.", self.websockets.count()),
            ("baton_watches", "Watches that are open.", self.watches.count()),
            ("baton_workspaces", "Workspaces in memory.", resident_workspaces as u64),
        ];
        for (name, help, value) in gauges {
            family(name, "gauge", help, &plain(value));
        }
        let counters = [
            ("baton_events_pushed_total", "Events pushed to watchers.", self.pushed.count()),
            ("baton_connections_refused_total", "Connections too many.", self.refused.count()),
        ];
        for (name, help, value) in counters {
            family(name, "counter", help, &plain(value));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_told_with_its_name_and_kind() {
        let metrics = Metrics::default();
        metrics.answered(Door::Http, None);
        metrics.answered(Door::WebSocket, Some(Kind::TooLarge));
        metrics.answered(Door::WebSocket, Some(Kind::TooLarge));
        metrics.pushed.add(5);
        assert!(metrics.connections.enter(1));
        let text = metrics.text(7);
        for line in [
            "baton_requests_total{door=\"http\",outcome=\"ok\"} 1",
            "baton_requests_total{door=\"http\",outcome=\"stale\"} 0",
            "baton_requests_total{door=\"websocket\",outcome=\"too_large\"} 2",
            "# TYPE baton_requests_total counter",
            "# TYPE baton_connections gauge",
            "baton_connections 1",
            "baton_workspaces 7",
            "baton_events_pushed_total 5",
        ] {
            assert!(text.lines().any(|told| told == line), "{line} is not in {text}");
        }
        let helps = text.lines().filter(|line| line.starts_with("# HELP ")).count();
        let types = text.lines().filter(|line| line.starts_with("# TYPE ")).count();
        assert_eq!((helps, types), (7, 7));
    }

    #[test]
    fn a_gauge_has_its_limit() {
        let gauge = Gauge::default();
        assert!(gauge.enter(2) && gauge.enter(2));
        assert!(!gauge.enter(2));
        gauge.leave();
        assert_eq!(gauge.count(), 1);
        assert!(gauge.enter(2) && !gauge.enter(0));
    }
}
