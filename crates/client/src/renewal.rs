//! Renewal of holds with a time to live: a lock, a permit, a lease, a session.
//!
//! Everything that an agent holds is lost when the session of the agent ends, and every renewal is
//! a sign of life of that session. So it is renewed in a third of its own time to live or of that
//! of the session, whichever is shorter.

use std::time::Duration;

use baton_core::Kind;
use baton_core::agent::Status;
use baton_core::limits::AGENT_TTL_MS_MIN;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use crate::slots::PAUSE;
use crate::{Error, Workspace};

/// Renews three times per time to live, so that two renewals may fail.
const RENEWALS_PER_TTL: u32 = 3;

/// When the session is read: early enough for the shortest one, and late enough that work which
/// ends at once needs no further call.
const READS_SESSION_AFTER: Duration =
    Duration::from_millis(AGENT_TTL_MS_MIN / RENEWALS_PER_TTL as u64);

/// Why it was lost.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    /// The renewal was refused.
    #[error(transparent)]
    Refused(Error),
    /// No renewal has succeeded for the whole time to live, so another agent may hold it by now.
    #[error("it could not be renewed within {} ms{}", ttl.as_millis(), because(last.as_ref()))]
    Silent {
        /// The time to live.
        ttl: Duration,
        /// The last error, if there was an answer.
        last: Option<Error>,
    },
}

fn because(last: Option<&Error>) -> String {
    last.map(|error| format!(": {error}")).unwrap_or_default()
}

/// Renews something with a time to live for as long as this is awaited, and returns when it is
/// lost.
///
/// Errors that do not mean that it is lost, such as a broken connection, are retried until the time
/// to live is over.
///
/// For what an agent holds there is [`keep_held`].
pub async fn keep<F>(ttl: Duration, renew: impl FnMut() -> F) -> Lost
where
    F: Future<Output = Result<(), Error>>,
{
    keep_each(ttl, std::future::ready(ttl / RENEWALS_PER_TTL), renew).await
}

/// As [`keep`], for something that the acting agent of a workspace holds: it is also renewed often
/// enough to keep the session of the agent, if it has one.
pub async fn keep_held<F>(workspace: &Workspace, ttl: Duration, renew: impl FnMut() -> F) -> Lost
where
    F: Future<Output = Result<(), Error>>,
{
    keep_each(ttl, period(ttl, || session_ttl(workspace)), renew).await
}

/// The time to live of the active session of the acting agent, if it has one.
async fn session_ttl(workspace: &Workspace) -> Result<Option<Duration>, Error> {
    let agent = workspace.agents().get(workspace.agent().as_str()).await?;
    let is_active = agent.status == Status::Active;
    Ok(is_active.then(|| Duration::from_millis(agent.ttl_ms)))
}

/// The time between renewals of something that an agent holds.
async fn period<S>(ttl: Duration, session_ttl: impl Fn() -> S) -> Duration
where
    S: Future<Output = Result<Option<Duration>, Error>>,
{
    sleep(READS_SESSION_AFTER).await;
    loop {
        let shortest = match session_ttl().await {
            Ok(Some(session)) => ttl.min(session),
            Ok(None) => ttl,
            // Never registered, or not permitted to know.
            Err(error) if is_final(error.kind()) => ttl,
            Err(_) => {
                sleep(PAUSE).await;
                continue;
            }
        };
        return shortest / RENEWALS_PER_TTL;
    }
}

