//! Runs the shell commands in the documents and help topics.
//!
//! | fence | means |
//! |---|---|
//! | `sh` | run here, in order, in one shell for the whole document, against a fresh server |
//! | `console`, lines beginning with `$` | not run: needs root, another machine, or minutes |
//! | anything else | not a shell command |
//!
//! | at the end of a line | means |
//! |---|---|
//! | `# refused: CODE` | must fail with this code |
//! | `# ctrl-c ends it` | runs until interrupted, which happens after its first output |
//!
//! `localhost:4747` is replaced by the server. Prerequisites of a document, such as a file that is
//! uploaded, are in the table below.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::{Ran, Server, baton};

/// Marks a command that must be rejected.
const REFUSED: &str = "# refused: ";
/// Marks a command that runs until interrupted.
const ENDLESS: &str = "# ctrl-c ends it";

/// Documents with shell commands, and their prerequisites.
const DOCUMENTS: &[(&str, &str)] = &[
    ("README.md", ""),
    ("docs/a2a.md", ""),
    ("docs/access.md", "export BATON_WORKSPACE=team-one"),
    (
        "docs/artifacts.md",
        "export BATON_WORKSPACE=research; echo 'a report' > report.pdf; echo hidden > key.txt; \
         baton task add write --id t-7 > /dev/null; baton task claim --task t-7 > claimed.json; \
         export TOKEN=$(sed -n 's/.*\"token\": *\\([0-9]*\\).*/\\1/p' claimed.json | head -1)",
    ),
    ("docs/cli.md", "export BATON_AGENT=ada"),
    (
        "docs/context.md",
        "export BATON_WORKSPACE=team; baton task add review --id t-7; \
         baton agent register bob --ttl 1h",
    ),
    ("docs/guide.md", ""),
    ("docs/mcp.md", "git init -q"),
    ("docs/operations.md", ""),
    ("docs/reactions.md", "export BATON_WORKSPACE=team; echo key > key"),
    ("docs/rules.md", ""),
    ("docs/search.md", "baton task add review --id review-7"),
    ("docs/time-travel.md", "export BATON_WORKSPACE=research; baton state set plan 1"),
    ("docs/wire.md", ""),
];

/// The shell that everything is run in: each line's output and exit code go to files of its number.
const SHELL: &str = r#"
set -uo pipefail
ended() { echo "$1 $2" >> "$STEPS/codes"; }
step() { eval "$2" > "$STEPS/$1.out" 2> "$STEPS/$1.err" < /dev/null; ended "$1" $?; }
endless() {
    set -m
    eval "$2" > "$STEPS/$1.out" 2> "$STEPS/$1.err" < /dev/null &
    local job=$!
    until [[ -s "$STEPS/$1.out" ]] || ! kill -0 $job 2> /dev/null; do sleep 0.05; done
    kill -INT -- -$job
    wait $job
    ended "$1" $?
    set +m
}
"#;

/// A command of a document, which may span several lines.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    line: usize,
    text: String,
}

impl Step {
    fn refused(&self) -> Option<&str> {
        self.text.split_once(REFUSED).map(|(_, code)| code.trim())
    }

    fn is_endless(&self) -> bool {
        self.text.contains(ENDLESS)
    }
}

/// The commands of all shell blocks.
fn steps_of(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut begun: Option<Step> = None;
    let mut is_shell = false;
    for (number, line) in text.lines().enumerate() {
        match line.trim() {
            "```sh" => is_shell = true,
            "```" => is_shell = false,
            line if is_shell => {
                let step = begun.get_or_insert(Step { line: number + 1, text: String::new() });
                step.text.push_str(line);
                step.text.push('\n');
                if is_whole(&step.text) {
                    steps.extend(begun.take().filter(|step| !is_idle(&step.text)));
                }
            }
            _ => {}
        }
    }
    assert_eq!(begun, None, "a command that does not end");
    steps
}

/// Whether a line has only spaces and comments.
fn is_idle(text: &str) -> bool {
    text.lines().all(|line| line.is_empty() || line.starts_with('#'))
}

