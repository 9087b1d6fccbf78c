//! Keeping what ends by itself unless it is renewed: a lock, a permit, a lease, a session.

use std::time::Duration;

use baton_core::Kind;
use baton_handle::Failure;
use thiserror::Error;
use tokio::time::{Instant, sleep, timeout_at};

/// Renews in a third of the time that each renewal lasts. Two may go wrong before it is too late.
const RENEWALS_PER_TTL: u32 = 3;

/// Why something could not be kept.
#[derive(Debug, Error)]
pub enum Lost<E> {
    /// The server says so.
    #[error(transparent)]
    Refused(E),
    /// No renewal has worked for as long as one lasts, so somebody else may have it by now.
    #[error("it could not be renewed within {} ms{}", ttl.as_millis(), because(last.as_ref()))]
    Silent {
        /// How long one lasts.
        ttl: Duration,
        /// What went wrong last, if there was an answer.
        last: Option<E>,
    },
}

fn because(last: Option<&impl std::fmt::Display>) -> String {
    last.map(|error| format!(": {error}")).unwrap_or_default()
}

/// Renews for as long as this is awaited, and ends when it is lost.
///
/// Whatever goes wrong without saying that it is lost, such as a broken connection, is tried again
/// until it is too late.
pub async fn keep<E, F>(ttl: Duration, mut renew: impl FnMut() -> F) -> Lost<E>
where
    E: Failure,
    F: Future<Output = Result<(), E>>,
{
    let pause = ttl / RENEWALS_PER_TTL;
    let mut kept_until = Instant::now() + ttl;
    let mut last = None;
    loop {
        sleep(pause).await;
        // Counted from before it is sent: the server cannot have renewed it any earlier.
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

/// Whether it is no use to try again.
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
    use crate::Error;

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
        // Renewed after two thirds, for a whole time from then on.
        assert_eq!(begun.elapsed(), TTL / 3 * 2 + TTL);
        assert!(lost.to_string().ends_with("cannot connect to http://nowhere:1: it rains"));
    }
}
