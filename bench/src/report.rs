//! Results: a line each for people, and all of them as JSON for programs.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::resources::Measured;

/// The target of a ratio.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    AtLeast(f64),
    AtMost(f64),
}

impl Target {
    fn is_met(self, ratio: f64) -> bool {
        match self {
            Self::AtLeast(least) => ratio >= least,
            Self::AtMost(most) => ratio <= most,
        }
    }

    fn missed(self) -> &'static str {
        match self {
            Self::AtLeast(_) => "BELOW",
            Self::AtMost(_) => "ABOVE",
        }
    }

    fn text(self) -> String {
        match self {
            Self::AtLeast(least) => format!("at least {least}"),
            Self::AtMost(most) => format!("at most {most}"),
        }
    }
}

/// The result of one load.
pub(crate) struct Comparison {
    pub(crate) name: String,
    pub(crate) ratio: f64,
    /// The minimum and the maximum of the rounds.
    pub(crate) spread: (f64, f64),
    /// Our value and that of the peer, with their units.
    pub(crate) sides: (String, String),
    pub(crate) note: String,
    pub(crate) target: Option<Target>,
    pub(crate) facts: Value,
}

impl Comparison {
    /// Ratios per round: their median, minimum and maximum.
    pub(crate) fn of_ratios(name: &str, ratios: &[f64], sides: (String, String)) -> Self {
        Self {
            name: name.to_owned(),
            ratio: median(ratios),
            spread: spread(ratios),
            sides,
            note: String::new(),
            target: None,
            facts: json!({ "ratios": ratios }),
        }
    }

    /// Rates of the engine and of a raw file that were measured alternately.
    pub(crate) fn of_turns(name: &str, turns: &[(Measured, Measured)]) -> Self {
        let of = |number: fn(&(Measured, Measured)) -> f64| -> Vec<f64> {
            turns.iter().map(number).collect()
        };
        let ratios = of(|(ours, raw)| ours.rate() / raw.rate());
        let (ours, raw) = (median(&of(|turn| turn.0.rate())), median(&of(|turn| turn.1.rate())));
        let cpu = (median(&of(|turn| turn.0.cpu_us())), median(&of(|turn| turn.1.cpu_us())));
        let ours_callers = median(&of(|turn| turn.0.caller_cpu_us()));
        let raw_callers = median(&of(|turn| turn.1.caller_cpu_us()));
        let line = Self::of_ratios(name, &ratios, (rate(ours), rate(raw)));
        Self {
            note: format!(
                "CPU {:.2} against {:.2} µs each, of it the callers' thread {ours_callers:.2} \
                 against {raw_callers:.2}",
                cpu.0, cpu.1
            ),
            facts: json!({
                "ours_per_second": ours,
                "raw_per_second": raw,
                "ours_cpu_us": cpu.0,
                "raw_cpu_us": cpu.1,
                "ours_callers_cpu_us": ours_callers,
                "raw_callers_cpu_us": raw_callers,
                "ratios": ratios,
            }),
            ..line
        }
    }

    pub(crate) fn target(self, target: Target) -> Self {
        Self { target: Some(target), ..self }
    }

    fn verdict(&self) -> Option<bool> {
        self.target.map(|target| target.is_met(self.ratio))
    }

    fn text(&self) -> String {
        let Self { name, ratio, sides, spread, note, .. } = self;
        let mut parts = vec![format!("{name}: {ratio:.2} ({}; {})", sides.0, sides.1)];
        if spread.0 < spread.1 {
            parts.push(format!("{:.2}-{:.2} by turn", spread.0, spread.1));
        }
        if !note.is_empty() {
            parts.push(note.clone());
        }
        if let (Some(target), Some(met)) = (self.target, self.verdict()) {
            parts.push(format!(
                "{}: {}",
                target.text(),
                if met { "PASS" } else { target.missed() }
            ));
        }
        parts.join(", ")
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "ratio": self.ratio,
            "least": self.spread.0,
            "greatest": self.spread.1,
            "target": self.target.map(Target::text),
            "met": self.verdict(),
            "facts": self.facts,
        })
    }
}

/// All results so far.
#[derive(Default)]
pub(crate) struct Report {
    lines: Vec<Comparison>,
    /// The loads that could not be measured, and why.
    left_out: Vec<String>,
}

impl Report {
    /// Adds a result and prints it at once: the next load may take a while.
    pub(crate) fn add(&mut self, line: Comparison) {
        say(&line.text());
        self.lines.push(line);
    }

    /// Reports that something is not measured: a table with a silent gap would look complete.
    pub(crate) fn leave_out(&mut self, text: String) {
        say(&text);
        self.left_out.push(text);
    }

    /// How many targets were met.
    pub(crate) fn summary(&self) -> String {
        let verdicts: Vec<bool> = self.lines.iter().filter_map(Comparison::verdict).collect();
        let met = verdicts.iter().filter(|met| **met).count();
        format!("{met} of {} targets met", verdicts.len())
    }

    /// Writes all results as JSON.
    pub(crate) fn write_json(&self, path: &Path) -> io::Result<()> {
        let lines: Vec<Value> = self.lines.iter().map(Comparison::json).collect();
        let all = json!({ "loads": lines, "left_out": self.left_out, "summary": self.summary() });
        fs::write(path, format!("{all:#}\n"))
    }
}

/// Whether a progress line is on the terminal.
static IS_PROGRESS_SHOWN: AtomicBool = AtomicBool::new(false);
/// Returns to the start of the line, and erases it.
const ERASE: &str = "\r\x1b[K";

/// Shows on a terminal how far a load is. The line is replaced by the next one, or by a result.
pub(crate) fn progress(text: &str, done: usize, all: usize) {
    let mut out = io::stderr().lock();
    if !out.is_terminal() {
        return;
    }
    IS_PROGRESS_SHOWN.store(true, Ordering::Relaxed);
    let _ = write!(out, "{ERASE}{}", progress_line(text, done, all));
    let _ = out.flush();
}

fn progress_line(text: &str, done: usize, all: usize) -> String {
    format!("{text}, {} %", done * 100 / all.max(1))
}

fn erase_progress() {
    if IS_PROGRESS_SHOWN.swap(false, Ordering::Relaxed) {
        let _ = write!(io::stderr().lock(), "{ERASE}");
    }
}

/// Prints a line. A closed output does not stop the measurement.
pub(crate) fn say(text: &str) {
    erase_progress();
    let _ = writeln!(io::stdout().lock(), "{text}");
}

/// Prints an error.
pub(crate) fn complain(text: &str) {
    erase_progress();
    let _ = writeln!(io::stderr().lock(), "baton-bench: {text}");
}

/// The median.
pub(crate) fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// The minimum and the maximum.
pub(crate) fn spread(numbers: &[f64]) -> (f64, f64) {
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    (least, numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

/// A rate for people.
pub(crate) fn rate(per_second: f64) -> String {
    if per_second >= 999_500.0 {
        format!("{:.2} M/s", per_second / 1e6)
    } else {
        format!("{:.1} k/s", per_second / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::progress_line;

    #[test]
    fn progress_is_what_was_done_of_all() {
        assert_eq!(progress_line("set: round 2 of 5", 5, 20), "set: round 2 of 5, 25 %");
        assert_eq!(progress_line("nothing", 0, 0), "nothing, 0 %");
    }
}
