//! `baton task work`: a program runs for each task while its lease is kept.

use std::io::{BufRead, BufReader};
use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::process::{Running, Server, send};

fn work(server: &Server, options: &[&str], script: &str) -> Command {
    let mut command = server.command(["task", "work", "--agent", "worker"]);
    command.args(options).args(["--", "sh", "-c", script]);
    command
}

fn task(server: &Server, id: &str) -> Value {
    server.run(&format!("task get {id}")).json()
}

/// Polls a task until it has this status.
fn eventually(server: &Server, id: &str, status: &str) -> Value {
    loop {
        let found = task(server, id);
        if found["status"] == status {
            return found;
        }
    }
}

fn add(server: &Server, words: &[&str]) {
    let added = crate::process::Ran::of(server.command(["task", "add"].iter().chain(words)), "");
    assert_eq!(added.code, 0, "{added:?}");
}

#[test]
fn a_program_gets_the_task_and_its_output_is_the_result() {
    let server = Server::start();
    add(&server, &["echo", "{\"n\": 1}", "--id", "json"]);
    add(&server, &["words", "--id", "text"]);
    add(&server, &["nothing", "--id", "empty"]);
    add(&server, &["env", "--id", "around"]);
    let script = r#"
        task=$(cat)
        case $task in
            *'"type":"echo"'*) printf '%s' "$task" | sed 's/.*"definition":\({[^}]*}\).*/\1/' ;;
            *'"type":"words"'*) echo some words ;;
            *'"type":"env"'*) echo "\"$BATON_TASK $BATON_AGENT $BATON_WORKSPACE\"" ;;
        esac"#;
    let mut running = Running::of(work(&server, &["--concurrency", "2"], script));
    assert_eq!(eventually(&server, "json", "completed")["result"], json!({"n": 1}));
    assert_eq!(eventually(&server, "text", "completed")["result"], "some words");
    assert_eq!(eventually(&server, "empty", "completed")["result"], Value::Null);
    assert_eq!(eventually(&server, "around", "completed")["result"], "around worker default");
    // A task that is created while the worker waits is processed too.
    add(&server, &["words", "--id", "later"]);
    eventually(&server, "later", "completed");
    send(&running.child, Signal::TERM);
    let (code, said) = running.ended();
    assert_eq!(code, 0, "{said}");
    let summary: String = std::iter::from_fn(|| running.try_line()).collect();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary, json!({"completed": 5, "failed": 0, "handed_over": 0, "lost": 0}));
}

#[test]
fn a_task_that_the_program_offered_stays_offered() {
    let server = Server::start();
    add(&server, &["write", "--id", "chapter"]);
    let script = r#"
        cat > /dev/null
        "$BATON" handoff offer bob --task "$BATON_TASK" --token "$BATON_TASK_TOKEN" > /dev/null"#;
    let mut working = work(&server, &[], script);
    working.env("BATON", env!("CARGO_BIN_EXE_baton"));
    let mut running = Running::of(working);
    let receive = server.command(["handoff", "receive", "--agent", "bob", "--wait", "60s"]);
    let offered = crate::process::Ran::of(receive, "").json();
    assert_eq!(offered["task"], "chapter", "{offered}");
    send(&running.child, Signal::TERM);
    let (code, said) = running.ended();
    assert_eq!(code, 0, "{said}");
    let summary: String = std::iter::from_fn(|| running.try_line()).collect();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary, json!({"completed": 0, "failed": 0, "handed_over": 1, "lost": 0}));
    let accept = format!("handoff accept {} --agent bob", offered["id"].as_str().unwrap());
    assert_eq!(server.run(&accept).code, 0);
    assert_eq!(task(&server, "chapter")["lease"]["holder"], "bob");
}

