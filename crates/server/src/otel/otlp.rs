//! Spans as OTLP in JSON: ids as hexadecimal digits, times and integers as strings.

use baton_core::Timestamp;
use serde_json::{Value as Tree, json};

use super::span::{Kind, Span, Value};

/// The body of one request.
pub(super) fn encode(spans: &[Span]) -> Vec<u8> {
    let version = env!("CARGO_PKG_VERSION");
    let about =
        [attribute("service.name", &"baton".into()), attribute("service.version", &version.into())];
    let body = json!({"resourceSpans": [{
        "resource": {"attributes": about},
        "scopeSpans": [{
            "scope": {"name": "baton", "version": version},
            "spans": spans.iter().map(written).collect::<Vec<_>>(),
        }],
    }]});
    body.to_string().into_bytes()
}

fn attribute(name: &str, value: &Value) -> Tree {
    let value = match value {
        Value::Text(text) => json!({"stringValue": text}),
        Value::Number(number) => json!({"intValue": number.to_string()}),
    };
    json!({"key": name, "value": value})
}

fn nanoseconds(time: Timestamp) -> String {
    (u128::from(time.0) * 1_000_000).to_string()
}

fn written(span: &Span) -> Tree {
    // The numbers of the OTLP specification.
    let kind = match span.kind {
        Kind::Internal => 1,
        Kind::Client => 3,
    };
    let mut attributes: Vec<Tree> =
        span.attributes.iter().map(|(name, value)| attribute(name, value)).collect();
    if let Some(error) = &span.error {
        attributes.push(attribute("error.type", &error.as_str().into()));
    }
    let mut written = json!({
        "traceId": span.context.trace.to_string(),
        "spanId": span.id.to_string(),
        "name": span.name,
        "kind": kind,
        "startTimeUnixNano": nanoseconds(span.begun),
        "endTimeUnixNano": nanoseconds(span.ended.max(span.begun)),
        "attributes": attributes,
        "status": if span.error.is_some() { json!({"code": 2}) } else { json!({}) },
    });
    if let Some(parent) = span.context.parent {
        written["parentSpanId"] = parent.to_string().into();
    }
    if !span.moments.is_empty() {
        let moment = |(time, name): &(Timestamp, &str)| {
            let time = nanoseconds(*time);
            json!({"timeUnixNano": time, "name": name})
        };
        written["events"] = span.moments.iter().map(moment).collect();
    }
    let links = span.links.iter().filter_map(|context| {
        let span = context.parent?.to_string();
        Some(json!({"traceId": context.trace.to_string(), "spanId": span}))
    });
    let links: Vec<Tree> = links.collect();
    if !links.is_empty() {
        written["links"] = links.into();
    }
    written
}
