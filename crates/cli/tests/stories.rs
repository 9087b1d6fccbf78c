//! Every command in two formats, as a table and as JSON lines. The golden files are the contract;
//! only times differ from run to run.

use std::fmt::Write;

use crate::process::{Ran, Running, Server, baton};

/// Runs commands in order and records their output. Words are separated by spaces, unless they are
/// in single quotes.
fn transcript(server: &Server, form: &str, lines: &[&str]) -> String {
    let mut transcript = String::new();
    for line in lines {
        let (line, stdin) = line.split_once(" < ").unwrap_or((line, ""));
        let mut command = server.command(words(line));
        command.args(["-o", form]);
        let ran = Ran::of(command, stdin);
        write!(transcript, "$ baton {line}\n{}", ran.stdout).unwrap();
        for line in ran.stderr.lines() {
            writeln!(transcript, "! {line}").unwrap();
        }
        if ran.code != 0 {
            writeln!(transcript, "= {}", ran.code).unwrap();
        }
    }
    if form == "table" { ageless(&timeless(&transcript)) } else { timeless(&transcript) }
}

fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for sign in line.chars() {
        match sign {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            sign => words.last_mut().unwrap().push(sign),
        }
    }
    words
}

/// Replaces every digit of a time by zero.
fn timeless(text: &str) -> String {
    let shape = b"0000-00-00T00:00:00.000Z";
    let mut bytes = text.as_bytes().to_vec();
    for start in 0..bytes.len().saturating_sub(shape.len() - 1) {
        let found = &mut bytes[start..start + shape.len()];
        let fits = |(byte, wanted): (&u8, &u8)| {
            if *wanted == b'0' { byte.is_ascii_digit() } else { byte == wanted }
        };
        if found.iter().zip(shape).all(fits) {
            found.copy_from_slice(shape);
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// Replaces every age, such as `3 s ago`, by a word, and the space between columns, which depends
/// on the longest age, by two spaces.
fn ageless(text: &str) -> String {
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let bare = |word: &'_ str| word.trim_matches(['(', ')', ',']).to_owned();
    let is_unit = |word: &str| ["s", "min", "h", "d"].contains(&&*bare(word));
    let mut out = String::new();
    for line in text.lines() {
        let cells: Vec<&str> =
            line.split("  ").map(str::trim).filter(|it| !it.is_empty()).collect();
        let line = cells.join("  ");
        let words: Vec<&str> = line.split(' ').collect();
        let mut rest = words.as_slice();
        while let [word, after @ ..] = rest {
            let (length, end) = match after {
                [count, unit, ..] if bare(word) == "in" && is_number(count) && is_unit(unit) => {
                    (3, unit)
                }
                [unit, ago, ..]
                    if is_number(&bare(word)) && is_unit(unit) && bare(ago) == "ago" =>
                {
                    (3, ago)
                }
                _ if bare(word) == "now" => (1, word),
                _ => (0, word),
            };
            if length == 0 {
                out.push_str(word);
            } else {
                out.push_str(if word.starts_with('(') { "(AGE" } else { "AGE" });
                out.push_str(if end.ends_with(')') { ")" } else { "" });
                out.push_str(if end.ends_with(',') { "," } else { "" });
            }
            rest = &rest[length.max(1)..];
            out.push_str(if rest.is_empty() { "\n" } else { " " });
        }
    }
    out
}

/// The same commands in both formats, each on its own server.
fn story(name: &str, lines: &[&str]) {
    for form in ["table", "jsonl"] {
        let transcript = transcript(&Server::start(), form, lines);
        insta::assert_snapshot!(format!("{name}_{form}"), transcript);
    }
}

#[test]
fn writing_and_reading() {
    story(
        "state",
        &[
            "state set plan '{\"step\": 1}'",
            "state get plan",
            "state get plan --value",
            "state set title 'release plan' --string",
            "state get title --string",
            "state get plan --string",
            "state set plan '{\"step\": 2}' --if-version 1 --agent ada",
            "state set plan '{\"step\": 9}' --if-version 1",
            "state set plan 0 --if-absent",
            "state set session true --ephemeral",
            "state set later -5 --ttl 1h30m",
            "state set plan - < {\"step\": 3}",
            "state get plan --at 1",
            "state delete title --if-version 7",
            "state delete title",
            "state get title",
            "state set -n nowhere key 1",
        ],
    );
}

#[test]
fn changing_a_part() {
    story(
        "patch",
        &[
            "state patch plan --merge '{\"step\": 2, \"old\": null}'",
            "state patch plan --json-patch \
             '[{\"op\": \"add\", \"path\": \"/by\", \"value\": \"ada\"}]'",
            "state patch list --append '[1, 2]'",
            "state patch list --union '[2, 3]'",
            "state patch hits --increment -1",
            "state patch hits --max 7",
            "state patch plan --increment 1",
            "state patch hits --increment 1 --if-version 9",
            "state ls",
        ],
    );
}

#[test]
fn listing_and_looking_back() {
    story(
        "past",
        &[
            "state set plans/a 1",
            "state set plans/b 2 --agent ada",
            "state set other 3",
            "state delete plans/a",
            "state ls plans/",
            "state ls --pattern 'plans/*'",
            "state ls --at 2",
            "state ls nothing/",
            "state history",
            "state history plans/a",
            "state history --author ada",
            "state history --limit 1",
            "state diff 1",
            "state diff 1 2",
            "state diff 9",
        ],
    );
}

#[test]
fn namespaces() {
    story(
        "namespace",
        &[
            "namespace create notes --rules '{\"append_only\": true}'",
            "namespace create notes",
            "namespace get notes",
            "namespace configure notes --rules '{\"ttl_ms\": 60000}'",
            "namespace configure notes --rules '{\"ttl\": 60000}'",
            "namespace ls",
            "namespace delete notes",
            "namespace delete shared",
            "namespace get notes",
        ],
    );
}

#[test]
fn agents() {
    story(
        "agent",
        &[
            "agent register ada --capability rust --capability search --ttl 1h \
             --metadata '{\"model\": 1}'",
            "agent register --ttl 1h",
            "agent heartbeat ada --token 1",
            "agent heartbeat ada --token 9",
            "agent get ada",
            "agent ls",
            "agent ls --capability rust --status active",
            "agent leave ada",
            "agent leave ada --token 1",
            "agent ls --status left",
            "agent ls --status gone",
            "agent get nobody",
        ],
    );
}

#[test]
fn locks() {
    story(
        "lock",
        &[
            "lock acquire deploy --agent ada --ttl 1h",
            "lock acquire deploy",
            "lock acquire deploy --wait 1ms",
            "lock acquire other --ttl 1ms",
            "lock ls",
            "lock get deploy",
            "lock get nobody/ever",
            "lock renew deploy --token 1 --ttl 2h --agent ada",
            "lock renew deploy --token 9",
            "lock run deploy -- true",
            "task add",
            "task work",
            "lock run",
            "lock release deploy --token 1 --agent ada",
            "lock release deploy --token 1",
            "lock ls",
        ],
    );
}

#[test]
fn tasks() {
    story(
        "task",
        &[
            "task add review '{\"change\": 7}' --id first -d 'review the change' --priority 5",
            "task add review --id first",
            "task add review --id second --after first --capability rust --group g",
            "task add review --id third --on-exhausted agent:bob --if-capable --capability cobol",
            "task add review --id third --on-exhausted nobody",
            "task why second",
            "task claim --type review --agent ada --lease 1h",
            "task claim",
            "task claim --wait 1ms",
            "task claim --task second",
            "task ls",
            "task ls --status pending --group g",
            "task ls --of ada",
            "task heartbeat first --token 3 --agent ada",
            "task progress first --token 3 0.5 --note halfway --agent ada",
            "task done first --token 9",
            "task done first --token 3 --agent ada '{\"verdict\": \"good\"}' \
             --artifacts '[\"a.txt\"]'",
            "task claim --capability rust",
            "task fail second --token 8 'it rains' --for-good",
            "task review second retry",
            "task cancel second",
            "task get first",
            "task get nothing",
            "task history first",
            "task ls --limit 1",
        ],
    );
}

#[test]
fn rules() {
    story(
        "rule",
        &[
            "rule add tests-first --on-type code:* --require-keys tests,diff",
            "rule add green --expression 'state.tests.failed == 0' --message 'run the tests'",
            "rule add shape --schema - < {\"required\": [\"plan\"]}",
            "rule add reviewers --from ada --to reviewer-* --capability review --warning",
            "rule add alive --receiver-alive",
            "rule add small --state-bytes-max 65536",
            "rule add far --hops-max 5 --agent ada",
            "rule add far --hops-max 3 --agent ada",
            "rule ls",
            "rule rm far",
            "rule rm far",
            "rule add bad --expression 'state.tests.failed = 0'",
            "rule add bad --schema '{\"type\": \"nonsense\"}'",
            "rule add bad",
            "rule add bad --hops-max 1 --receiver-alive",
        ],
    );
}

#[test]
fn reviews() {
    story(
        "review",
        &[
            "task add write --id essay --review",
            "task claim --agent ada",
            "task done essay --token 2 --agent ada draft",
            "task ls",
            "task why essay",
            "task review essay complete --agent ada",
            "task review essay retry --note 'too long' --attempt 1 --agent bob",
            "task claim --agent ada",
            "task done essay --token 5 --agent ada shorter",
            "task review essay complete --attempt 1 --agent bob",
            "task review essay complete --attempt 2 --note fine --agent bob",
            "task history essay",
        ],
    );
}

#[test]
fn spending() {
    story(
        "spend",
        &[
            "task add write --id report",
            "spend limit --task report --tokens 1000 --cost-micros 500000",
            "spend limit --of bob --calls 2",
            "spend record --task report --tokens 300 --model m1 --agent bob",
            "spend record --task report --tokens 800 --strict --agent bob",
            "spend record --task report --tokens 800 --note 'a long answer' --agent bob",
            "spend show --task report",
            "spend show --of bob",
            "task add write --id memo --budget tokens=500,calls=3",
            "task add write --id memo --budget token=500",
            "spend show --task memo",
            "spend show",
            "spend ls --of bob",
            "spend ls --of ada",
            "task claim --task report --agent ada",
            "task claim --agent bob",
            "spend limit",
            "spend limit --of bob",
            "spend record --calls 0",
            "spend show --task none",
            "spend show --task report --of bob",
        ],
    );
}

#[test]
fn contracts() {
    story(
        "contract",
        &[
            "contract declare plans shared/plan --type object --fields steps,/owner/name --refuse",
            "state set plan '{\"steps\": 3, \"owner\": {\"name\": \"ada\"}}' --agent ada",
            "state set plan '{\"step_count\": 3, \"owner\": {\"name\": \"ada\"}}' --agent ada",
            "state delete plan --agent ada",
            "contract declare parts 'shared/part:*' --schema '{\"required\": [\"n\"]}' --optional",
            "contract declare both --keys - < [{\"key\":\"shared/a\"},{\"key\":\"shared/b\"}]",
            "contract ls",
            "state set part:1 '{}' --agent ada",
            "contract check",
            "contract show 'shared/plan'",
            "contract rm parts --agent ada",
            "contract rm parts --agent ada --force",
            "contract rm parts",
            "contract declare bad shared/plan --type text",
            "contract declare bad plan",
            "contract declare bad",
        ],
    );
}

#[test]
fn reactions() {
    story(
        "reaction",
        &[
            "event emit deploy.finished '{\"version\": 7}' --agent ada",
            "event emit task.completed",
            r#"reaction add note --on deploy.* --do '{"command": "event.emit", "type": "noted"}'"#,
            "event emit deploy.finished - --agent bob < {\"version\": 8}",
            "event history --limit 3",
            "event history --type deploy.* --source ada",
            "reaction enable record-completed-tasks --agent ada",
            "reaction disable note",
            "reaction get note",
            "reaction ls",
            "reaction rm note",
            "reaction rm note",
            "reaction add bad --on x",
            "reaction add bad --on x --do '{\"command\": \"state.fly\"}'",
            "reaction add bad --on x --webhook ftp://example.org",
            "reaction add bad --on x --where event. --do '{}'",
        ],
    );
}

#[test]
fn joins() {
    story(
        "join",
        &[
            "task add review --id first --group g",
            "task add review --id second --group g",
            "join create --group g --id all",
            "join create --task first --task second --need 2 --id both",
            "join create --group g --task first",
            "join create",
            "join wait all --wait 1ms",
            "task claim --task first",
            "task done first --token 7 '{\"n\": 1}'",
            "task cancel second",
            "join wait all",
            "join wait both",
            "join get both",
            "join wait none",
        ],
    );
}

#[test]
fn checkpoints() {
    story(
        "checkpoint",
        &[
            "checkpoint latest thread-7",
            "checkpoint save thread-7 '{\"step\": 1}' --metadata '{\"node\": \"plan\"}'",
            "checkpoint save thread-7 '{\"step\": 2}' --label outline --description 'it stands'",
            "checkpoint latest thread-7",
            "checkpoint latest thread-7 --state",
            "checkpoint ls thread-7",
            "checkpoint ls --metadata '{\"node\": \"plan\"}' --before c-0000000002",
            "checkpoint restore c-0000000001",
            "checkpoint fork c-0000000001 thread-8",
            "checkpoint fork c-0000000001 thread-8",
            "checkpoint label c-0000000002",
            "checkpoint prune thread-7",
            "checkpoint prune thread-7 --keep 0",
            "checkpoint retain --task thread-* --keep 20 --max-age 7d",
            "checkpoint retention",
            "checkpoint save thread-9 'raw bytes' --type text --key 0041",
            "checkpoint save thread-9 'more of them' --type text --key 0042 --parent-key 0041",
            "checkpoint write thread-9 0042 search messages '\"found\"'",
            "checkpoint write thread-9 0042 search messages '\"again\"'",
            "checkpoint copy thread-9 thread-10",
            "checkpoint history thread-10 --limit 1",
            "checkpoint prune thread-9 --key 0041",
            "checkpoint history thread-9",
            "task add review --id t",
            "checkpoint save t 1 --token 9",
            "checkpoint get c-0000000002",
        ],
    );
}

#[test]
fn artifacts() {
    const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    story(
        "artifact",
        &[
            "artifact put /dev/null --name empty --media-type text/plain --keep 1h",
            "artifact put /dev/null",
            "artifact put /no/such/file",
            &format!("artifact put /dev/null --expect {}", EMPTY.replace("e3", "e4")),
            &format!("artifact show {EMPTY}"),
            &format!("artifact get {EMPTY}"),
            &format!("state set file '{{\"artifact\": \"{EMPTY}\"}}'"),
            "artifact ls",
            "artifact ls --free",
            &format!("artifact rm {EMPTY}"),
            "state delete file",
            &format!("artifact rm {EMPTY}"),
            &format!("artifact get {EMPTY}"),
            "secret reveal secret:00000000000000000000000000000000",
            "secret ls",
        ],
    );
}

#[test]
fn pipelines() {
    story(
        "pipeline",
        &[
            "pipeline create article --stage research:ada --stage write --input '{\"topic\": 1}'",
            "pipeline create article --stage research",
            "pipeline create odd --stage a --stage a",
            "pipeline create none",
            "pipeline start article write",
            "pipeline start article research",
            "pipeline start article research --agent ada",
            "pipeline complete article research '{\"found\": 3}' --agent ada",
            "pipeline output article research",
            "pipeline output article write",
            "pipeline show article",
            "pipeline start article write",
            "pipeline fail article write '\"no model\"'",
            "pipeline show article",
            "pipeline retry article write",
            "pipeline skip article write --reason short",
            "pipeline ls",
            "pipeline ls --status running",
            "pipeline create each --automatic --input '[1,2]' \
             -f - < [{\"name\": \"a\", \"each\": true}, {\"name\": \"sum\"}]",
            "pipeline create whole \
             -f - < {\"automatic\": true, \"stages\": [{\"name\": \"only\"}]}",
            "pipeline create bad -f - < {\"steps\": []}",
            "pipeline complete each a",
            "pipeline show each",
            "pipeline rm each",
            "pipeline abort each --reason late",
            "pipeline rm each",
            "pipeline show each",
        ],
    );
}

#[test]
fn semaphores_and_barriers() {
    story(
        "semaphore",
        &[
            "semaphore acquire models",
            "semaphore acquire models --permits 1 --ttl 1h --agent ada",
            "semaphore acquire models --permits 2",
            "semaphore acquire models",
            "semaphore ls",
            "semaphore get models",
            "semaphore renew models --token 1 --ttl 2h --agent ada",
            "semaphore run models -- true",
            "semaphore release models --token 1 --agent ada",
            "semaphore release models --token 1",
            "semaphore acquire models --weight 2",
            "semaphore resize models 4",
            "semaphore acquire models --weight 3 --ttl 1h --agent ada",
            "semaphore acquire models --weight 2",
            "semaphore ls",
            "semaphore resize models 2",
            "semaphore resize unknown 2",
            "barrier arrive start --count 2 --agent ada",
            "barrier get start",
            "barrier arrive start --count 3",
            "barrier arrive start --count 2 --wait 1h",
            "barrier arrive start --count 2 --wait 1ms",
            "barrier reset start",
        ],
    );
}

const SET: &str = r#"tx < {"commands":[
    {"command":"state.set","namespace":"shared","key":"a","value":1}
]}"#;
const COUNT_ONCE: &str = r#"tx --idempotency-key once < {"commands":[
    {"command":"state.patch","namespace":"shared","key":"n","increment":1}
]}"#;

