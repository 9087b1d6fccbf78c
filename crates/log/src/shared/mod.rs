//! A log in memory that several servers share, for tests and the simulator.
//!
//! ```text
//!   Candidate ──looks, declares gone, takes──▶ SharedLog (one opening of one shard)
//!   Member ─────┘                                  │ statements, through a Link that may fail
//!                                                  ▼
//!                  SharedMemory: the roster, and epoch, owner, records and blobs of every shard
//! ```
//!
//! It behaves as the log in `PostgreSQL`: every statement is executed completely or not at all,
//! takes effect only with the epoch of the owner, and may lose its request or its answer on the
//! way. Heartbeats, licences and unknown outcomes follow the rules of
//! [`ownership`](crate::ownership), as in the real log.
//!
//! | module | part |
//! |---|---|
//! | `rows` | [`SharedMemory`]: what the database stores, and its statements |
//! | `link` | [`Link`]: the way to the database, its failures and the clock |
//! | `candidate` | [`Candidate`]: a server that waits for one shard, and takes it |
//! | `member` | [`Member`]: one of the servers that share all shards, as a roster has it |
//! | `opening` | [`SharedLog`]: the log as its owner sees it |
//! | `blobs` | its blobs |

mod blobs;
mod candidate;
mod link;
mod member;
mod opening;
mod rows;

pub use candidate::{Candidate, Looked};
pub use link::{Cut, Delivery, DirectLink, Link, Purpose, Work};
pub use member::Member;
pub use opening::SharedLog;
pub use rows::{Appended, Rows, SeenServer, SeenShard, SharedMemory};

use std::sync::Arc;

use crate::ownership::{Licence, PAUSE_MS, REPEAT_MS};
use crate::planted;

/// The connection broke: the statement may have been executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

impl Broken {
    fn reason() -> String {
        "the connection to the database broke".to_owned()
    }
}

/// A server's connections to the database.
#[derive(Clone)]
pub(crate) struct Connection {
    database: SharedMemory,
    link: Arc<dyn Link>,
}

impl Connection {
    /// Executes a statement once.
    fn call<T>(
        &self,
        purpose: Purpose,
        work: impl FnOnce(&mut Rows) -> T + Send + 'static,
    ) -> Result<T, Broken> {
        match self.link.send(purpose) {
            Delivery::Arrives => {}
            Delivery::Lost => return Err(Broken),
            Delivery::Late => {
                self.link.postpone(Box::new(move |rows| drop(work(rows))));
                return Err(Broken);
            }
        }
        let answer = work(&mut self.database.rows());
        if self.link.receive(purpose) { Ok(answer) } else { Err(Broken) }
    }

    /// Sends a heartbeat, which renews the licence. False if the server was declared gone.
    fn beat(&self, server: u64, licence: &Licence) -> Result<bool, Broken> {
        let sent_ms = self.link.now_ms();
        let is_alive = self.call(Purpose::Beat, move |rows| rows.beat(server))?;
        if !is_alive {
            licence.lose();
        } else if planted::is("shared.licence_from_the_answer") {
            licence.renew(self.link.now_ms());
        } else {
            licence.renew(sent_ms);
        }
        Ok(is_alive)
    }

    /// Executes a statement that has the same effect when it is repeated. It is repeated while
    /// connections break.
    fn repeat<T>(
        &self,
        purpose: Purpose,
        work: impl Fn(&mut Rows) -> T + Clone + Send + 'static,
    ) -> Result<T, Broken> {
        let until = self.link.now_ms() + REPEAT_MS;
        loop {
            match self.call(purpose, work.clone()) {
                Err(Broken) if self.link.now_ms() < until => self.link.sleep(PAUSE_MS),
                answered => return answered,
            }
        }
    }
}