#[test]
fn one_worker_takes_tasks_handoffs_and_messages() {
    let server = Server::start();
    let script = r#"
        given=$(cat)
        if [ -n "$BATON_HANDOFF" ]; then
            "$BATON" handoff accept "$BATON_HANDOFF" > /dev/null
        elif [ -n "$BATON_MESSAGE" ]; then
            echo "read ${#given} bytes" | sed 's/[0-9][0-9]*/some/'
        else
            echo "did $BATON_TASK"
        fi"#;
    let mut working = work(&server, &["--handoffs", "--messages"], script);
    working.env("BATON", env!("CARGO_BIN_EXE_baton"));
    let mut running = Running::of(working);
    let offered = server.run("handoff offer worker --notes second").json();
    let accepted =
        format!("handoff wait {} --wait 60s --status accepted", offered["id"].as_str().unwrap());
    assert_eq!(server.run(&accepted).json()["receiver"], "worker");
    let reply = server.run("message request worker hello --timeout 60s");
    assert_eq!(
        (reply.code, reply.json()["body"].clone()),
        (0, json!("read some bytes")),
        "{reply:?}"
    );
    add(&server, &["write", "--id", "chapter"]);
    assert_eq!(eventually(&server, "chapter", "completed")["result"], "did chapter");
    send(&running.child, Signal::TERM);
    let (code, said) = running.ended();
    assert_eq!(code, 0, "{said}");
    let summary: String = std::iter::from_fn(|| running.try_line()).collect();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    let (done, others) = (json!(1), json!(0));
    assert_eq!([&summary["completed"], &summary["handoffs"], &summary["messages"]], [&done; 3]);
    assert_eq!([&summary["failed"], &summary["handed_over"], &summary["lost"]], [&others; 3]);
}

#[test]
fn a_program_continues_the_trace_of_its_task() {
    let server = Server::start();
    let given = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let inherited = "00-5bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    add(&server, &["trace", "--id", "said", "--traceparent", given]);
    add(&server, &["trace", "--id", "none"]);
    for (id, around) in [("around", inherited), ("odd", "whatever")] {
        let mut adding = server.command(["task", "add", "trace", "--id", id]);
        adding.env("TRACEPARENT", around);
        assert_eq!(crate::process::Ran::of(adding, "").code, 0);
    }
    let bad = server.run("task add trace --traceparent whatever");
    assert_eq!(bad.code, 2, "{bad:?}");
    let mut working = work(&server, &[], r#"printf '"%s"' "$TRACEPARENT""#);
    // The trace of the worker itself is not inherited.
    working.env("TRACEPARENT", inherited);
    let mut running = Running::of(working);
    assert_eq!(eventually(&server, "said", "completed")["result"], given);
    assert_eq!(eventually(&server, "around", "completed")["result"], inherited);
    assert_eq!(eventually(&server, "none", "completed")["result"], "");
    assert_eq!(eventually(&server, "odd", "completed")["result"], "");
    send(&running.child, Signal::TERM);
    assert_eq!(running.ended().0, 0);
}

#[test]
fn a_failing_program_fails_the_attempt_with_the_end_of_its_stderr() {
    let server = Server::start();
    add(&server, &["bad", "--id", "bad", "--retries", "0"]);
    let script = "seq 1 100 >&2; echo half a result; exit 3";
    let mut running = Running::of(work(&server, &[], script));
    let failed = eventually(&server, "bad", "failed");
    let error = &failed["error"];
    assert_eq!(error["code"], "exit_3");
    let last: Vec<&str> = error["stderr"].as_str().unwrap().lines().collect();
    assert_eq!((last.first(), last.last(), last.len()), (Some(&"81"), Some(&"100"), 20));
    assert_eq!(failed["result"], Value::Null);
    send(&running.child, Signal::INT);
    let (code, said) = running.ended();
    assert!(code == 0 && said.starts_with("1\n2\n"), "{code}: {said}");
}

#[test]
fn a_program_and_its_children_are_killed_when_the_lease_is_lost() {
    let server = Server::start();
    add(&server, &["endless", "--id", "endless"]);
    let folder = server.home.path().join("alive");
    std::fs::create_dir(&folder).unwrap();
    // The grandchild holds the write end of a pipe whose other end is the file's reader below.
    let pipe = folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let script = format!("(sleep 600 & echo begun; wait) > {} 2>&1", pipe.display());
    let mut running = Running::of(work(&server, &["--lease", "300ms"], &script));
    let mut said = BufReader::new(std::fs::File::open(&pipe).unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line, "begun\n");
    assert_eq!(server.run("task cancel endless").code, 0);
    // Ends when no process holds the write end.
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut said, &mut rest).unwrap();
    assert_eq!(rest, "");
    send(&running.child, Signal::TERM);
    assert_eq!(running.ended().0, 0);
}