#[test]
fn workspaces_and_transactions() {
    story(
        "workspace",
        &[
            "workspace get",
            "workspace configure --history-count 100 --history-age 7d",
            "workspace configure --history-count 0",
            "workspace configure",
            SET,
            "tx < {\"require\":[{\"revision\":1}],\"commands\":[]}",
            "tx < {\"commands\":[{\"command\":\"state.sett\"}]}",
            "tx < {\"commands\":[],\"agent\":\"eve\"}",
            COUNT_ONCE,
            COUNT_ONCE,
            "state get n --value",
        ],
    );
}

#[test]
fn other_forms() {
    let server = Server::start();
    let lines = ["state set plan '{\"step\": 1, \"by\": [\"ada\"]}'", "state ls", "state get none"];
    insta::assert_snapshot!("yaml", transcript(&server, "yaml", &lines));
    let json = server.run("state ls").json();
    assert_eq!(json[0]["value"]["step"], 1, "without a terminal it is JSON");
}

#[test]
fn watching() {
    let server = Server::start();
    for line in ["agent register ada --ttl 1h", "state set plan 1", "state set other 2"] {
        assert_eq!(server.run(line).code, 0);
    }
    assert_eq!(server.run("state delete other").code, 0);
    for form in ["table", "jsonl", "yaml"] {
        let words = ["watch", "--from", "1", "--type", "agent.joined", "--type", "state.set"];
        let mut watch = Running::of(server.command(words.into_iter().chain(["-o", form])));
        let mut transcript = String::new();
        while !transcript.contains("other") {
            transcript += &watch.line();
        }
        insta::assert_snapshot!(format!("watch_{form}"), timeless(&transcript));
    }
    for form in ["table", "jsonl"] {
        let words = ["watch", "state/shared/**", "--snapshot", "-o", form];
        let mut watch = Running::of(server.command(words));
        let mut transcript = String::new();
        while !transcript.contains("plan") {
            transcript += &watch.line();
        }
        insta::assert_snapshot!(format!("watch_snapshot_{form}"), timeless(&transcript));
    }
}

