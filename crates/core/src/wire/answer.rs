//! Encodes answers as text.

use super::json_writer::{write_bare, write_json};
use crate::json::scan::plain_end;
use crate::reply::{Answer, Reply};
use crate::state;
use crate::state::Entry;

/// Appends a text as a JSON string.
pub fn write_text(out: &mut Vec<u8>, text: &str) {
    if plain_end(text.as_bytes(), 0) == text.len() {
        out.reserve(text.len() + 2);
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        serde_json::to_writer(out, text).expect("texts can be encoded");
    }
}

/// Appends a number. Formatting with `fmt` would cost more than the rest of a small answer.
pub fn write_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(number % 10).expect("a digit is small");
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends `"revision":…,"result":…`, or `"results"` for a transaction.
pub fn write_answer(out: &mut Vec<u8>, answer: &Answer) {
    out.extend_from_slice(b"\"revision\":");
    write_number(out, answer.revision.0);
    if let Reply::Transaction(replies) = &answer.reply {
        out.extend_from_slice(b",\"results\":[");
        for (index, reply) in replies.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write_reply(out, reply);
        }
        out.push(b']');
    } else {
        out.extend_from_slice(b",\"result\":");
        write_reply(out, &answer.reply);
    }
}

/// Appends a bare reply, without the names of the primitive and the reply.
pub fn write_reply(out: &mut Vec<u8>, reply: &Reply) {
    if let Reply::State(state::Reply::Entry(entry)) = reply {
        return write_entry(out, entry);
    }
    if let Reply::Minimal(minimal) = reply {
        return write_json(out, minimal);
    }
    write_bare(out, reply);
}

/// Most answers are one entry: encoded without serde, which costs several times as much. The tests
/// compare the two.
fn write_entry(out: &mut Vec<u8>, entry: &Entry) {
    if entry.is_special() {
        return write_json(out, entry);
    }
    out.extend_from_slice(b"{\"namespace\":\"");
    out.extend_from_slice(entry.namespace().as_str().as_bytes());
    out.extend_from_slice(b"\",\"key\":");
    write_text(out, entry.key());
    out.extend_from_slice(b",\"value\":");
    out.extend_from_slice(entry.value());
    out.extend_from_slice(b",\"version\":");
    write_number(out, entry.version().0);
    out.extend_from_slice(b",\"revision\":");
    write_number(out, entry.revision().0);
    out.extend_from_slice(b",\"updated_at\":\"");
    out.extend_from_slice(&entry.updated_at().text());
    out.extend_from_slice(b"\",\"updated_by\":\"");
    out.extend_from_slice(entry.updated_by().as_str().as_bytes());
    out.extend_from_slice(b"\",\"checksum\":\"");
    out.extend_from_slice(&entry.checksum_text());
    out.extend_from_slice(b"\"}");
}

/// The fields of `{"state":{"set":{…}}}` or `{"state":"done"}` as encoded by serde, and the names
/// around them. A bare name has no fields.
pub(crate) fn own_fields<'a>(text: &'a [u8], names: &mut Vec<&'a str>) -> &'a [u8] {
    let mut rest = text;
    for _ in 0..2 {
        let is_bare_name = rest.first() == Some(&b'"');
        let start = if is_bare_name { 1 } else { 2 };
        let length = rest[start..].iter().position(|byte| *byte == b'"');
        let end = start + length.expect("a name ends with a quote");
        names.push(str::from_utf8(&rest[start..end]).expect("serde writes UTF-8"));
        if is_bare_name {
            return b"{}";
        }
        rest = &rest[end + 2..rest.len() - 1];
    }
    rest
}
