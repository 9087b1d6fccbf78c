//! Time travel: complete workspaces at past revisions, differences between two points, forks that
//! share nothing with their origin, and causes.

use std::collections::BTreeMap;

use baton::core::history::{At, Manner, Origin, SubjectChange};
use baton::core::state::{Command as StateCommand, Transfer};
use baton::core::workspace::{Command, Diff};
use baton::core::{Kind, Query, Reply, Revision, TaskId, Timestamp, task};
use baton::error::Error as EngineError;
use baton::log::faulty::FaultyDisk;
use baton::{Baton, Options, Workspace};
use serde_json::json;

use crate::harness::{
    BEGINNING, calm, everything, folder, in_memory, in_memory_with, namespace, next_event, on_disk,
    on_memory, on_small_segments, restless, value, workspace,
};

pub(crate) fn named(baton: &Baton, name: &str) -> Workspace {
    baton.workspace(name).unwrap().as_agent("ada").unwrap()
}

/// Every query about the present without required fields.
pub(crate) fn questions() -> Vec<Query> {
    let text = |command: &str| format!("{{\"command\":\"{command}\"}}");
    let read = |name: &&str| match baton::core::wire::Frame::parse(&text(name)).unwrap().call() {
        Ok(baton::core::wire::Call::Query(query)) => Some(query),
        Ok(_) | Err(_) => None,
    };
    let names = baton::core::wire::OPERATIONS.iter().map(|operation| operation.name);
    let queries: Vec<Query> = names.collect::<Vec<_>>().iter().filter_map(read).collect();
    queries.into_iter().filter(|query| !query.is_about_the_past()).collect()
}

/// Executes commands of every kind, one revision after another.
pub(crate) async fn live(ada: &Workspace, round: u64) {
    let bob = ada.as_agent("bob").unwrap();
    ada.state("shared").set("plan", json!({ "round": round })).await.unwrap();
    bob.agents().register().await.unwrap();
    let task = ada.tasks().create("build").description("the whole house").await.unwrap();
    let claimed = bob.tasks().claim().await.unwrap().unwrap();
    bob.state("shared").set("wall", json!(round)).await.unwrap();
    ada.locks().acquire("door").await.unwrap();
    if round.is_multiple_of(2) {
        let lease = claimed.lease.as_ref().unwrap();
        bob.tasks().complete(claimed.id.as_str(), lease.token).await.unwrap();
    }
    assert!(task.revision > Revision(0));
}

/// The answers at one revision: what is due may be executed between two of them.
async fn present(ada: &Workspace, questions: &[Query]) -> (Revision, Vec<Reply>) {
    loop {
        let before = ada.revision().await.unwrap();
        let mut answers = Vec::new();
        for question in questions {
            answers.push(ada.ask(question.clone()).await.unwrap().reply);
        }
        if ada.revision().await.unwrap() == before {
            return (before, answers);
        }
    }
}

#[tokio::test]
async fn every_question_about_the_present_can_be_asked_about_the_past() {
    let (baton, log, clock) = in_memory_with(restless());
    let ada = workspace(&baton);
    let questions = questions();
    assert!(questions.len() > 10, "{}", questions.len());
    let mut answers: BTreeMap<Revision, Vec<Reply>> = BTreeMap::new();
    for round in 0..30 {
        live(&ada, round).await;
        let (revision, there) = present(&ada, &questions).await;
        answers.insert(revision, there);
        clock.advance(1_000);
    }
    let check = async |ada: &Workspace| {
        // Backwards, so that cached spaces do not help.
        for (revision, there) in answers.iter().rev() {
            let then = ada.at(*revision);
            for (question, expected) in questions.iter().zip(there) {
                let answer = then.ask(question.clone()).await.unwrap();
                assert_eq!(answer.revision, *revision);
                assert_eq!(&answer.reply, expected, "{question:?} at {revision}");
            }
        }
    };
    check(&ada).await;
    baton.compact(&ada).await.unwrap();
    check(&ada).await;
    drop(ada);
    baton.close().await;
    let baton = on_memory(&log, &clock, calm());
    check(&workspace(&baton)).await;
}

