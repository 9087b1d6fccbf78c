//! Tests of the results, by words and by fields, and of their order; that an updated index equals
//! one that is built from the space; and that both give the results of a full scan.

mod scanned;

use super::{BadFilter, Filter, Refused, Search, SearchIndex, SearchKind};
use crate::command::{Command, Request};
use crate::limits;
use crate::names::{AgentId, MessageId, TaskId};
use crate::numbers::Revision;
use crate::space::Space;
use crate::space::batch::Batch;
use crate::testing::read_command;
use crate::time::Timestamp;

/// A space, its batches, and an updated index.
#[derive(Default)]
struct World {
    space: Space,
    batches: Vec<Batch>,
    index: SearchIndex,
}

impl World {
    fn act(&mut self, now: u64, agent: &str, asked: &str) {
        // Words of a step are separated by blanks, so blanks within them are written as tildes.
        self.run(now, agent, read_command(&asked.replace('~', "\\u0020")));
    }

    fn run(&mut self, now: u64, agent: &str, command: Command) {
        let agent = AgentId::parse(agent).unwrap();
        // A refused step changes nothing.
        let committed = self.space.commit(Request::from(command), &agent, Timestamp(now));
        self.add(committed.ok().and_then(|committed| committed.batch));
    }

    fn add(&mut self, batch: Option<Batch>) {
        if let Some(batch) = batch {
            self.index.apply(&batch);
            self.index.check();
            self.batches.push(batch);
        }
    }

    /// Executes everything that is due.
    fn expire(&mut self, now: u64) {
        while let Some(signal) = self.space.due(Timestamp(now)).into_iter().next() {
            let committed = self.space.signal(vec![signal], Timestamp(now));
            self.add(committed.unwrap().batch);
        }
    }

    /// An index that is built from the current space.
    fn afresh(&self) -> SearchIndex {
        let batches = self.batches.iter().cloned().map(Ok::<_, ()>);
        let index = SearchIndex::of(&self.space, Revision(0), batches).unwrap();
        index.check();
        index
    }

    fn still_has(&self, kind: SearchKind, identity: &str) -> bool {
        match kind {
            SearchKind::Task => self.space.task.get(&TaskId::parse(identity).unwrap()).is_some(),
            SearchKind::Message => {
                self.space.message.get(&MessageId::parse(identity).unwrap()).is_some()
            }
            SearchKind::Key | SearchKind::Event => true,
        }
    }

    /// All matches, over as many pages as that takes, with their positions.
    fn places(&self, index: &SearchIndex, query: &str, limit: usize) -> Vec<(u64, String)> {
        let mut search = search(query);
        let mut all = Vec::new();
        for _ in 0..10_000 {
            let still_has = |kind, identity: &str| self.still_has(kind, identity);
            let results = index.search(&search, limit, Timestamp(1_000), still_has).unwrap();
            assert!(results.found.len() <= limit, "{query}");
            all.extend(results.found.into_iter().map(|it| (it.revision.0, it.subject)));
            search.cursor = results.cursor;
            if search.cursor.is_none() {
                return all;
            }
        }
        panic!("{query} ends")
    }

    fn found(&self, index: &SearchIndex, query: &str) -> Vec<String> {
        self.places(index, query, 1_000).into_iter().map(|(_, subject)| subject).collect()
    }
}

fn search(query: &str) -> Search {
    Search { query: query.to_owned(), ..Search::default() }
}