#[test]
fn help() {
    let home = tempfile::tempdir().unwrap();
    let nouns = [
        "serve",
        "state",
        "namespace",
        "agent",
        "task",
        "join",
        "checkpoint",
        "pipeline",
        "lock",
        "semaphore",
        "barrier",
        "workspace",
        "watch",
        "tx",
        "log",
        "bench",
    ];
    let verbs =
        ["state set", "state patch", "state history", "agent register", "lock run", "log repair"];
    let mut transcript = String::new();
    for words in [""].into_iter().chain(nouns).chain(verbs) {
        let mut command = baton(home.path());
        command.arg("help").args(words.split_whitespace());
        let ran = Ran::of(command, "");
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        writeln!(transcript, "$ baton help {words}\n{}", ran.stdout).unwrap();
    }
    insta::assert_snapshot!("help", transcript);
}

#[test]
fn commands_for_shells_and_programs() {
    let server = Server::start();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = server.run(&format!("completions {shell}"));
        assert!(script.code == 0 && script.stdout.contains("COMPLETE"), "{shell}");
    }
    let document = server.run("openapi").stdout;
    assert!(document == include_str!("../../../spec/openapi.json"), "{document:.200}");
    let measured = server.run("bench --seconds 1 --concurrency 2").json();
    for (place, load) in ["set", "get"].into_iter().enumerate() {
        assert_eq!(measured[place]["load"], load);
        assert!(measured[place]["operations"].as_u64().unwrap() >= 2);
    }
    let left = Ran::of(server.command(["--workspace", "baton-bench", "state", "ls"]), "");
    assert_eq!(left.json(), serde_json::json!([]), "it tidies up");
}