#[tokio::test]
async fn a_time_means_the_last_revision_up_to_then() {
    let (baton, _, clock) = in_memory();
    let ada = workspace(&baton);
    let plan = ada.state("shared");
    plan.set("plan", json!(1)).await.unwrap();
    clock.advance(1_000);
    plan.set("plan", json!(2)).await.unwrap();
    plan.set("plan", json!(3)).await.unwrap();
    clock.advance(1_000);
    for (after_ms, revision) in [(0, 1), (999, 1), (1_000, 3), (60_000, 3)] {
        let then = ada.at(BEGINNING.after(after_ms));
        assert_eq!(then.revision().await.unwrap(), Revision(revision), "{after_ms}");
        let there = then.state("shared").get("plan").await.unwrap();
        assert_eq!(value(&there), json!(revision));
    }
    let before = ada.at(Timestamp(BEGINNING.0 - 1));
    assert_eq!(before.revision().await.unwrap(), Revision(0));
    assert_eq!(before.state("shared").get("plan").await.unwrap_err().code(), "state.not_found");
    assert_eq!(ada.at(Revision(4)).revision().await.unwrap_err().code(), "history.not_yet");
}

#[tokio::test]
async fn queries_of_removed_history_are_refused_as_gone() {
    let options = Options { run_bytes_max: 1 << 10, ..restless() };
    let (baton, _, clock) = in_memory_with(options);
    let ada = workspace(&baton);
    let configure = Command::Configure { history_count: Some(5), history_age_ms: None };
    ada.execute(configure).await.unwrap();
    for number in 0..20 {
        ada.state("shared").set("plan", json!(number)).await.unwrap();
        clock.advance(1_000);
    }
    let error = ada.at(Revision(3)).revision().await.unwrap_err();
    assert_eq!((error.code(), error.kind()), ("history.gone", Kind::NotFound));
    let error = ada.at(BEGINNING).revision().await.unwrap_err();
    assert_eq!((error.code(), error.kind()), ("history.time_gone", Kind::NotFound));
    let error = ada.at(Revision(3)).fork("copy").await.unwrap_err();
    assert_eq!(error.code(), "history.gone");
    assert_eq!(ada.at(Revision(17)).revision().await.unwrap(), Revision(17));
}

#[tokio::test]
async fn queries_that_would_take_too_long_are_refused() {
    let (baton, _, _) = in_memory_with(Options { past_batches_max: 3, ..calm() });
    let ada = workspace(&baton);
    for number in 0..5 {
        ada.state("shared").set("plan", json!(number)).await.unwrap();
    }
    assert_eq!(ada.at(Revision(3)).revision().await.unwrap(), Revision(3));
    // From there it is near.
    assert_eq!(ada.at(Revision(5)).revision().await.unwrap(), Revision(5));
    let error = ada.at(Revision(4)).revision().await.unwrap_err();
    assert_eq!((error.code(), error.kind()), ("history.too_far", Kind::TooLarge));
}

