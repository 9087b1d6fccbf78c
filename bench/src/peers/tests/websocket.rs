use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;

use super::super::websocket::{self, Frame, Opcode};

/// A client's frame as a server sees it: its first byte and its unmasked payload.
fn unmasked(frame: &[u8]) -> (u8, Vec<u8>) {
    assert_eq!(frame[1] & 0x80, 0x80, "a client masks");
    let head = match frame[1] & 0x7f {
        126 => 4,
        127 => 10,
        _ => 2,
    };
    let (mask, payload) = frame[head..].split_at(4);
    assert_ne!(mask, [0; 4], "the server has something to unmask");
    (frame[0], payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect())
}

pub(crate) fn from_server(first: u8, payload: &[u8]) -> Vec<u8> {
    let length = payload.len();
    let mut frame = vec![first];
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(length), _) if length < 126 => frame.push(length),
        (_, Ok(length)) => frame.extend([&[126][..], &length.to_be_bytes()].concat()),
        _ => frame.extend([&[127][..], &(length as u64).to_be_bytes()].concat()),
    }
    frame.extend_from_slice(payload);
    frame
}

#[test]
fn frames_of_every_length_are_masked_and_understood() {
    for length in [0, 1, 3, 125, 126, 300, 65_535, 65_536] {
        let payload: Vec<u8> = (0..=255).cycle().take(length).collect();
        let mut frame = Vec::new();
        websocket::text(&payload, &mut frame);
        assert_eq!(unmasked(&frame), (0x81, payload.clone()), "{length} bytes out");
        let mut answer = from_server(0x81, &payload);
        let bytes = answer.len();
        assert_eq!(websocket::parse(&answer[..bytes - 1]), Ok(None), "{length} bytes, less one");
        answer.push(0);
        let expected = Frame { opcode: Opcode::Text, payload: &payload, bytes };
        assert_eq!(websocket::parse(&answer), Ok(Some(expected)), "{length} bytes in");
    }
}

#[test]
fn a_frame_is_taken_when_its_head_is_whole() {
    for frame in [from_server(0x81, &[7; 5]), from_server(0x81, &[7; 200])] {
        for end in 0..frame.len() {
            assert_eq!(websocket::parse(&frame[..end]), Ok(None));
        }
    }
    let long = from_server(0x81, &vec![7; 70_000]);
    for end in 0..10 {
        assert_eq!(websocket::parse(&long[..end]), Ok(None));
    }
}

#[test]
fn a_pong_carries_the_ping() {
    let ping = from_server(0x89, b"abc");
    let frame = websocket::parse(&ping).unwrap().unwrap();
    assert_eq!((frame.opcode, frame.payload), (Opcode::Ping, &b"abc"[..]));
    let mut pong = Vec::new();
    websocket::pong(frame.payload, &mut pong);
    assert_eq!(unmasked(&pong), (0x8A, b"abc".to_vec()));
}

#[test]
fn what_a_server_must_not_send_is_refused() {
    let close = from_server(0x88, &[&1008_u16.to_be_bytes()[..], b"why"].concat());
    assert_eq!(websocket::parse(&close).unwrap_err(), "the server closed with 1008 why");
    let silent = from_server(0x88, b"");
    assert_eq!(websocket::parse(&silent).unwrap_err(), "the server closed without a reason");
    for (bytes, what) in [
        (&[0x01, 0x00][..], "a fragment"),
        (&[0x80, 0x00], "the end of a fragmented message"),
        (&[0xC1, 0x00], "an extension"),
        (&[0x82, 0x00], "a binary frame"),
        (&[0x81, 0x80, 0, 0, 0, 0], "a mask"),
        (&[0x81, 127, 255, 255, 255, 255, 255, 255, 255, 255], "an endless frame"),
    ] {
        assert!(websocket::parse(bytes).is_err(), "{what}");
    }
}

fn upgraded(answer: &'static str) -> Result<(), String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        stream.write_all(answer.as_bytes()).unwrap();
        String::from_utf8(head).unwrap()
    });
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    let outcome = websocket::upgrade(&mut stream, port, "/v1/ws", "some.protocol", None);
    let head = server.join().unwrap();
    assert!(head.starts_with("GET /v1/ws HTTP/1.1\r\n"));
    assert!(head.contains(&format!("Host: 127.0.0.1:{port}\r\n")));
    outcome.map_err(|error| error.to_string())
}

#[test]
fn an_upgrade_must_be_proven() {
    let proven = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
        Connection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\
        Sec-WebSocket-Protocol: some.protocol\r\n\r\n";
    assert_eq!(upgraded(proven), Ok(()));
    for refusal in [
        "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Protocol: some.protocol\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\
         Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
        "HTTP/1.1 101 Swi",
        "",
    ] {
        let error = upgraded(refusal).unwrap_err();
        assert!(error.starts_with("the upgrade to a WebSocket was refused"), "{error}");
    }
}
