//! The loop against a small server: a line of text in, a line of text out.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::super::driver::{self, Answers, Element, Opened, Requests};

struct Numbered(usize);

impl Requests for Numbered {
    fn next(&mut self, out: &mut Vec<u8>) {
        self.0 += 1;
        out.extend_from_slice(format!("{}\n", self.0).as_bytes());
    }
}

struct Lines;

impl Answers for Lines {
    fn take(&mut self, bytes: &[u8], replies: &mut Vec<u8>) -> Result<Option<Element>, String> {
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
        match &bytes[..end] {
            b"no" => Err("refused".to_owned()),
            b"ping" => {
                replies.extend_from_slice(b"pong\n");
                Ok(Some(Element::other(end + 1)))
            }
            _ => Ok(Some(Element::answer(end + 1))),
        }
    }
}

/// Serves this many connections with this function. Returns its results.
fn serve(
    connections: usize,
    each: fn(TcpStream) -> Vec<String>,
) -> (u16, JoinHandle<Vec<Vec<String>>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let accept = |_| {
            let (stream, _) = listener.accept().unwrap();
            thread::spawn(move || each(stream))
        };
        let serving: Vec<_> = (0..connections).map(accept).collect();
        serving.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    (port, server)
}

fn open(port: u16, connections: usize) -> Vec<Opened<Numbered, Lines>> {
    let open = |_| (driver::connect(port).unwrap(), Numbered(0), Lines);
    (0..connections).map(open).collect()
}

/// Answers every line in two halves, with an element of the protocol itself before.
fn answer_in_pieces(mut stream: TcpStream) -> Vec<String> {
    let lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut seen = Vec::new();
    for line in lines.map_while(Result::ok) {
        if line == "1" {
            stream.write_all(b"ping\n").unwrap();
        }
        if line != "pong" {
            stream.write_all(b"ye").unwrap();
            stream.write_all(b"s\n").unwrap();
        }
        seen.push(line);
    }
    seen
}

#[test]
fn every_connection_sends_what_it_should_and_waits_for_all_answers() {
    let (port, server) = serve(3, answer_in_pieces);
    driver::fill(open(port, 3), 4, 100).unwrap();
    for lines in server.join().unwrap() {
        assert_eq!(lines.iter().filter(|line| *line == "pong").count(), 1);
        let requests: Vec<&String> = lines.iter().filter(|line| *line != "pong").collect();
        let expected: Vec<String> = (1..=100).map(|number: usize| number.to_string()).collect();
        assert_eq!(requests, expected.iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_turn_counts_answers_and_ends_when_all_are_there() {
    let (port, server) = serve(2, answer_in_pieces);
    let turn = Duration::from_millis(20);
    let served = driver::measure(open(port, 2), 2, turn, std::process::id()).unwrap();
    assert!(served.measured.seconds >= turn.as_secs_f64());
    assert!(served.p50_us <= served.p99_us);
    let answered: usize = server.join().unwrap().iter().map(Vec::len).sum();
    assert!(served.measured.operations <= f64::from(u32::try_from(answered).unwrap()));
}

#[test]
fn no_more_is_in_flight_than_allowed() {
    // Nothing is answered until this many have arrived, so this ends only if exactly as many are
    // sent.
    let (port, server) = serve(1, |mut stream| {
        let mut four = [0; 8];
        for _ in 0..5 {
            stream.read_exact(&mut four).unwrap();
            stream.set_nonblocking(true).unwrap();
            assert!(stream.read(&mut [0; 1]).is_err(), "one more than four");
            stream.set_nonblocking(false).unwrap();
            stream.write_all(b"a\nb\nc\nd\n").unwrap();
        }
        assert_eq!(stream.read(&mut four).unwrap(), 0, "the client has no more to ask");
        Vec::new()
    });
    let opened = vec![(driver::connect(port).unwrap(), OneDigit, Lines)];
    driver::fill(opened, 4, 20).unwrap();
    server.join().unwrap();
}

/// Two bytes each, so that four of them have eight.
struct OneDigit;

impl Requests for OneDigit {
    fn next(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"1\n");
    }
}

fn failure(each: fn(TcpStream) -> Vec<String>) -> String {
    let (port, server) = serve(1, each);
    let error = driver::fill(open(port, 1), 1, 10).unwrap_err().to_string();
    server.join().unwrap();
    error
}

fn answer_once(mut stream: TcpStream, answer: &[u8]) -> Vec<String> {
    let mut line = String::new();
    BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
    stream.write_all(answer).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    vec![line]
}

#[test]
fn a_refusal_fails_the_run() {
    assert_eq!(failure(|stream| answer_once(stream, b"no\n")), "refused");
}

#[test]
fn an_answer_that_nobody_asked_for_fails_the_run() {
    let error = failure(|stream| answer_once(stream, b"yes\nyes\n"));
    assert_eq!(error, "an answer without a request");
}

#[test]
fn a_connection_that_closes_fails_the_run() {
    let error = failure(|stream| answer_once(stream, b"yes"));
    assert_eq!(error, "the server closed a connection");
}

#[test]
fn asking_once_waits_for_as_many_answers() {
    let (port, server) = serve(1, |stream| answer_once(stream, b"a\nping\nb\n"));
    let mut stream = driver::connect(port).unwrap();
    let came = driver::ask(&mut stream, b"1\n", &mut Lines, 2).unwrap();
    assert_eq!(came, b"a\nping\nb\n");
    server.join().unwrap();
}