#[tokio::test]
async fn differences_contain_what_began_changed_and_ended() {
    let (baton, _, clock) = in_memory_with(restless());
    let ada = workspace(&baton);
    ada.namespaces().create("notes").await.unwrap();
    ada.state("notes").set("n", json!(1)).await.unwrap();
    ada.state("shared").set("plan", json!(1)).await.unwrap();
    ada.state("shared").set("old", json!(1)).await.unwrap();
    let task = ada.tasks().create("build").await.unwrap();
    let from = ada.revision().await.unwrap();
    clock.advance(1_000);
    ada.state("shared").set("plan", json!(2)).await.unwrap();
    ada.state("shared").delete("old").await.unwrap();
    ada.state("shared").set("new", json!(1)).await.unwrap();
    ada.tasks().claim().await.unwrap();
    let other = ada.tasks().create("test").await.unwrap();
    ada.tasks().cancel(other.id.as_str(), None).await.unwrap();
    ada.namespaces().delete("notes").await.unwrap();
    let expected = [
        ("namespaces/notes", SubjectChange::Ended, 1),
        ("state/notes/n", SubjectChange::Ended, 1),
        ("state/shared/new", SubjectChange::Created, 1),
        ("state/shared/old", SubjectChange::Ended, 1),
        ("state/shared/plan", SubjectChange::Changed, 1),
    ];
    let tasks = [
        (format!("tasks/{}", task.id), SubjectChange::Changed, 1),
        (format!("tasks/{}", other.id), SubjectChange::Passed, 2),
    ];
    let expected = expected.map(|(subject, change, count)| (subject.to_owned(), change, count));
    let expected: Vec<_> = expected.into_iter().chain(tasks).collect();
    for archived in [false, true] {
        if archived {
            baton.compact(&ada).await.unwrap();
        }
        for limit in [1, 2, 100] {
            let mut listed = Vec::new();
            let mut diff = Diff { limit: Some(limit), ..baton::since(from) };
            loop {
                let page = ada.differences(diff.clone()).await.unwrap();
                assert_eq!(page.from, from);
                listed.extend(page.differences);
                match page.cursor {
                    Some(cursor) => diff.cursor = Some(cursor),
                    None => break,
                }
            }
            let plan = listed.iter().find(|it| it.subject == "state/shared/plan").unwrap();
            assert_eq!(plan.old_value.as_ref().unwrap().as_str(), "1");
            assert_eq!(plan.new_value.as_ref().unwrap().as_str(), "2");
            let listed: Vec<_> =
                listed.into_iter().map(|it| (it.subject, it.change, it.count)).collect();
            assert_eq!(listed, expected, "in pages of {limit}");
        }
    }
    let by_time = ada.differences(baton::since(BEGINNING)).await.unwrap();
    assert_eq!((by_time.from, by_time.differences.len()), (from, 7));
    let diff = Diff { cursor: Some("nonsense".to_owned()), ..baton::since(from) };
    assert_eq!(ada.differences(diff).await.unwrap_err().code(), "workspace.bad_field");
    let diff = Diff { to: Some(At::Revision(Revision(1))), ..baton::since(from) };
    assert_eq!(ada.differences(diff).await.unwrap_err().code(), "workspace.out_of_range");
}

#[tokio::test]
async fn a_fork_equals_its_origin_and_is_then_independent() {
    let folder = folder();
    let baton = on_small_segments(folder.path(), calm()).unwrap();
    let ada = workspace(&baton);
    ada.state("shared").set("plan", json!(1)).await.unwrap();
    let task = ada.tasks().create("build").await.unwrap();
    ada.tasks().claim().await.unwrap().unwrap();
    ada.locks().acquire("door").await.unwrap();
    let at = ada.revision().await.unwrap();
    let then = everything(&ada, None, 100).await.unwrap();
    ada.state("shared").set("plan", json!(2)).await.unwrap();
    let forked = ada.at(at).fork("copy").await.unwrap();
    assert_eq!((forked.origin.manner, forked.origin.revision), (Manner::Fork, at));
    assert_eq!(forked.origin.workspace.as_str(), "research");
    let copy = named(&baton, "copy");
    assert_eq!(everything(&copy, None, 100).await.unwrap(), then);
    // Leases of the origin do not exist in the fork, and are unchanged in the origin.
    let there = copy.tasks().get(task.id.as_str()).await.unwrap();
    assert_eq!((there.status, there.lease), (task::Status::Pending, None));
    assert!(copy.locks().get("door").await.unwrap().hold.is_none());
    assert!(ada.locks().get("door").await.unwrap().hold.is_some());
    // Changes on either side do not affect the other.
    copy.state("shared").set("plan", json!(7)).await.unwrap();
    ada.state("shared").set("other", json!(8)).await.unwrap();
    drop((ada, copy));
    baton.close().await;
    let baton = on_small_segments(folder.path(), calm()).unwrap();
    let (ada, copy) = (workspace(&baton), named(&baton, "copy"));
    assert_eq!(value(&ada.state("shared").get("plan").await.unwrap()), json!(2));
    assert_eq!(value(&copy.state("shared").get("plan").await.unwrap()), json!(7));
    assert_eq!(copy.state("shared").get("other").await.unwrap_err().code(), "state.not_found");
    // Its history begins with the fork, and names the origin.
    let error = copy.at(Revision(1)).revision().await.unwrap_err();
    assert_eq!(error.code(), "history.gone");
    let (oldest, origin) = (error.fact("oldest").unwrap(), error.fact("origin").unwrap());
    assert_eq!(oldest.to::<Revision>().unwrap(), forked.revision);
    assert_eq!(origin.to::<Origin>().unwrap(), forked.origin);
    let began = copy.at(forked.revision).state("shared").get("plan").await.unwrap();
    assert_eq!(value(&began), json!(1));
    let (listed, _) = ada.workspaces(None, None).await.unwrap();
    let listed: Vec<_> = listed.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(listed, ["copy", "research"]);
}

