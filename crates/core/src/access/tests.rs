//! Tables of permissions.

use super::*;
use crate::wire::{FastFrame, Frame};

fn call(text: &str) -> Call {
    let text = format!("{{\"command\":{text}}}");
    Frame::parse(&text).unwrap().call().unwrap_or_else(|fault| panic!("{text}: {fault}"))
}

fn grant(role: Role) -> Grant {
    Grant { role, workspaces: Vec::new(), namespaces: Vec::new(), agent: None }
}

fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|text| Pattern::parse(text).unwrap()).collect()
}

fn workspace(name: &str) -> WorkspaceName {
    WorkspaceName::parse(name).unwrap()
}

fn agent(name: &str) -> AgentId {
    AgentId::parse(name).unwrap()
}

fn code(grant: &Grant, call: &Call) -> &'static str {
    let permitted = grant.permits(&workspace("team-a"), &agent("ada"), call);
    permitted.map_or_else(|denied| denied.code(), |()| "yes")
}

const GET: &str = r#""state.get","namespace":"notes","key":"a""#;
const SET: &str = r#""state.set","namespace":"notes","key":"a","value":1"#;
const NAMESPACE: &str = r#""namespace.create","name":"notes""#;
const FORK: &str = r#""workspace.fork","to":"other""#;

#[test]
fn each_role_includes_the_permissions_of_lower_roles() {
    let steps = [GET, SET, NAMESPACE, FORK];
    for (rank, role) in Role::ALL.into_iter().enumerate() {
        for (need, text) in steps.into_iter().enumerate() {
            let expected = if need <= rank { "yes" } else { "access.role" };
            assert_eq!(code(&grant(role), &call(text)), expected, "{role:?}: {text}");
        }
    }
}

#[test]
fn a_transaction_needs_the_highest_role_of_its_commands() {
    let text = r#""transaction","commands":[{"command":"state.set","namespace":"notes","key":"a",
        "value":1},{"command":"namespace.delete","name":"notes"}]"#;
    assert_eq!(code(&grant(Role::Worker), &call(text)), "access.role");
    assert_eq!(code(&grant(Role::Operator), &call(text)), "yes");
}

#[test]
fn both_paths_permit_the_same_requests() {
    let all = Role::ALL.into_iter().map(grant);
    let limits: [fn(Grant) -> Grant; 7] = [
        |grant| grant,
        |grant| Grant { workspaces: patterns(&["team-*"]), ..grant },
        |grant| Grant { workspaces: patterns(&["other"]), ..grant },
        |grant| Grant { namespaces: patterns(&["log-*", "notes"]), ..grant },
        |grant| Grant { namespaces: patterns(&["other"]), ..grant },
        |grant| Grant { agent: Some(agent("ada")), ..grant },
        |grant| Grant { agent: Some(agent("bob")), ..grant },
    ];
    let grants: Vec<Grant> = all.flat_map(|grant| limits.map(|of| of(grant.clone()))).collect();
    for (text, grant) in
        [GET, SET].into_iter().flat_map(|text| grants.iter().map(move |g| (text, g)))
    {
        let frame = format!("{{\"id\":1,\"workspace\":\"team-a\",\"command\":{text}}}");
        let fast = FastFrame::parse(&frame).expect("the fast path applies").call;
        let permitted = grant.permits_fast(&workspace("team-a"), &agent("ada"), &fast);
        assert_eq!(permitted, code(grant, &call(text)) == "yes", "{grant:?}: {text}");
    }
}

#[test]
fn a_token_is_for_its_workspaces() {
    let of = |names: &[&str]| Grant { workspaces: patterns(names), ..grant(Role::Admin) };
    assert_eq!(code(&of(&["team-*"]), &call(SET)), "yes");
    assert_eq!(code(&of(&["other", "team-b"]), &call(SET)), "access.workspace");
    // Existing and new workspaces outside the grant are not accessible.
    for text in [r#""workspace.list""#, FORK] {
        assert_eq!(code(&of(&["team-*"]), &call(text)), "access.workspace", "{text}");
    }
}

