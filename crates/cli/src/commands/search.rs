//! `baton search`: find tasks, messages, keys and events.

use baton_core::limits;
use baton_core::search::Search as Wanted;
use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton search 'out of memory'                  all of these words
  baton search '\"out of memory\" -flaky'         this phrase, without this word
  baton search 'status:failed type:build created>-1h'
  baton search 'kind:message from:ada status:waiting'
  baton search 'key:plan/** updated>2026-01-01'
  baton search 'kind:event type:task.claimed agent:bob' --limit 10

All terms must match; a term after - must not. Fields: kind (task, message, key, event), type,
status, agent or to, by or from, group, namespace, id, key (a pattern), created and updated. Results
are listed newest first. docs/search.md describes the query language.";

/// Search tasks, messages, keys and events
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Search {
    /// Query: words, "phrases" and fields such as status:failed
    #[arg(allow_hyphen_values = true)]
    query: String,
    /// Maximum number of results [default: 100 in a table, otherwise all]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Cursor of the previous page
    #[arg(long)]
    cursor: Option<String>,
}

impl Search {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let Self { query, limit, mut cursor } = self;
        let workspace = context.workspace().await?;
        let usual = output.enough(limits::PAGE_DEFAULT);
        let limit = limit.unwrap_or_else(|| u64::try_from(usual).unwrap_or(u64::MAX));
        let mut found = Vec::new();
        // The server may end a page early after scanning many records.
        loop {
            let left = (limit - found.len() as u64).min(limits::PAGE_MAX as u64);
            let wanted = Wanted { query: query.clone(), limit: Some(left), cursor };
            let page = workspace.search(wanted).await?;
            found.extend(page.found);
            cursor = page.cursor;
            if cursor.is_none() || found.len() as u64 >= limit {
                break;
            }
        }
        output.many("matches", &found, &["kind", "subject", "revision", "updated_at", "fields"])?;
        if let Some(cursor) = cursor {
            output.note(&format!("there may be more results; continue with --cursor '{cursor}'"));
        }
        Ok(())
    }
}