const HOUSE: &[(u64, &str, &str)] = &[
    (1, "ada", r#"task.create build description="the~north~wall" group="house""#),
    (2, "ada", r#"task.create paint description="north,~then~the~wall" max_retries=0"#),
    (3, "bob", "task.claim"),
    (4, "bob", r#"task.fail t-0000000001 token=3 error={"code":"Out_Of~Memory"} retryable=false"#),
    (5, "cho", r#"state.set shared/plan/north {"who":"Ärger"}"#),
    (6, "cho", "namespace.create notes"),
    (7, "cho", "state.set notes/plan/south 7"),
    (8, "cho", "state.set shared/gone 7"),
    (9, "cho", "state.delete shared/gone"),
    (10, "ada", r#"message.send bob {"text":"the~roof~leaks"}"#),
    (11, "ada", r#"message.send cho "paint~it""#),
    (12, "bob", "inbox.receive"),
    (13, "bob", "inbox.ack m-0000000010"),
    (14, "ada", r#"topic.publish news "it~rains~frogs""#),
    (15, "ada", r#"event.emit storm.seen payload={"wind":"gale"}"#),
];

fn house() -> World {
    let mut world = World::default();
    for (now, agent, asked) in HOUSE {
        world.act(*now, agent, asked);
    }
    assert_eq!(world.batches.len(), HOUSE.len(), "every step does something");
    world
}

#[test]
fn words_and_fields_find_matching_records() {
    let world = house();
    let (build, paint) = ("tasks/t-0000000001", "tasks/t-0000000002");
    let (north, south) = ("state/shared/plan/north", "state/notes/plan/south");
    let (leak, color) = ("inbox/bob/m-0000000010", "inbox/cho/m-0000000011");
    for index in [&world.index, &world.afresh()] {
        for (query, expected) in [
            ("kind:task", &[build, paint][..]),
            ("kind:task wall", &[build, paint]),
            ("kind:task NORTH", &[build, paint]),
            ("kind:task \"north wall\"", &[build]),
            ("kind:task -\"north wall\"", &[paint]),
            ("kind:task \"wall build\"", &[]),
            ("type:build", &[build]),
            ("status:failed", &[build]),
            ("status:pending", &[paint]),
            ("-status:failed kind:task", &[paint]),
            ("status:failed type:paint", &[]),
            ("agent:bob kind:task", &[build]),
            ("by:ada kind:task", &[build, paint]),
            ("group:house", &[build]),
            ("\"out of memory\" kind:task", &[build]),
            ("kind:task created<=1970-01-01T00:00:00.001Z", &[build]),
            ("kind:task created>1970-01-01T00:00:00.001Z", &[paint]),
            ("kind:key", &[south, north]),
            ("key:plan/**", &[south, north]),
            ("key:plan/n*", &[north]),
            ("key:*/north", &[north]),
            ("key:plan/** -key:*/north", &[south]),
            ("key:nothing/**", &[]),
            ("namespace:notes kind:key", &[south]),
            ("ärger", &[north]),
            ("agent:cho kind:key", &[south, north]),
            ("kind:key updated>=1970-01-01T00:00:00.007Z", &[south]),
            ("kind:key updated<1970-01-01T00:00:00.007Z", &[north]),
            ("kind:key updated>-993ms", &[]),
            ("kind:key updated>=-993ms", &[south]),
            ("kind:key created>1970-01-01", &[]),
            ("id:t-0000000002", &[paint]),
            ("id:tasks/t-0000000002 wall", &[paint]),
            ("id:t-0000000002 roof", &[]),
            ("id:t-0000000002 -wall", &[]),
            ("id:m-0000000010", &[leak]),
            ("id:inbox/bob/m-0000000010", &[leak]),
            ("id:inbox/cho/m-0000000010", &[]),
            ("id:state/shared/plan/north", &[north]),
            ("id:none", &[]),
            ("unheard", &[]),
            ("kind:message", &[leak, color]),
            ("type:mail to:cho", &[color]),
            ("type:request", &[]),
            ("kind:message from:ada status:acked", &[leak]),
            ("\"roof leaks\"", &[leak]),
            ("type:task.failed", &[build]),
            ("type:state.set agent:cho", &["state/shared/gone", south, north]),
            ("kind:event status:failed", &[]),
            ("frogs", &["topics/news"]),
            ("wind:", &[]),
            ("type:storm.seen gale", &["events/storm.seen"]),
        ] {
            if query == "wind:" {
                assert!(Filter::parse(query, Timestamp(0)).is_err());
                continue;
            }
            assert_eq!(world.found(index, query), expected, "{query}");
        }
    }
}

#[test]
fn a_search_result_contains_its_fields() {
    let world = house();
    let results = world.index.search(&search("status:failed"), 10, Timestamp(0), |_, _| true);
    let results = results.unwrap();
    let [task] = &results.found[..] else { panic!("{results:?}") };
    let fields: Vec<_> =
        task.fields.iter().map(|(name, value)| format!("{name}:{value}")).collect();
    assert_eq!(fields, ["agent:bob", "by:ada", "group:house", "status:failed", "type:build"]);
    assert_eq!((task.revision.0, task.updated_at), (4, Timestamp(4)));
    assert_eq!(task.created_at, Some(Timestamp(1)));
    assert_eq!((results.keys_since.0, results.events_since.0), (0, 0));
}

#[test]
fn records_that_the_space_has_forgotten_are_not_found() {
    let world = house();
    let forgotten = |kind, identity: &str| {
        assert_eq!((kind, identity), (SearchKind::Task, "t-0000000001"));
        false
    };
    let results = world.index.search(&search("kind:task"), 10, Timestamp(0), forgotten).unwrap();
    let found: Vec<_> = results.found.iter().map(|found| found.subject.as_str()).collect();
    assert_eq!(found, ["tasks/t-0000000002"]);
}

#[test]
fn entries_are_deleted_with_their_namespace_and_created_again_with_new_values() {
    let mut world = house();
    world.act(20, "cho", "namespace.delete notes");
    world.act(21, "cho", "state.set shared/plan/north \"calm\"");
    for index in [&world.index, &world.afresh()] {
        assert_eq!(world.found(index, "key:plan/**"), ["state/shared/plan/north"]);
        assert!(world.found(index, "ärger").is_empty());
        assert_eq!(world.found(index, "calm"), ["state/shared/plan/north"]);
    }
}

#[test]
fn an_invalid_search_is_refused_with_position_and_reason() {
    for (query, position, reason) in [
        ("", 1, "it is empty"),
        ("   ", 4, "it is empty"),
        ("wall -", 6, "`-` must be followed by a word or a field"),
        ("ärger ...", 7, "it has no letters or digits"),
        ("a \"open", 3, "a quotation mark is not closed"),
        ("a \"\"", 3, "the quotation marks are empty"),
        ("\"a\"b", 4, "a closing quotation mark must be followed by a blank"),
        ("a status:", 3, "`status` has no value"),
        ("kind:thing", 1, "`thing` is not a kind; use task, message, key or event"),
        (
            "status:broken",
            1,
            "`broken` is not a status; use pending, in_progress, handed_off, waiting_review, \
             completed, failed, cancelled, waiting, delivered, dead, acked, replied, expired, \
             timed_out or lost",
        ),
        ("-created>-1h", 1, "`created` cannot be negated; reverse the comparison"),
        ("created:today", 1, "`created` needs a comparison, as in `created>-1h`"),
        ("created>noon", 1, "`noon` is not a time; use a date, a timestamp or -1h"),
        ("created>-1y", 1, "`-1y` is not a time; use a date, a timestamp or -1h"),
        ("created>-h", 1, "`-h` is not a time; use a date, a timestamp or -1h"),
        (
            "created>-99999999999999999999h",
            1,
            "`-99999999999999999999h` is not a time; use a date, a timestamp or -1h",
        ),
        ("agent>bob", 1, "`agent` cannot be compared; write `agent:` and a value"),
        ("-id:x", 1, "`id` cannot be negated"),
        ("id:x id:y", 6, "`id` occurs more than once"),
        (
            "a b colour:red",
            5,
            "there is no field `colour`; quote a text that contains `:`, `<` or `>`",
        ),
    ] {
        let refused = Filter::parse(query, Timestamp(0)).unwrap_err();
        assert_eq!((refused.position, refused.reason.as_str()), (position, reason), "{query}");
    }
    for query in ["http://example", "key:***", &"x ".repeat(40), &"x".repeat(2_000)] {
        assert!(Filter::parse(query, Timestamp(0)).is_err(), "{query}");
    }
    let allowed = |query: &str| Filter::parse(query, Timestamp(0)).unwrap_err().allowed;
    assert_eq!(allowed("kind:x"), ["task", "message", "key", "event"]);
    assert!(allowed("colour:x").contains(&"status"));
    assert!(allowed("status:x").contains(&"waiting_review"));
    assert!(allowed("created>x").contains(&"-1h"));
    let refused = Filter::parse("a x>1", Timestamp(0)).unwrap_err();
    let expected = "cannot parse the filter at character 3, `x>1`: there is no field `x`; quote a \
                    text that contains `:`, `<` or `>`";
    assert_eq!(refused.to_string(), expected);
}

#[test]
fn an_invalid_cursor_is_refused() {
    let world = house();
    for cursor in ["", "nonsense", "1.2", "1.2.3", "1.2.99999999999.x", "-1.2.3.x"] {
        let asked = Search { cursor: Some(cursor.to_owned()), ..search("wall") };
        let refused = world.index.search(&asked, 10, Timestamp(0), |_, _| true).unwrap_err();
        assert!(matches!(&refused, Refused::Field(it) if it.field == "cursor"), "{cursor}");
    }
}

#[test]
fn pages_continue_where_the_previous_one_ended() {
    let mut world = house();
    for number in 0..8 {
        world.act(21, "ada", &format!("state.set shared/many/{number} 1"));
    }
    for query in ["key:many/*", "kind:event", "kind:task", "-wall", "by:ada"] {
        let at_once = world.places(&world.index, query, 1_000);
        assert!(at_once.is_sorted_by(|one, next| one.0 >= next.0), "{query}");
        for limit in 1..5 {
            assert_eq!(world.places(&world.index, query, limit), at_once, "{query} by {limit}");
        }
    }
}

#[test]
fn a_page_examines_a_limited_number_of_records() {
    let mut world = World::default();
    for number in 0..2 * limits::SEARCH_EXAMINED_MAX {
        world.act(1, "ada", &format!("state.set shared/k{number} 1"));
    }
    let asked = search("kind:key -1");
    let results = world.index.search(&asked, 10, Timestamp(0), |_, _| true).unwrap();
    assert!(results.found.is_empty() && results.cursor.is_some(), "there may be more");
    assert!(world.found(&world.index, "kind:key -1").is_empty());
}

#[test]
fn a_cursor_remembers_what_time_it_was() {
    let mut world = World::default();
    for now in 1..=9 {
        world.act(now * 1_000, "ada", &format!("state.set shared/k{now} 1"));
    }
    let first = Search { limit: Some(2), ..search("kind:key updated>=-5s") };
    let page = world.index.search(&first, 2, Timestamp(9_000), |_, _| true).unwrap();
    let rest = Search { cursor: page.cursor, ..first };
    // The next page is requested much later.
    let rest = world.index.search(&rest, 10, Timestamp(99_000), |_, _| true).unwrap();
    assert_eq!(page.found.len() + rest.found.len(), 6);
}

#[test]
fn old_events_leave_and_the_answer_says_so() {
    let mut world = World::default();
    for now in 1..=u64::try_from(limits::SEARCH_EVENTS_MAX).unwrap() + 7 {
        world.act(now, "ada", "state.set shared/k 1");
    }
    for index in [&world.index, &world.afresh()] {
        let results = index.search(&search("kind:key"), 9, Timestamp(0), |_, _| true).unwrap();
        assert_eq!((results.keys_since.0, results.events_since.0), (0, 7));
        assert_eq!(world.found(index, "kind:event").len(), limits::SEARCH_EVENTS_MAX);
    }
}

#[test]
fn keys_and_events_leave_for_room_but_tasks_and_messages_stay() {
    let mut world = house();
    for now in 20..120 {
        world.act(now, "ada", &format!("state.set shared/many/{now} \"word{now}\""));
    }
    let (bytes, mut index) = (world.index.bytes(), world.afresh());
    index.keep_within(bytes / 2);
    index.check();
    assert!(index.bytes() <= bytes / 2);
    assert_eq!(world.found(&index, "kind:task").len(), 2);
    assert_eq!(world.found(&index, "kind:message").len(), 2);
    let results = index.search(&search("kind:key"), 999, Timestamp(0), |_, _| true).unwrap();
    assert!(results.keys_since.0 > 0 && results.events_since.0 > 0);
    let newer = |found: &super::Found| found.revision > results.keys_since;
    assert!(!results.found.is_empty() && results.found.iter().all(newer));
    // If only tasks and messages remain, nothing can be dropped.
    index.keep_within(1);
    assert_eq!(index.len(), 4);
}

#[test]
fn live_slots_are_renumbered_when_most_are_unused() {
    let mut world = World::default();
    world.act(1, "ada", "task.create build");
    for now in 2..3_000 {
        world.act(now, "ada", "state.set shared/k 1");
    }
    assert_eq!(world.found(&world.index, "kind:key"), ["state/shared/k"]);
    assert_eq!(world.found(&world.index, "kind:task"), ["tasks/t-0000000001"]);
    assert_eq!(world.index.len(), 2 + limits::SEARCH_EVENTS_MAX);
    assert!(world.index.documents.len() < 4_000);
}

#[test]
fn a_filter_can_be_read_by_programs() {
    let refused: BadFilter = Filter::parse("kind:x", Timestamp(0)).unwrap_err();
    let json = serde_json::to_value(refused).unwrap();
    assert_eq!(json["position"], 1);
    assert_eq!(json["allowed"][0], "task");
}
