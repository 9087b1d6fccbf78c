//! Notices against `serde_json`, byte by byte.

use std::fmt::{self, Write};
use std::sync::Arc;

use baton_core::{AgentId, Batch, Event, Notice, Revision, Timestamp};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::examples;

/// The fields around those of an event.
const AROUND: [&str; 6] = ["revision", "index", "time", "agent", "type", "subject"];

/// The fields of an object, in order, with their values as they are written.
struct Pairs(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Pairs;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }

        from.deserialize_map(InOrder)
    }
}

/// The fields of an event without the names of its primitive and its variant.
fn own(event: &Event) -> Pairs {
    let mut text = serde_json::to_string(event).unwrap();
    for _ in 0..2 {
        text = match serde_json::from_str::<Pairs>(&text) {
            Ok(Pairs(pairs)) => pairs[0].1.get().to_owned(),
            Err(_) => "{}".to_owned(),
        };
        if text == "{}" {
            break;
        }
    }
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_notice_has_the_bytes_that_serde_writes() {
    for (name, event) in examples().into_iter().filter(|(_, event)| event.is_public()) {
        let has_live_token = matches!(
            event.kind(),
            "lock.acquired"
                | "semaphore.acquired"
                | "semaphore.renewed"
                | "agent.joined"
                | "task.claimed"
                | "task.handed_over"
        );
        let mut expected = format!(
            "{{\"revision\":7,\"index\":0,\"time\":\"2026-11-15T08:00:00.123Z\",\
             \"agent\":\"baton\",\"type\":\"{}\",\"subject\":{}",
            event.kind(),
            serde_json::to_string(&event.subject()).unwrap(),
        );
        for (field, value) in &own(&event).0 {
            let is_hidden = has_live_token && field == "token";
            if !AROUND.contains(&field.as_str()) && !is_hidden {
                write!(expected, ",{}:{value}", serde_json::to_string(field).unwrap()).unwrap();
            }
        }
        expected.push('}');
        let (agent, time) = (AgentId::engine(), Timestamp(1_794_729_600_123));
        let batch = Batch { revision: Revision(7), time, agent, events: vec![event] };
        let notice = Notice::new(Arc::new(batch), 0).json();
        assert_eq!(str::from_utf8(&notice).unwrap(), expected, "`{name}`");
    }
}
