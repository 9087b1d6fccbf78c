//! `baton_search`: one query language over tasks, messages, state and events.

use baton_core::wire::Problem;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Call;
use crate::operation::given;
use crate::view::found;

/// How many results a page has by default.
const RESULTS: u64 = 10;
/// How many it has at most.
const RESULTS_MAX: u64 = 50;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
    limit: Option<u64>,
    cursor: Option<String>,
}

pub(super) async fn run(call: &Call<'_>) -> Result<Value, Problem> {
    let Arguments { query, limit, cursor } = call.read()?;
    let limit = limit.unwrap_or(RESULTS).clamp(1, RESULTS_MAX);
    let fields = json!({"query": query, "limit": limit, "cursor": cursor});
    let page = call.perform("workspace.search", given(fields)).await?;
    let results = page["found"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut answer = json!({"found": results.iter().map(found).collect::<Vec<_>>()});
    if page["cursor"].is_string() {
        answer["cursor"] = page["cursor"].clone();
        let hint = "There may be more: pass cursor, or narrow with kind:, status:, type: or words.";
        answer["narrow"] = Value::from(hint);
    }
    Ok(answer)
}