#[test]
fn a_token_for_namespaces_sees_nothing_of_others() {
    let limited = Grant { namespaces: patterns(&["notes", "log-*"]), ..grant(Role::Admin) };
    let within = [
        GET,
        SET,
        r#""state.list","namespace":"log-1""#,
        r#""state.history","namespace":"notes""#,
        r#""state.snapshot","namespace":"notes""#,
        r#""state.transfer","from_namespace":"notes","to_namespace":"log-1""#,
        r#""watch","pattern":"state/notes/**""#,
        r#""watch","pattern":"tasks/**""#,
        r#""task.create","type":"review""#,
        r#""handoff.offer","to":"bob","reason":"done","keys":["notes/a"]"#,
    ];
    for text in within {
        assert_eq!(code(&limited, &call(text)), "yes", "{text}");
    }
    let beyond = [
        r#""state.get","namespace":"shared","key":"a""#,
        r#""state.get","namespace":"shared","key":"a","at":3"#,
        r#""state.transfer","from_namespace":"shared","to_namespace":"notes""#,
        r#""state.snapshot""#,
        r#""state.history""#,
        r#""state.diff","from":1"#,
        r#""namespace.list""#,
        r#""event.history""#,
        r#""context.build","agent":"ada","task":"t-1""#,
        r#""contract.show""#,
        r#""workspace.diff","from":1"#,
        r#""workspace.why","subject":"state/shared/a""#,
        r#""workspace.search","query":"a""#,
        r#""watch","pattern":"**""#,
        r#""watch","pattern":"*/shared/a""#,
        r#""watch","pattern":"state/*/a""#,
        r#""watch","pattern":"state/notes*/a""#,
        r#""watch","pattern":"receipts/**""#,
        r#""handoff.offer","to":"bob","reason":"done","keys":["notes/a","shared/b"]"#,
        r#""transaction","require":[{"entry":{"namespace":"shared","key":"a","exists":true}}],
            "commands":[{"command":"state.delete","namespace":"notes","key":"a"}]"#,
        r#""transaction","commands":[{"command":"state.delete","namespace":"shared","key":"a"}]"#,
    ];
    for text in beyond {
        assert_eq!(code(&limited, &call(text)), "access.namespace", "{text}");
    }
}

#[test]
fn callers_with_limits_cannot_add_commands_that_run_later() {
    let limited = Grant { namespaces: patterns(&["notes"]), ..grant(Role::Admin) };
    let text = r#""reaction.add","name":"copy","on":{"type":"task.completed"},"do":[
        {"command":"state.set","namespace":"shared","key":"a","value":1}]"#;
    assert_eq!(code(&limited, &call(text)), "access.namespace");
}

#[test]
fn a_token_acts_as_its_agent() {
    let of_ada = |role| Grant { agent: Some(agent("ada")), ..grant(role) };
    assert_eq!(code(&of_ada(Role::Worker), &call(SET)), "yes");
    let as_bob = of_ada(Role::Admin).permits(&workspace("w"), &agent("bob"), &call(SET));
    assert_eq!(as_bob.map_err(|denied| denied.code()), Err("access.agent"));
    let beat = call(r#""agent.leave","agent":"bob""#);
    assert_eq!(code(&of_ada(Role::Worker), &beat), "access.agent");
    // An operator may end the session of another agent.
    assert_eq!(code(&of_ada(Role::Operator), &beat), "yes");
}

#[test]
fn no_caller_forks_into_the_workspace_of_the_tokens() {
    let fork = call(r#""workspace.fork","to":"baton.access""#);
    assert!(is_closed(&workspace("w"), &fork) && is_closed(&workspace(CLOSED), &call(GET)));
    assert!(!is_closed(&workspace("w"), &call(FORK)));
}

#[test]
fn deeds_have_their_roles() {
    let may =
        |role, action| grant(role).permits_action(&workspace("w"), &agent("ada"), action).is_ok();
    for action in Action::ALL {
        let least = Role::ALL.into_iter().find(|role| may(*role, action)).unwrap();
        let expected = match action {
            Action::ReadArtifact => Role::Reader,
            Action::PutArtifact | Action::PutSecret | Action::RevealSecret => Role::Worker,
            Action::Export | Action::Import => Role::Admin,
        };
        assert_eq!(least, expected, "{action:?}");
    }
}

#[test]
fn only_an_admin_of_everything_administers_the_server() {
    let code =
        |grant: Grant| grant.permits_server(Permission::Administer).map_err(|denied| denied.code());
    for role in Role::ALL {
        let expected = if role == Role::Admin { Ok(()) } else { Err("access.role") };
        assert_eq!(code(grant(role)), expected, "{role:?}");
    }
    let workspaces = Grant { workspaces: patterns(&["w"]), ..grant(Role::Admin) };
    assert_eq!(code(workspaces), Err("access.workspace"));
    let namespaces = Grant { namespaces: patterns(&["notes"]), ..grant(Role::Admin) };
    assert_eq!(code(namespaces), Err("access.namespace"));
}
