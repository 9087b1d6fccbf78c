//! The same objects in every format.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use super::*;

const NOW: Timestamp = Timestamp(1_767_225_780_000);

fn printed(mode: Mode, print: impl FnOnce(&mut Output<Vec<u8>>)) -> String {
    let (columns_max, is_coloured) = (None, false);
    let mut output = Output {
        out: Vec::new(),
        mode,
        quiet: true,
        columns_max,
        is_coloured,
        field: None,
        now: || NOW,
        is_empty: false,
    };
    print(&mut output);
    String::from_utf8(output.out).unwrap()
}

#[test]
fn one_thing() {
    let thing =
        baton_core::Json::parse(r#"{"key":"plan","value":{"b":1,"a":[]},"number":1e2,"o":{ }}"#)
            .unwrap();
    let shown = |mode| printed(mode, |output| output.one(&thing).unwrap());
    let table = "key     plan\nvalue   {\"b\":1,\"a\":[]}\nnumber  1e2\no       { }\n";
    assert_eq!(shown(Mode::Table), table);
    assert_eq!(shown(Mode::Jsonl).trim_end(), thing.as_str());
    let yaml = "key: plan\nvalue:\n  b: 1\n  a: []\nnumber: 1e2\no: {}\n";
    assert_eq!(shown(Mode::Yaml), yaml);
}

#[test]
fn one_field() {
    let thing = json!({"id": "t-1", "lease": {"token": 7, "holder": "ada \"a\""}});
    let shown = |path: &str| {
        printed(Mode::Json, |output| {
            output.only(Some(path.to_owned()));
            output.many("things", &[&thing, &thing], &["id"]).unwrap();
        })
    };
    assert_eq!(shown("id"), "t-1\nt-1\n");
    assert_eq!(shown("lease.token"), "7\n7\n");
    assert_eq!(shown("lease.holder"), "ada \"a\"\nada \"a\"\n");
    let refused = fields::at(&thing.to_string(), "lease.tokn").unwrap_err().to_string();
    let said = "the command was carried out, but its answer has no field `lease.tokn`; the fields \
                are holder, token";
    assert_eq!(refused, said);
    assert_eq!(shown("token"), "7\n7\n", "the token of its lease");
    let own = json!({"token": 1, "lease": {"token": 2}}).to_string();
    assert_eq!(fields::at(&own, "token").unwrap(), "1");
    assert!(fields::at(&thing.to_string(), "holder").is_err(), "only the token is looked for");
}

#[test]
fn many_things() {
    let things = [json!({"key": "a", "value": 1}), json!({"key": "long", "value": "text"})];
    let shown = |mode| {
        printed(mode, |output| {
            output.many("things", &things, &["key", "missing", "value"]).unwrap();
        })
    };
    assert_eq!(shown(Mode::Table), "KEY   VALUE\na     1\nlong  text\n");
    assert_eq!(shown(Mode::Jsonl).lines().count(), 2);
    assert_eq!(shown(Mode::Yaml), "- key: a\n  value: 1\n- key: long\n  value: text\n");
    let empty = |mode| printed(mode, |output| output.many("keys", &[(); 0], &["key"]).unwrap());
    assert_eq!((empty(Mode::Table).as_str(), empty(Mode::Yaml).as_str()), ("", "[]\n"));
}

#[test]
fn tables_have_short_ids_and_relative_times() {
    let task = json!({
        "id": "t-0000000007", "created_at": "2026-01-01T00:00:00.000Z",
        "depends_on": ["t-0000000003"], "value": "2026-01-01T00:00:00.000Z",
        "lease": {"token": 7, "expires_at": "2026-01-01T00:05:00.000Z"},
    });
    let columns = ["id", "created_at", "depends_on"];
    let shown = printed(Mode::Table, |output| output.many("tasks", &[&task], &columns).unwrap());
    assert_eq!(shown, "ID   CREATED AT  DEPENDS ON\nt-7  3 min ago   t-3\n");
    let shown = printed(Mode::Table, |output| output.one(&task).unwrap());
    for line in [
        "id                t-7",
        "created_at        2026-01-01T00:00:00.000Z (3 min ago)",
        "value             2026-01-01T00:00:00.000Z",
        "lease.token       7",
        "lease.expires_at  2026-01-01T00:05:00.000Z (in 2 min)",
    ] {
        assert!(shown.lines().any(|found| found == line), "{line}: {shown}");
    }
    let shown = printed(Mode::Jsonl, |output| output.one(&task).unwrap());
    assert_eq!(shown.trim_end(), task.to_string());
}

#[test]
fn ages_count_from_the_moment_of_printing() {
    static NOW_MS: AtomicU64 = AtomicU64::new(NOW.0);
    let task = json!({"claimed_at": NOW});
    let shown = printed(Mode::Table, |output| {
        output.now = || Timestamp(NOW_MS.load(Ordering::Relaxed));
        NOW_MS.store(NOW.0 + 5_000, Ordering::Relaxed);
        output.one(&task).unwrap();
    });
    assert!(shown.ends_with("(5 s ago)\n"), "{shown}");
}

#[test]
fn a_time_that_is_not_known_is_a_dash() {
    let namespace = json!({"name": "shared", "created_at": Timestamp(0)});
    let columns = ["name", "created_at"];
    let shown = |print: fn(&mut Output<Vec<u8>>, &Value, &[&str])| {
        printed(Mode::Table, |output| print(output, &namespace, &columns))
    };
    let list = shown(|output, it, columns| output.many("namespaces", &[it], columns).unwrap());
    assert_eq!(list, "NAME    CREATED AT\nshared  -\n");
    let one = shown(|output, it, _| output.one(it).unwrap());
    assert_eq!(one, "created_at  -\nname        shared\n");
}

#[test]
fn yaml_cannot_be_mistaken() {
    let thing = json!({
        "no": "yes", "n1": "1", "s": "a: b", "e": "", "d": "-", "o": {},
        "l": [[1, [2]], {"k": []}],
        "c": "\u{85}\u{2028}\n",
    });
    let shown = printed(Mode::Yaml, |output| output.one(&thing).unwrap());
    let expected = "c: \"\\u0085\\u2028\\n\"\nd: \"-\"\ne: \"\"\nl:\n  - - 1\n    - - 2\n  \
                    - k: []\n\
                    n1: \"1\"\n\"no\": \"yes\"\no: {}\ns: \"a: b\"\n";
    assert_eq!(shown, expected);
}

#[test]
fn text_of_others_cannot_control_the_terminal() {
    let thing = json!({"key": "a\u{1b}[2J\u{9b}\nb"});
    let shown = printed(Mode::Table, |output| output.one(&thing).unwrap());
    assert_eq!(shown, "key  a\\u{1b}[2J\\u{9b} b\n");
    let thing = json!({"key": "safe\u{202e}exe.\u{200b}"});
    let shown = printed(Mode::Table, |output| output.one(&thing).unwrap());
    assert_eq!(shown, "key  safe\\u{202e}exe.\\u{200b}\n");
}

#[test]
fn a_terminal_gets_lines_that_fit_and_colours() {
    let (mode, columns_max, is_coloured) = (Mode::Table, Some(8), true);
    let mut output = Output {
        out: Vec::new(),
        mode,
        quiet: true,
        columns_max,
        is_coloured,
        field: None,
        now: || NOW,
        is_empty: false,
    };
    output.one(&json!({"key": "123456"})).unwrap();
    output.next(&json!({}), |_| "123456789".to_owned()).unwrap();
    assert_eq!(String::from_utf8(output.out.clone()).unwrap(), "key  123456\n1234567…\n");
    assert_eq!(output.coloured(Colour::Red, "x"), "\u{1b}[31mx\u{1b}[0m");
}

#[test]
fn the_format_is_found_in_an_invalid_command_line() {
    let asked = |line: &str| Mode::asked_for(line.split(' ').map(str::to_owned));
    assert_eq!(asked("baton -o yaml --bad"), Mode::Yaml);
    assert_eq!(asked("baton --bad --output=jsonl"), Mode::Jsonl);
    assert_eq!(asked("baton -otable"), Mode::Table);
}
