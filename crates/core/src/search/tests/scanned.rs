//! An index finds what a full scan finds, after any history.

use proptest::prelude::*;

use super::World;
use crate::names::AgentId;

/// A record as found by a full scan of a space and its batches.
struct Thing {
    place: (u64, u32, String),
    created_at: Option<u64>,
    updated_at: u64,
    /// Names and values of fields.
    fields: Vec<(&'static str, String)>,
    /// The text of its parts.
    texts: Vec<String>,
}

/// A part of a query that can be checked against a record.
#[derive(Clone, Debug)]
enum Atom {
    Field(&'static str, &'static str),
    Word(&'static str),
    Phrase(&'static str),
    CreatedAfter(u64),
    UpdatedBefore(u64),
}

impl Atom {
    fn fits(&self, thing: &Thing) -> bool {
        let words = |text: &str| -> Vec<String> {
            let words = text.split(|sign: char| !sign.is_alphanumeric());
            words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
        };
        match self {
            Self::Field(name, value) => {
                thing.fields.iter().any(|(there, has)| there == name && has == value)
            }
            Self::Word(word) => {
                thing.texts.iter().any(|text| words(text).contains(&(*word).to_owned()))
            }
            Self::Phrase(phrase) => {
                let phrase = words(phrase);
                let has = |text: &String| words(text).windows(phrase.len()).any(|it| it == phrase);
                thing.texts.iter().any(has)
            }
            Self::CreatedAfter(moment) => thing.created_at.is_some_and(|it| it > *moment),
            Self::UpdatedBefore(moment) => thing.updated_at < *moment,
        }
    }

    fn text(&self) -> String {
        let moment = |moment: &u64| crate::time::Timestamp(*moment);
        match self {
            Self::Field(name, value) => format!("{name}:{value}"),
            Self::Word(word) => (*word).to_owned(),
            Self::Phrase(phrase) => format!("\"{phrase}\""),
            Self::CreatedAfter(after) => format!("created>{}", moment(after)),
            Self::UpdatedBefore(before) => format!("updated<{}", moment(before)),
        }
    }

    fn may_be_refused(&self) -> bool {
        matches!(self, Self::Field(..) | Self::Word(_) | Self::Phrase(_))
    }
}

fn json(value: impl serde::Serialize) -> String {
    serde_json::to_string(&value).unwrap()
}

fn tasks(world: &World) -> impl Iterator<Item = Thing> {
    let task = |it: &crate::task::Record| {
        let task = world.space.task.shown(&it.id, Vec::new()).unwrap();
        let worker = it.lease.as_ref().map(|lease| &lease.holder);
        let worker =
            worker.or(it.execution.as_ref().and_then(|execution| execution.worked_by.as_ref()));
        let mut fields = vec![
            ("kind", "task".to_owned()),
            ("type", it.task_type.to_string()),
            ("status", it.status.word().to_owned()),
            ("by", it.requested_by.to_string()),
        ];
        fields.extend(worker.map(|agent| ("agent", agent.to_string())));
        Thing {
            place: (it.revision.0, 0, format!("tasks/{}", it.id)),
            created_at: Some(it.created_at.0),
            updated_at: it.updated_at.0,
            fields,
            texts: vec![
                it.task_type.to_string(),
                task.description.unwrap_or_default(),
                task.definition.map(json).unwrap_or_default(),
                task.metadata.map(json).unwrap_or_default(),
                task.result.map(json).unwrap_or_default(),
                task.error.map(json).unwrap_or_default(),
                task.reason.unwrap_or_default(),
            ],
        }
    };
    world.space.task.records().map(task)
}

fn messages(world: &World) -> impl Iterator<Item = Thing> {
    world.space.message.store().all().map(|it| {
        let asked = it.request.as_ref();
        let answer = asked.and_then(|asked| asked.answer.clone());
        let said = answer.and_then(|given| given.body.or(given.error));
        Thing {
            place: (it.revision.0, 0, format!("inbox/{}/{}", it.to, it.id)),
            created_at: Some(it.sent_at.0),
            updated_at: it.updated_at.0,
            fields: vec![
                ("kind", "message".to_owned()),
                ("type", if asked.is_some() { "request" } else { "mail" }.to_owned()),
                ("status", it.status.word().to_owned()),
                ("agent", it.to.to_string()),
                ("by", it.from.to_string()),
            ],
            texts: vec![it.body.as_str().to_owned(), said.map(json).unwrap_or_default()],
        }
    })
}

fn entries(world: &World) -> impl Iterator<Item = Thing> {
    world.space.state.everything(None, None).map(|it| Thing {
        place: (it.revision().0, 0, format!("state/{}/{}", it.namespace(), it.key())),
        created_at: None,
        updated_at: it.updated_at().0,
        fields: vec![
            ("kind", "key".to_owned()),
            ("agent", it.updated_by().to_string()),
            ("by", it.updated_by().to_string()),
            ("namespace", it.namespace().to_string()),
        ],
        texts: vec![it.key().to_owned(), it.json().as_str().to_owned()],
    })
}

fn events(world: &World) -> impl Iterator<Item = Thing> {
    world.batches.iter().flat_map(|batch| {
        let authors: Vec<AgentId> = batch.authors().cloned().collect();
        let events = batch.events.iter().zip(authors).zip(1..);
        let events = events.filter(|((event, _), _)| event.is_public());
        events.map(|((event, by), ordinal)| Thing {
            place: (batch.revision.0, ordinal, event.subject()),
            created_at: Some(batch.time.0),
            updated_at: batch.time.0,
            fields: vec![
                ("kind", "event".to_owned()),
                ("type", event.kind().to_owned()),
                ("agent", by.to_string()),
                ("by", by.to_string()),
            ],
            texts: vec![format!("{} {}", event.kind(), event.subject())],
        })
    })
}

fn everything(world: &World) -> Vec<Thing> {
    let things = tasks(world).chain(messages(world)).chain(entries(world)).chain(events(world));
    let mut things: Vec<Thing> = things.collect();
    things.sort_by(|one, other| other.place.cmp(&one.place));
    things
}

fn step() -> impl Strategy<Value = String> {
    let number = || 1..60_u32;
    let token = || (1..60_u32, 1..60_u32);
    let text = prop::sample::select(vec!["red", "blue~sky", "sky~blue", "x\\ny", "\\u0072ed"]);
    let text = || text.clone();
    prop_oneof![
        (0..6_u32, text()).prop_map(|(n, text)| format!("state.set shared/k{n} \"{text}\"")),
        (0..6_u32).prop_map(|n| format!("state.set notes/k{n} {n}")),
        (0..6_u32).prop_map(|n| format!("state.delete shared/k{n}")),
        Just("namespace.create notes".to_owned()),
        Just("namespace.delete notes".to_owned()),
        text().prop_map(|text| format!("task.create build description=\"{text}\" max_retries=1")),
        text().prop_map(|text| format!("task.create paint definition=\"{text}\"")),
        Just("task.create paint on_exhausted=\"review\" max_retries=0".to_owned()),
        Just("task.claim".to_owned()),
        Just("task.claim".to_owned()),
        Just("task.claim lease_ms=5".to_owned()),
        number().prop_map(|n| format!("task.cancel t-{n:010} reason=\"red\"")),
        number().prop_map(|n| format!("task.review t-{n:010} verdict=\"complete\"")),
        (token(), text()).prop_map(|((n, token), text)| {
            format!("task.complete t-{n:010} token={token} result=\"{text}\"")
        }),
        (token(), text()).prop_map(|((n, token), text)| {
            format!("task.fail t-{n:010} token={token} error=\"{text}\"")
        }),
        (token(), text()).prop_map(|((n, token), text)| {
            format!("task.update t-{n:010} token={token} fields={{\"description\":\"{text}\"}}")
        }),
        token().prop_map(|(n, token)| format!("task.heartbeat t-{n:010} token={token}")),
        token().prop_map(|(n, token)| format!("task.release t-{n:010} token={token}")),
        text().prop_map(|text| format!("message.send bob \"{text}\"")),
        text().prop_map(|text| format!("message.send ada \"{text}\" ttl_ms=9")),
        text().prop_map(|text| format!("message.request bob \"{text}\" timeout_ms=20")),
        Just("inbox.receive redeliver_ms=5".to_owned()),
        Just("inbox.receive wait_ms=30".to_owned()),
        number().prop_map(|n| format!("inbox.ack m-{n:010}")),
        number().prop_map(|n| format!("message.reply m-{n:010} body=\"red\"")),
        number().prop_map(|n| format!("message.reply m-{n:010} error=\"blue\"")),
        number().prop_map(|n| format!("inbox.requeue m-{n:010}")),
        Just("expire".to_owned()),
    ]
}

fn atom() -> impl Strategy<Value = Atom> {
    let fields = vec![
        ("kind", "task"),
        ("kind", "message"),
        ("kind", "key"),
        ("kind", "event"),
        ("status", "pending"),
        ("status", "in_progress"),
        ("status", "failed"),
        ("status", "completed"),
        ("status", "waiting_review"),
        ("status", "waiting"),
        ("status", "acked"),
        ("status", "replied"),
        ("agent", "ada"),
        ("agent", "bob"),
        ("by", "ada"),
        ("type", "build"),
        ("type", "mail"),
        ("type", "request"),
        ("type", "task.failed"),
        ("namespace", "notes"),
    ];
    prop_oneof![
        4 => prop::sample::select(fields).prop_map(|(name, value)| Atom::Field(name, value)),
        1 => prop::sample::select(vec!["red", "blue", "sky", "k3", "task"]).prop_map(Atom::Word),
        1 => prop::sample::select(vec!["blue sky", "sky blue"]).prop_map(Atom::Phrase),
        1 => (0..120_u64).prop_map(Atom::CreatedAfter),
        1 => (0..120_u64).prop_map(Atom::UpdatedBefore),
    ]
}

fn queries() -> impl Strategy<Value = Vec<Vec<(Atom, bool)>>> {
    let query = prop::collection::vec((atom(), prop::bool::weighted(0.3)), 1..4);
    prop::collection::vec(query, 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn an_index_finds_what_looking_at_everything_finds(
        steps in prop::collection::vec((step(), any::<bool>()), 0..120),
        queries in queries(),
        limit in 1..40_usize,
    ) {
        let mut world = World::default();
        for (now, (asked, is_ada)) in (1..).zip(&steps) {
            match asked.as_str() {
                "expire" => world.expire(now),
                asked => world.act(now, if *is_ada { "ada" } else { "bob" }, asked),
            }
        }
        let (fresh, things) = (world.afresh(), everything(&world));
        for query in queries {
            let is_refused = |(atom, refused): &(Atom, bool)| *refused && atom.may_be_refused();
            let fits = |thing: &&Thing| {
                query.iter().all(|part| part.0.fits(thing) != is_refused(part))
            };
            let expected: Vec<(u64, String)> = things
                .iter()
                .filter(fits)
                .map(|thing| (thing.place.0, thing.place.2.clone()))
                .collect();
            let text: Vec<String> = query
                .iter()
                .map(|part| format!("{}{}", if is_refused(part) { "-" } else { "" }, part.0.text()))
                .collect();
            let text = text.join(" ");
            prop_assert_eq!(&world.places(&world.index, &text, limit), &expected, "{}", &text);
            prop_assert_eq!(&world.places(&fresh, &text, limit), &expected, "{}", &text);
        }
    }
}
