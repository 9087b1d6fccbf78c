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
fn an_expression_may_begin_with_a_hyphen() {
    let server = Server::start();
    let added = server.command(["rule", "add", "odd", "--expression", "-3 % 2 == -1"]);
    assert_eq!(Ran::of(added, "").code, 0);
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
    let shared = "postgres://baton@127.0.0.1:1/none";
    let cases: [(&[&str], &str, i32); 16] = [
        (&["state", "set", "plan", "text"], "cli.not_json", 2),
        (&["state", "set", "plan", "@missing"], "cli.unreadable", 2),
        (&["state", "ls", "-n", "no such"], "request.bad_name", 2),
        (&["state", "get", "plan", "--at", "99"], "history.not_yet", 2),
        (&["--url", "ftp://x", "state", "ls"], "client.bad_url", 2),
        (&["state", "set", "plan"], "cli.usage", 2),
        (&["state", "set", "plan", "1", "--ttl", "30"], "cli.usage", 2),
        (&["state", "patch", "plan"], "cli.usage", 2),
        (&["stat"], "cli.usage", 2),
        (&["serve", "--log", shared, "--advertise", "a.internal:4747"], "cli.usage", 2),
        (&["serve", "--log", shared, "--tokens", "--listen", "0.0.0.0:0"], "cli.usage", 2),
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
fn a_missing_server_is_unavailable() {
    let mut server = Server::start();
    // Port 1 is never assigned automatically, so nothing listens on it.
    server.url = "http://127.0.0.1:1".to_owned();
    refused(&server, &["state", "ls"], "client.unreachable", 8);
    refused(&server, &["watch"], "client.unreachable", 8);
    refused(&server, &["bench"], "client.unreachable", 8);
}

#[test]
fn a_database_that_is_away_at_the_start_is_named_without_its_password() {
    let home = tempfile::tempdir().unwrap();
    // Nothing listens on port 1.
    for (log, named) in [
        ("postgres://baton:hidden@127.0.0.1:1/fleet", "127.0.0.1:1"),
        ("postgres://baton:hidden@127.0.0.1:1/fleet?schema=other", "127.0.0.1:1"),
    ] {
        let mut serve = baton(home.path());
        serve.args(["serve", "--listen", "127.0.0.1:0", "--log", log]);
        let ran = Ran::of(serve, "");
        assert_eq!((ran.code, &ran.error()["code"]), (8, &"log.away".into()), "{ran:?}");
        let said = ran.error()["detail"].as_str().unwrap_or_default().to_owned();
        assert!(said.contains(named) && said.contains("refused"), "{ran:?}");
        assert!(!ran.stderr.contains("hidden") && !ran.stdout.contains("hidden"), "{ran:?}");
    }
}

#[test]
fn the_next_step_is_named() {
    let mut server = Server::start();
    let absent = server.run("state set none 1 --if-version 99");
    assert_eq!(absent.error()["code"], "state.version_conflict");
    let detail = "entry `none` in `shared` does not exist, and was expected at version 99";
    assert_eq!(absent.error()["detail"], detail);
    let hint = "expect version 0 to create the entry, or leave it absent";
    assert_eq!(absent.error()["hint"], hint);
    for condition in ["--if-version 2", "--if-revision 2"] {
        let absent = server.run(&format!("state delete none {condition}"));
        assert_eq!(absent.error()["hint"], "nothing to do: there is nothing to delete");
    }
    server.url = server.url.replace("http://", "https://");
    refused(&server, &["state", "ls"], "tls.plain_server", 8);
    let refused = Ran::of(server.command(["state", "ls"]), "");
    assert_eq!(refused.error()["hint"], "use a URL that begins with `http://`");
}

#[test]
fn a_hint_names_options_and_what_can_be_done() {
    let server = Server::start();
    for line in ["task add review --id busy", "task claim --task busy", "state set plan 1"] {
        assert_eq!(server.run(line).code, 0, "{line}");
    }
    assert_eq!(server.run("contract declare plans shared/plan --agent ada").code, 0);
    for (line, hint) in [
        ("task claim --task busy", "set `--wait` to wait for it, or claim another task"),
        (
            "semaphore run new -- true",
            "acquire it with `--permits`: the first call sets how many there are",
        ),
        (
            "contract rm plans --agent bob",
            "ask its owner, choose another name, or delete it with `--force`",
        ),
        ("namespace rm none", "list what there is with `baton namespace ls`"),
        ("stream rm none", "list what there is with `baton stream ls`"),
    ] {
        let ran = server.run(line);
        assert_eq!(ran.error()["hint"], hint, "{line}");
    }
    let hint = server.run("state set plan 2 --if-absent").error()["hint"].clone();
    assert!(hint.as_str().is_some_and(|hint| hint.contains("without `--if-absent`")), "{hint}");
    let late = server.run("task wait busy --wait 1ms").error();
    assert_eq!(late["detail"], "task `busy` has not finished");
    let late = server.run("task wait busy --status failed --wait 1ms").error();
    assert_eq!(late["detail"], "task `busy` has not reached the status");
}

#[test]
fn a_workspace_that_was_never_used_is_named() {
    let server = Server::start();
    assert_eq!(server.run("--workspace research state set plan 1").code, 0);
    let detail = "workspace `reserch` has never been used; did you mean `research`?";
    for line in [
        "workspace export reserch kept.baton",
        "workspace delete reserch --yes",
        "workspace sync reserch --with-workspace research",
    ] {
        let ran = server.run(line);
        let error = ran.error();
        assert_eq!((ran.code, error["code"].as_str()), (3, Some("cli.no_workspace")), "{line}");
        assert_eq!(error["detail"], detail, "{line}");
    }
    assert!(!server.home.path().join("kept.baton").exists());
    // Without a copy there is nothing to synchronize with.
    assert_eq!(server.run("workspace sync research").error()["code"], "cli.usage");
}

#[test]
fn a_file_that_is_no_sound_export_is_refused_as_over_http() {
    let server = Server::start();
    assert_eq!(server.run("state set plan 1").code, 0);
    assert_eq!(server.run("workspace export default kept.baton").code, 0);
    let path = server.home.path().join("kept.baton");
    let whole = std::fs::read(&path).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for bytes in [&whole[..whole.len() - 1], &flipped, b"", b"foreign"] {
        std::fs::write(&path, bytes).unwrap();
        let ran = server.run("workspace import kept.baton --as copy");
        let error = ran.error();
        assert_eq!((ran.code, error["code"].as_str()), (2, Some("import.damaged")), "{error}");
        let detail = error["detail"].as_str().unwrap();
        assert!(detail.starts_with("`kept.baton`: the export is damaged: "), "{detail}");
    }
    std::fs::write(&path, whole).unwrap();
    assert_eq!(server.run("workspace import kept.baton --as copy").code, 0);
}

#[test]
fn a_handoff_without_asking_offers_no_approval() {
    let home = tempfile::tempdir().unwrap();
    let run = |line: &str| {
        let mut command = baton(home.path());
        command.args(line.split(' '));
        Ran::of(command, "")
    };
    let help = run("handoff execute --help").stdout;
    assert!(help.contains("How long the receiver has to claim the task"), "{help}");
    for option in ["--capability", "--approval", "--approver"] {
        assert!(!help.contains(option), "{help}");
        assert!(run("handoff offer --help").stdout.contains(option));
    }
    let ran = run("handoff execute bob --approval");
    assert_eq!((ran.code, ran.error()["code"].clone()), (2, "cli.usage".into()));
}

#[test]
fn numbers_and_short_times_are_said_in_words() {
    let mut server = Server::start();
    let held = server.run("lock acquire door --ttl 1s -o table").stdout;
    assert!(held.contains("expires within a second") || held.contains("expires in 1 s"), "{held}");
    assert_eq!(server.run("reserve docs --agent ada").code, 0);
    let released = server.run("reserve --release --agent ada -o table").stdout;
    assert_eq!(released, "1 reservation released\n");
    server.kill();
    let ran = server.run("doctor --data none/such -o table");
    assert!(ran.stderr.contains("check failed") || ran.stderr.contains("checks failed"), "{ran:?}");
    assert!(!ran.stderr.contains("1 checks"), "{ran:?}");
}

#[test]
fn the_version_is_a_command_as_well() {
    let server = Server::start();
    let ran = server.run("version -o table");
    assert_eq!((ran.code, ran.stdout), (0, format!("baton {}\n", env!("CARGO_PKG_VERSION"))));
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
fn a_conflict_names_the_winner() {
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
    let ran = Ran::of(server.command(["message", "send", "bob", "@eve, look"]), "");
    let hint = "name a file that exists, or write text that begins with `@` as a JSON string";
    assert_eq!((ran.code, ran.error()["hint"].as_str()), (2, Some(hint)));
    assert_eq!(server.run("state get file --value").stdout, "{\"step\": 1}\n");
}

#[test]
fn the_input_of_a_pipeline_may_be_text() {
    let server = Server::start();
    let words = ["pipeline", "create", "article", "--stage", "write", "--input", "the tides"];
    assert_eq!(Ran::of(server.command(words), "").json()["input"], "the tides");
    let words = ["pipeline", "start", "article", "write", "only those of the moon"];
    assert_eq!(Ran::of(server.command(words), "").json()["input"], "only those of the moon");
}

#[test]
fn a_watch_ends_quietly_on_a_closed_pipe_or_an_interrupt() {
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
    // A colon precedes an id that is not short for another, and both are shown as they are.
    for line in ["task get :t-1", "task history :t-1", "why tasks/:t-1"] {
        assert_eq!(server.run(line).code, 0, "{line}");
    }
    let listed = server.run("task ls -o table").stdout;
    let ids: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(ids, ["ID", "t-0000000001", "t-1", "t-9"], "{listed}");
    assert_eq!(server.run("task cancel :t-1").json()["id"], "t-1");
    assert_eq!(server.run("task get t-0000000001").json()["status"], "pending");
    let ran = server.run("task get t-77");
    assert_eq!((ran.code, ran.error()["code"].as_str()), (3, Some("task.not_found")));
    assert_eq!(server.run("handoff get h-77").error()["handoff"], "h-0000000077");
}

#[test]
fn a_missing_field_is_reported_with_the_whole_answer() {
    let server = Server::start();
    assert_eq!(server.run("task add review").code, 0);
    // The request was carried out, so its answer is not lost.
    let ran = server.run("lock acquire deploy --field nope");
    let error = ran.error();
    assert_eq!((ran.code, error["code"].as_str()), (1, Some("cli.no_field")), "{ran:?}");
    assert!(error["answer"]["token"].is_number(), "{error}");
    let mut claim = server.command(["task", "claim", "--type", "review", "--field", "lease.x"]);
    claim.env("BATON_OUTPUT", "table");
    let ran = Ran::of(claim, "");
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (1, "", 3), "{ran:?}");
    assert!(ran.stderr.contains("the command was carried out"), "{ran:?}");
    assert!(ran.stderr.contains("\"id\":\"t-0000000001\""), "{ran:?}");
}

#[test]
fn the_token_of_a_task_is_a_field_as_that_of_a_lock_is() {
    let server = Server::start();
    assert_eq!(server.run("task add review").code, 0);
    let token = server.run("task claim --type review --field token");
    assert_eq!((token.code, token.stderr.as_str()), (0, ""), "{token:?}");
    assert_eq!(server.run("task get t-1 --field lease.token").stdout, token.stdout);
    let lock = server.run("lock acquire deploy --field token");
    assert_eq!(server.run("lock get deploy --field hold.token").stdout, lock.stdout);
    assert_eq!(server.run("lock get deploy --field token").stdout, lock.stdout);
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

#[test]
fn a_misspelt_workspace_is_reported_with_the_name_that_workers_use() {
    let server = Server::start();
    assert_eq!(server.run("--workspace research state set plan 1").code, 0);
    let said = |name: &str| format!("workspace `{name}` has never been used; did you mean `");
    // A call that waits is an event, so every line has a workspace of its own.
    let mut names = (0..).map(|number| format!("research{number}"));
    for (line, code) in [
        ("task claim", 10),
        ("task claim --wait 1ms", 10),
        ("next", 10),
        ("next --wait 1ms", 10),
        ("handoff receive", 10),
        ("inbox receive", 0),
        ("event history", 0),
        ("state diff 1", 2),
        ("workspace get", 0),
    ] {
        let name = names.next().unwrap();
        let ran = server.run(&format!("--workspace {name} {line} -o table"));
        assert_eq!((ran.code, ran.stderr.contains(&said(&name))), (code, true), "{line}: {ran:?}");
        let ran = server.run(&format!("--workspace research {line} -o table"));
        assert!(!ran.stderr.contains("never been used"), "{line}: {ran:?}");
    }
    let ran = server.run("cluster status -o table");
    assert_eq!(ran.stdout, "this server shares its data with no other\n");
    for line in ["watch", "watch --from 5", "event watch", "topic watch", "task work -- true"] {
        let name = names.next().unwrap();
        let line = line.replace(" --", " -o table --");
        let line = if line.contains("-o table") { line } else { format!("{line} -o table") };
        let line = format!("--workspace {name} {line}");
        let mut waiting = Running::of(server.command(line.split(' ')));
        assert!(waiting.error_line().starts_with(&said(&name)), "{line}");
        send(&waiting.child, Signal::INT);
        waiting.ended();
    }
    let ran = server.run("event history --type deploy.* -o table");
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", "No events.\n"));
    assert_eq!(server.run("event history --type deploy.*").stderr, "");
}

#[test]
fn a_warning_of_an_offer_is_a_separate_line() {
    let server = Server::start();
    let ran = server.run("handoff offer bob --notes ready -o table");
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 1), "{ran:?}");
    assert!(ran.stdout.ends_with(" is offered\n"), "{ran:?}");
    assert_eq!(ran.stderr, "warning: no agent has ever registered as `bob`\n");
}

#[test]
fn a_usage_error_has_the_format_of_the_environment() {
    let home = tempfile::tempdir().unwrap();
    let run = |words: &[&str], form: &str| {
        let mut command = baton(home.path());
        command.args(words).env("BATON_OUTPUT", form);
        Ran::of(command, "")
    };
    for words in [&["task", "complete", "t-1"][..], &["--config", "none.toml", "state", "ls"]] {
        let ran = run(words, "table");
        assert_eq!((ran.code, ran.stderr.lines().count()), (2, 3), "{ran:?}");
        assert!(ran.stderr.starts_with("error: "), "{ran:?}");
        assert!(run(words, "jsonl").error().is_object());
        // An option comes first, and what is no format is ignored until it is reported.
        let ran = run(&[words, &["-o", "table"]].concat(), "json");
        assert!(ran.stderr.starts_with("error: "), "{ran:?}");
        assert!(run(words, "nonsense").error().is_object());
    }
}

#[test]
fn a_usage_error_names_the_next_step() {
    let home = tempfile::tempdir().unwrap();
    for (line, expected) in [
        ("tsk ls", "did you mean `task`? See `baton help`"),
        ("task claim --wiat 5s", "did you mean `--wait`? See `baton help task claim`"),
        ("task claim --wait 5", "see `baton help task claim`"),
        ("token create x --role foo", "see `baton help token create`"),
        ("serve --listen 48211", "see `baton help serve`"),
        ("topic publish news hello world", "put text of several words in quotes; see `baton help"),
        ("state set title release plan", "put text of several words in quotes; see `baton help"),
        ("lock release deploy", "give the token of the hold, which `baton lock acquire NAME"),
        ("inbox ls bob", "see `baton help inbox ls`"),
        ("task done a", "claim it first: eval \"$(baton task claim --env)\", or give --token"),
        ("workspace delete wy", "to proceed, repeat the command with --yes"),
        ("--config none.toml state ls", "name an existing file"),
        ("state set plan {\"step\":", "write text as a JSON string, '\"text\"', or use --string"),
    ] {
        let mut command = baton(home.path());
        command.args(line.split(' ')).args(["-o", "table"]);
        let ran = Ran::of(command, "");
        let hint = ran.stderr.lines().last().and_then(|line| line.strip_prefix("   do: "));
        assert_eq!(ran.code, 2, "{line}: {ran:?}");
        assert!(hint.is_some_and(|hint| hint.starts_with(expected)), "{line}: {ran:?}");
        assert!(!ran.stderr.contains("tip:"), "{line}: {ran:?}");
    }
    let mut command = baton(home.path());
    command.args(["lock", "renew", "deploy", "--token", "x", "-o", "table"]);
    let ran = Ran::of(command, "");
    assert!(ran.stderr.contains("for '--token <TOKEN>': expected a whole number\n"), "{ran:?}");
    let ran = Ran::of(
        {
            let mut command = baton(home.path());
            command.args(["join", "create"]);
            command
        },
        "",
    );
    assert!(ran.stderr.contains("--group <NAME>|--task <TASK>"), "{ran:?}");
}