/// Whether a command is complete.
fn is_whole(text: &str) -> bool {
    let mut quote = None;
    let (mut is_escaped, mut is_comment) = (false, false);
    let mut before = '\n';
    for sign in text.chars() {
        match (quote, sign) {
            _ if is_comment => is_comment = sign != '\n',
            _ if is_escaped => is_escaped = false,
            (None | Some('"'), '\\') => is_escaped = true,
            (Some(open), sign) if open == sign => quote = None,
            (None, '\'' | '"') => quote = Some(sign),
            (None, '#') if before.is_whitespace() => is_comment = true,
            _ => {}
        }
        before = sign;
    }
    quote.is_none() && !text.trim_end_matches('\n').ends_with('\\')
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The processes that still run in the session of a document.
fn end_session(leader: u32) {
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(stat) = fs::read_to_string(process.path().join("stat")) else { continue };
        // After the name, which is in parentheses: state, parent, group, session.
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        let session = fields.split_whitespace().nth(3).and_then(|session| session.parse().ok());
        let id = process.file_name().to_str().and_then(|id| id.parse().ok());
        let id = id.filter(|_| session == Some(leader)).and_then(rustix::process::Pid::from_raw);
        if let Some(id) = id {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
        }
    }
}

/// A shell with its own home folder, isolated from the settings of the machine.
fn shell(server: &Server, script: &str) -> Command {
    let home = server.home.path();
    let mut shell = Command::new("setsid");
    shell.args(["--wait", "bash", "-c", script]);
    for (name, value) in baton(home).get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let program = Path::new(env!("CARGO_BIN_EXE_baton")).parent().unwrap().to_owned();
    let elsewhere = std::env::var("PATH").unwrap();
    shell.env("PATH", format!("{}:{elsewhere}", program.display()));
    shell.env("BATON_URL", &server.url).env("STEPS", home.join("steps"));
    shell.current_dir(home).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell
}

/// Runs all commands, and returns what differed from the document.
fn run(name: &str, before: &str, steps: &[Step]) -> Vec<String> {
    let server = Server::start();
    let folder = server.home.path().join("steps");
    fs::create_dir(&folder).unwrap();
    let authority = server.url.strip_prefix("http://").unwrap();
    let mut script = format!("{SHELL}echo $$ > \"$STEPS/leader\"\n");
    writeln!(script, "step 0 {}", quoted(before)).unwrap();
    for Step { line, text } in steps {
        let how = if text.contains(ENDLESS) { "endless" } else { "step" };
        let text = quoted(&text.replace("localhost:4747", authority));
        writeln!(script, "{how} {line} {text}").unwrap();
    }
    let ran = Ran::of(shell(&server, &script), "");
    let leader = fs::read_to_string(folder.join("leader")).unwrap().trim().parse().unwrap();
    end_session(leader);
    let codes = fs::read_to_string(folder.join("codes")).unwrap_or_default();
    let code_of = |line: usize| {
        let mut pairs = codes.lines().filter_map(|pair| pair.split_once(' '));
        pairs.find(|(number, _)| *number == line.to_string()).map(|(_, code)| code.to_owned())
    };
    let read = |line: usize, end| fs::read_to_string(folder.join(format!("{line}.{end}")));
    let prelude = Step { line: 0, text: before.to_owned() };
    let all = std::iter::once(&prelude).chain(steps);
    let failed = all.filter_map(|step| {
        let (out, said) = (read(step.line, "out"), read(step.line, "err"));
        let (out, said) = (out.unwrap_or_default(), said.unwrap_or_default());
        let code = code_of(step.line);
        let is_as_said = match (code.as_deref(), step.refused()) {
            (Some("0"), None) => !step.is_endless(),
            (Some("130"), None) => step.is_endless(),
            (Some("0") | None, _) | (Some(_), None) => false,
            (Some(_), Some(refusal)) => said.contains(refusal) || out.contains(refusal),
        };
        let Step { line, text } = step;
        let place = format!("{name}:{line}: exit code {code:?}\n{text}");
        (!is_as_said).then(|| format!("{place}--- stdout\n{out}--- stderr\n{said}{ran:?}"))
    });
    failed.collect()
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn assert_as_said(name: &str, before: &str, steps: &[Step]) {
    let failed = run(name, before, steps);
    assert!(
        failed.is_empty(),
        "{} of {} steps\n\n{}",
        failed.len(),
        steps.len(),
        failed.join("\n")
    );
}

/// One test per document, so that they run in parallel.
macro_rules! documents {
    ($($test:ident: $name:literal, $least:literal;)*) => {
        $(
            #[test]
            fn $test() {
                let (name, before) = DOCUMENTS.iter().find(|(name, _)| *name == $name).unwrap();
                let text = fs::read_to_string(repository().join(name)).unwrap();
                let steps = steps_of(&text);
                assert!(steps.len() >= $least, "only {} steps were found", steps.len());
                assert_as_said(name, before, &steps);
            }
        )*

        #[test]
        fn every_document_with_lines_for_a_shell_is_run() {
            let tested = [$($name),*];
            let mut names = vec!["README.md".to_owned()];
            for entry in fs::read_dir(repository().join("docs")).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                if name.ends_with(".md") {
                    names.push(format!("docs/{name}"));
                }
            }
            for name in names {
                let text = fs::read_to_string(repository().join(&name)).unwrap();
                let has_steps = !steps_of(&text).is_empty();
                assert_eq!(has_steps, tested.contains(&&*name), "{name}");
                for fence in ["```bash", "```shell", "```zsh", "~~~", "```sh "] {
                    let stray = text.lines().find(|line| line.trim().starts_with(fence));
                    assert_eq!(stray, None, "{name}: a block for a shell begins with ```sh");
                }
                assert_console(&name, &text);
            }
        }
    };
}