#[tokio::test]
async fn a_fork_overwrites_nothing_and_can_be_repeated() {
    let (baton, _, _) = in_memory();
    let ada = workspace(&baton);
    ada.state("shared").set("plan", json!(1)).await.unwrap();
    let at = ada.revision().await.unwrap();
    named(&baton, "taken").state("shared").set("mine", json!(1)).await.unwrap();
    let error = ada.fork("taken").await.unwrap_err();
    assert_eq!((error.code(), error.kind()), ("workspace.exists", Kind::Conflict));
    assert_eq!(ada.fork("research").await.unwrap_err().code(), "workspace.exists");
    assert!(ada.fork("not a name").await.is_err());
    // A watch waits for the first event.
    let copy = named(&baton, "copy");
    let mut watch = copy.watch("**").await.unwrap();
    let first = ada.at(at).fork("copy").await.unwrap();
    let interrupted = watch.next().await.unwrap().unwrap_err();
    let resume_from = first.revision.next();
    assert_eq!(interrupted, EngineError::Interrupted { resume_from }.into());
    let mut watch = copy.watch("**").from(resume_from.0).await.unwrap();
    assert_eq!(ada.at(at).fork("copy").await.unwrap(), first);
    copy.state("shared").set("plan", json!(2)).await.unwrap();
    assert_eq!(next_event(&mut watch).await.2, "state/shared/plan");
    let error = ada.at(at).fork("copy").await.unwrap_err();
    assert_eq!(error.code(), "workspace.exists");
    assert_eq!(value(&copy.state("shared").get("plan").await.unwrap()), json!(2));
}

#[tokio::test]
async fn deadlines_in_a_fork_are_met_without_any_call() {
    let (baton, log, clock) = in_memory();
    let ada = workspace(&baton);
    ada.state("shared").set("brief", json!(1)).ttl_ms(60_000).await.unwrap();
    ada.fork("copy").await.unwrap();
    drop(ada);
    baton.close().await;
    // Reopened, so that the fork is known from files only.
    clock.advance(120_000);
    let baton = on_memory(&log, &clock, calm());
    let other = named(&baton, "other");
    crate::harness::eventually("the entry is gone", async || {
        other
            .workspaces(None, None)
            .await
            .unwrap()
            .0
            .iter()
            .any(|it| it.id.as_str() == "copy" && it.revision > Revision(2))
    })
    .await;
}

#[tokio::test]
async fn a_fork_that_fails_in_the_middle_exists_completely_or_not_at_all() {
    for operation in 0..40 {
        let disk = FaultyDisk::new(operation);
        let baton = on_disk(&disk, calm()).unwrap();
        let ada = workspace(&baton);
        for number in 0..50 {
            let name = format!("key-{number}");
            ada.state("shared").set(&name, json!("x".repeat(500))).await.unwrap();
        }
        let then = everything(&ada, None, 1_000).await.unwrap();
        disk.stop_at(disk.counts().total + operation);
        let forked = ada.fork("copy").await;
        drop(ada);
        baton.close().await;
        disk.crash(operation);
        let baton = on_disk(&disk, calm()).unwrap();
        let copy = named(&baton, "copy");
        let there = everything(&copy, None, 1_000).await.unwrap();
        match forked {
            Ok(_) => assert_eq!(there, then, "failed after {operation}"),
            Err(_) => assert!(there.is_empty() || there == then, "failed after {operation}"),
        }
        // A missing one can be created.
        if there.is_empty() {
            workspace(&baton).fork("copy").await.unwrap();
            assert_eq!(everything(&copy, None, 1_000).await.unwrap(), then);
        }
    }
}

