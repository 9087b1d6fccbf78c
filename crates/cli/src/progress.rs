//! A progress bar for long operations.
//!
//! ```text
//!   restoring  ████████████████░░░░░░░░░░░░░░  52 %  1.6 of 3.1 GiB  112.0 MiB/s  14 s left
//!   backing up  3.1 GiB  112.0 MiB/s             if the total is unknown
//! ```
//!
//! 1. It is drawn on stderr, only if stderr is a terminal, the output format is a table, and
//!    --quiet is not given: it never reaches a pipe, a file or a program.
//! 2. Short operations show no progress bar.
//! 3. When the operation ends, successfully or not, the line is erased.
//! 4. Readers and writers are only counted; drawing never delays them.
//!
//! Deliberately absent: several bars at a time. Operations run one after the other.

use std::io::{self, IsTerminal, Read, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Shorter operations show no progress bar.
const PATIENCE: Duration = Duration::from_millis(300);
/// Minimum interval between redraws.
const PAUSE: Duration = Duration::from_millis(100);
/// Width of the bar.
const CELLS: u64 = 30;

/// The unit of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Bytes,
    Milliseconds,
}

/// The current progress.
#[derive(Clone, Copy)]
struct State {
    done: u64,
    drawn_at: Option<Instant>,
}

struct Line {
    what: &'static str,
    unit: Unit,
    total: Option<u64>,
    begun_at: Instant,
    columns: usize,
    state: Mutex<State>,
}

/// The progress bar of one operation; none if it is disabled.
#[derive(Clone)]
pub(crate) struct Progress(Option<Arc<Line>>);

impl Progress {
    /// Starts a progress bar. `is_wanted` is true if the output is for people.
    pub(crate) fn begin(
        is_wanted: bool,
        what: &'static str,
        unit: Unit,
        total: Option<u64>,
    ) -> Self {
        let stderr = io::stderr();
        if !is_wanted || !stderr.is_terminal() {
            return Self(None);
        }
        let size = rustix::termios::tcgetwinsize(&stderr).ok();
        let columns = size.map_or(80, |size| usize::from(size.ws_col));
        let state = Mutex::new(State { done: 0, drawn_at: None });
        Self(Some(Arc::new(Line { what, unit, total, begun_at: now(), columns, state })))
    }

    /// Adds to the progress.
    pub(crate) fn advance(&self, by: u64) {
        let Some(line) = &self.0 else { return };
        let mut state = line.state.lock().expect("drawing does not panic");
        state.done += by;
        let at = now();
        let is_due = state.drawn_at.is_none_or(|drawn_at| at >= drawn_at + PAUSE);
        if is_due && at >= line.begun_at + PATIENCE {
            state.drawn_at = Some(at);
            let text = text(line.what, line.unit, state.done, line.total, at - line.begun_at);
            let fitting: String = text.chars().take(line.columns.saturating_sub(1)).collect();
            draw(&format!("\r{fitting}\u{1b}[K"));
        }
    }

    /// Wraps a reader or writer so that its bytes count as progress.
    pub(crate) fn counting<T>(&self, inner: T) -> Counted<T> {
        Counted { inner, progress: self.clone() }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.state.get_mut().is_ok_and(|state| state.drawn_at.is_some()) {
            draw("\r\u{1b}[K");
        }
    }
}

/// A reader or writer whose bytes count as progress.
pub(crate) struct Counted<T> {
    inner: T,
    progress: Progress,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.progress.advance(count as u64);
        Ok(count)
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.progress.advance(count as u64);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Errors are ignored: progress is not important enough to fail.
fn draw(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

#[expect(clippy::disallowed_methods, reason = "the elapsed time is displayed")]
fn now() -> Instant {
    Instant::now()
}

fn text(what: &str, unit: Unit, done: u64, total: Option<u64>, elapsed: Duration) -> String {
    let rate = per_second(done, elapsed);
    let speed = match unit {
        Unit::Bytes => format!("  {}/s", bytes(rate)),
        Unit::Milliseconds => String::new(),
    };
    let Some(total) = total.filter(|total| *total > 0) else {
        return format!("{what}  {}{speed}", amount(unit, done));
    };
    let done = done.min(total);
    let share = |of: u64| u64::try_from(u128::from(done) * u128::from(of) / u128::from(total));
    let full = share(CELLS).unwrap_or(CELLS);
    let percent = share(100).unwrap_or(100);
    let bar: String = (0..CELLS).map(|cell| if cell < full { '█' } else { '░' }).collect();
    let left = match rate {
        0 => String::new(),
        rate => format!("  {} s left", (total - done).div_ceil(rate)),
    };
    let sum = amount(unit, total);
    format!("{what}  {bar} {percent:>3} %  {} of {sum}{speed}{left}", amount(unit, done))
}

fn per_second(done: u64, elapsed: Duration) -> u64 {
    let rate = u128::from(done) * 1_000 / elapsed.as_millis().max(1);
    u64::try_from(rate).unwrap_or(u64::MAX)
}

fn amount(unit: Unit, count: u64) -> String {
    match unit {
        Unit::Bytes => bytes(count),
        Unit::Milliseconds => format!("{} s", count / 1_000),
    }
}

/// Bytes in a readable unit.
fn bytes(count: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.into_iter().find(|(size, _)| count >= *size) {
        Some((size, name)) => format!("{}.{} {name}", count / size, count % size * 10 / size),
        None => format!("{count} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_shows_the_known_fields() {
        let second = Duration::from_secs(1);
        let half = text("restoring", Unit::Bytes, 5 << 20, Some(10 << 20), second);
        let bar = format!("{}{}", "█".repeat(15), "░".repeat(15));
        assert_eq!(
            half,
            format!("restoring  {bar}  50 %  5.0 MiB of 10.0 MiB  5.0 MiB/s  1 s left")
        );
        let endless = text("saving", Unit::Bytes, 1536, None, second);
        assert_eq!(endless, "saving  1.5 KiB  1.5 KiB/s");
        let timed = text("measuring", Unit::Milliseconds, 2_000, Some(4_000), 2 * second);
        assert_eq!(timed, format!("measuring  {bar}  50 %  2 s of 4 s  2 s left"));
    }

    #[test]
    fn zero_totals_and_overshoot_are_handled() {
        for (done, total) in [(0, Some(0)), (0, None), (7, Some(0)), (0, Some(9)), (20, Some(9))] {
            let text = text("reading", Unit::Bytes, done, total, Duration::ZERO);
            assert!(text.starts_with("reading  "), "{text}");
            assert!(!text.contains("222 %"), "{text}");
        }
        assert_eq!(bytes(u64::MAX), "17179869183.9 GiB");
    }

    #[test]
    fn counting_does_not_change_the_bytes() {
        let progress = Progress::begin(false, "reading", Unit::Bytes, None);
        let mut read = Vec::new();
        progress.counting(&b"all of it"[..]).read_to_end(&mut read).unwrap();
        let mut written = progress.counting(Vec::new());
        written.write_all(&read).unwrap();
        written.flush().unwrap();
        assert_eq!(written.inner, b"all of it");
    }
}
