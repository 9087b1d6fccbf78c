use super::{BENCHMARKS, Mode, Options};

fn parse(line: &str) -> Result<Mode, String> {
    Options::parse(line.split_whitespace().map(str::to_owned))
}

fn error(line: &str) -> String {
    parse(line).err().expect("the line is wrong")
}

#[test]
fn peers_have_options_of_their_own() {
    let line = "peers --turns 3 --seconds 0.5 --only set --baton /b --without etcd,postgres";
    let Ok(Mode::Peers(options)) = parse(line) else { panic!("the line is right") };
    assert_eq!((options.turns, options.turn.as_millis()), (3, 500));
    assert!(options.wants("set, 1 x 1") && !options.wants("get, 1 x 1"));
    assert!(options.includes("redis") && !options.includes("etcd"));
    assert!(!options.includes("postgres"));
    assert!(options.baton.is_some());
}

#[test]
fn options_belong_to_their_benchmark() {
    assert_eq!(error("peers --keys 5"), "`--keys` is not an option");
    assert_eq!(error("kernel --baton /b"), "`--baton` is not an option");
    assert!(matches!(parse("kernel --keys 50000"), Ok(Mode::Kernel(_))));
    assert!(matches!(parse("fairness --baton /b"), Ok(Mode::Fairness(_))));
    assert!(matches!(parse("mcp --baton /b"), Ok(Mode::Mcp(_))));
    assert!(matches!(parse("cluster --baton /b"), Ok(Mode::Cluster(_))));
    assert_eq!(error("fairness --without baton"), "`--without` is not an option");
    let line = "work --keys 50000 --without bullmq,etcd --baton /b";
    let Ok(Mode::Work(options)) = parse(line) else { panic!("the line is right") };
    assert!(options.keys == 50_000 && !options.includes("bullmq") && options.includes("redis"));
}

#[test]
fn what_is_wrong_is_named() {
    let other = error("others");
    assert_eq!(other, format!("`others` is not a benchmark; there are {BENCHMARKS}"));
    assert_eq!(error(""), format!("name a benchmark: there are {BENCHMARKS}"));
    assert_eq!(error("peers --turns"), "`--turns` needs a value");
    assert_eq!(error("peers --turns many"), "`--turns` needs a number, not `many`");
    let unknown = error("peers --without mysql");
    assert_eq!(unknown, "`mysql` is not a server; there are baton, redis, postgres, etcd, floor");
    let unknown = error("peers --without bullmq");
    assert_eq!(unknown, "`bullmq` is not a server; there are baton, redis, postgres, etcd, floor");
    assert!(error("peers --seconds -1").starts_with("`--seconds -1`: "));
}
