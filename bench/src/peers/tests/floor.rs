use std::net::{Ipv4Addr, TcpListener};
use std::thread;

use super::super::baton::{self, Json};
use super::super::driver;
use super::super::floor::{self, Request};
use super::super::http::Http;
use super::super::processes;
use super::super::requests::Prebuilt;
use super::websocket::from_server;

/// A server in a thread of its own, which ends with the test.
fn start(answer: Vec<u8>) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let folder = processes::folder(&std::env::temp_dir(), "test").unwrap();
    thread::spawn(move || {
        let outcome = floor::serve(listener, &folder.path().join("data"), &answer);
        outcome.map_err(|error| error.to_string())
    });
    port
}

#[test]
fn every_frame_is_answered_with_the_same_bytes() {
    let answer = from_server(0x81, br#"{"id":0,"revision":7,"result":{"value":1}}"#);
    let port = start(answer.clone());
    let mut stream = baton::connect(port).unwrap();
    let came = driver::ask(&mut stream, &baton::get(3), &mut Json, 1).unwrap();
    assert_eq!(came, answer);
    for request in [baton::set as fn(usize) -> Vec<u8>, baton::get] {
        let prebuilt = Prebuilt::build(request);
        let opened = (0..8)
            .map(|number| (baton::connect(port).unwrap(), prebuilt.of_connection(number, 8), Json));
        driver::fill(opened.collect(), 16, 100).unwrap();
    }
}

#[test]
fn and_every_request_over_http() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".to_vec();
    let port = start(answer.clone());
    let mut stream = driver::connect(port).unwrap();
    let two = [baton::put(1, port), baton::put(2, port)].concat();
    let came = driver::ask(&mut stream, &two, &mut Http, 2).unwrap();
    assert_eq!(came, [answer.clone(), answer].concat());
}

#[test]
fn a_request_is_recognised_when_its_last_byte_has_arrived() {
    for (number, request) in [baton::set(1), baton::get(1), baton::put(1, 80)].iter().enumerate() {
        for end in 0..request.len() {
            assert_eq!(Request::at_front(&request[..end]), Ok(None), "{end} bytes of {number}");
        }
        let followed = [&request[..], b"x"].concat();
        assert_eq!(Request::at_front(&followed), Ok(Some(Request::Call(request.len()))));
    }
    let upgrade = b"GET /v1/ws HTTP/1.1\r\nUpgrade: websocket\r\n\r\n";
    assert_eq!(Request::at_front(upgrade), Ok(Some(Request::Upgrade(upgrade.len()))));
    assert!(Request::at_front(b"\x16\x03\x01").is_err());
}
