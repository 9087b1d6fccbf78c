//! An HTTP client on a plain socket, without a library.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::ANSWER_TIMEOUT;

/// A connection.
pub(super) struct Connection {
    pub(super) stream: BufReader<TcpStream>,
    address: SocketAddr,
}

/// The head of an answer.
pub(super) struct Head {
    pub(super) status: u16,
    headers: Vec<(String, String)>,
}

impl Head {
    /// A header, by its name in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(given, _)| given == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl Connection {
    pub(super) fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).expect("sockets can be set up");
        // A missing answer must fail, and not block forever.
        stream.set_read_timeout(Some(ANSWER_TIMEOUT)).expect("sockets can be set up");
        Self { stream: BufReader::new(stream), address }
    }

    /// Sends a request and reads the head of its answer.
    pub(super) fn ask(&mut self, line: &str, headers: &[(&str, &str)], body: &[u8]) -> Head {
        self.send(line, headers, body);
        self.head()
    }

    /// Sends a request.
    pub(super) fn send(&mut self, line: &str, headers: &[(&str, &str)], body: &[u8]) {
        let (host, length) = (self.address.to_string(), body.len().to_string());
        let around = [("host", host.as_str()), ("content-length", length.as_str())];
        let headers =
            around.iter().chain(headers).map(|(name, value)| format!("{name}: {value}\r\n"));
        let head = format!("{line} HTTP/1.1\r\n{}\r\n", headers.collect::<String>());
        self.write(&[head.as_bytes(), body].concat());
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).expect("the server reads");
    }

    /// The next line, without its end.
    pub(super) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("the server writes text");
        assert!(line.ends_with('\n'), "the server hung up after {line:?}");
        line.trim_end_matches(['\r', '\n']).to_owned()
    }

    pub(super) fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).expect("the server sends all of it");
        bytes
    }

    /// Whether unread bytes have arrived.
    pub(super) fn has_more(&mut self) -> bool {
        let stream = self.stream.get_ref();
        stream.set_nonblocking(true).expect("sockets can be set up");
        let found = stream.peek(&mut [0]);
        stream.set_nonblocking(false).expect("sockets can be set up");
        found.is_ok_and(|count| count > 0)
    }

    /// The head of the next answer.
    pub(super) fn head(&mut self) -> Head {
        let line = self.line();
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("`{line}` has a status"));
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            match line.split_once(':') {
                Some((name, value)) => {
                    headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
                }
                None => return Head { status, headers },
            }
        }
    }

    /// The body that was announced with its length.
    pub(super) fn body(&mut self, head: &Head) -> Vec<u8> {
        let length = head.header("content-length").and_then(|length| length.parse().ok());
        self.bytes(length.expect("the server says how long its answer is"))
    }

    /// The next chunk of a chunked body.
    pub(super) fn piece(&mut self) -> Vec<u8> {
        let length = self.line();
        let length = usize::from_str_radix(&length, 16).expect("a piece begins with its length");
        let piece = self.bytes(length);
        assert_eq!(self.line(), "", "a piece ends with an empty line");
        piece
    }
}
