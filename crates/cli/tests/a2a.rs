//! Agents of other systems: `baton a2a`, and two servers that hand tasks to each other while one of
//! them is killed again and again.

use std::fs;

use serde_json::Value;

use crate::process::{Ran, Server};

/// Names the agent `name` of a server as an agent of another one, in its configuration file.
fn befriend(server: &Server, name: &str, other: &Server) {
    let folder = server.home.path().join(".config/baton");
    fs::create_dir_all(&folder).unwrap();
    let peer = format!("{name}=a2a:{}/a2a/agents/{name}", other.url);
    let text = format!("[serve]\na2a_peers = ['{peer}']\na2a_peers_private = true\n");
    fs::write(folder.join("config.toml"), text).unwrap();
}

fn json(server: &Server, words: &[&str]) -> Value {
    let mut all = words.to_vec();
    all.extend(["-o", "json"]);
    Ran::of(server.command(all), "").json()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// Claims the next task as an agent that works at a server.
fn claimed(server: &Server, agent: &str) -> (String, String) {
    let work = json(server, &["task", "claim", "--wait", "60s", "--agent", agent]);
    (text(&work["id"]).to_owned(), work["lease"]["token"].to_string())
}

fn done(server: &Server, agent: &str, (task, token): &(String, String), result: &str) {
    let words = ["task", "done", task, result, "--token", token, "--agent", agent];
    assert_eq!(Ran::of(server.command(words), "").code, 0);
}

fn ids(server: &Server) -> Vec<String> {
    let tasks = json(server, &["task", "ls"]);
    tasks.as_array().unwrap().iter().map(|task| text(&task["id"]).to_owned()).collect()
}

#[test]
fn two_servers_hand_tasks_to_each_other_and_nothing_is_done_twice() {
    let (mut here, mut there) = (Server::start(), Server::start());
    for (server, agent) in [(&here, "ada"), (&there, "bob")] {
        let words = ["agent", "register", agent, "--ttl", "10m"];
        assert_eq!(Ran::of(server.command(words), "").code, 0);
    }
    befriend(&here, "bob", &there);
    befriend(&there, "ada", &here);
    for server in [&mut here, &mut there] {
        server.kill();
        server.restart();
    }
    let mut sent = Vec::new();
    for number in 0..4 {
        let about = format!("part {number}");
        let words = ["task", "add", "write", "--assign", "bob", "-d", &about];
        sent.push(text(&json(&here, &words)["id"]).to_owned());
        // At any moment: before the message, after it, or while the answer is on its way.
        here.kill();
        here.restart();
        let work = claimed(&there, "bob");
        here.kill();
        if number % 2 == 0 {
            // It ends while the giver is dead.
            done(&there, "bob", &work, &number.to_string());
            here.restart();
        } else {
            here.restart();
            there.kill();
            there.restart();
            done(&there, "bob", &work, &number.to_string());
        }
        let ended = json(&here, &["task", "wait", sent.last().unwrap(), "--wait", "60s"]);
        assert_eq!((text(&ended["status"]), &ended["result"]), ("completed", &number.into()));
    }
    assert_eq!(ids(&there).len(), 4, "every task was begun once");

    // A hand-off with state in the other direction, whose state comes back.
    let task = text(&json(&there, &["task", "add", "review"])["id"]).to_owned();
    let words = ["task", "claim", "--task", &task, "--agent", "bob"];
    let token = json(&there, &words)["lease"]["token"].to_string();
    let mut offer = vec!["handoff", "offer", "ada", "--task", &task, "--token", &token];
    offer.extend(["--state", "tone=\"dry\"", "--agent", "bob"]);
    let handoff = text(&json(&there, &offer)["id"]).to_owned();
    let work = claimed(&here, "ada");
    there.kill();
    there.restart();
    let got = json(&here, &["task", "get", &work.0]);
    let context = &got["metadata"]["transfer_context"];
    assert_eq!((text(&context["state"]["tone"]), text(&context["handoff_id"])), ("dry", &*handoff));
    done(&here, "ada", &work, "\"good\"");
    let ended = json(&there, &["handoff", "wait", &handoff, "--wait", "60s"]);
    assert_eq!((text(&ended["status"]), text(&ended["result"])), ("completed", "good"));
    assert_eq!(json(&there, &["task", "get", &task])["status"], "completed");
    assert_eq!(ids(&here).len(), 5, "every task was begun once");
}

#[test]
fn a_card_is_shown_and_a_message_followed_to_its_result() {
    let server = Server::start();
    let fleet = format!("{}/a2a/fleet", server.url);
    let card = json(&server, &["a2a", "card", &fleet]);
    assert_eq!(card["supportedInterfaces"][0]["url"], fleet.as_str());
    let shown = Ran::of(server.command(["a2a", "card", &fleet, "-o", "table"]), "").stdout;
    assert!(shown.contains("JSONRPC") && shown.contains("Baton"), "{shown}");
    let send = ["a2a", "send", &fleet, "add 2 and 2", "--message-id", "m-1"];
    let no_wait: Vec<&str> = send.into_iter().chain(["--no-wait"]).collect();
    let sent = json(&server, &no_wait);
    assert_eq!(json(&server, &no_wait)["id"], sent["id"], "a repeated message has one effect");
    let work = claimed(&server, "ada");
    assert_eq!(work.0, text(&sent["id"]));
    done(&server, "ada", &work, "4");
    let ended = json(&server, &send);
    assert_eq!(text(&ended["status"]["state"]), "TASK_STATE_COMPLETED");
    let said = Ran::of(server.command(send.into_iter().chain(["-o", "table"])), "");
    assert_eq!((said.code, said.stdout.lines().last()), (0, Some("4")), "{said:?}");
    let mut refused = server.command(["a2a", "send", &fleet, "go on", "--task", "t-404"]);
    refused.args(["-o", "json"]);
    let refused = Ran::of(refused, "");
    assert_eq!((refused.code, text(&refused.error()["code"])), (4, "cli.peer_refused"));
    let other = ["a2a", "send", &fleet, "add 3 and 3", "--message-id", "m-1", "-o", "json"];
    let other = Ran::of(server.command(other), "");
    assert_eq!((other.code, text(&other.error()["code"])), (4, "cli.peer_refused"), "{other:?}");
    for bad in ["http://127.0.0.1:1", "nonsense", &server.url.replace("http", "ftp")] {
        let refused = Ran::of(server.command(["a2a", "card", bad, "-o", "json"]), "");
        assert_eq!((refused.code, text(&refused.error()["code"])), (8, "cli.peer"), "{bad}");
        assert!(!text(&refused.error()["hint"]).contains("a2a card"), "it has just been done");
    }
}

#[test]
fn peers_that_cannot_be_are_named_before_anything_is_served() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("empty"), "\n").unwrap();
    let peer = "bob=https://a.example";
    for (more, code) in [
        (&["--a2a-peer", "bob"][..], "cli.usage"),
        (&["--a2a-peer", "bob=ftp://a.example"], "cli.usage"),
        (&["--a2a-peer", peer, "--a2a-peer", "default/bob=https://b.example"], "cli.usage"),
        (&["--a2a-peer-token", "bob=empty"], "cli.usage"),
        (&["--a2a-registered", "not a name"], "cli.usage"),
        (&["--a2a-peer", peer, "--a2a-peer-token", "bob=empty"], "cli.usage"),
        (&["--a2a-peer", peer, "--a2a-peer-token", "bob=missing"], "cli.unreadable"),
    ] {
        let mut command = crate::process::baton(home.path());
        command.args(["serve", "--listen", "127.0.0.1:0", "--data", "data", "-o", "json"]);
        let refused = Ran::of(
            {
                command.args(more);
                command
            },
            "",
        );
        assert_eq!((refused.code, text(&refused.error()["code"])), (2, code), "{more:?}");
    }
}
