//! Errors: the exit code, three lines for people, one JSON object for programs.

use rustix::process::Signal;

use crate::process::{Ran, Running, Server, baton, send};

/// Runs a command in both formats and checks its error.
fn refused(server: &Server, words: &[&str], code: &str, exit: i32) {
    let mut for_people = server.command(words);
    for_people.args(["-o", "table"]);
    let ran = Ran::of(for_people, "");
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!((ran.code, ran.stdout.as_str(), lines.len()), (exit, "", 3), "{ran:?}");
    assert!(lines[0].starts_with("error: ") && lines[0].ends_with(&format!("({code})")), "{ran:?}");
    assert!(lines[1].starts_with("  why: ") && lines[2].starts_with("   do: "), "{ran:?}");
    let ran = Ran::of(server.command(words), "");
    assert_eq!((ran.code, ran.error()["code"].as_str()), (exit, Some(code)), "{ran:?}");
}

#[test]
fn every_kind_has_its_exit_code() {
    let server = Server::start();
    assert_eq!(server.run("state set plan 1").code, 0);
    assert_eq!(server.run("agent register ada --ttl 1h").code, 0);
    assert_eq!(server.run("agent register ada --ttl 1h").code, 0);
    let large = server.home.path().join("large");
    std::fs::write(&large, format!("\"{}\"", "x".repeat(20 << 20))).unwrap();
    let large = format!("@{}", large.display());
    let cases: [(&[&str], &str, i32); 14] = [
        (&["state", "set", "plan", "text"], "cli.not_json", 2),
        (&["state", "set", "plan", "@missing"], "cli.unreadable", 2),
        (&["state", "ls", "-n", "no such"], "request.bad_name", 2),
        (&["state", "get", "plan", "--at", "99"], "history.not_yet", 2),
        (&["--url", "ftp://x", "state", "ls"], "client.bad_url", 2),
        (&["state", "set", "plan"], "cli.usage", 2),
        (&["state", "set", "plan", "1", "--ttl", "30"], "cli.usage", 2),
        (&["state", "patch", "plan"], "cli.usage", 2),
        (&["stat"], "cli.usage", 2),
        (&["state", "get", "none"], "state.not_found", 3),
        (&["state", "set", "plan", "2", "--if-version", "7"], "state.version_conflict", 4),
        (&["agent", "heartbeat", "ada", "--token", "1"], "agent.stale_token", 5),
        (&["serve", "--listen", "0.0.0.0:0", "--data", "new"], "server.not_loopback", 6),
        (&["state", "set", "large", &large], "request.too_large", 7),
    ];
    for (words, code, exit) in cases {
        refused(&server, words, code, exit);
    }
}

#[test]
fn a_server_that_is_not_there_is_not_available() {
    let mut server = Server::start();
    // Port 1 is never assigned automatically, so nothing listens on it.
    server.url = "http://127.0.0.1:1".to_owned();
    refused(&server, &["state", "ls"], "client.unreachable", 8);
    refused(&server, &["watch"], "client.unreachable", 8);
    refused(&server, &["bench"], "client.unreachable", 8);
}

#[test]
fn a_bad_value_is_reported_before_connecting() {
    let home = tempfile::tempdir().unwrap();
    let mut command = baton(home.path());
    command.args(["--url", "http://127.0.0.1:1", "-o", "table", "state", "set", "plan", "it's"]);
    let ran = Ran::of(command, "");
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("`it\\'s` is not valid JSON")
            || ran.stderr.contains("`it's` is not valid JSON"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("--string"), "{ran:?}");
}

#[test]
fn a_conflict_tells_who_won() {
    let server = Server::start();
    assert_eq!(server.run("state set plan {\"step\":1} --agent bob").code, 0);
    let late = server.run("state set plan 9 --if-version 7 -o table");
    assert!(late.stderr.contains("it is {\"step\":1}, version 1, by `bob` at "), "{late:?}");
    let late = server.run("state set plan 9 --if-version 7");
    assert_eq!(late.error()["entry"]["updated_by"], "bob");
}

#[test]
fn values_come_from_files_and_stdin() {
    let server = Server::start();
    std::fs::write(server.home.path().join("value.json"), " {\"step\": 1}\n").unwrap();
    assert_eq!(server.run("state set file @value.json").json()["value"]["step"], 1);
    let words = ["state", "set", "text", "-", "--string"];
    let ran = Ran::of(server.command(words), "two\nlines");
    assert_eq!(ran.json()["value"], "two\nlines");
    let ran = Ran::of(server.command(["state", "set", "bad", "-"]), "");
    assert_eq!((ran.code, ran.error()["code"].as_str()), (2, Some("cli.not_json")));
    assert_eq!(server.run("state get file --value").stdout, "{\"step\": 1}\n");
}

#[test]
fn a_watch_ends_quietly_when_nobody_reads_or_somebody_interrupts() {
    let server = Server::start();
    assert_eq!(server.run("state set plan 1").code, 0);
    let words = ["watch", "--from", "1", "--type", "state.set"];
    let mut unread = Running::of(server.command(words));
    unread.line();
    unread.close();
    let mut interrupted = Running::of(server.command(words));
    interrupted.line();
    send(&interrupted.child, Signal::INT);
    assert_eq!(interrupted.ended(), (130, String::new()));
    assert_eq!(server.run("state set plan 2").code, 0);
    assert_eq!(unread.ended(), (0, String::new()));
}

#[test]
fn short_ids_are_accepted_and_never_guessed() {
    let server = Server::start();
    assert_eq!(server.run("task add review --field id").stdout, "t-0000000001\n");
    assert_eq!(server.run("task get t-1").json()["id"], "t-0000000001");
    assert_eq!(server.run("why tasks/t-1").json()["subject"], "tasks/t-0000000001");
    assert!(server.run("task ls -o table").stdout.contains("\nt-1  "));
    // An id of one's own of that form is an id.
    assert_eq!(server.run("task add review --id t-9").code, 0);
    assert_eq!(server.run("task get t-9").json()["id"], "t-9");
    assert_eq!(server.run("task add review --id t-1").code, 0);
    let ran = server.run("task get t-1");
    assert_eq!((ran.code, ran.error()["code"].as_str()), (2, Some("cli.ambiguous")));
    assert_eq!(server.run("task get t-0000000001").json()["id"], "t-0000000001");
    let ran = server.run("task get t-77");
    assert_eq!((ran.code, ran.error()["code"].as_str()), (3, Some("task.not_found")));
    assert_eq!(server.run("handoff get h-77").error()["handoff"], "h-0000000077");
}

#[test]
fn an_empty_list_and_an_unused_workspace_are_named() {
    let server = Server::start();
    assert_eq!(server.run("--workspace research state set plan 1").code, 0);
    let ran = server.run("task ls -o table");
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", "No tasks.\n"));
    let ran = server.run("--workspace reserch state ls -o table");
    let said = "No entries.\nworkspace `reserch` has never been used; did you mean `research`?\n";
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", said));
    let ran = server.run("--workspace reserch state get plan");
    let detail = ran.error()["detail"].as_str().unwrap().to_owned();
    assert!(detail.ends_with("never been used; did you mean `research`?"), "{detail}");
    assert_eq!(server.run("--workspace research state ls x -o table").stderr, "No entries.\n");
    assert_eq!(server.run("--workspace reserch state ls").stdout, "[]\n");
}
