//! Every scenario on every backend.

use std::path::{Path, PathBuf};

use baton_scenario::backends::{
    BodyForm, CoreBackend, EngineBackend, HttpBackend, Storage, SubProtocol, WebSocketBackend,
};
use baton_scenario::{Backend, Script, run, scripts};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/scenarios")
}

/// Scenarios that run at the same time: most of their time is spent waiting for the disk.
const THREADS: usize = 4;

/// Runs all of them, each on its own backend, and reports all failures.
fn run_all<S: Backend>(backend: impl Fn() -> S + Sync) {
    let (scripts, backend) = (&scripts(&folder()), &backend);
    let run_share = |first: usize| {
        let share = scripts.iter().skip(first).step_by(THREADS);
        share.flat_map(|script| run(script, &mut backend())).collect::<Vec<_>>()
    };
    let failed: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..THREADS).map(|first| scope.spawn(move || run_share(first))).collect();
        let shares = threads.into_iter().map(|thread| thread.join().expect("it does not panic"));
        shares.flatten().map(|failed| failed.to_string()).collect()
    });
    assert!(failed.is_empty(), "{} failed\n\n{}\n", failed.len(), failed.join("\n\n"));
}

#[test]
fn on_the_core() {
    run_all(CoreBackend::default);
}

#[test]
fn on_the_engine_in_memory() {
    run_all(|| EngineBackend::new(Storage::Memory));
}

#[test]
fn on_the_engine_in_files() {
    run_all(|| EngineBackend::new(Storage::Files));
}

#[test]
fn over_http() {
    run_all(|| HttpBackend::new(BodyForm::Single));
}

#[test]
fn over_http_in_lists() {
    run_all(|| HttpBackend::new(BodyForm::Listed));
}

#[test]
fn over_a_websocket_with_json() {
    run_all(|| WebSocketBackend::new(SubProtocol::Json));
}

#[test]
fn over_a_websocket_with_messagepack() {
    run_all(|| WebSocketBackend::new(SubProtocol::MessagePack));
}

/// A scenario that cannot fail proves nothing: each kind of expectation is shown to be checked.
#[test]
fn a_difference_is_reported_with_file_line_and_both_values() {
    let text = r#"
at 0s ada state.set namespace=shared key=a value=1
  = {"version":2}
at 1s ada state.get namespace=shared key=b
at 2s ada state.set namespace=shared key=a value=2 expected_version=0
  ! state.exists
at 3s ada state.set namespace=shared key=a value=2 expected_version=0
  ! state.version_conflict {"expected":1}
at 4s ada state.set namespace=shared key=a value=3
  @ 7
  ~ state.set state/shared/a
at 5s ada state.set namespace=shared key=a value=4
  ~ nothing
at 6s ada state.set namespace=shared key=a value=5
  ~ state.set state/shared/a {"version":9}
at 7s time passes
  ~ agent.lost agents/ada
at 8s ada state.get namespace=shared key=a
  ! state.not_found
"#;
    let script = Script::parse("a.txt", text).expect("it is a scenario");
    let failed = run(&script, &mut CoreBackend::default());
    let reports: Vec<String> = failed
        .iter()
        .map(|failed| failed.to_string().lines().next().expect("it says something").to_owned())
        .collect();
    assert_eq!(
        reports,
        [
            "a.txt:2: on the core: /version: expected 2, came 1",
            "a.txt:4: on the core: expected not to be refused",
            "a.txt:5: on the core: expected to be refused with `state.exists`",
            "a.txt:7: on the core: fact /expected: expected 1, came 0",
            "a.txt:9: on the core: expected revision 7",
            "a.txt:12: on the core: other events than expected",
            "a.txt:14: on the core: event state.set state/shared/a: /version: expected 9, came 4",
            "a.txt:16: on the core: other events than expected",
            "a.txt:18: on the core: expected to be refused with `state.not_found`",
        ]
    );
}
