//! Tests for people with several coding agents: reservations, the hook, the brief, instructions.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::process::{Ran, Server, baton};

#[test]
fn files_are_reserved_by_one_agent_at_a_time() {
    let server = Server::start();
    let granted = server.run("reserve src/auth/** --agent ada").json();
    assert_eq!(granted[0]["holder"], "ada");
    let again = server.run("reserve src/auth/** --agent ada --ttl 2h").json();
    assert_eq!(again[0]["token"], granted[0]["token"], "it was extended");
    let refused = server.run("reserve src/auth/login.rs --agent bob");
    assert_eq!(refused.code, 4);
    let error: serde_json::Value =
        serde_json::from_str(refused.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(error["error"]["code"], "cli.reserved");
    let detail = error["error"]["detail"].as_str().unwrap();
    assert!(detail.starts_with("ada has reserved `src/auth/**` until 2"), "{detail}");
    assert_eq!(server.run("reserve --check src/auth/x --agent bob").code, 4);
    assert_eq!(server.run("reserve --check src/auth/x --agent ada").code, 0);
    assert_eq!(server.run("reserve --check docs --agent bob").code, 0);
    // The token is shown to the holder only.
    let listed = server.run("reserve --agent bob").json();
    assert_eq!(
        (listed[0]["pattern"].as_str(), listed[0].get("token")),
        (Some("src/auth/**"), None)
    );
    let table = server.run("reserve --agent bob -o table").stdout;
    assert_eq!(table.lines().next(), Some("PATTERN      HOLDER  EXPIRES AT"));
    assert_eq!(server.run("reserve --agent ada").json()[0]["token"], granted[0]["token"]);
    let refused = server.run("reserve src/auth/x --agent bob -o table");
    assert_eq!((refused.code, refused.stdout.as_str()), (4, ""));
    assert!(refused.stderr.starts_with("error: reserve: conflict"), "{refused:?}");
    assert_eq!(server.run("reserve src/auth/x --agent bob").stdout, "");
    let some = server.run("reserve docs src/auth/x --agent bob");
    assert_eq!((some.code, some.stdout.contains("docs")), (4, true), "what was granted is shown");
    assert_eq!(server.run("reserve --release --agent bob").code, 0);
    let released = server.run("reserve --release --agent bob").json();
    assert_eq!(released["released"], serde_json::json!([]), "only one's own are released");
    let released = server.run("reserve --release src/auth/** --agent ada").json();
    assert_eq!(released["released"][0], "src/auth/**");
    assert_eq!(server.run("reserve src/auth/login.rs --agent bob").code, 0);
    assert_eq!(server.run("reserve ../outside").code, 2);
}

/// Git in a folder, with this program in the path.
fn git(server: &Server, folder: &Path, agent: &str, words: &[&str]) -> Ran {
    let program = Path::new(env!("CARGO_BIN_EXE_baton")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("git");
    command.current_dir(folder).args(words).env("HOME", folder).env("PATH", path);
    command.env("BATON_URL", &server.url).env("BATON_AGENT", agent);
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "BATON_TOKEN", "BATON_CONFIG"] {
        command.env_remove(name);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    Ran::of(command, "")
}

#[test]
fn the_hook_refuses_to_commit_files_that_another_agent_reserved() {
    let server = Server::start();
    let folder = server.home.path().join("project");
    std::fs::create_dir_all(folder.join("src")).unwrap();
    let run = |agent: &str, line: &str| {
        git(&server, &folder, agent, &line.split(' ').collect::<Vec<_>>())
    };
    for line in ["init -q", "config user.name t", "config user.email t@example.com"] {
        assert_eq!(run("ada", line).code, 0, "{line}");
    }
    let mut install = server.command(["reserve", "--install-hook"]);
    install.current_dir(&folder);
    let installed = Ran::of(install, "");
    assert_eq!(installed.code, 0, "{installed:?}");
    let hook = folder.join(".git/hooks/pre-commit");
    let text = std::fs::read_to_string(&hook).unwrap();
    assert!(text.contains(&format!("program='{}'", env!("CARGO_BIN_EXE_baton"))), "{text}");
    // A hook of an earlier version is replaced, another one is not.
    let replaced = |text: &str| {
        std::fs::write(&hook, text).unwrap();
        let mut install = server.command(["reserve", "--install-hook"]);
        install.current_dir(&folder);
        Ran::of(install, "").code == 0
    };
    let earlier = text.replace("\"$program\"", "baton");
    let earlier: Vec<&str> = earlier.lines().filter(|line| !line.contains("program=")).collect();
    assert!(replaced(&(earlier.join("\n") + "\n")), "{earlier:?}");
    assert_eq!(std::fs::read_to_string(&hook).unwrap(), text);
    assert!(!replaced(&(text.clone() + "make lint\n")));
    assert!(replaced(&text.replace(env!("CARGO_BIN_EXE_baton"), "/elsewhere/baton")));
    assert_eq!(std::fs::read_to_string(&hook).unwrap(), text);
    std::fs::write(folder.join("src/a b.rs"), "fn main() {}\n").unwrap();
    assert_eq!(run("ada", "add .").code, 0);
    assert_eq!(server.run("reserve src/** --agent ada").code, 0);
    let refused = run("bob", "commit -q -m change");
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(refused.stderr.contains("ada has reserved `src/**`"), "{refused:?}");
    let committed = run("ada", "commit -q -m change");
    assert_eq!(committed.code, 0, "{committed:?}");
}

#[test]
fn a_session_starts_with_a_brief() {
    let server = Server::start();
    assert!(server.run("prime --agent ada").stdout.contains("Nothing waits for you."));
    server.run("task add build --description <b>obey</b>");
    server.run("reserve src/** --agent bob");
    let brief = server.run("prime --agent ada");
    assert_eq!(brief.code, 0, "{brief:?}");
    assert!(brief.stdout.starts_with("Baton: workspace default, you are ada.\n"), "{brief:?}");
    assert!(brief.stdout.contains("type build"), "{brief:?}");
    assert!(brief.stdout.contains("pattern src/**, holder bob"), "{brief:?}");
    assert!(!brief.stdout.contains("obey"), "what agents wrote is not in it: {brief:?}");
}

#[test]
fn instructions_are_written_between_marks() {
    let home = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| {
        let mut command = baton(home.path());
        command.args(words);
        Ran::of(command, "")
    };
    std::fs::write(home.path().join("AGENTS.md"), "# Project\n").unwrap();
    for _ in 0..2 {
        assert_eq!(run(&["agents-md"]).code, 0);
    }
    let text = std::fs::read_to_string(home.path().join("AGENTS.md")).unwrap();
    assert!(text.starts_with("# Project\n\n<!-- baton:begin -->\n"), "{text}");
    assert_eq!(text.matches("baton:begin").count(), 1);
    assert_eq!(text, format!("# Project\n\n{}", run(&["agents-md", "--print"]).stdout));
}

#[test]
fn the_configuration_of_every_client_is_valid() {
    let home = tempfile::tempdir().unwrap();
    let clients =
        ["claude", "claude-desktop", "cursor", "gemini", "opencode", "vscode", "windsurf", "zed"];
    for client in clients {
        let mut command = baton(home.path());
        command.args(["mcp", "install", "--client", client, "--print", "--agent", "ada"]);
        let printed = Ran::of(command, "").json();
        let text = printed.to_string();
        assert!(text.contains("\"mcp\"") && text.contains("\"--agent\",\"ada\""), "{text}");
    }
    let mut command = baton(home.path());
    command.args(["mcp", "install", "--client", "codex", "--print"]);
    let printed = Ran::of(command, "").stdout;
    assert!(printed.starts_with("[mcp_servers.baton]\ncommand = \"/"), "{printed}");
}

#[test]
fn a_client_of_all_projects_gets_one_folder() {
    let home = tempfile::tempdir().unwrap();
    let folder = std::fs::canonicalize(home.path()).unwrap().join(".baton");
    let print = |client: &str, more: &[&str]| {
        let mut command = baton(home.path());
        command.args(["mcp", "install", "--client", client, "--print"]).args(more);
        Ran::of(command, "").stdout
    };
    for client in ["claude-desktop", "codex", "windsurf", "zed"] {
        let printed = print(client, &[]);
        assert!(printed.contains("--data"), "{printed}");
        assert!(printed.contains(folder.to_str().unwrap()), "{printed}");
        let printed = print(client, &["--url", "http://127.0.0.1:9"]);
        assert!(printed.contains("--url") && !printed.contains("--data"), "{printed}");
    }
    assert!(!print("claude", &[]).contains("--data"), "it starts in the folder of the project");
}

#[test]
fn a_folder_that_another_server_uses_is_reached_with_its_address() {
    let server = Server::start();
    let mut command = baton(server.home.path());
    command.env("BATON_URL", "http://127.0.0.1:9").args(["mcp", "--data"]).arg(server.data());
    let refused = Ran::of(command, "");
    assert!(refused.stderr.contains("log.in_use"), "{refused:?}");
    assert!(refused.stderr.contains("--url"), "{refused:?}");
}
