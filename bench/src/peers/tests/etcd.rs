//! `HTTP/2` and the call in it.

use super::super::driver::{Answers, Element};
use super::super::etcd::{push_number, put};
use super::super::http2::{self, Calls};
use super::{assert_needs_every_byte, take_all};

/// A frame whose payload has fewer than 256 bytes.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0, 0, length, kind, flags, 0, 0, 0, stream][..], payload].concat()
}

#[test]
fn the_opening_has_a_preface_settings_and_a_window() {
    let window = frame(8, 0, 0, &[0x7f, 0xff, 0, 0]);
    let expected = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &frame(4, 0, 0, &[]), &window];
    assert_eq!(http2::opening(), expected.concat());
}

#[test]
fn the_first_headers_teach_the_table_what_later_ones_name() {
    let headers = http2::first_headers("h:1", "/p");
    let expected = b"\x83\x86\x44\x02/p\x41\x03h:1\x5f\x10application/grpc\x40\x02te\x08trailers";
    assert_eq!(headers, expected);
    // Four were added: the last of them has number 62, the first 65.
    let later = http2::later_headers(0, 1);
    assert_eq!(later[2..], [62 + 3, 62 + 2, 62 + 1, 62].map(|at| at + 128));
}

#[test]
fn every_further_path_moves_what_the_table_was_taught_before() {
    let headers = http2::new_path_headers("/q", 1);
    // The new path has number 62 from then on, and what came before it one more each.
    assert_eq!(headers, [&b"\x83\x86\x44\x02/q"[..], &[65 + 128, 64 + 128, 63 + 128]].concat());
    let paths = |path| http2::later_headers(path, 3)[2..].iter().map(|at| at - 128).collect();
    let numbers: [Vec<u8>; 3] = [0, 1, 2].map(paths);
    assert_eq!(numbers, [vec![67, 66, 65, 64], vec![63, 66, 65, 64], vec![62, 66, 65, 64]]);
}

#[test]
fn a_call_is_two_frames_of_its_stream() {
    let mut call = Vec::new();
    http2::call(0, &[1, 2, 3], b"message", &mut call);
    http2::patch_stream(&mut call, 9);
    let data = frame(0, 1, 9, b"\0\0\0\0\x07message");
    assert_eq!(call, [frame(1, 4, 9, &[1, 2, 3]), data].concat());
}

#[test]
fn a_put_names_key_and_value() {
    assert_eq!(put("k", "v"), b"\x0a\x01k\x12\x01v");
    let long = put("k", &"v".repeat(300));
    assert_eq!(long[..6], [0x0a, 1, b'k', 0x12, 0xac, 0x02]);
    assert_eq!(long.len(), 6 + 300);
    let mut number = Vec::new();
    push_number(&mut number, 2, 300);
    assert_eq!(number, [0x10, 0xac, 0x02]);
}

#[test]
fn an_answer_has_headers_a_message_and_an_end() {
    let message = frame(0, 0, 1, b"\0\0\0\0\x02ok");
    let answer = [frame(1, 4, 1, &[0x88]), message, frame(1, 5, 1, &[0xbe])].concat();
    let (taken, replies, left) = take_all(&mut Calls::default(), &answer.repeat(2)).unwrap();
    let answers: Vec<bool> = taken.iter().map(|taken| taken.is_answer).collect();
    assert_eq!(answers, [false, false, true, false, false, true]);
    assert_eq!((replies.len(), left), (0, 0));
    assert_needs_every_byte(Calls::default, &frame(1, 4, 1, &[0x88]), false);
}

#[test]
fn an_end_without_a_message_is_a_refusal() {
    let refused = Calls::default().take(&frame(1, 5, 1, b"status"), &mut Vec::new());
    assert_eq!(refused.unwrap_err(), "refused: status");
    let empty = [frame(0, 0, 1, b"\0\0\0\0\0"), frame(1, 5, 1, b"status")].concat();
    assert!(take_all(&mut Calls::default(), &empty).is_err());
    for kind in [3, 7, 9] {
        let taken = Calls::default().take(&frame(kind, 0, 1, &[0; 4]), &mut Vec::new());
        assert!(taken.is_err(), "frame of type {kind}");
    }
}

#[test]
fn settings_and_pings_are_acknowledged_once() {
    let asked = [frame(4, 0, 0, &[0; 6]), frame(6, 0, 0, b"12345678"), frame(8, 0, 0, &[0; 4])];
    let (taken, replies, _) = take_all(&mut Calls::default(), &asked.concat()).unwrap();
    assert_eq!(taken, [15, 17, 13].map(Element::other));
    assert_eq!(replies, [frame(4, 1, 0, &[]), frame(6, 1, 0, b"12345678")].concat());
    let (_, replies, _) = take_all(&mut Calls::default(), &replies).unwrap();
    assert!(replies.is_empty());
}
