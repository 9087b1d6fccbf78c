//! Reservations of files by path pattern.
//!
//! A reservation is a lock whose name is `path:` and the pattern, so that it has a holder, a token
//! and a time to live, ends with its holder's session, and is listed with all other locks. One more
//! lock ensures that no two holders have overlapping patterns: every reservation compares the
//! patterns and acquires its own lock under the token of that one, so that an agent which stalls
//! between the two is refused.

use std::time::Duration;

use baton_core::lock::Hold;
use baton_core::{AgentId, Timestamp, Token};
use serde::Serialize;

use crate::path_pattern::PathPattern;
use crate::{Error, Reservations};

/// The lock that is held while patterns are compared.
const GUARD: &str = "path-reservations";
/// The beginning of the name of a reservation.
const PREFIX: &str = "path:";
/// How long the guard is held at most, and waited for.
const GUARD_MS: u64 = 10_000;

/// Files that an agent has reserved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reservation {
    /// The pattern of their paths.
    pub pattern: String,
    /// The agent.
    pub holder: AgentId,
    /// The token of the reservation.
    pub token: Token,
    /// When it ends unless it is extended.
    pub expires_at: Timestamp,
}

/// The answer to a reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reserved {
    /// The files are reserved.
    Granted(Reservation),
    /// Other agents have reserved some of them.
    Taken(Vec<Reservation>),
}

impl Reservation {
    fn of(hold: &Hold) -> Option<Self> {
        let pattern = hold.name.as_str().strip_prefix(PREFIX)?.to_owned();
        let Hold { holder, token, expires_at, .. } = hold;
        let (holder, token, expires_at) = (holder.clone(), *token, *expires_at);
        Some(Self { pattern, holder, token, expires_at })
    }

    /// Whether some path matches its pattern and another one.
    pub fn overlaps(&self, other: &PathPattern) -> bool {
        PathPattern::parse(&self.pattern).is_ok_and(|own| own.overlaps(other))
    }
}

impl Reservations {
    /// Reserves files for the acting agent, or extends its reservation of the same pattern.
    pub async fn reserve(&self, pattern: &str, ttl_ms: Option<u64>) -> Result<Reserved, Error> {
        let pattern = PathPattern::parse(pattern)?;
        let guarding = self.workspace.locks().acquire(GUARD).ttl_ms(GUARD_MS).wait_ms(GUARD_MS);
        let timeout = Error::Timeout { after: Duration::from_millis(GUARD_MS) };
        let guard = guarding.await?.ok_or(timeout)?;
        let reserved = self.reserve_under(guard.token, &pattern, ttl_ms).await;
        // If this fails, the guard ends by itself; what was reserved is reserved.
        let _ = self.workspace.locks().release(GUARD, guard.token).await;
        reserved
    }

    async fn reserve_under(
        &self,
        guard: Token,
        pattern: &PathPattern,
        ttl_ms: Option<u64>,
    ) -> Result<Reserved, Error> {
        let me = self.workspace.agent();
        let (own, others): (Vec<_>, Vec<_>) =
            self.list().await?.into_iter().partition(|reservation| reservation.holder == *me);
        let taken: Vec<Reservation> =
            others.into_iter().filter(|reservation| reservation.overlaps(pattern)).collect();
        if !taken.is_empty() {
            return Ok(Reserved::Taken(taken));
        }
        let name = format!("{PREFIX}{}", pattern.as_str());
        let locks = self.workspace.locks();
        let known = own.iter().find(|reservation| reservation.pattern == pattern.as_str());
        let hold = match known {
            Some(reservation) => locks.renew_for(&name, reservation.token, ttl_ms).await?,
            None => {
                let mut acquiring = self.workspace.under(guard).locks().acquire(&name);
                if let Some(ttl_ms) = ttl_ms {
                    acquiring = acquiring.ttl_ms(ttl_ms);
                }
                match acquiring.await? {
                    Some(hold) => hold,
                    // Acquired as an ordinary lock since the list was read.
                    None => return Ok(Reserved::Taken(self.of_others(pattern).await?)),
                }
            }
        };
        let reservation = Reservation::of(&hold);
        Ok(Reserved::Granted(reservation.expect("its name has the prefix")))
    }

    /// Lists all reservations, by pattern.
    pub async fn list(&self) -> Result<Vec<Reservation>, Error> {
        let held = self.workspace.locks().list().await?;
        let holds = held.locks.iter().filter_map(|lock| lock.hold.as_ref());
        Ok(holds.filter_map(Reservation::of).collect())
    }

    /// Lists the reservations of other agents that overlap a path or a pattern.
    pub async fn of_others(&self, pattern: &PathPattern) -> Result<Vec<Reservation>, Error> {
        let me = self.workspace.agent();
        let overlaps =
            |reservation: &Reservation| reservation.holder != *me && reservation.overlaps(pattern);
        Ok(self.list().await?.into_iter().filter(overlaps).collect())
    }

    /// Releases the acting agent's reservation of a pattern, or all of them. Returns the patterns.
    pub async fn release(&self, pattern: Option<&str>) -> Result<Vec<String>, Error> {
        let pattern = pattern.map(PathPattern::parse).transpose()?;
        let locks = self.workspace.locks();
        let mut released = Vec::new();
        for reservation in self.list().await? {
            let is_meant = pattern.as_ref().is_none_or(|one| one.as_str() == reservation.pattern);
            if reservation.holder == *self.workspace.agent() && is_meant {
                let name = format!("{PREFIX}{}", reservation.pattern);
                locks.release(&name, reservation.token).await?;
                released.push(reservation.pattern);
            }
        }
        Ok(released)
    }
}
