//! Metrics of the interfaces, in the text format of Prometheus.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use baton::metrics::{MetricsSnapshot, SYNC_BOUNDS_US};
use baton_core::Kind;

use crate::cluster::ClusterMetrics;
use crate::held::{HELD_BOUNDS_US, HeldTimes};

/// Counters by interface and outcome.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Open connections.
    pub connections: Gauge,
    /// Open connections that were upgraded to the WebSocket protocol.
    pub websockets: Gauge,
    /// Open watches.
    pub watches: Gauge,
    /// Events pushed to watchers.
    pub pushed: Counter,
    /// Connections refused because there were too many.
    pub refused: Counter,
    /// Offers that rules refused. They are not recorded anywhere else.
    pub offers_refused: Counter,
    /// Requests and connections that were forwarded to another server.
    pub forwarded: Counter,
    /// The counters of a server that shares its data with others.
    pub cluster: ClusterMetrics,
    /// How long the serving thread is held.
    pub held: HeldTimes,
    /// The export to a collector.
    #[cfg(feature = "otel")]
    pub otel: Exported,
    http: Outcomes,
    websocket: Outcomes,
    quotas: [Counter; QUOTAS.len()],
}

/// Spans exported to a collector.
#[cfg(feature = "otel")]
#[derive(Debug, Default)]
pub struct Exported {
    /// Accepted spans.
    pub exported: Counter,
    /// Spans that were rejected finally.
    pub dropped: Counter,
    /// Failed requests that were retried.
    pub failures: Counter,
    /// Revisions that have not been processed and delivered yet.
    pub behind: Gauge,
}

/// A counter.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds this many.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// The count.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A gauge.
#[derive(Debug, Default)]
pub struct Gauge(AtomicU64);

impl Gauge {
    /// Increments it, unless the maximum is reached.
    pub fn enter(&self, max: usize) -> bool {
        let room = |count: u64| (count < max as u64).then_some(count + 1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).is_ok()
    }

    /// Decrements it.
    pub fn leave(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// Sets it.
    #[cfg(feature = "otel")]
    pub fn set(&self, count: u64) {
        self.0.store(count, Ordering::Relaxed);
    }

    /// The value.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The protocol of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// HTTP.
    Http,
    /// The WebSocket.
    WebSocket,
}

/// The codes of offers that rules reject.
const OFFER_REFUSED: &str = "handoff.invalid";

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

/// The codes of refusals by quotas.
pub const QUOTAS: [&str; 6] = [
    "quota.operations",
    "quota.bytes",
    "quota.connections",
    "quota.watches",
    "quota.entries",
    "quota.stored_bytes",
];

#[derive(Debug, Default)]
struct Outcomes([Counter; KINDS.len()]);

impl Metrics {
    /// Counts an answered request, successful or not.
    pub fn answered(&self, transport: Transport, outcome: Option<Kind>) {
        let outcomes = match transport {
            Transport::Http => &self.http,
            Transport::WebSocket => &self.websocket,
        };
        let index = KINDS.iter().position(|(_, kind)| *kind == outcome);
        outcomes.0[index.expect("every kind is in the list")].add(1);
    }

    /// A request was refused with this code: offers and quotas are counted separately.
    pub fn refused_with(&self, code: &str) {
        if code == OFFER_REFUSED {
            self.offers_refused.add(1);
        } else if let Some(index) = QUOTAS.iter().position(|quota| *quota == code) {
            self.quotas[index].add(1);
        }
    }

