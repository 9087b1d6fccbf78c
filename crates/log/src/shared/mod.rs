//! A log in memory that several servers share, for tests and the simulator.
//!
//! ```text
//!   Candidate ──looks, declares gone, takes──▶ SharedLog (one opening)
//!                                                  │ statements, through a Link that may fail
//!                                                  ▼
//!                                     SharedMemory: epoch, owner, roster, records, blobs
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
//! | `candidate` | [`Candidate`]: a server that waits for the log, and takes it |
//! | `opening` | [`SharedLog`]: the log as its owner sees it |
//! | `blobs` | its blobs |

mod blobs;
mod candidate;
mod link;
mod opening;
mod rows;

pub use candidate::{Candidate, Looked};
pub use link::{Cut, Delivery, DirectLink, Link, Purpose, Work};
pub use opening::SharedLog;
pub use rows::{Appended, Rows, SharedMemory};

use std::sync::Arc;

use crate::ownership::{PAUSE_MS, REPEAT_MS};

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
