use super::request_reply::{Answering, Echo};
use crate::peers::driver::{Answers, Element};
use crate::peers::nats;
use crate::peers::tests::baton::json_of;
use crate::peers::tests::websocket::from_server;

#[test]
fn whoever_receives_a_request_replies_and_receives_again_in_one_call() {
    let mut answering = Answering { agent: "bob".to_owned(), body: "7".to_owned() };
    let message = r#"{"id":1,"revision":9,"result":{"messages":[{"id":"m-1","body":3}]}}"#;
    let bytes = from_server(0x81, message.as_bytes());
    let mut replies = Vec::new();
    assert_eq!(answering.take(&bytes, &mut replies), Ok(Some(Element::other(bytes.len()))));
    let (reply, end) = json_of(&replies);
    assert_eq!((&reply["command"], &reply["request"]), (&"message.reply".into(), &"m-1".into()));
    assert_eq!((&reply["wait_ms"], end), (&60_000.into(), replies.len()));
    let answer = from_server(0x81, br#"{"id":1,"revision":10,"result":{"messages":[]}}"#);
    let mut silence = Vec::new();
    assert_eq!(answering.take(&answer, &mut silence), Ok(Some(Element::other(answer.len()))));
    assert!(silence.is_empty());
}

#[test]
fn a_message_of_nats_is_answered_where_it_wants_to_be() {
    let mut echo = Echo { body: "xy".to_owned() };
    let message = b"MSG service 1 _INBOX.7 3\r\nabc\r\n";
    let mut replies = Vec::new();
    assert_eq!(echo.take(message, &mut replies), Ok(Some(Element::other(message.len()))));
    assert_eq!(replies, b"PUB _INBOX.7 2\r\nxy\r\n");
    for cut in 0..message.len() {
        assert_eq!(echo.take(&message[..cut], &mut Vec::new()), Ok(None), "{cut}");
    }
}

#[test]
fn what_nats_refuses_fails_the_run() {
    for refused in [
        &b"-ERR 'Authorization Violation'\r\n"[..],
        b"MSG inbox 1 14\r\n{\"error\":\"no\"}\r\n",
        b"MSG inbox 1 many\r\nabc\r\n",
    ] {
        assert!(nats::Messages.take(refused, &mut Vec::new()).is_err());
    }
    let mut replies = Vec::new();
    assert_eq!(nats::Messages.take(b"PING\r\n", &mut replies), Ok(Some(Element::other(6))));
    assert_eq!(replies, b"PONG\r\n");
}