/// Renews in a third of the time to live until the period is known, and then in each period.
async fn keep_each<F>(
    ttl: Duration,
    period: impl Future<Output = Duration>,
    mut renew: impl FnMut() -> F,
) -> Lost
where
    F: Future<Output = Result<(), Error>>,
{
    let (mut period, mut pause) = (std::pin::pin!(period), ttl / RENEWALS_PER_TTL);
    let mut is_known = false;
    let mut tried = Instant::now();
    let mut kept_until = tried + ttl;
    let mut last = None;
    loop {
        tokio::select! {
            known = &mut period, if !is_known => {
                (pause, is_known) = (known, true);
                continue;
            }
            () = sleep_until(tried + pause) => {}
        }
        // Counted from before it is sent: the server cannot have renewed it earlier.
        let begun = Instant::now();
        match timeout_at(kept_until, renew()).await {
            Ok(Ok(())) => (kept_until, last) = (begun + ttl, None),
            Ok(Err(error)) if is_final(error.kind()) => return Lost::Refused(error),
            Ok(Err(error)) => last = Some(error),
            Err(_) => {}
        }
        tried = Instant::now();
        if tried >= kept_until {
            return Lost::Silent { ttl, last };
        }
    }
}

/// Whether a retry would fail again.
fn is_final(kind: Kind) -> bool {
    match kind {
        Kind::Invalid | Kind::NotFound | Kind::Conflict | Kind::Stale | Kind::Denied => true,
        Kind::TooLarge | Kind::Exhausted | Kind::Unavailable => false,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use baton_core::Rejection;

    use super::*;

    const TTL: Duration = Duration::from_secs(30);

    fn stale() -> Error {
        Rejection::StaleToken { given: 7.into() }.into()
    }

    fn unreachable() -> Error {
        Error::Unreachable { url: "http://nowhere:1".to_owned(), reason: "it rains".to_owned() }
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_kept_until_the_server_says_that_it_is_lost() {
        let begun = Instant::now();
        let times = Cell::new(0);
        let lost = keep(TTL, async || {
            times.set(times.get() + 1);
            if times.get() == 100 { Err(stale()) } else { Ok(()) }
        });
        let lost = lost.await;
        assert!(matches!(lost, Lost::Refused(Error::Rejected(_))), "{lost}");
        assert_eq!(begun.elapsed(), TTL / 3 * 100);
    }

    #[tokio::test(start_paused = true)]
    async fn holds_are_renewed_in_a_third_of_the_ttl_of_the_session() {
        type Answer = fn() -> Result<Option<Duration>, Error>;

        let never_registered = || Err(Rejection::StaleToken { given: 7.into() }.into());
        let cases: [(&[Answer], _); 5] = [
            (&[|| Ok(Some(TTL / 2))], TTL / 6),
            (&[|| Ok(Some(TTL * 2))], TTL / 3),
            (&[|| Ok(None)], TTL / 3),
            (&[never_registered], TTL / 3),
            // It is requested again until there is an answer.
            (&[|| Err(unreachable()), || Err(unreachable()), || Ok(Some(TTL / 2))], TTL / 6),
        ];
        for (answers, expected) in cases {
            let (begun, asked, times) = (Instant::now(), Cell::new(0), Cell::new(0));
            let session_ttl = async || {
                asked.set(asked.get() + 1);
                answers[asked.get() - 1]()
            };
            let lost = keep_each(TTL, period(TTL, session_ttl), async || {
                times.set(times.get() + 1);
                if times.get() == 10 { Err(stale()) } else { Ok(()) }
            });
            assert!(matches!(lost.await, Lost::Refused(_)));
            assert_eq!((begun.elapsed(), asked.get()), (expected * 10, answers.len()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_hold_that_is_not_renewed_is_lost_exactly_at_its_expiry() {
        let answers = RefCell::new(vec![Err(unreachable()), Ok(()), Err(unreachable())]);
        let begun = Instant::now();
        let lost = keep(TTL, async || {
            let answer = answers.borrow_mut().pop();
            match answer {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        });
        let lost = lost.await;
        assert!(matches!(lost, Lost::Silent { last: Some(_), .. }), "{lost}");
        // Renewed after two thirds, for the whole time to live from then on.
        assert_eq!(begun.elapsed(), TTL / 3 * 2 + TTL);
        assert!(lost.to_string().ends_with("cannot connect to http://nowhere:1: it rains"));
    }
}
