use serde_json::json;

use super::*;

fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap();
    [&[0][..], &length.to_be_bytes(), message].concat()
}

/// The content that a client would read from an answer, or a server from a request of the same
/// type.
fn through(method: Method, value: &Value) -> Value {
    let frame = answer(method, value);
    decode::message(Kind::named(&messages(method)[1]), &frame[HEAD..]).unwrap()
}

#[test]
fn every_name_of_the_schema_is_known() {
    for fields in schema().messages.values() {
        for field in fields {
            let _ = field.kind();
        }
    }
    for (name, method) in Method::ALL {
        assert_eq!(super::method(&format!("/lf.a2a.v1.A2AService/{name}")), Ok(method));
        let _ = messages(method).each_ref().map(|name| Kind::named(name));
    }
    for path in ["/lf.a2a.v1.A2AService/", "/a2a.v1.A2AService/GetTask", "/", ""] {
        assert!(method(path).is_err(), "{path}");
    }
}

#[test]
fn a_task_survives_both_ways() {
    let task = json!({
        "id": "t-1", "contextId": "c",
        "status": {"state": "TASK_STATE_INPUT_REQUIRED", "timestamp": "2026-01-31T12:00:00.125Z",
                   "message": {"messageId": "m", "role": "ROLE_AGENT",
                               "parts": [{"text": ""}, {"raw": "AAH/"}]}},
        "artifacts": [{"artifactId": "a", "parts": [{"data": {"k": [1, -2.5, null, true, "é"]}}]}],
        "history": [{"messageId": "1", "role": "ROLE_USER", "extensions": ["u", "v"],
                     "parts": [{"url": "https://x", "mediaType": "text/plain"}]}],
        "metadata": {"n": 9_007_199_254_740_991_i64, "deep": {"list": [[], {}]}},
    });
    assert_eq!(through(Method::GetTask, &task), task);
    let update = json!({"statusUpdate": {"taskId": "t", "contextId": "c",
                                         "status": {"state": "TASK_STATE_WORKING"}}});
    assert_eq!(through(Method::SubscribeToTask, &update), update);
    let list = json!({"tasks": [task], "nextPageToken": "", "pageSize": 1, "totalSize": 1});
    assert_eq!(through(Method::ListTasks, &list), list);
}

#[test]
fn bytes_are_those_of_the_format() {
    // Field 2, a text; field 3, a number with presence, written although it is zero.
    let request = [0x12, 3, b't', b'-', b'1', 0x18, 0];
    let read = params(Method::GetTask, &framed(&request)).unwrap();
    assert_eq!(read, json!({"id": "t-1", "historyLength": 0}));
    // Minus one has ten bytes; a field with an unknown number is skipped.
    let negative = [0x18, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0xf8, 1, 5];
    let read = params(Method::GetTask, &framed(&negative)).unwrap();
    assert_eq!(read, json!({"historyLength": -1}));
    assert_eq!(answer(Method::DeleteTaskPushNotificationConfig, &json!({})), [0, 0, 0, 0, 0]);
}

#[test]
fn an_invalid_message_is_refused() {
    let nested = |depth: usize| {
        let mut value = vec![0x20, 1];
        for _ in 0..depth {
            let mut list = Writer::default();
            list.bytes(1, &value);
            let mut outer = Writer::default();
            outer.bytes(6, &list.0);
            value = outer.0;
        }
        let (mut entry, mut object, mut request) =
            (Writer::default(), Writer::default(), Writer::default());
        entry.text(1, "k");
        entry.bytes(2, &value);
        object.bytes(1, &entry.0);
        request.bytes(3, &object.0);
        framed(&request.0)
    };
    assert!(params(Method::CancelTask, &nested(40)).is_ok());
    assert!(params(Method::CancelTask, &nested(10_000)).is_err());
    let frames: [&[u8]; 8] = [
        b"",
        &[0, 0, 0, 0],
        &[0, 0, 0, 0, 1],
        &[1, 0, 0, 0, 0],
        &framed(&[0x12, 3, b't']),
        &framed(&[0x12, 1, 0xff]),
        &framed(&[0x10, 1]),
        &framed(&[0x0b, 0x0c]),
    ];
    for frame in frames {
        assert!(params(Method::GetTask, frame).is_err(), "{frame:?}");
    }
}

#[test]
fn a_refusal_has_its_reason() {
    let status = Status::of(&Error::no_task("é%\n"));
    assert_eq!(status.code, 5);
    assert!(status.message.is_ascii() && status.message.contains("%25%0A"), "{status:?}");
    let details = STANDARD_NO_PAD.decode(status.details).unwrap();
    let details = String::from_utf8_lossy(&details);
    assert!(details.contains("TASK_NOT_FOUND") && details.contains("a2a-protocol.org"));
    let unknown = Error::new(ErrorKind::MethodNotFound, "no");
    assert_eq!(Status::of(&unknown).code, 12);
}
