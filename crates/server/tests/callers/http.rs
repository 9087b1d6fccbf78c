//! An HTTP/1.1 client on a plain socket.

use std::fmt::Write;
use std::net::SocketAddr;

use baton_tls::{Stream, TlsError, Trust};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::harness::within;

/// Headers as lines.
pub(crate) fn lines(headers: &[(&str, &str)]) -> String {
    let mut lines = String::new();
    for (name, value) in headers {
        write!(lines, "{name}: {value}\r\n").expect("a string takes everything");
    }
    lines
}

/// The underlying socket, for writing and reading without waiting.
pub(crate) fn bare(stream: &Stream) -> &TcpStream {
    match stream {
        Stream::Plain(stream) => stream,
        Stream::Secure(_) => panic!("there is none behind TLS"),
    }
}

/// One connection.
pub(crate) struct Http {
    pub(crate) stream: Stream,
    received: Vec<u8>,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error} in {:?}", String::from_utf8_lossy(&self.body)))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let of_that_name = |line: &'_ &str| {
            line.split_once(':').is_some_and(|(given, _)| given.eq_ignore_ascii_case(name))
        };
        let line = self.head.lines().skip(1).find(of_that_name)?;
        line.split_once(':').map(|(_, value)| value.trim())
    }

    /// Status and code of a problem.
    #[track_caller]
    pub(crate) fn problem(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], self.status, "{problem}");
        for field in ["type", "title", "detail", "hint", "kind"] {
            assert!(problem[field].as_str().is_some_and(|text| !text.is_empty()), "{problem}");
        }
        (self.status, problem["code"].as_str().expect("a problem has a code").to_owned())
    }
}

fn lines_of_length(bytes: usize) -> String {
    lines(&[("content-length", &bytes.to_string())])
}

impl Http {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self::over(TcpSocket::new_v4().expect("there is room for a socket"), address).await
    }

    /// A connection with a small receive buffer, which is soon full without a reader.
    pub(crate) async fn narrow(address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().expect("there is room for a socket");
        socket.set_recv_buffer_size(8 << 10).expect("it can be small");
        Self::over(socket, address).await
    }

    async fn over(socket: TcpSocket, address: SocketAddr) -> Self {
        let stream = within(socket.connect(address)).await.expect("the server listens");
        stream.set_nodelay(true).expect("it is a socket");
        Self { stream: Stream::from(stream), received: Vec::new() }
    }

    /// A connection with TLS, if the server is trusted.
    pub(crate) async fn secure(address: SocketAddr, trust: &Trust) -> Result<Self, TlsError> {
        let socket = within(TcpStream::connect(address)).await.expect("the server listens");
        let stream = within(trust.connect("localhost", socket)).await?;
        Ok(Self { stream, received: Vec::new() })
    }

    /// Sends raw bytes. A connection that the server has already closed is not a failure here.
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = within(self.stream.write_all(bytes.as_ref())).await;
        let _ = within(self.stream.flush()).await;
    }

    pub(crate) async fn request(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> Response {
        let body = body.as_ref();
        let lines = lines(headers);
        let mut text = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{lines}");
        if !body.is_empty() {
            text += &lines_of_length(body.len());
        }
        let mut bytes = (text + "\r\n").into_bytes();
        bytes.extend_from_slice(body);
        self.send(bytes).await;
        self.response_to(method).await
    }

    pub(crate) async fn get(&mut self, path: &str) -> Response {
        self.request("GET", path, &[], "").await
    }

    pub(crate) async fn delete(&mut self, path: &str) -> Response {
        self.request("DELETE", path, &[], "").await
    }

    pub(crate) async fn post(&mut self, path: &str, body: &Value) -> Response {
        self.request("POST", path, &[("content-type", "application/json")], body.to_string()).await
    }

    pub(crate) async fn put(&mut self, path: &str, body: &Value) -> Response {
        self.request("PUT", path, &[], body.to_string()).await
    }

    /// Executes one command in the workspace `w`.
    pub(crate) async fn command(&mut self, command: &Value) -> Response {
        self.post("/v1/w/commands", command).await
    }

    /// The next answer.
    pub(crate) async fn response(&mut self) -> Response {
        self.response_to("GET").await
    }

    async fn response_to(&mut self, method: &str) -> Response {
        let (status, head) = self.head().await;
        let mut response = Response { status, head, body: Vec::new() };
        if method == "HEAD" || matches!(status, 101 | 204 | 304) {
            return response;
        }
        if response.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk().await {
                response.body.extend(chunk);
            }
            return response;
        }
        let length = response.header("content-length").unwrap_or("0");
        let length = length.parse().expect("a length is a number");
        response.body = self.exactly(length).await;
        response
    }

    /// The next status and head.
    pub(crate) async fn head(&mut self) -> (u16, String) {
        let head = self.up_to(b"\r\n\r\n").await;
        let head = String::from_utf8(head).expect("heads are ASCII");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.unwrap_or_else(|| panic!("no status in {head:?}")), head)
    }

    /// The next chunk of a body; none at its end.
    pub(crate) async fn chunk(&mut self) -> Option<Vec<u8>> {
        let length = self.up_to(b"\r\n").await;
        let length = str::from_utf8(&length).expect("a length is ASCII").trim();
        let length = usize::from_str_radix(length, 16).expect("a length is a number");
        let mut chunk = self.exactly(length + 2).await;
        chunk.truncate(length);
        (length > 0).then_some(chunk)
    }

    async fn up_to(&mut self, mark: &[u8]) -> Vec<u8> {
        loop {
            let place = self.received.windows(mark.len()).position(|window| window == mark);
            if let Some(place) = place {
                return self.received.drain(..place + mark.len()).collect();
            }
            assert!(self.receive().await, "it ended within {:?}", self.received);
        }
    }

    async fn exactly(&mut self, count: usize) -> Vec<u8> {
        while self.received.len() < count {
            assert!(self.receive().await, "it ended within a body");
        }
        self.received.drain(..count).collect()
    }

    /// Whether anything arrived before the end.
    async fn receive(&mut self) -> bool {
        self.received.reserve(64 << 10);
        within(self.stream.read_buf(&mut self.received)).await.is_ok_and(|count| count > 0)
    }

    /// Whether the server has closed the connection, after its last output.
    pub(crate) async fn ends(&mut self) -> Vec<u8> {
        while self.receive().await {}
        std::mem::take(&mut self.received)
    }
}
