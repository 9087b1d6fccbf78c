//! The server log: events for operators, one per line.
//!
//! ```text
//!   2026-11-16T01:25:00.123Z warn  operation.slow connection=7 workspace=research duration_ms=1530
//!   {"time":"2026-11-16T01:25:00.123Z","level":"warn","what":"operation.slow","connection":7,…}
//! ```
//!
//! | level | what |
//! |---|---|
//! | `error` | `engine.stopped` |
//! | `warn`, `info` | `peer.unreachable`, `peer.well` |
//! | `warn` | `operation.slow`, `connection.turned_away`, `disk.low`, `journal.lost` |
//! | `warn` | `otel.unreachable`, `otel.dropped`, `otel.gone`, `otel.trouble` |
//! | `info` | `server.began`, `server.ended`, `disk.well`, `otel.well` |
//! | `info` | `token.made`, `token.revoked`, `access.refused`, `quota.reached` |
//! | `debug` | one for each: `connection.opened`, `connection.closed` |
//! | `debug` | and `operation.asked`, `operation.refused` |
//!
//! 1. Input of callers never adds a line: control characters are escaped, and long text is
//!    truncated.
//! 2. No request waits for a line to be written. A thread writes them; when it cannot keep up,
//!    lines are lost and counted, and `journal.lost` reports how many.
//! 3. A caller cannot flood the server log: lines at `info` and above that callers cause are
//!    written once a second per kind, with the number of occurrences since.
//! 4. A disabled level costs one comparison.
//!
//! Deliberately absent: files and their rotation, which are left to the service manager.

use std::fmt::{Display, Write as _};
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use baton_core::wire::Call;
use baton_core::{AgentId, Mutation, Timestamp, WorkspaceName};
use tokio::time::Instant;

use crate::access::now;
use crate::settings::Settings;

#[cfg(test)]
mod tests;

/// The maximum number of queued lines. More are lost.
const LINES_WAITING_MAX: usize = 1_024;
/// The maximum length of a field's text in characters: names are shorter.
const TEXT_CHARS_MAX: usize = 256;
/// How long shutdown waits for queued lines.
const FINISH: Duration = Duration::from_secs(1);
/// How often a line that callers can cause is written at most.
const AGAIN_AFTER_MS: u64 = 1_000;

/// The importance of a line. Lines below the configured level are not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    Off,
    /// The server does not work.
    Error,
    /// An operator should look into it.
    Warn,
    /// Normal events.
    Info,
    /// Everything.
    Debug,
}

impl Level {
    /// All levels.
    pub const ALL: [Self; 5] = [Self::Off, Self::Error, Self::Warn, Self::Info, Self::Debug];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

/// The format of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Text,
    /// For programs: one object per line.
    Json,
}

/// The value of a field.
#[derive(Clone, Copy, Debug)]
pub enum FieldValue<'a> {
    /// A number.
    Number(u64),
    /// A text, which may come from a caller.
    Text(&'a str),
}

/// The fields of a line, in order.
pub type Fields<'a> = [(&'static str, FieldValue<'a>)];

/// A message to the thread.
enum SinkMessage {
    Write(Vec<u8>),
    /// Acknowledges that everything before it is written.
    Flush(SyncSender<()>),
}

/// The server log. Cheap to clone; when the last clone is dropped, the thread ends after the queued
/// lines.
#[derive(Clone, Default)]
pub struct ServerLog(Option<Arc<LogSink>>);

struct LogSink {
    level: Level,
    form: Form,
    lines: SyncSender<SinkMessage>,
    lost: AtomicU64,
    /// The last written lines of those that callers can cause, when, and how often each occurred
    /// since.
    again: Mutex<Vec<(&'static str, Timestamp, u64)>>,
}

impl std::fmt::Debug for ServerLog {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let level = self.0.as_ref().map_or(Level::Off, |sink| sink.level);
        write!(formatter, "ServerLog({})", level.name())
    }
}