/// Every command in a block that is not run has a prompt.
fn assert_console(name: &str, text: &str) {
    let mut fence = "";
    for line in text.lines() {
        match line.strip_prefix("```") {
            Some(language) => fence = if fence.is_empty() { language } else { "" },
            None if fence == "text" => {
                let is_command = line.starts_with("baton ") || line.starts_with("curl ");
                assert!(!is_command, "{name}: a command in a block of text: {line}");
            }
            None => {}
        }
    }
}

documents! {
    the_readme_does_what_it_says: "README.md", 20;
    a2a_does_what_it_says: "docs/a2a.md", 2;
    access_does_what_it_says: "docs/access.md", 4;
    artifacts_do_what_they_say: "docs/artifacts.md", 8;
    the_command_line_does_what_it_says: "docs/cli.md", 4;
    context_does_what_it_says: "docs/context.md", 2;
    the_guide_does_what_it_says: "docs/guide.md", 40;
    mcp_does_what_it_says: "docs/mcp.md", 5;
    operations_do_what_they_say: "docs/operations.md", 4;
    reactions_do_what_they_say: "docs/reactions.md", 4;
    rules_do_what_they_say: "docs/rules.md", 4;
    search_does_what_it_says: "docs/search.md", 2;
    time_travel_does_what_it_says: "docs/time-travel.md", 6;
    the_wire_is_as_it_says: "docs/wire.md", 1;
}

/// The pages of `baton help TOPIC`.
fn pages() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/topics");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let pages = paths.filter(|path| path.extension().is_some_and(|end| end == "txt"));
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let mut pages: Vec<_> =
        pages.map(|path| (name(&path), fs::read_to_string(&path).unwrap())).collect();
    pages.sort();
    pages
}

#[test]
fn the_examples_of_the_help_pages_work() {
    let pages = pages();
    assert!(pages.len() >= 7, "{}", pages.len());
    let home = tempfile::tempdir().unwrap();
    for (name, text) in pages {
        let mut command = baton(home.path());
        command.args(["help", &name]);
        assert_eq!(Ran::of(command, "").stdout, text, "{name}");
        // Other lines become empty, so that the page is one block.
        let lines = text.lines().map(|line| line.strip_prefix("    ").unwrap_or_default());
        let block = format!("```sh\n{}\n```\n", lines.collect::<Vec<_>>().join("\n"));
        assert_as_said(&format!("baton help {name}"), "", &steps_of(&block));
    }
}

#[test]
fn commands_go_to_their_end() {
    let text = "```sh\n# why\na 'b\nc' # it's\n\nd \\\n  e\nf | g   # refused: x.y\n```\n\
                ```console\n$ h\n```\n";
    let steps: Vec<(usize, String)> =
        steps_of(text).into_iter().map(|step| (step.line, step.text)).collect();
    let expected = [(3, "a 'b\nc' # it's\n"), (6, "d \\\ne\n"), (8, "f | g   # refused: x.y\n")];
    assert_eq!(steps, expected.map(|(line, text)| (line, text.to_owned())));
}

#[test]
fn a_document_that_does_not_match_is_found() {
    let step = |line, text: &str| Step { line, text: format!("{text}\n") };
    let steps = [
        step(1, "baton state set plan 1"),
        step(2, "baton state get nothing"),
        step(3, "baton state get plan            # refused: state.not_found"),
        step(4, "baton state get nothing         # refused: state.version_conflict"),
        step(5, "baton state get nothing         # refused: state.not_found"),
        step(6, "baton watch --from 1            # ctrl-c ends it"),
        step(7, "baton state get plan            # ctrl-c ends it"),
    ];
    let failed = run("here", "", &steps);
    let lines: Vec<&str> = failed.iter().map(|text| text.split(':').nth(1).unwrap()).collect();
    assert_eq!(lines, ["2", "3", "4", "7"], "{failed:#?}");
}
