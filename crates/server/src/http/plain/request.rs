//! The bytes of a plain request: one entry by its path, and only headers that every client sends.
//!
//! Everything that is refused, or could mean more, is left to the HTTP library and the router: this
//! parser accepts a part of what they do, and rejects nothing.

use std::mem::MaybeUninit;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Method, Request};

use crate::http::fast_path::path_parts;

/// A larger request is not plain. Bodies of this size need not be counted while they are received.
pub(super) const REQUEST_BYTES_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 16;
/// The longest name of a header that a plain request may have.
const NAME_BYTES_MAX: usize = 15;

/// A plain request, borrowed from the received bytes.
#[derive(Debug)]
pub(super) struct PlainRequest<'a> {
    pub(super) is_set: bool,
    pub(super) workspace: &'a str,
    pub(super) namespace: &'a str,
    pub(super) key: &'a str,
    pub(super) headers: PlainHeaders<'a>,
    pub(super) body: &'a [u8],
    /// All of it.
    pub(super) bytes: &'a [u8],
}

/// The headers that matter to a plain request.
#[derive(Debug, Default)]
pub(super) struct PlainHeaders<'a> {
    pub(super) host: Option<&'a str>,
    pub(super) agent: Option<&'a str>,
    pub(super) authorization: Option<&'a str>,
    pub(super) idempotency_key: Option<&'a str>,
    content_type: Option<&'a str>,
    content_length: Option<&'a str>,
}

/// What received bytes begin with.
#[derive(Debug)]
pub(super) enum ReceivedRequest<'a> {
    /// A plain request, and perhaps more.
    Plain(PlainRequest<'a>),
    /// A part of a head, which may become a plain request.
    Partial,
    /// Anything else.
    Other,
}

impl<'a> ReceivedRequest<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MAX];
        let mut head = httparse::Request::new(&mut []);
        match head.parse_with_uninit_headers(bytes, &mut headers) {
            Ok(httparse::Status::Complete(length)) => {
                PlainRequest::of(&head, length, bytes).map_or(Self::Other, Self::Plain)
            }
            Ok(httparse::Status::Partial) => Self::Partial,
            Err(_) => Self::Other,
        }
    }
}

/// Whether the end of a head may be among these bytes.
pub(super) fn may_end_head(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair == b"\n\n" || pair == b"\n\r")
}

impl<'a> PlainRequest<'a> {
    fn of(head: &httparse::Request<'_, 'a>, length: usize, bytes: &'a [u8]) -> Option<Self> {
        let is_set = match head.method? {
            "GET" => false,
            "PUT" => true,
            _ => return None,
        };
        let path = head.path.filter(|path| head.version == Some(1) && is_plain_path(path))?;
        let (workspace, namespace, key) = path_parts(path)?;
        let mut headers = PlainHeaders::default();
        head.headers.iter().try_for_each(|header| headers.add(header.name, header.value))?;
        let body_length = headers.body_length()?;
        let is_understood = if is_set {
            headers.content_type.is_none_or(|kind| kind == "application/json")
        } else {
            headers.content_type.is_none() && headers.idempotency_key.is_none() && body_length == 0
        };
        let end = length + body_length;
        // A body that is still arriving has a deadline of its own.
        if !is_understood || end > REQUEST_BYTES_MAX || end > bytes.len() {
            return None;
        }
        let (bytes, body) = (&bytes[..end], &bytes[length..end]);
        Some(Self { is_set, workspace, namespace, key, headers, body, bytes })
    }

    /// The same as a request of the router, with every header.
    pub(super) fn to_request(&self) -> Option<Request<Body>> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut head = httparse::Request::new(&mut headers);
        head.parse(self.bytes).ok()?;
        let mut request = Request::new(Body::from(self.body.to_vec()));
        *request.method_mut() = if self.is_set { Method::PUT } else { Method::GET };
        *request.uri_mut() = head.path?.parse().ok()?;
        for header in head.headers.iter() {
            let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
            request.headers_mut().append(name, HeaderValue::from_bytes(header.value).ok()?);
        }
        Some(request)
    }
}

/// Whether a path consists of characters that are never escaped, and is nothing but a path.
fn is_plain_path(path: &str) -> bool {
    path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~/:@!$&'()*+,;=".contains(&byte))
}

impl<'a> PlainHeaders<'a> {
    /// Adds a header; none if it is not plain. A repeated one is an error, which others report.
    fn add(&mut self, name: &str, value: &'a [u8]) -> Option<()> {
        let mut lower_case = [0; NAME_BYTES_MAX];
        let lower_case = lower_case.get_mut(..name.len())?;
        lower_case.copy_from_slice(name.as_bytes());
        lower_case.make_ascii_lowercase();
        let slot = match &*lower_case {
            b"user-agent" | b"accept" | b"accept-encoding" => return Some(()),
            b"connection" => return value.eq_ignore_ascii_case(b"keep-alive").then_some(()),
            b"host" => &mut self.host,
            b"baton-agent" => &mut self.agent,
            b"authorization" => &mut self.authorization,
            b"content-type" => &mut self.content_type,
            b"content-length" => &mut self.content_length,
            b"idempotency-key" => &mut self.idempotency_key,
            _ => return None,
        };
        let is_visible = value.iter().all(|byte| matches!(byte, b' '..=b'~'));
        let text = str::from_utf8(value).ok().filter(|_| is_visible)?;
        slot.replace(text).is_none().then_some(())
    }

