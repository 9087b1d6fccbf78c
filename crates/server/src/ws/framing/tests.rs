//! Tests of frames: a message is received as it was sent, however it arrives; a violation ends the
//! connection with its code.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// An owned message.
#[derive(Clone, Debug, PartialEq)]
enum Kept {
    Data(bool, Vec<u8>),
    Ping(Vec<u8>),
    Pong,
    Close(Option<u16>),
}

impl From<Message<'_>> for Kept {
    fn from(message: Message<'_>) -> Self {
        match message {
            Message::Text(text) => Self::Data(true, text.as_bytes().to_vec()),
            Message::Binary(bytes) => Self::Data(false, bytes.to_vec()),
            Message::Ping(payload) => Self::Ping(payload.to_vec()),
            Message::Pong => Self::Pong,
            Message::Close(code) => Self::Close(code),
        }
    }
}

/// A frame as a client encodes it.
fn frame(first: u8, mask: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let mut out = vec![first];
    match u16::try_from(payload.len()) {
        Ok(short @ 0..=125) => out.push(0x80 | short.to_be_bytes()[1]),
        Ok(middle) => {
            out.push(0xFE);
            out.extend(middle.to_be_bytes());
        }
        Err(_) => {
            out.push(0xFF);
            out.extend((payload.len() as u64).to_be_bytes());
        }
    }
    out.extend(mask);
    out.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    out
}

fn plain(first: u8, payload: &[u8]) -> Vec<u8> {
    frame(first, [1, 2, 3, 4], payload)
}

/// All messages of these pieces, and the error if there was one.
fn decode<'a>(
    bytes_max: usize,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Kept>, Option<ProtocolError>) {
    let mut decoder = Decoder::new(bytes_max);
    let (mut kept, mut inbox) = (Vec::new(), Vec::new());
    for piece in pieces {
        inbox.extend_from_slice(piece);
        loop {
            match decoder.next(&mut inbox) {
                Ok((0, None)) => break,
                Ok((0, Some(message))) => panic!("{message:?} took no bytes"),
                Ok((used, message)) => {
                    kept.extend(message.map(Kept::from));
                    inbox.drain(..used);
                }
                Err(error) => return (kept, Some(error)),
            }
        }
    }
    (kept, None)
}

fn error(bytes: &[u8]) -> u16 {
    let (_, error) = decode(1_000, [bytes]);
    error.unwrap_or_else(|| panic!("{bytes:?} was accepted")).code
}

/// A message in fragments, with control frames between them, and the expected messages.
fn conversation() -> impl Strategy<Value = (Vec<u8>, Vec<Kept>)> {
    let control = prop_oneof![
        vec(any::<u8>(), 0..125).prop_map(|bytes| (0x89, bytes.clone(), Kept::Ping(bytes))),
        vec(any::<u8>(), 0..125).prop_map(|bytes| (0x8A, bytes, Kept::Pong)),
    ];
    let payload = prop_oneof![
        ".{0,40}".prop_map(|text| (true, text.into_bytes())),
        vec(any::<u8>(), 0..300).prop_map(|bytes| (false, bytes)),
        vec(any::<u8>(), 65_530..65_540).prop_map(|bytes| (false, bytes)),
    ];
    let message = (payload, vec(any::<prop::sample::Index>(), 0..4), vec(control, 0..3));
    let one = (message, any::<[u8; 4]>()).prop_map(|(((is_text, bytes), cuts, controls), mask)| {
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.sort_unstable();
        let (mut out, mut kept, mut at) = (Vec::new(), Vec::new(), 0);
        let mut opcode = if is_text { 1 } else { 2 };
        for (number, place) in places.into_iter().enumerate() {
            out.extend(frame(opcode, mask, &bytes[at..place]));
            (opcode, at) = (0, place);
            if let Some((first, payload, message)) = controls.get(number) {
                out.extend(frame(*first, mask, payload));
                kept.push(message.clone());
            }
        }
        out.extend(frame(0x80 | opcode, mask, &bytes[at..]));
        kept.push(Kept::Data(is_text, bytes));
        (out, kept)
    });
    vec(one, 0..5).prop_map(|all| {
        let (bytes, kept): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        (bytes.concat(), kept.concat())
    })
}

proptest! {
    #[test]
    fn what_a_client_sends_comes_out_however_it_is_split(
        (bytes, expected) in conversation(),
        sizes in vec(1..2_000_usize, 1..20),
    ) {
        let (kept, ended) = decode(1 << 20, [&bytes[..]]);
        prop_assert_eq!(&kept, &expected);
        prop_assert_eq!(ended, None);
        let (mut pieces, mut rest) = (Vec::new(), &bytes[..]);
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*size).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        prop_assert_eq!(decode(1 << 20, pieces), (expected, None));
    }

    #[test]
    fn no_bytes_panic_and_every_split_says_the_same(bytes in vec(any::<u8>(), 0..400)) {
        let whole = decode(100, [&bytes[..]]);
        prop_assert_eq!(decode(100, bytes.chunks(1)), whole);
    }

    #[test]
    fn what_the_server_writes_is_one_frame(payload in vec(any::<u8>(), 0..70_000)) {
        let mut out = b"before".to_vec();
        write(&mut out, Opcode::Binary, &payload);
        let written = out.split_off(6);
        prop_assert_eq!(&out, b"before");
        let expected: Vec<u8> = match payload.len() {
            length @ 0..=125 => vec![0x82, u8::try_from(length).unwrap()],
            length @ 126..=0xFFFF => {
                [&[0x82, 126][..], &u16::try_from(length).unwrap().to_be_bytes()].concat()
            }
            length => [&[0x82, 127][..], &(length as u64).to_be_bytes()].concat(),
        };
        prop_assert_eq!(&written[..expected.len()], &expected[..]);
        prop_assert_eq!(&written[expected.len()..], &payload[..]);
    }
}

