//! Search: the latency of queries among a million tasks, and of building the index.
//!
//! Tasks have a thousand types and ten groups, half of them with their own words; a tenth is
//! cancelled. The first query builds the index, and is reported separately: it happens rarely. Each
//! of the others is repeated many times, and its p99 matters as much as its median, because people
//! wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use baton::Workspace;
use baton_core::search::Search;
use serde_json::json;
use tempfile::TempDir;

use crate::Outcome;
use crate::kernel::load;
use crate::options::Options;
use crate::report::{Comparison, Report, Target, say};
use crate::resources::{Stopwatch, count, resident_bytes, settle};

/// Concurrent callers that create tasks.
const MAKERS: usize = 1_024;
const TYPES: usize = 1_000;
const GROUPS: usize = 10;
/// How often each query is repeated.
const ASKED: usize = 200;
/// The maximum p99 latency of each.
const MOST_MS: f64 = 50.0;
/// Has no factor in common with the number of tasks, so that words are not in order.
const STRIDE: usize = 7_919;

/// The queries: common ones, and expensive ones.
const QUESTIONS: [&str; 10] = [
    "status:cancelled type:type-617",
    "type:type-617 rust",
    "\"careful review\" group:group-7",
    "word617",
    "kind:task -status:pending",
    "kind:task -status:cancelled -status:pending",
    "status:pending group:group-3 created>-1h -type:type-3",
    "id:t-0000500000",
    "kind:event type:task.cancelled",
    "nothing of this",
];

/// Fills an engine, and runs the queries.
pub(crate) fn run(options: &Options) -> Outcome<()> {
    let mut report = Report::default();
    load::runtime()?.block_on(async {
        let folder = TempDir::with_prefix_in("baton-bench-", &options.folder)?;
        let baton = baton::open(folder.path()).await?;
        let workspace = load::workspace(&baton)?;
        make(&workspace, options.keys).await?;
        settle();
        let before = resident_bytes();
        let clock = Stopwatch::start();
        ask(&workspace, "kind:task").await?;
        let first_ms = clock.elapsed().as_secs_f64() * 1e3;
        settle();
        let bytes = count(resident_bytes().saturating_sub(before)) / count(options.keys as u64);
        say(&format!(
            "index of {} tasks: made in {first_ms:.0} ms, {bytes:.0} bytes a task",
            options.keys
        ));
        for question in QUESTIONS.into_iter().filter(|question| options.wants(question)) {
            report.add(measured(&workspace, question, bytes).await?);
        }
        Outcome::Ok(())
    })?;
    say(&report.summary());
    if let Some(path) = &options.json {
        report.write_json(path)?;
    }
    Ok(())
}

async fn measured(workspace: &Workspace, question: &str, bytes: f64) -> Outcome<Comparison> {
    let mut times_ms = Vec::with_capacity(ASKED);
    let mut found = 0;
    for _ in 0..ASKED {
        let clock = Stopwatch::start();
        found = ask(workspace, question).await?;
        times_ms.push(clock.elapsed().as_secs_f64() * 1e3);
    }
    times_ms.sort_by(f64::total_cmp);
    let (middle, slowest) = (times_ms[ASKED / 2], times_ms[ASKED - 1 - ASKED / 100]);
    Ok(Comparison {
        name: format!("search `{question}`"),
        ratio: slowest / MOST_MS,
        spread: (times_ms[0] / MOST_MS, times_ms[ASKED - 1] / MOST_MS),
        sides: (format!("p99 {slowest:.2} ms"), format!("{MOST_MS} ms")),
        note: format!("p50 {middle:.2} ms, {found} on the page"),
        target: Some(Target::AtMost(1.0)),
        facts: json!({ "p50_ms": middle, "p99_ms": slowest, "index_bytes_per_task": bytes }),
    })
}

async fn ask(workspace: &Workspace, query: &str) -> Outcome<usize> {
    let search = Search { query: query.to_owned(), ..Search::default() };
    Ok(workspace.search(search).await?.found.len())
}

/// Creates tasks, with many concurrent callers.
async fn make(workspace: &Workspace, tasks: usize) -> Outcome<()> {
    let next = Arc::new(AtomicUsize::new(0));
    let makers: Vec<_> = (0..MAKERS)
        .map(|_| {
            let (workspace, next) = (workspace.clone(), Arc::clone(&next));
            tokio::spawn(async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= tasks {
                        return;
                    }
                    make_one(&workspace, number).await;
                }
            })
        })
        .collect();
    for maker in makers {
        maker.await?;
    }
    Ok(())
}

async fn make_one(workspace: &Workspace, number: usize) {
    let (kind, group) = (format!("type-{}", number % TYPES), format!("group-{}", number % GROUPS));
    let word = number.wrapping_mul(STRIDE) % 100_003;
    let description = if number.is_multiple_of(2) {
        format!("careful review of word{word} in rust, by hand")
    } else {
        format!("review with care: word{word}, in haste")
    };
    let tasks = workspace.tasks();
    let creating = tasks.create(&kind).description(&description).group(&group);
    let task = creating.await.expect("a task is created");
    if number.is_multiple_of(10) {
        tasks.cancel(task.id.as_str(), None).await.expect("a task is cancelled");
    }
}
