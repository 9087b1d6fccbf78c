//! Two servers that were apart: `baton workspace sync`.

use serde_json::json;

use crate::process::Server;

#[test]
fn two_servers_exchange_their_changes() {
    let (here, there) = (Server::start(), Server::start());
    assert_eq!(here.run("state set plan \"draft\"").code, 0);
    assert_eq!(here.run("namespace create fixed --rules {\"merge\":\"reject\"}").code, 0);
    assert_eq!(here.run("workspace export default kept.baton").code, 0);
    let file = here.home.path().join("kept.baton");
    let import = format!("workspace import {} --as site", file.display());
    assert_eq!(there.run(&import).code, 0);
    assert_eq!(there.run("--workspace site state set theirs 2").code, 0);
    assert_eq!(here.run("state set mine 1").code, 0);
    let sync = format!("workspace sync default --with {} --with-workspace site", there.url);
    let planned = here.run(&format!("{sync} --dry-run")).json();
    assert_eq!(planned["here"]["outcomes"][0]["key"], json!("theirs"));
    assert_eq!(here.run("state get theirs").code, 3, "nothing was written");
    let said = here.run(&format!("-o table {sync}")).stdout;
    assert!(said.contains(&format!("default took 1 change from site at {}", there.url)), "{said}");
    assert_eq!(here.run("state get theirs").json()["value"], json!(2));
    assert_eq!(there.run("--workspace site state get mine").json()["value"], json!(1));
    let again = here.run(&sync).json();
    assert_eq!(
        (&again["here"]["changed"], &again["there"]["changed"]),
        (&json!(false), &json!(false))
    );
    // A conflict for a person.
    assert_eq!(here.run("state -n fixed set name \"here\"").code, 0);
    assert_eq!(there.run("--workspace site state -n fixed set name \"there\"").code, 0);
    let refused = here.run(&sync);
    assert_eq!(refused.error()["code"], json!("workspace.sync_conflict"));
    assert_eq!(refused.error()["detail"], json!("a decision is needed for `fixed/name`"));
    let both = here.run(&format!("{sync} --ours fixed/name --theirs fixed/name"));
    assert_eq!(both.error()["code"], json!("cli.usage"));
    let decided = here.run(&format!("{sync} --theirs fixed/name")).json();
    assert_eq!(decided["here"]["outcomes"][0]["lost"], json!("here"));
    assert_eq!(here.run("state -n fixed get name").json()["value"], json!("there"));
    assert_eq!(here.run(&sync).json()["here"]["changed"], json!(false));
}