#[test]
fn every_byte_of_a_small_conversation_may_come_alone() {
    let bytes = [
        plain(0x01, "grü".as_bytes()),
        plain(0x89, b"?"),
        plain(0x80, "ße".as_bytes()),
        plain(0x82, &[0; 126]),
        plain(0x88, &[0x03, 0xE8, b'b', b'y', b'e']),
    ]
    .concat();
    let expected = vec![
        Kept::Ping(b"?".to_vec()),
        Kept::Data(true, "grüße".into()),
        Kept::Data(false, vec![0; 126]),
        Kept::Close(Some(1000)),
    ];
    for cut in 0..bytes.len() {
        let (before, after) = bytes.split_at(cut);
        assert_eq!(decode(1_000, [before, after]), (expected.clone(), None), "cut at {cut}");
    }
    assert_eq!(decode(1_000, bytes.chunks(1)), (expected, None));
}

#[test]
fn frames_that_clients_must_not_send_end_the_connection_with_a_code() {
    for reserved in [0x10, 0x20, 0x40, 0x70] {
        assert_eq!(error(&plain(0x81 | reserved, b"")), 1002);
    }
    for opcode in (3..8).chain(11..16) {
        assert_eq!(error(&plain(0x80 | opcode, b"")), 1002, "opcode {opcode}");
    }
    assert_eq!(error(&[0x81, 0x00]), 1002, "without a mask");
    assert_eq!(error(&[0x81, 0x05, b'h', b'e', b'l', b'l', b'o']), 1002, "without a mask");
    for control in [0x8, 0x9, 0xA] {
        assert_eq!(error(&plain(control, b"")), 1002, "a control frame in parts");
        assert_eq!(error(&plain(0x80 | control, &[0; 126])), 1002, "a long control frame");
    }
    assert_eq!(error(&plain(0x80, b"")), 1002, "a continuation of nothing");
    assert_eq!(error(&plain(0x00, b"")), 1002, "a continuation of nothing");
    let within = [plain(0x01, b"a"), plain(0x82, b"b")].concat();
    assert_eq!(error(&within), 1002, "a message within another");
    assert_eq!(error(&[0x81, 0xFE, 0, 125]), 1002, "a long form of a short length");
    assert_eq!(error(&[0x81, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]), 1002, "the same");
}

#[test]
fn text_is_checked_completely() {
    assert_eq!(error(&plain(0x81, b"\xFF")), 1007);
    assert_eq!(error(&plain(0x81, b"\xED\xA0\x80")), 1007, "half of a pair");
    assert_eq!(error(&[plain(0x01, b"\xC3"), plain(0x80, b"x")].concat()), 1007);
    let good = [plain(0x01, b"\xC3"), plain(0x80, b"\xA4")].concat();
    assert_eq!(decode(10, [&good[..]]), (vec![Kept::Data(true, "ä".into())], None));
    let bytes = plain(0x82, b"\xFF");
    assert_eq!(decode(10, [&bytes[..]]), (vec![Kept::Data(false, vec![0xFF])], None));
}

#[test]
fn a_message_is_as_large_as_allowed_whole_or_in_parts() {
    let (most, kept) = ([7; 1_000], Kept::Data(false, vec![7; 1_000]));
    assert_eq!(decode(1_000, [&plain(0x82, &most)[..]]), (vec![kept.clone()], None));
    assert_eq!(error(&plain(0x82, &[7; 1_001])), 1009);
    assert_eq!(error(&[0x82, 0xFE, 0x03, 0xE9]), 1009, "as soon as it is announced");
    assert_eq!(error(&[0x82, 0xFF, 255, 255, 255, 255, 255, 255, 255, 255]), 1009);
    let parts = [plain(0x02, &most[..600]), plain(0x00, b""), plain(0x80, &most[600..])].concat();
    assert_eq!(decode(1_000, [&parts[..]]), (vec![kept], None));
    assert_eq!(error(&[plain(0x02, &most), plain(0x80, b"x")].concat()), 1009);
}

#[test]
fn close_codes() {
    let close = |code: u16| plain(0x88, &code.to_be_bytes());
    for code in [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 4999] {
        assert_eq!(decode(10, [&close(code)[..]]), (vec![Kept::Close(Some(code))], None));
    }
    for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535] {
        assert_eq!(error(&close(code)), 1002, "{code}");
    }
    assert_eq!(decode(10, [&plain(0x88, b"")[..]]), (vec![Kept::Close(None)], None));
    assert_eq!(error(&plain(0x88, &[3])), 1002);
    assert_eq!(error(&plain(0x88, &[3, 232, 0xFF])), 1007);
}

#[test]
fn a_message_in_parts_is_forgotten_when_the_next_is_asked_for() {
    let mut decoder = Decoder::new(100);
    let mut bytes = [plain(0x01, b"a"), plain(0x80, b"b")].concat();
    let (used, message) = decoder.next(&mut bytes).unwrap();
    assert_eq!(message, None);
    assert_eq!((decoder.begun_bytes(), decoder.has_begun()), (1, true));
    let (_, message) = decoder.next(&mut bytes[used..]).unwrap();
    assert_eq!(message, Some(Message::Text("ab")));
    assert!(!decoder.has_begun());
    assert_eq!(decoder.next(&mut []), Ok((0, None)));
    assert_eq!(decoder.whole.capacity(), 0, "an idle connection holds no buffer");
}

#[test]
fn a_close_frame_is_short_whatever_the_reason() {
    let mut out = Vec::new();
    write_close(&mut out, 1001, &"x".repeat(500));
    assert_eq!((out.len(), &out[..4]), (127, &[0x88, 125, 0x03, 0xE9][..]));
}
