//! The workspace of a path.

use percent_encoding::percent_decode_str;

use super::HOME;

/// The workspace that a path names. A path without a workspace is handled by the engine that has
/// the tokens.
pub(super) fn workspace_of(path: &str) -> String {
    let decoded = |segment: &str| percent_decode_str(segment).decode_utf8_lossy().into_owned();
    let mut segments = path.trim_start_matches('/').split('/');
    match (segments.next(), segments.next()) {
        (Some("v1"), Some(workspace)) if workspace != "access" => decoded(workspace),
        (Some("mcp"), Some(workspace)) => decoded(workspace),
        (Some("mcp"), None) => DEFAULT.to_owned(),
        (Some("a2a"), Some(what)) => {
            let rest: Vec<&str> = segments.collect();
            let rest = if what == "agents" { rest.get(1..).unwrap_or_default() } else { &rest };
            tenant_of(rest).map_or_else(|| DEFAULT.to_owned(), decoded)
        }
        _ => HOME.to_owned(),
    }
}

/// The workspace of paths that need not name one.
const DEFAULT: &str = "default";

/// The tenant at the beginning of a path of A2A, if it has one: what follows is an operation.
fn tenant_of<'a>(rest: &[&'a str]) -> Option<&'a str> {
    let names = ["tasks", "extendedAgentCard", ".well-known"];
    let is_operation = |segment: &str| segment.starts_with("message:") || names.contains(&segment);
    let first = rest.first().filter(|segment| !segment.is_empty() && !is_operation(segment))?;
    rest.get(1).filter(|segment| is_operation(segment)).map(|_| *first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_its_workspace() {
        for (path, workspace) in [
            ("/v1/fleet/state/shared/plan", "fleet"),
            ("/v1/team%2Fa/watch", "team/a"),
            ("/v1/access/tokens", HOME),
            ("/mcp", "default"),
            ("/mcp/fleet", "fleet"),
            ("/a2a/fleet", "default"),
            ("/a2a/fleet/message:send", "default"),
            ("/a2a/fleet/night/message:send", "night"),
            ("/a2a/agents/ada/tasks/7", "default"),
            ("/a2a/agents/ada/night/tasks/7", "night"),
            ("/openapi.json", HOME),
            ("/", HOME),
        ] {
            assert_eq!(workspace_of(path), workspace, "{path}");
        }
    }
}
