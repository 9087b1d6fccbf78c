//! Pins the bytes on disk. If one of these tests fails, existing logs become unreadable.

use super::super::format::{
    FORMAT_VERSION, Found, SegmentFlaw, SegmentHeader, encode_record, find_record,
};
use crate::contract::Position;

const SALT: u64 = 0x0123_4567_89ab_cdef;

#[test]
fn a_segment_header_has_these_bytes() {
    let header = SegmentHeader { base: Position(65_123), salt: SALT, made_bytes: 0 };
    let mut block = [0xff; 4096];
    header.encode(&mut block);
    let expected = [
        b'B', b'A', b'T', b'O', b'N', b'L', b'O', b'G', // magic
        1, 0, 0, 0, // version
        0, 0, 0, 0, // zero
        0x63, 0xfe, 0, 0, 0, 0, 0, 0, // base
        0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01, // salt
        0x66, 0x35, 0xac, 0xab, // checksum
    ];
    assert_eq!(block[..36], expected, "{:x?}", &block[..36]);
    assert_eq!(block[2048..2084], expected);
    assert!(block[36..2048].iter().chain(&block[2084..]).all(|byte| *byte == 0));
    assert_eq!(FORMAT_VERSION, 1);
    assert_eq!(SegmentHeader::decode(&block), Ok(header));
    block[20] ^= 1;
    assert_eq!(SegmentHeader::decode(&block), Ok(header), "the copy is sound");
    block[2048 + 20] ^= 1;
    assert_eq!(SegmentHeader::decode(&block), Err(SegmentFlaw::Damaged));
    assert_eq!(SegmentHeader::decode(&block[..10]), Err(SegmentFlaw::Damaged));
}

#[test]
fn a_record_has_these_bytes() {
    let mut bytes = [0; 25];
    encode_record(SALT, Position(65_123), b"baton", &mut bytes);
    let expected = [
        0xc1, b'R', b'e', b'c', // magic
        5, 0, 0, 0, // length
        0x63, 0xfe, 0, 0, 0, 0, 0, 0, // position
        0x31, 0xfa, 0xb5, 0x8d, // checksum
        b'b', b'a', b't', b'o', b'n', // body
    ];
    assert_eq!(bytes, expected, "{bytes:x?}");
    assert_eq!(find_record(SALT, Position(65_123), &bytes), Found::Record { bytes: 25 });
    assert_eq!(find_record(SALT, Position(65_123), &bytes[..24]), Found::Incomplete { bytes: 25 });
    assert_eq!(find_record(SALT, Position(65_123), &bytes[..19]), Found::Incomplete { bytes: 20 });
    let other_position = find_record(SALT, Position(65_124), &bytes);
    assert!(matches!(other_position, Found::Nothing(_)));
    let other_salt = find_record(SALT + 1, Position(65_123), &bytes);
    assert!(matches!(other_salt, Found::Nothing(_)));
}
