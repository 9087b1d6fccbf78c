//! Scenarios of topics.

use super::Rejection;
use crate::testing::{World, check_codes, check_coverage, scenarios};

scenarios! {
    a_post_is_an_event_and_is_counted => [
        (0, "ada", "topic.publish news/tech 1",     "topic.posted news/tech 1"),
        (1, "bob", "topic.publish news/tech 2",     "topic.posted news/tech 2"),
        (2, "bob", "topic.publish news/art [3]",    "topic.posted news/art [3]"),
        (3, "bob", "topic.get news/tech",           "news/tech x2 at 1 by bob"),
        (3, "bob", "topic.get news",                "refused topic.not_found"),
        (3, "bob", "topic.publish other 4",         "topic.posted other 4"),
        (3, "bob", "topic.list limit=2",
            "[news/art x1 at 2 by bob, news/tech x2 at 1 by bob] next=news/tech"),
        (3, "bob", "topic.list cursor=\"news/tech\"", "[other x1 at 3 by bob]"),
        (3, "bob", "topic.list prefix=\"news/\" cursor=\"news/art\"", "[news/tech x2 at 1 by bob]"),
        (3, "bob", "topic.list limit=0",            "refused topic.out_of_range"),
    ]

    a_live_post_leaves_no_trace => [
        (0, "ada", "topic.publish news 1 durable=false", "told topic.posted news 1 live"),
        (0, "ada", "topic.list",                    "[]"),
        (0, "ada", "topic.publish news 2",          "topic.posted news 2"),
        (0, "ada", "all: topic.publish news 3 durable=false & topic.publish news 4",
            "topic.posted news 4; told topic.posted news 3 live"),
        // A refused message is not delivered either.
        (0, "ada", "all: topic.publish news 5 durable=false & topic.publish news bytes:1048577",
            "refused transaction.command_refused 1 topic.too_large"),
        (0, "ada", "topic.publish news bytes:1048577 durable=false", "refused topic.too_large"),
    ]

    the_oldest_topics_are_forgotten => [
        (0, "ada", "topic.publish old 1",           "topic.posted old 1"),
        (1, "ada", "topic.publish older 1",         "topic.posted older 1"),
        (2, "ada", "topic.publish old 2",           "topic.posted old 2"),
        (3, "ada", "many 99 topic.publish t{} 0",   "99 topic.posted"),
        (3, "ada", "topic.get old",                 "old x2 at 2 by ada"),
        (3, "ada", "topic.get older",               "refused topic.not_found"),
    ]
}

#[test]
fn every_word_is_reached() {
    let source = include_str!("vocabulary.rs");
    check_codes(Rejection::REFUSALS, SCENARIOS, &[]);
    check_coverage(source, "kind", SCENARIOS, World::kinds, &[]);
}