    /// The page of all metrics, including those of the engines of this many shards.
    pub fn text(&self, counted: &MetricsSnapshot, denied: &[(&str, u64)], shards: usize) -> String {
        let mut page = Page::default();
        let mut requests = Vec::new();
        for (transport, outcomes) in [("http", &self.http), ("websocket", &self.websocket)] {
            for ((outcome, _), counter) in KINDS.iter().zip(&outcomes.0) {
                let labels = format!("{{interface=\"{transport}\",outcome=\"{outcome}\"}}");
                requests.push((labels, counter.count()));
            }
        }
        page.family(
            "baton_requests_total",
            "counter",
            "Requests by interface and outcome.",
            &requests,
        );
        let refused = QUOTAS.iter().zip(&self.quotas).map(|(code, counter)| {
            (format!("{{quota=\"{}\"}}", code.trim_start_matches("quota.")), counter.count())
        });
        let refused: Vec<_> = refused.collect();
        let help = "Requests refused because a quota is reached.";
        page.family("baton_quota_refused_total", "counter", help, &refused);
        page.build();
        self.gauges(counted, shards, &mut page);
        for (name, help, value) in [
            ("baton_events_pushed_total", "Events pushed to watchers.", self.pushed.count()),
            (
                "baton_connections_refused_total",
                "Connections refused because of a limit.",
                self.refused.count(),
            ),
            ("baton_offers_refused_total", "Offers refused by rules.", self.offers_refused.count()),
            ("baton_snapshots_total", "Snapshots written.", counted.snapshots),
            (
                "baton_forwarded_total",
                "Requests and WebSockets forwarded to the owner of their workspace.",
                self.forwarded.count(),
            ),
        ] {
            page.one(name, "counter", help, value);
        }
        self.cluster.write(&mut page);
        #[cfg(feature = "otel")]
        page.exported(&self.otel);
        let who = |(who, count): &(&str, u64)| (format!("{{who=\"{who}\"}}"), *count);
        let denied: Vec<_> = denied.iter().map(who).collect();
        let help = "Denied requests, with and without a valid token.";
        page.family("baton_access_refused_total", "counter", help, &denied);
        let help = "How long it takes until a group of changes is durable.";
        let bounds: &[u64] = &SYNC_BOUNDS_US;
        page.histogram("baton_sync_seconds", help, bounds, (&counted.syncs, counted.sync_us));
        let help = "How long one connection is served at a time, while all others wait.";
        let held = (&self.held.counts()[..], self.held.microseconds());
        page.histogram("baton_serving_thread_held_seconds", help, &HELD_BOUNDS_US, held);
        for lines in counted.lines.chunk_by(|one, next| one.family.name == next.family.name) {
            let family = lines[0].family;
            let samples = lines.iter().map(|line| {
                let label = family.label.map(|name| format!("{{{name}=\"{}\"}}", line.label));
                (label.unwrap_or_default(), line.value)
            });
            page.family(family.name, "gauge", family.help, &samples.collect::<Vec<_>>());
        }
        page.0
    }