impl ServerLog {
    /// A log that writes this level and above, from a separate thread.
    pub fn new(level: Level, form: Form, to: impl Write + Send + 'static) -> std::io::Result<Self> {
        if level == Level::Off {
            return Ok(Self::default());
        }
        let (lines, waiting) = sync_channel(LINES_WAITING_MAX);
        let thread = std::thread::Builder::new().name("baton-journal".to_owned());
        thread.spawn(move || write_all(&waiting, to))?;
        let (lost, again) = (AtomicU64::new(0), Mutex::default());
        Ok(Self(Some(Arc::new(LogSink { level, form, lines, lost, again }))))
    }

    /// Whether lines of this level are written.
    pub fn wants(&self, level: Level) -> bool {
        self.0.as_ref().is_some_and(|sink| level <= sink.level)
    }

    /// Waits until the queued lines are written, but not for long: the program is about to end.
    pub fn finish(&self) {
        let Some(sink) = &self.0 else { return };
        let (flushed, written) = sync_channel(1);
        if sink.lines.try_send(SinkMessage::Flush(flushed)).is_ok() {
            let _ = written.recv_timeout(FINISH);
        }
    }

    /// Writes a line, if its level is enabled.
    pub fn write(&self, level: Level, what: &'static str, fields: &Fields<'_>) {
        if let Some(sink) = self.0.as_ref().filter(|_| self.wants(level)) {
            sink.write(now(), level, what, fields);
        }
    }

    /// Writes a line that callers can cause arbitrarily often, at a limited rate.
    pub fn write_throttled(&self, level: Level, what: &'static str, fields: &Fields<'_>) {
        let Some(sink) = self.0.as_ref().filter(|_| self.wants(level)) else { return };
        let moment = now();
        let Some(since) = sink.is_due(what, moment) else { return };
        let mut all = fields.to_vec();
        if since > 0 {
            all.push(("more", FieldValue::Number(since)));
        }
        sink.write(moment, level, what, &all);
    }
}

impl LogSink {
    /// How often it occurred without being written; none if it was written recently.
    fn is_due(&self, what: &'static str, moment: Timestamp) -> Option<u64> {
        let mut again = self.again.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = again.iter_mut().find(|(known, ..)| *known == what) else {
            again.push((what, moment, 0));
            return Some(0);
        };
        if moment.since(known.1) < AGAIN_AFTER_MS {
            known.2 += 1;
            return None;
        }
        known.1 = moment;
        Some(std::mem::take(&mut known.2))
    }

    fn write(&self, moment: Timestamp, level: Level, what: &str, fields: &Fields<'_>) {
        let lost = self.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let fields = [("lines", FieldValue::Number(lost))];
            self.send(line(self.form, moment, Level::Warn, "journal.lost", &fields), lost);
        }
        self.send(line(self.form, moment, level, what, fields), 1);
    }

    fn send(&self, line: Vec<u8>, worth: u64) {
        if let Err(TrySendError::Full(_)) = self.lines.try_send(SinkMessage::Write(line)) {
            self.lost.fetch_add(worth, Ordering::Relaxed);
        }
    }
}

/// Writes lines until the channel is closed. An output error does not end it.
fn write_all(lines: &Receiver<SinkMessage>, mut to: impl Write) {
    while let Ok(line) = lines.recv() {
        match line {
            SinkMessage::Write(line) => drop(to.write_all(&line).and_then(|()| to.flush())),
            SinkMessage::Flush(flushed) => drop(flushed.try_send(())),
        }
    }
}

fn line(form: Form, moment: Timestamp, level: Level, what: &str, fields: &Fields<'_>) -> Vec<u8> {
    let mut out = String::new();
    let time = moment.to_string();
    match form {
        Form::Text => {
            let _ = write!(out, "{time} {:<5} {what}", level.name());
            for (name, value) in fields {
                let _ = write!(out, " {name}=");
                match value {
                    FieldValue::Number(number) => put(&mut out, number),
                    FieldValue::Text(text) if is_plain(text) => out.push_str(text),
                    FieldValue::Text(text) => put_quoted(&mut out, text),
                }
            }
        }
        Form::Json => {
            let _ = write!(
                out,
                "{{\"time\":\"{time}\",\"level\":\"{}\",\"what\":\"{what}\"",
                level.name()
            );
            for (name, value) in fields {
                let _ = write!(out, ",\"{name}\":");
                match value {
                    FieldValue::Number(number) => put(&mut out, number),
                    FieldValue::Text(text) => put_quoted(&mut out, text),
                }
            }
            out.push('}');
        }
    }
    out.push('\n');
    out.into_bytes()
}

