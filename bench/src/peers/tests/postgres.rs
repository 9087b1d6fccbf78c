use super::super::driver::Answers;
use super::super::postgres::{
    Identity, Messages, call, call_with_array, identity, prepare, startup,
};
use super::{assert_needs_every_byte, take_all};

/// Types and bodies of messages.
fn messages(mut bytes: &[u8]) -> Vec<(char, Vec<u8>)> {
    let mut found = Vec::new();
    while let [kind, a, b, c, d, rest @ ..] = bytes {
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize - 4;
        found.push((char::from(*kind), rest[..length].to_vec()));
        bytes = &rest[length..];
    }
    assert!(bytes.is_empty());
    found
}

#[test]
fn the_start_names_the_user_and_the_database() {
    let message = startup();
    assert_eq!(message[..8], [0, 0, 0, 41, 0, 3, 0, 0]);
    assert_eq!(message.len(), 41);
    assert_eq!(&message[8..], b"user\0postgres\0database\0postgres\0\0");
}

#[test]
fn a_statement_is_parsed_once_and_bound_for_every_request() {
    let parts = messages(&prepare("upsert", "INSERT INTO kv VALUES ($1, $2)"));
    assert_eq!(parts.iter().map(|(kind, _)| *kind).collect::<String>(), "PS");
    assert_eq!(parts[0].1, b"upsert\0INSERT INTO kv VALUES ($1, $2)\0\0\0");
    let parts = messages(&call("upsert", &["key", "{}"]));
    assert_eq!(parts.iter().map(|(kind, _)| *kind).collect::<String>(), "BES");
    assert_eq!(parts[0].1, b"\0upsert\0\0\0\0\x02\0\0\0\x03key\0\0\0\x02{}\0\0");
    assert_eq!(parts[1].1, [0; 5]);
    assert!(parts[2].1.is_empty());
}

#[test]
fn an_answer_is_complete_when_the_server_is_ready() {
    let bound = b"2\0\0\0\x04";
    let done = b"C\0\0\0\x0fINSERT 0 1\0";
    let ready = b"Z\0\0\0\x05I";
    assert_needs_every_byte(|| Messages, bound, false);
    assert_needs_every_byte(|| Messages, done, false);
    assert_needs_every_byte(|| Messages, ready, true);
    let answers = [&bound[..], done, ready].concat().repeat(2);
    let (taken, _, left) = take_all(&mut Messages, &answers).unwrap();
    assert_eq!(taken.iter().filter(|taken| taken.is_answer).count(), 2);
    assert_eq!((taken.len(), left), (6, 0));
}

#[test]
fn errors_and_other_numbers_of_rows_are_refused() {
    let error = b"E\0\0\0\x0fSERROR\0M!\0\0";
    let refused = Messages.take(error, &mut Vec::new()).unwrap_err();
    assert_eq!(refused, "refused: SERROR M!  ");
    let nothing = b"C\0\0\0\x0fINSERT 0 0\0";
    let refused = Messages.take(nothing, &mut Vec::new()).unwrap_err();
    assert!(refused.starts_with("not one row: INSERT 0 0"));
}

#[test]
fn the_server_is_postgres_or_nobody() {
    let users = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65533:n:/:/bin/false\n";
    assert_eq!(identity(users).unwrap(), Identity { user: 65534, group: 65533 });
    let with_postgres = format!("{users}postgres:x:101:104:,,,:/var/lib/postgresql:/bin/bash\n");
    assert_eq!(identity(&with_postgres).unwrap(), Identity { user: 101, group: 104 });
    assert!(identity("root:x:0:0:root:/root:/bin/sh\nbroken\n").is_err());
}

#[test]
fn an_array_is_bound_as_one_binary_parameter() {
    let parts = messages(&call_with_array("entries", &["a".to_owned(), "bc".to_owned()]));
    assert_eq!(parts.iter().map(|(kind, _)| *kind).collect::<String>(), "BES");
    let array = b"\0\0\0\x01\0\0\0\0\0\0\0\x19\0\0\0\x02\0\0\0\x01\0\0\0\x01a\0\0\0\x02bc";
    let expected = [&b"\0entries\0\0\x01\0\x01\0\x01\0\0\0"[..], &[31], array, b"\0\0"].concat();
    assert_eq!(parts[0].1, expected);
}
