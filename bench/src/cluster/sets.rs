//! Sets in one workspace or in many, sent to any server, to the owner, or to another one.

use std::rc::Rc;
use std::time::Duration;

use super::Turn;
use super::group::{Group, Owners};
use crate::Outcome;
use crate::peers::baton;
use crate::peers::driver::{self, Answers, Opened, Requests};
use crate::peers::http::Http;
use crate::peers::processes::Server;
use crate::peers::requests::KEYS;
use crate::resources::Usage;
use crate::samples::{key, value};

pub(super) const CONNECTIONS: usize = 64;
pub(super) const IN_FLIGHT: usize = 16;
/// Workspaces of the loads with several servers.
pub(super) const WORKSPACES: usize = 256;

/// The server that a request is sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Any,
    Owner,
    Other,
}

impl Asked {
    /// Whether the server at a place is asked what this owner answers.
    fn takes(self, place: usize, owner: usize) -> bool {
        match self {
            Self::Any => true,
            Self::Owner => place == owner,
            Self::Other => place != owner,
        }
    }
}

/// The protocol; requests in flight on a connection depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    WebSocket,
    Http,
}

impl Transport {
    fn in_flight(self) -> usize {
        match self {
            Self::WebSocket => IN_FLIGHT,
            Self::Http => 1,
        }
    }
}

/// The workspace with this number.
pub(super) fn workspace(number: usize) -> String {
    format!("bench-{number}")
}

/// Prebuilt sets, one for each key.
pub(super) struct Sets {
    transport: Transport,
    workspaces: usize,
    requests: Rc<[Vec<u8>]>,
}

impl Sets {
    /// Sets that are spread over as many workspaces.
    pub(super) fn new(transport: Transport, workspaces: usize) -> Self {
        let request = |number: usize| {
            let (name, key, value) = (workspace(number % workspaces), key(number), value(number));
            match transport {
                Transport::WebSocket => baton::set_in(&name, number),
                Transport::Http => put(&name, &key, &value),
            }
        };
        Self { transport, workspaces, requests: (0..KEYS).map(request).collect() }
    }

    /// Writes every key once, at the owners.
    pub(super) fn fill(&self, group: &Group) -> Outcome<()> {
        let owners = group.owners()?;
        let ports: Vec<u16> = group.servers.iter().map(Server::port).collect();
        for (place, port) in ports.into_iter().enumerate() {
            self.fill_with(port, self.numbers(|owner| owner == place, &owners))?;
        }
        Ok(())
    }

    /// Writes every key once at a server that has everything.
    pub(super) fn fill_one(&self, port: u16) -> Outcome<()> {
        self.fill_with(port, (0..KEYS).collect())
    }

    fn fill_with(&self, port: u16, numbers: Rc<[usize]>) -> Outcome<()> {
        let each = numbers.len().div_ceil(CONNECTIONS);
        let opened = self.open(vec![(port, numbers); CONNECTIONS])?;
        driver::fill(opened, self.transport.in_flight(), each)
    }

    /// A round of a server on its own disk.
    pub(super) fn turn_of_one(&self, server: &Server, turn: Duration) -> Outcome<Turn> {
        let numbers: Rc<[usize]> = (0..KEYS).collect();
        let opened = self.open(vec![(server.port(), numbers); CONNECTIONS])?;
        let served = driver::measure(opened, self.transport.in_flight(), turn, server.pid())?;
        Ok(Turn { served, database: Usage::default() })
    }

    /// A round of a group.
    pub(super) fn turn(
        &self,
        group: &Group,
        asked: Asked,
        turn: Duration,
        database: u32,
    ) -> Outcome<Turn> {
        let owners = group.owners()?;
        let count = group.servers.len();
        let by_place =
            (0..count).map(|place| self.numbers(|owner| asked.takes(place, owner), &owners));
        let by_place: Vec<Rc<[usize]>> = by_place.collect();
        let chosen = (0..CONNECTIONS).map(|connection| {
            let place = connection % count;
            (group.servers[place].port(), Rc::clone(&by_place[place]))
        });
        let opened = self.open(chosen.collect())?;
        let processes = (&group.pids()[..], Some(database));
        let in_flight = self.transport.in_flight();
        let (served, database) = driver::measure_several(opened, in_flight, turn, processes)?;
        Ok(Turn { served, database })
    }

    /// The numbers of the requests for workspaces of chosen owners.
    fn numbers(&self, takes: impl Fn(usize) -> bool, owners: &Owners) -> Rc<[usize]> {
        let taken: Vec<bool> =
            (0..self.workspaces).map(|number| takes(owners.of(&workspace(number)))).collect();
        (0..KEYS).filter(|number| taken[number % self.workspaces]).collect()
    }

    /// Connects to these ports, with the requests that are sent there.
    fn open(
        &self,
        chosen: Vec<(u16, Rc<[usize]>)>,
    ) -> Outcome<Vec<Opened<Cycle, Box<dyn Answers>>>> {
        let open = |(connection, (port, numbers)): (usize, (u16, Rc<[usize]>))| {
            // Its own share first, so that as many requests as keys touch every key.
            let next = connection * numbers.len().div_ceil(CONNECTIONS) % numbers.len().max(1);
            let requests = Cycle { requests: Rc::clone(&self.requests), numbers, next };
            let (stream, answers): (_, Box<dyn Answers>) = match self.transport {
                Transport::WebSocket => (baton::connect(port)?, Box::new(baton::Json)),
                Transport::Http => (driver::connect(port)?, Box::new(Http)),
            };
            Ok((stream, requests, answers))
        };
        chosen.into_iter().enumerate().map(open).collect()
    }
}

fn put(workspace: &str, key: &str, value: &str) -> Vec<u8> {
    let length = value.len();
    format!(
        "PUT /v1/{workspace}/state/shared/{key} HTTP/1.1\r\nHost: 127.0.0.1\r\n\
         Baton-Agent: ada\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n\
         {value}"
    )
    .into_bytes()
}

/// Chosen requests, in a cycle.
struct Cycle {
    requests: Rc<[Vec<u8>]>,
    numbers: Rc<[usize]>,
    next: usize,
}

impl Requests for Cycle {
    fn next(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.requests[self.numbers[self.next]]);
        self.next = (self.next + 1) % self.numbers.len();
    }

    /// A server may own none of the workspaces.
    fn asks(&self) -> bool {
        !self.numbers.is_empty()
    }
}