#[test]
fn statistics_count_tasks_that_were_handed_off() {
    let server = Server::start();
    add(&server, &["write", "--id", "h1"]);
    let token = server.run("task claim --field token").stdout;
    let execute = format!("handoff execute bob --task h1 --token {}", token.trim());
    assert_eq!(server.run(&execute).code, 0);
    let table = server.run("task stats -o table").stdout;
    let cells = |line: &str| {
        let cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        cells.map(str::to_owned).collect::<Vec<_>>()
    };
    let mut lines = table.lines().map(cells);
    let counts: Vec<_> = lines.next().into_iter().flatten().zip(lines.next().unwrap()).collect();
    assert!(counts.contains(&("HANDED OFF".to_owned(), "1".to_owned())), "{table}");
    assert!(lines.any(|cells| cells.first().is_some_and(|name| name == "handed_off")), "{table}");
}

/// With the usual lease the next renewal is minutes away.
#[test]
fn a_program_is_killed_as_soon_as_its_task_is_cancelled() {
    let server = Server::start();
    let script = "echo begun $BATON_TASK >&2; exec sleep 600";
    let mut running = Running::of(work(&server, &["--concurrency", "2", "--lease", "12h"], script));
    add(&server, &["endless", "--id", "parent"]);
    assert_eq!(running.error_line(), "begun parent");
    add(&server, &["endless", "--id", "child", "--parent", "parent"]);
    assert_eq!(running.error_line(), "begun child");
    assert_eq!(server.run("task cancel parent").code, 0);
    // Its subtask is cancelled, too. Both places are free again.
    add(&server, &["endless", "--id", "next"]);
    assert_eq!(running.error_line(), "begun next");
    add(&server, &["endless", "--id", "last"]);
    assert_eq!(running.error_line(), "begun last");
    for id in ["next", "last"] {
        assert_eq!(server.run(&format!("task cancel {id}")).code, 0);
    }
    send(&running.child, Signal::TERM);
    let (code, said) = running.ended();
    assert_eq!(code, 0, "{said}");
    let summary: String = std::iter::from_fn(|| running.try_line()).collect();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary, json!({"completed": 0, "failed": 0, "handed_over": 0, "lost": 4}));
}

#[test]
fn the_first_signal_finishes_work_in_progress_and_the_second_ends_it() {
    let server = Server::start();
    add(&server, &["slow", "--id", "slow"]);
    add(&server, &["slow", "--id", "never"]);
    let go_on = server.home.path().join("go-on");
    let script = format!("while [ ! -e {} ]; do sleep 0.01; done; echo 7", go_on.display());
    // In the table format the signal is acknowledged; only then may the program end.
    let mut running = Running::of(work(&server, &["-o", "table"], &script));
    eventually(&server, "slow", "in_progress");
    send(&running.child, Signal::TERM);
    let mut said = BufReader::new(running.child.stderr.take().unwrap());
    let mut heard = String::new();
    said.read_line(&mut heard).unwrap();
    assert!(heard.contains("finishing tasks in progress"), "{heard}");
    running.child.stderr = Some(said.into_inner());
    std::fs::write(&go_on, "").unwrap();
    assert_eq!(running.ended().0, 0);
    assert_eq!(task(&server, "slow")["result"], 7);
    assert_eq!(task(&server, "never")["status"], "pending");

    std::fs::remove_file(&go_on).unwrap();
    let mut running = Running::of(work(&server, &[], &script));
    eventually(&server, "never", "in_progress");
    // The second signal may arrive while the first is being delivered; either counts.
    while running.child.try_wait().unwrap().is_none() {
        send(&running.child, Signal::TERM);
        std::thread::yield_now();
    }
    assert_eq!(running.ended().0, 130);
}

#[test]
fn a_missing_program_claims_no_task() {
    let server = Server::start();
    add(&server, &["any", "--id", "any"]);
    let ran = server.run("task work -- no-such-program-anywhere");
    assert_eq!((ran.code, ran.error()["code"].as_str()), (2, Some("cli.no_program")));
    assert_eq!(task(&server, "any")["attempts"], 0);
}

#[test]
fn a_second_signal_releases_the_task() {
    let server = Server::start();
    add(&server, &["slow", "--id", "slow"]);
    let mut running = Running::of(work(&server, &["-o", "table"], "sleep 600"));
    eventually(&server, "slow", "in_progress");
    send(&running.child, Signal::INT);
    let said = running.error_line();
    assert!(said.starts_with("finishing tasks in progress"), "{said}");
    send(&running.child, Signal::INT);
    let (code, said) = running.ended();
    assert_eq!((code, said.as_str()), (130, "task slow was not finished, and is released\n"));
    let released = task(&server, "slow");
    assert_eq!((released["status"].as_str(), released["lease"].as_str()), (Some("pending"), None));
}
