//! The activity of the serving thread of a server: by the server's metrics, and by the kernel.

use std::fs;
use std::io::{Read as _, Write as _};

use serde_json::{Value, json};

use crate::Outcome;
use crate::peers::driver;
use crate::peers::processes::Server;
use crate::resources::{Stopwatch, count};

/// The metric: how long one connection was served at a time.
const HELD: &str = "baton_serving_thread_held_seconds_bucket{le=\"";

/// The serving thread since the start of the server, or between two moments.
#[derive(Clone, Default)]
pub(super) struct ServingThread {
    /// How often it was held for at most so many seconds; without a bound last. Empty if the
    /// server does not tell.
    held: Vec<(f64, u64)>,
    running_seconds: f64,
    /// For how long it was ready to run and got no processor.
    waiting_seconds: f64,
    /// How often it was given one.
    slices: u64,
    seconds: f64,
}

impl ServingThread {
    /// Since the start of a server.
    pub(super) fn now(server: &Server) -> Outcome<Moment> {
        // The first thread of the process serves.
        let statistics = fs::read_to_string(format!("/proc/{}/schedstat", server.pid()))?;
        let fields = statistics.split_whitespace().map(str::parse);
        let fields = fields.collect::<Result<Vec<u64>, _>>()?;
        let [running, waiting, slices] = fields[..] else {
            return Err("the kernel has changed the format of its statistics".into());
        };
        let thread = Self {
            held: held(&metrics(server.port())?),
            running_seconds: count(running) / 1e9,
            waiting_seconds: count(waiting) / 1e9,
            slices,
            seconds: 0.0,
        };
        Ok(Moment { at: Stopwatch::start(), thread })
    }

    /// All of several.
    pub(super) fn sum(threads: &[Self]) -> Self {
        let mut sum = Self::default();
        for thread in threads {
            sum.running_seconds += thread.running_seconds;
            sum.waiting_seconds += thread.waiting_seconds;
            sum.slices += thread.slices;
            sum.seconds += thread.seconds;
            if sum.held.is_empty() {
                sum.held.clone_from(&thread.held);
            } else {
                let pairs = sum.held.iter_mut().zip(&thread.held);
                pairs.for_each(|(sum, held)| sum.1 += held.1);
            }
        }
        sum
    }

    /// The bound that this part of the times did not exceed.
    fn held_us(&self, part: f64) -> Option<f64> {
        let total = self.held.last()?.1;
        let wanted = part * count(total);
        let bucket = self.held.iter().find(|(_, times)| count(*times) >= wanted)?;
        Some(bucket.0 * 1e6)
    }

    /// In words, after other ones.
    pub(super) fn text(&self) -> String {
        let waiting = if self.seconds > 0.0 { self.waiting_seconds / self.seconds } else { 0.0 };
        let each = self.waiting_seconds / count(self.slices.max(1));
        let processor = format!(
            "it waited for a processor for {:.0} % of the time, {:.0} µs each",
            waiting * 100.0,
            each * 1e6
        );
        let (Some(usual), Some(most)) = (self.held_us(0.99), self.held_us(1.0)) else {
            return format!(", the serving thread: {processor}");
        };
        let [usual, most] = [usual, most].map(|bound| {
            if bound.is_finite() { format!("{bound:.0} µs") } else { "more".to_owned() }
        });
        format!(", the serving thread was held at most {usual} (p99), {most} (all); {processor}")
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "held_p99_us": self.held_us(0.99),
            "held_max_us": self.held_us(1.0),
            "running_seconds": self.running_seconds,
            "waiting_for_processor_seconds": self.waiting_seconds,
            "slices": self.slices,
            "seconds": self.seconds,
        })
    }
}

/// The serving thread up to a moment.
pub(super) struct Moment {
    at: Stopwatch,
    thread: ServingThread,
}

impl Moment {
    /// The difference from an earlier one.
    pub(super) fn since(&self, before: &Self) -> ServingThread {
        let (now, before_it) = (&self.thread, &before.thread);
        let earlier = before_it.held.iter().map(|(_, times)| *times).chain(std::iter::repeat(0));
        let held = now.held.iter().zip(earlier);
        ServingThread {
            held: held.map(|((bound, times), earlier)| (*bound, times - earlier)).collect(),
            running_seconds: now.running_seconds - before_it.running_seconds,
            waiting_seconds: now.waiting_seconds - before_it.waiting_seconds,
            slices: now.slices - before_it.slices,
            seconds: before.at.elapsed().saturating_sub(self.at.elapsed()).as_secs_f64(),
        }
    }
}

/// The page of metrics of a server.
fn metrics(port: u16) -> Outcome<String> {
    let mut stream = driver::connect(port)?;
    let request =
        format!("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut page = String::new();
    stream.read_to_string(&mut page)?;
    Ok(page)
}

/// The buckets of the metric: each includes the ones before it.
fn held(page: &str) -> Vec<(f64, u64)> {
    let bucket = |line: &str| {
        let (bound, times) = line.strip_prefix(HELD)?.split_once("\"} ")?;
        let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().ok()? };
        Some((bound, times.trim().parse().ok()?))
    };
    page.lines().filter_map(bucket).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# TYPE baton_serving_thread_held_seconds histogram\n\
        baton_serving_thread_held_seconds_bucket{le=\"0.000100\"} 90\n\
        baton_serving_thread_held_seconds_bucket{le=\"0.001000\"} 99\n\
        baton_serving_thread_held_seconds_bucket{le=\"+Inf\"} 100\n\
        baton_serving_thread_held_seconds_sum 0.010000\n";

    #[test]
    fn the_longest_times_are_read_from_the_buckets() {
        let thread = ServingThread { held: held(PAGE), ..ServingThread::default() };
        assert_eq!(thread.held_us(0.5), Some(100.0));
        assert_eq!(thread.held_us(0.99), Some(1000.0));
        assert_eq!(thread.held_us(1.0), Some(f64::INFINITY));
        assert_eq!(ServingThread::default().held_us(0.99), None);
    }
}