fn put(out: &mut String, number: impl Display) {
    let _ = write!(out, "{number}");
}

/// Whether a text is unambiguous without quotes.
fn is_plain(text: &str) -> bool {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "-_./:@*".contains(sign);
    !text.is_empty() && text.len() <= TEXT_CHARS_MAX && text.chars().all(is_sign)
}

/// A text in quotes, as in JSON: everything except printable ASCII is escaped, so that it can
/// neither control a terminal nor look like another line.
fn put_quoted(out: &mut String, text: &str) {
    out.push('"');
    let mut units = [0; 2];
    for sign in text.chars().take(TEXT_CHARS_MAX) {
        match sign {
            '"' | '\\' => out.extend(['\\', sign]),
            ' '..='~' => out.push(sign),
            _ => {
                for unit in sign.encode_utf16(&mut units) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    if text.chars().nth(TEXT_CHARS_MAX).is_some() {
        out.push_str("...");
    }
    out.push('"');
}

/// A line that is returned instead of logged, for the start and the end of the server.
#[must_use]
pub fn format_line(form: Form, level: Level, what: &str, fields: &Fields<'_>) -> String {
    String::from_utf8(line(form, now(), level, what, fields)).expect("lines are text")
}

/// An operation in progress.
pub(crate) struct Timed<'a> {
    settings: &'a Settings,
    /// None for a waiting call, whose duration is meaningless.
    began: Option<Instant>,
}

impl<'a> Timed<'a> {
    pub(crate) fn begin(settings: &'a Settings) -> Self {
        Self { settings, began: Some(Instant::now()) }
    }

    pub(crate) fn begin_call(settings: &'a Settings, call: &Call) -> Self {
        let waits = match call {
            Call::Command(command) => command.wait_ms().is_some(),
            Call::Transaction(mutation) => match mutation.executed() {
                Mutation::Command(command) => command.wait_ms().is_some(),
                Mutation::Fenced { command, .. } => command.wait_ms().is_some(),
                Mutation::Transaction { .. } | Mutation::Minimal(_) => false,
            },
            Call::Query(_) | Call::Watch(_) | Call::Unwatch { .. } | Call::Ping => false,
        };
        Self { settings, began: (!waits).then(Instant::now) }
    }

    /// Whether it has taken longer than it should.
    pub(crate) fn is_slow(&self) -> bool {
        self.began.is_some_and(|began| began.elapsed() >= self.settings.slow)
    }

    /// Logs that it was slow.
    pub(crate) fn log_slow(&self, operation: &OperationFields<'_>) {
        let took = self.began.map(|began| began.elapsed()).unwrap_or_default();
        let mut fields = operation.to_vec();
        fields.push(("duration_us", duration_us(took)));
        self.settings.server_log.write_throttled(Level::Warn, "operation.slow", &fields);
    }
}

/// The operation of a line.
pub(crate) type OperationFields<'a> = [(&'static str, FieldValue<'a>); 4];

/// Workspace, agent and operation.
pub(crate) fn operation_fields<'a>(
    connection: u64,
    workspace: &'a WorkspaceName,
    agent: &'a AgentId,
    operation: &'a str,
) -> OperationFields<'a> {
    [
        ("connection", FieldValue::Number(connection)),
        ("workspace", FieldValue::Text(workspace.as_str())),
        ("agent", FieldValue::Text(agent.as_str())),
        ("operation", FieldValue::Text(operation)),
    ]
}

/// A duration as a field.
pub(crate) fn duration_us(duration: Duration) -> FieldValue<'static> {
    FieldValue::Number(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
}
