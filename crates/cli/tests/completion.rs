//! Shell completion, tested with a real bash.

use crate::process::{Ran, Server, baton};

/// The candidates that bash offers for this line, whose last word is incomplete.
fn offered(server: &Server, line: &str) -> Vec<String> {
    offered_by(&server.command(["completions", "bash"]), line)
}

fn offered_by(script: &std::process::Command, line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split(' ').collect();
    let (last, before) = (words[words.len() - 1], words[words.len() - 2]);
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let mut shell = std::process::Command::new("bash");
    shell.args(["--norc", "-c"]).arg(format!(
        "source <(baton completions bash)
         COMP_WORDS=({}); COMP_CWORD={}; COMP_TYPE=9
         _clap_complete_baton baton '{last}' '{before}'
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        quoted.join(" "),
        words.len() - 1,
    ));
    for (name, value) in script.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_baton")).parent().unwrap().to_owned();
    let elsewhere = std::env::var("PATH").unwrap();
    shell.env("PATH", format!("{}:{elsewhere}", program.display()));
    // Enough for any machine.
    shell.env("BATON_COMPLETION_MS", "60000").current_dir(script.get_current_dir().unwrap());
    shell.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let ran = Ran::of(shell, "");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{line}: {ran:?}");
    // Options can follow anywhere, and are offered for an empty word.
    let names = ran.stdout.lines().map(str::trim).filter(|word| !word.starts_with('-'));
    names.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[test]
fn existing_names_are_offered() {
    let server = Server::start();
    for line in [
        "--agent ada agent register ada",
        "state set plan/a 1",
        "state set plan/b 1",
        "state set other 1",
        "state set -n agent:ada outline 1",
        "--workspace elsewhere state set there 1",
        "--workspace demo state set here 1",
        "task add review --id review-1",
        "task add review --id review-2",
        "lock acquire deploy --ttl 1h",
        "handoff offer ada",
        "rule add green --hops-max 5",
        "stream create tokens",
        "topic publish news/tech 1",
        "namespace create notes",
        "checkpoint save thread-1 1",
        "pipeline create article --stage write",
        "message send cli 1",
    ] {
        let ran = server.run(line);
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
    }
    let cases: [(&str, &[&str]); 24] = [
        ("baton task get ", &["review-1", "review-2"]),
        ("baton task get review-", &["review-1", "review-2"]),
        ("baton task get x", &[]),
        ("baton task add write --after review-1", &[]),
        ("baton state get plan/", &["plan/a", "plan/b"]),
        ("baton state get oth", &["other"]),
        ("baton state -n agent:ada get ", &["outline"]),
        ("baton --workspace elsewhere state get ", &["there"]),
        ("baton --workspace else", &["elsewhere"]),
        // A value is not a command, also if there is one of that name.
        ("baton --workspace demo state get ", &["here"]),
        ("baton state get --workspace demo ", &["here"]),
        ("baton --output json --workspace=demo state get h", &["here"]),
        ("baton --workspace dem", &["demo"]),
        ("baton handoff offer ad", &["ada"]),
        ("baton message send ", &["ada"]),
        ("baton lock release dep", &["deploy"]),
        ("baton rule rm ", &["green"]),
        ("baton stream tail tok", &["tokens"]),
        ("baton topic publish news", &["news/tech"]),
        ("baton namespace get n", &["notes"]),
        ("baton pipeline show a", &["article"]),
        ("baton reaction enable record-c", &["record-completed-tasks"]),
        ("baton state ge", &["get"]),
        ("baton completions ba", &["bash"]),
    ];
    for (line, expected) in cases {
        let expected: Vec<String> = expected.iter().map(|&word| word.to_owned()).collect();
        assert_eq!(offered(&server, line), expected, "{line}");
    }
    for (line, beginning) in [
        ("baton handoff accept ", "h-"),
        ("baton checkpoint restore ", "c-"),
        ("baton inbox ack ", "m-"),
    ] {
        let offered = offered(&server, line);
        assert!(offered.len() == 1 && offered[0].starts_with(beginning), "{line}: {offered:?}");
    }
}

#[test]
fn statuses_verdicts_and_types_are_offered() {
    let server = Server::start();
    assert_eq!(server.run("task add review --id review-1").code, 0);
    assert_eq!(server.run("task add review --id review-2").code, 0);
    let cases: [(&str, &[&str]); 9] = [
        ("baton task ls --status p", &["pending"]),
        ("baton handoff wait h-1 --status acc", &["accepted"]),
        ("baton agent ls --status a", &["active"]),
        ("baton pipeline ls --status r", &["running"]),
        ("baton inbox ls --status d", &["delivered", "dead"]),
        ("baton task review review-1 re", &["retry"]),
        ("baton task add x --on-exhausted ", &["fail", "review", "agent:"]),
        ("baton task claim --type ", &["review"]),
        ("baton event history --type task.prog", &["task.progressed"]),
    ];
    for (line, expected) in cases {
        let expected: Vec<String> = expected.iter().map(|&word| word.to_owned()).collect();
        assert_eq!(offered(&server, line), expected, "{line}");
    }
}

#[test]
fn without_a_server_completion_is_silent() {
    let home = tempfile::tempdir().unwrap();
    let mut script = baton(home.path());
    script.env("BATON_URL", "http://127.0.0.1:9");
    assert_eq!(offered_by(&script, "baton task get "), Vec::<String>::new());
    let mut script = baton(home.path());
    script.env("BATON_URL", "no address");
    assert_eq!(offered_by(&script, "baton state get "), Vec::<String>::new());
    assert_eq!(offered_by(&baton(home.path()), "baton state ge"), ["get"]);
}