#[tokio::test]
async fn the_chain_of_causes_leads_back_to_the_requester() {
    let (baton, _, _) = in_memory_with(restless());
    let ada = workspace(&baton);
    let (bob, cho) = (ada.as_agent("bob").unwrap(), ada.as_agent("cho").unwrap());
    cho.agents().register().await.unwrap();
    let task = ada.tasks().create("build").description("the house").await.unwrap();
    let id = task.id.as_str();
    let claimed = bob.tasks().claim().await.unwrap().unwrap();
    let token = claimed.lease.unwrap().token;
    let offer = bob.handoffs().offer("cho").task(id, token).reason("I am tired").await.unwrap();
    cho.handoffs().accept(offer.id.as_str()).await.unwrap();
    cho.state("shared").set("roof", json!("red")).await.unwrap();
    let why = ada.why("state/shared/roof").await.unwrap();
    let kinds: Vec<_> = why.causes.iter().map(|cause| cause.kind.as_str()).collect();
    let expected = ["state.set", "task.handed_over", "handoff.offered", "task.created"];
    assert_eq!(kinds, expected, "{:#?}", why.causes);
    assert!(why.complete);
    assert_eq!(why.causes[0].task.as_ref().map(TaskId::as_str), Some(id));
    let sentences: Vec<_> = why.causes.iter().map(|cause| cause.sentence.as_str()).collect();
    assert!(sentences[0].starts_with("`cho` wrote version 1 of `shared/roof`"), "{sentences:?}");
    assert!(sentences[2].ends_with("because “I am tired”"), "{sentences:?}");
    assert!(sentences[3].starts_with("`ada` created task `"), "{sentences:?}");
    // The state before anything was written.
    let error = ada.at(Revision(2)).why("state/shared/roof").await.unwrap_err();
    assert_eq!(error.code(), "workspace.unknown_subject");
    let task = ada.why(&format!("tasks/{id}")).await.unwrap();
    assert!(task.complete && task.causes.last().unwrap().kind == "task.created");
    let handoff = ada.why(&format!("handoffs/{}", offer.id)).await.unwrap();
    assert!(handoff.causes.iter().any(|cause| cause.kind == "handoff.accepted"));
    for (subject, code) in [
        ("tasks/none", "workspace.unknown_subject"),
        ("state/shared/none", "workspace.unknown_subject"),
        ("locks/door", "workspace.bad_field"),
        ("", "workspace.bad_field"),
    ] {
        assert_eq!(ada.why(subject).await.unwrap_err().code(), code, "{subject}");
    }
}

#[tokio::test]
async fn the_history_of_a_moved_value_leads_to_its_author() {
    let (baton, _, _) = in_memory();
    let ada = workspace(&baton);
    ada.namespaces().create("notes").await.unwrap();
    ada.state("notes").set("n", json!(1)).await.unwrap();
    let (from_namespace, to_namespace) = (namespace("notes"), namespace("shared"));
    let transfer = Transfer {
        from_namespace,
        to_namespace,
        keys: None,
        pattern: None,
        overwrite: false,
        copy: false,
    };
    ada.as_agent("bob").unwrap().execute(StateCommand::Transfer(transfer)).await.unwrap();
    let why = ada.why("state/shared/n").await.unwrap();
    let listed: Vec<_> =
        why.causes.iter().map(|it| (it.kind.as_str(), it.agent.as_str())).collect();
    assert_eq!(listed, [("state.transferred", "bob"), ("state.set", "ada")]);
}
