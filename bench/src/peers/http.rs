//! A client of HTTP/1.1 with keep-alive: complete answers with a `Content-Length`.
//!
//! Deliberately absent: chunked bodies and answers that end with the connection; servers do not
//! answer small requests that way.

use super::driver::{Answers, Element, decimal};

const LENGTH: &[u8] = b"content-length:";

/// Answers over HTTP. Any status except 2xx is a refusal.
pub(crate) struct Http;

impl Answers for Http {
    fn take(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> Result<Option<Element>, String> {
        Ok(parse(bytes)?.map(Element::answer))
    }
}

/// The length of the answer at the front; none if it is incomplete.
fn parse(bytes: &[u8]) -> Result<Option<usize>, String> {
    let (mut at, mut length) = (0, None);
    loop {
        let Some(line) = bytes[at..].iter().position(|byte| *byte == b'\n') else {
            return Ok(None);
        };
        let text = bytes[at..at + line].strip_suffix(b"\r").unwrap_or(&bytes[at..at + line]);
        let is_first = at == 0;
        at += line + 1;
        if is_first {
            if !text.starts_with(b"HTTP/1.1 2") {
                return refusal(bytes);
            }
        } else if text.is_empty() {
            let length = length.ok_or("an answer without `Content-Length`")?;
            return Ok(Some(at + length).filter(|end| *end <= bytes.len()));
        } else if text.get(..LENGTH.len()).is_some_and(|name| name.eq_ignore_ascii_case(LENGTH)) {
            length = decimal(text[LENGTH.len()..].trim_ascii());
        }
    }
}

fn refusal(bytes: &[u8]) -> Result<Option<usize>, String> {
    Err(format!("refused: {}", String::from_utf8_lossy(bytes)))
}