#[test]
fn searching() {
    story(
        "search",
        &[
            "task add build --description 'the north wall'",
            "task add paint --description 'north, then the wall'",
            "task cancel t-0000000002 --reason 'no colour left'",
            "state set plans/a '{\"who\": \"bob\"}' --agent bob",
            "search '\"north wall\"'",
            "search 'status:cancelled colour'",
            "search 'kind:event by:bob'",
            "search '-status:cancelled kind:task' --limit 1",
            "search nothing",
            "search 'wall kind:thing'",
            "search 'created>yesterday'",
        ],
    );
}

#[test]
fn carrying_a_workspace_elsewhere() {
    story(
        "carry",
        &[
            "state set plan '{\"step\": 1}'",
            "workspace export default kept.baton",
            "workspace import kept.baton --as copy",
            "--workspace copy state get plan",
            "--workspace copy workspace get",
            "workspace import kept.baton --as copy",
            "workspace import kept.baton",
            "workspace import nowhere.baton",
            "workspace export mistyped kept.baton",
            "workspace export default kept.baton --at 99",
        ],
    );
}

#[test]
fn messages_wait_and_are_acknowledged() {
    story(
        "mail",
        &[
            "message send bob '{\"text\": \"the draft is there\"}'",
            "message send bob 2",
            "--agent bob inbox ls",
            "--agent bob inbox receive",
            "--agent bob inbox ack m-0000000001",
            "--agent bob inbox ack m-0000000001",
            "--agent bob inbox receive --ack",
            "--agent bob inbox receive",
            "--agent bob inbox ls --status acked",
            "message get m-0000000002",
            "message get m-0000000099",
            "message request handler:sum '[1,2]' --timeout 1s",
            "message handlers",
        ],
    );
}

#[test]
fn topics_and_streams() {
    story(
        "stream",
        &[
            "topic publish news/tech '{\"title\": \"tides\"}'",
            "topic publish beat 1 --live",
            "topic ls",
            "stream create answer",
            "stream create answer",
            "stream send answer '\"to\"' '\"ken\"'",
            "stream read answer",
            "stream read answer --from 1 --limit 1",
            "stream read nothing",
            "stream close answer",
            "stream send answer 3",
            "stream tail answer",
            "stream ls",
            "stream delete answer",
            "stream get answer",
        ],
    );
}
