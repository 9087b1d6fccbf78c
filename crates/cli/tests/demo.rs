//! What is acted out for newcomers happens as it is told.

use tempfile::TempDir;

use crate::process::{Ran, baton};

#[test]
fn a_task_goes_from_hand_to_hand_and_survives_the_server() {
    let home = TempDir::new().unwrap();
    let mut command = baton(home.path());
    command.env("TMPDIR", home.path()).args(["demo", "handoff", "--pace", "0ms"]);
    let Ran { code, stdout, stderr } = Ran::of(command, "");
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    let told = [
        "writer  rejects it",
        "researcher  is late: token",
        "the server is killed (SIGKILL)",
        "reviewer  cannot take it yet",
        "editor  approves exactly this",
        "reviewer  takes it up and completes it",
        "rejected by `writer` (which sources?)",
    ];
    let mut rest = stdout.as_str();
    for part in told {
        let at = rest.find(part).unwrap_or_else(|| panic!("`{part}` is not in {rest}"));
        rest = &rest[at + part.len()..];
    }
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "nothing is left behind");
}