    /// Writes the current values.
    fn gauges(&self, counted: &MetricsSnapshot, shards: usize, page: &mut Page) {
        for (name, help, value) in [
            ("baton_shards", "Shards that the server owns; 1 without a cluster.", shards as u64),
            ("baton_connections", "Open connections.", self.connections.count()),
            ("baton_websockets", "Open WebSockets.", self.websockets.count()),
            ("baton_watches", "Open watches.", self.watches.count()),
            ("baton_workspaces", "Workspaces in memory.", counted.workspaces),
            ("baton_log_bytes", "Bytes of the log.", counted.log_bytes),
            (
                "baton_unsnapshotted_bytes",
                "Bytes of the log that no snapshot covers.",
                counted.unsnapshotted_bytes,
            ),
            (
                "baton_read_only",
                "1 if the disk is nearly full and writes are refused.",
                counted.is_read_only.into(),
            ),
        ] {
            page.one(name, "gauge", help, value);
        }
        if let Some(free) = counted.free_bytes {
            page.one("baton_disk_free_bytes", "gauge", "Free bytes on the disk.", free);
        }
        if let Some(age_ms) = counted.snapshot_age_ms {
            let help = "Seconds since the last snapshot.";
            page.one("baton_snapshot_age_seconds", "gauge", help, age_ms / 1_000);
        }
    }
}

/// The content type of the page.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A page of metrics that is being written.
#[derive(Default)]
pub(crate) struct Page(pub(crate) String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str, lines: &[(String, u64)]) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in lines {
            let _ = writeln!(self.0, "{name}{labels} {value}");
        }
    }

    fn build(&mut self) {
        let version = format!("{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
        let help = "The version of the server, as a label.";
        self.family("baton_build", "gauge", help, &[(version, 1)]);
    }

    pub(crate) fn one(&mut self, name: &str, kind: &str, help: &str, value: u64) {
        self.family(name, kind, help, &[(String::new(), value)]);
    }

    /// The outcomes of spans.
    #[cfg(feature = "otel")]
    fn exported(&mut self, exported: &Exported) {
        for (name, help, counter) in [
            ("baton_otel_spans_exported_total", "Spans sent.", &exported.exported),
            ("baton_otel_spans_dropped_total", "Spans that are lost.", &exported.dropped),
            ("baton_otel_failures_total", "Requests made again.", &exported.failures),
        ] {
            self.one(name, "counter", help, counter.count());
        }
        let help = "Revisions whose spans were not sent yet.";
        self.one("baton_otel_behind_revisions", "gauge", help, exported.behind.count());
    }

    /// A histogram of durations: each bucket includes all smaller ones.
    pub(crate) fn histogram(
        &mut self,
        name: &str,
        help: &str,
        bounds_us: &[u64],
        (counts, sum_us): (&[u64], u64),
    ) {
        self.family(name, "histogram", help, &[]);
        let mut count = 0;
        let bounds = bounds_us.iter().map(|bound| seconds(*bound));
        for (bound, added) in bounds.chain(["+Inf".to_owned()]).zip(counts) {
            count += added;
            let _ = writeln!(self.0, "{name}_bucket{{le=\"{bound}\"}} {count}");
        }
        let _ = writeln!(self.0, "{name}_sum {}\n{name}_count {count}", seconds(sum_us));
    }
}

/// Microseconds as seconds, without the inaccuracy of floats.
fn seconds(microseconds: u64) -> String {
    format!("{}.{:06}", microseconds / 1_000_000, microseconds % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_is_exposed_with_its_name_and_type() {
        let metrics = Metrics::default();
        metrics.answered(Transport::Http, None);
        metrics.answered(Transport::WebSocket, Some(Kind::TooLarge));
        metrics.answered(Transport::WebSocket, Some(Kind::TooLarge));
        metrics.pushed.add(5);
        assert!(metrics.connections.enter(1));
        let mut syncs = vec![0; SYNC_BOUNDS_US.len() + 1];
        (syncs[0], syncs[2]) = (3, 1);
        let counted = MetricsSnapshot {
            workspaces: 7,
            syncs,
            sync_us: 1_000_200,
            ..MetricsSnapshot::default()
        };
        let text = metrics.text(&counted, &[("known", 2), ("stranger", 9)], 1);
        for line in [
            "baton_requests_total{interface=\"http\",outcome=\"ok\"} 1",
            "baton_requests_total{interface=\"http\",outcome=\"stale\"} 0",
            "baton_requests_total{interface=\"websocket\",outcome=\"too_large\"} 2",
            "# TYPE baton_requests_total counter",
            "# TYPE baton_connections gauge",
            "baton_connections 1",
            "baton_workspaces 7",
            "baton_events_pushed_total 5",
            "baton_access_refused_total{who=\"stranger\"} 9",
            "baton_sync_seconds_bucket{le=\"0.000050\"} 3",
            "baton_sync_seconds_bucket{le=\"0.000200\"} 4",
            "baton_sync_seconds_bucket{le=\"+Inf\"} 4",
            "baton_sync_seconds_sum 1.000200",
            "baton_sync_seconds_count 4",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
        }
        let helps = text.lines().filter(|line| line.starts_with("# HELP ")).count();
        let types = text.lines().filter(|line| line.starts_with("# TYPE ")).count();
        assert_eq!(helps, types);
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
