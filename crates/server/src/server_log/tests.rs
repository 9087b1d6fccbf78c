//! Tests of the format of lines, and of which are written.

use std::sync::mpsc::{Sender, channel};

use proptest::prelude::*;

use super::*;

/// A writer that passes on everything it gets.
struct Paper(Sender<Vec<u8>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let _ = self.0.send(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Everything that a server log of this level writes while it is used.
fn written(level: Level, form: Form, use_it: impl FnOnce(&ServerLog)) -> Vec<String> {
    let (paper, lines) = channel();
    let server_log = ServerLog::new(level, form, Paper(paper)).expect("there is a thread");
    use_it(&server_log);
    drop(server_log);
    lines.iter().map(|line| String::from_utf8(line).expect("lines are text")).collect()
}

fn text_line(fields: &Fields<'_>) -> String {
    let line = line(Form::Text, Timestamp(1_500), Level::Warn, "operation.slow", fields);
    String::from_utf8(line).expect("it is text")
}

#[test]
fn a_line_has_time_level_what_and_fields() {
    let fields =
        [("connection", FieldValue::Number(7)), ("workspace", FieldValue::Text("research"))];
    assert_eq!(
        text_line(&fields),
        "1970-01-01T00:00:01.500Z warn  operation.slow connection=7 workspace=research\n"
    );
    let json = line(Form::Json, Timestamp(1_500), Level::Warn, "operation.slow", &fields);
    let json: serde_json::Value = serde_json::from_slice(&json).expect("it is JSON");
    let expected = serde_json::json!({
        "time": "1970-01-01T00:00:01.500Z", "level": "warn", "what": "operation.slow",
        "connection": 7, "workspace": "research"
    });
    assert_eq!(json, expected);
}

#[test]
fn text_of_callers_stays_within_its_field() {
    let line =
        text_line(&[("agent", FieldValue::Text("ada\n2026 info all=well \u{1b}[31m\u{202e}"))]);
    assert_eq!(line.lines().count(), 1);
    assert!(line.contains(r#"agent="ada\u000a2026 info all=well \u001b[31m\u202e""#), "{line}");
    let long = "x".repeat(10_000);
    assert!(text_line(&[("agent", FieldValue::Text(&long))]).len() < 400);
    assert!(text_line(&[("agent", FieldValue::Text(""))]).contains("agent=\"\""));
}

proptest! {
    #[test]
    fn every_line_is_one_line_and_one_object(text in any::<String>()) {
        let fields = [("agent", FieldValue::Text(&text)), ("end", FieldValue::Number(1))];
        for form in [Form::Text, Form::Json] {
            let line = line(form, Timestamp(0), Level::Info, "x.y", &fields);
            let inner = &line[..line.len() - 1];
            prop_assert!(inner.iter().all(|byte| (b' '..=b'~').contains(byte)));
            if form == Form::Json {
                let value: serde_json::Value = serde_json::from_slice(&line).expect("it is JSON");
                prop_assert_eq!(&value["end"], 1);
                if text.chars().count() <= TEXT_CHARS_MAX {
                    prop_assert_eq!(value["agent"].as_str(), Some(text.as_str()));
                }
            }
        }
    }
}

#[test]
fn lines_below_the_level_are_not_written() {
    for (wanted, count) in
        [(Level::Error, 1), (Level::Warn, 2), (Level::Info, 3), (Level::Debug, 4)]
    {
        let lines = written(wanted, Form::Text, |server_log| {
            for level in [Level::Debug, Level::Info, Level::Warn, Level::Error] {
                server_log.write(level, "it.happened", &[]);
            }
        });
        assert_eq!(lines.len(), count, "{wanted:?}");
    }
    let off = written(Level::Off, Form::Text, |server_log| {
        assert!(!server_log.wants(Level::Error));
        server_log.write(Level::Error, "it.happened", &[]);
    });
    assert!(off.is_empty());
}

#[test]
fn lines_that_callers_cause_are_limited_in_rate() {
    let (paper, _lines) = channel();
    let server_log =
        ServerLog::new(Level::Info, Form::Text, Paper(paper)).expect("there is a thread");
    let sink = server_log.0.expect("it writes");
    assert_eq!(sink.is_due("quota.reached", Timestamp(5_000)), Some(0));
    assert_eq!(sink.is_due("quota.reached", Timestamp(5_999)), None);
    assert_eq!(sink.is_due("quota.reached", Timestamp(5_999)), None);
    assert_eq!(sink.is_due("access.refused", Timestamp(5_999)), Some(0), "others are others");
    assert_eq!(sink.is_due("quota.reached", Timestamp(6_000)), Some(2));
    assert_eq!(sink.is_due("quota.reached", Timestamp(9_000)), Some(0));
}

#[test]
fn a_reader_that_does_not_read_delays_no_caller() {
    struct Stuck(Receiver<()>, Sender<Vec<u8>>);
    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.0.recv();
            let _ = self.1.send(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let (go_on, stuck) = channel();
    let (paper, lines) = channel();
    let server_log =
        ServerLog::new(Level::Info, Form::Text, Stuck(stuck, paper)).expect("a thread");
    for _ in 0..3 * LINES_WAITING_MAX {
        server_log.write(Level::Info, "it.happened", &[]);
    }
    drop(go_on);
    // The first line after an overflow reports how many were lost.
    while lines.recv().is_ok() {
        server_log.write(Level::Info, "it.went_on", &[]);
        let lost = server_log.0.as_ref().expect("it writes").lost.load(Ordering::Relaxed);
        if lost == 0 {
            break;
        }
    }
    drop(server_log);
    let text: String =
        lines.iter().map(|line| String::from_utf8(line).expect("it is text")).collect();
    assert!(text.contains("warn  journal.lost lines="), "{text}");
}