    /// The length of the body, if it is a plain number.
    fn body_length(&self) -> Option<usize> {
        let Some(text) = self.content_length else { return Some(0) };
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|length| is_number && *length <= REQUEST_BYTES_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: &str = "PUT /v1/w/state/ns/a/b HTTP/1.1\r\nHost: localhost\r\nBaton-Agent: ada\r\n\
                       Content-Type: application/json\r\nContent-Length: 3\r\n\r\n123rest";

    fn name(text: &str) -> &'static str {
        match ReceivedRequest::of(text.as_bytes()) {
            ReceivedRequest::Plain(_) => "plain",
            ReceivedRequest::Partial => "partial",
            ReceivedRequest::Other => "other",
        }
    }

    #[test]
    fn a_plain_request_is_read_from_its_bytes() {
        let ReceivedRequest::Plain(request) = ReceivedRequest::of(SET.as_bytes()) else {
            panic!("it is plain")
        };
        let PlainRequest { is_set, workspace, namespace, key, headers, body, bytes } = request;
        assert_eq!((is_set, workspace, namespace, key), (true, "w", "ns", "a/b"));
        assert_eq!((headers.host, headers.agent), (Some("localhost"), Some("ada")));
        assert_eq!((headers.authorization, headers.idempotency_key), (None, None));
        assert_eq!((body, bytes.len()), (&b"123"[..], SET.len() - 4));
    }

    #[test]
    fn a_request_is_plain_only_if_nothing_else_could_be_meant() {
        let get = "GET /v1/w/state/ns/k HTTP/1.1\r\nhost: a\r\n";
        for (head, wanted) in [
            ("\r\n", "plain"),
            ("user-agent: a\r\naccept: */*\r\naccept-encoding: gzip\r\n\r\n", "plain"),
            ("connection: Keep-Alive\r\n\r\n", "plain"),
            ("authorization: Bearer a\r\n\r\n", "plain"),
            ("content-length: 0\r\n\r\n", "plain"),
            ("", "partial"),
            ("user-agent: a\r\n", "partial"),
            ("connection: close\r\n\r\n", "other"),
            ("content-type: application/json\r\n\r\n", "other"),
            ("content-length: 1\r\n\r\n1", "other"),
            ("idempotency-key: a\r\n\r\n", "other"),
            ("host: a\r\n\r\n", "other"),
            ("baton-agent: \u{e9}\r\n\r\n", "other"),
            ("expect: 100-continue\r\n\r\n", "other"),
            ("upgrade: h2c\r\n\r\n", "other"),
            ("origin: http://a\r\n\r\n", "other"),
            ("transfer-encoding: chunked\r\n\r\n", "other"),
            ("no colon\r\n\r\n", "other"),
        ] {
            assert_eq!(name(&format!("{get}{head}")), wanted, "{head}");
        }
        for (from, into, wanted) in [
            ("", "", "plain"),
            ("Host: localhost\r\n", "", "plain"),
            ("Content-Length: 3", "idempotency-key: a\r\ncontent-length: 3", "plain"),
            ("HTTP/1.1", "HTTP/1.0", "other"),
            ("PUT", "POST", "other"),
            ("a/b", "", "other"),
            ("a/b", "a?b", "other"),
            ("a/b", "a%20b", "other"),
            ("a/b", "a\"b", "other"),
            ("/v1/", "http://a/v1/", "other"),
            ("application/json", "text/plain", "other"),
            ("Length: 3", "Length: +3", "other"),
            ("Length: 3", "Length: ", "other"),
            ("Length: 3", "Length: 3\r\ncontent-length: 3", "other"),
            ("Length: 3", "Length: 8", "other"),
            ("Length: 3", "Length: 99999999999999999999", "other"),
            ("123rest", "12", "other"),
        ] {
            assert_eq!(name(&SET.replace(from, into)), wanted, "{into}");
        }
    }

    #[test]
    fn a_request_of_the_router_has_every_header() {
        let text =
            SET.replace("Content-Type", "User-Agent: a\r\nAccept: b\r\naccept: c\r\nContent-Type");
        let ReceivedRequest::Plain(request) = ReceivedRequest::of(text.as_bytes()) else {
            panic!("it is plain")
        };
        let request = request.to_request().unwrap();
        assert_eq!((request.method(), request.uri().path()), (&Method::PUT, "/v1/w/state/ns/a/b"));
        let values: Vec<_> = request.headers().values().collect();
        assert_eq!(values, ["localhost", "ada", "a", "b", "c", "application/json", "3"]);
    }

    #[test]
    fn the_end_of_a_head_is_noticed_in_any_pieces() {
        let head = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
        for place in 0..head.len() {
            let unknown = &head.as_bytes()[place.saturating_sub(2)..];
            assert!(may_end_head(unknown), "{place}");
        }
        assert!(!may_end_head(b"host: a\r\naccept: b\r\n"));
        assert!(may_end_head(b"host: a\n\n"));
    }
}
