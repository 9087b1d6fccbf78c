//! Renewal of what has a time to live: a lock, a permit, a lease, a session.

use std::time::Duration;

use baton_core::Kind;
use tokio::time::{Instant, sleep, timeout_at};

use crate::Error;

/// Renews three times per time to live, so that two renewals may fail.
const RENEWALS_PER_TTL: u32 = 3;

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
pub async fn keep<F>(ttl: Duration, mut renew: impl FnMut() -> F) -> Lost
where
    F: Future<Output = Result<(), Error>>,
{
    let pause = ttl / RENEWALS_PER_TTL;
    let mut kept_until = Instant::now() + ttl;
    let mut last = None;
    loop {
        sleep(pause).await;
        // Counted from before it is sent: the server cannot have renewed it earlier.
        let begun = Instant::now();
        match timeout_at(kept_until, renew()).await {
            Ok(Ok(())) => (kept_until, last) = (begun + ttl, None),
            Ok(Err(error)) if is_final(error.kind()) => return Lost::Refused(error),
            Ok(Err(error)) => last = Some(error),
            Err(_) => {}
        }
        if Instant::now() >= kept_until {
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
    async fn what_cannot_be_renewed_in_time_is_lost_and_not_a_moment_later() {
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
