//! `baton_send`: messages, answers and acknowledgements.

use baton_core::wire::Problem;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Call;
use crate::operation::{bad, given, missing};
use crate::reference::{long, short};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    to: Option<String>,
    body: Option<Value>,
    reply_to: Option<String>,
    #[serde(default)]
    ack: Vec<String>,
}

pub(super) async fn run(call: &Call<'_>) -> Result<Value, Problem> {
    let Arguments { to, body, reply_to, ack } = call.read()?;
    let mut answer = json!({});
    match body {
        Some(body) => {
            let sent = send(call, to, body, reply_to).await?;
            answer["sent"] = json!({
                "id": short(sent["id"].as_str().unwrap_or_default()),
                "to": sent["to"],
                "status": sent["status"],
            });
        }
        None if ack.is_empty() => return Err(missing("body")),
        None if to.is_some() || reply_to.is_some() => return Err(missing("body")),
        None => {}
    }
    if !ack.is_empty() {
        let messages: Vec<String> = ack.iter().map(|name| long(name)).collect();
        let fields = json!({"agent": call.agent(), "messages": messages});
        let acked = call.perform("inbox.ack", given(fields)).await?;
        answer["acknowledged"] = crate::reference::shortened(&acked["messages"]);
    }
    Ok(answer)
}

async fn send(
    call: &Call<'_>,
    to: Option<String>,
    body: Value,
    reply_to: Option<String>,
) -> Result<Value, Problem> {
    let Some(reply_to) = reply_to.as_deref().map(long) else {
        let to = to.ok_or_else(|| missing("to"))?;
        return call.perform("message.send", given(json!({"to": to, "body": body}))).await;
    };
    let asked = call.perform("message.get", given(json!({"message": reply_to}))).await?;
    // Its sender waits for the answer to a request.
    if asked["request"].is_object() {
        if to.is_some_and(|to| asked["from"] != to.as_str()) {
            return Err(bad("to", "a request is answered to its sender: omit it"));
        }
        return call
            .perform("message.reply", given(json!({"request": reply_to, "body": body})))
            .await;
    }
    let to = to.map_or_else(|| asked["from"].clone(), Value::from);
    let fields = json!({"to": to, "body": body, "reply_to": reply_to});
    call.perform("message.send", given(fields)).await
}
