//! The changes of a shared log that a server reports: that the log cannot be reached, that it can
//! be reached again, that the clock of the machine differs from that of the log, and that a shard
//! is lost.

use baton::clock::{Clock, SystemClock};
use baton::error::Error;
use baton_cluster::View;
use baton_server::server_log::Level;

/// How far the clock of the machine may be from that of the log, in milliseconds, until it is
/// reported. Baton uses the log's clock; other programs of the machine do not.
const CLOCK_MS_MAX: u64 = 5_000;

/// How many reasons are reported while the log cannot be reached.
const REASONS_MAX: usize = 8;

/// The reasons that were reported since the log cannot be reached. The first one is often only that
/// a connection ended; why no other can be made follows.
#[derive(Default)]
pub(super) struct Reasons(Vec<String>);

impl Reasons {
    /// Whether a reason is to be reported.
    pub(super) fn is_new(&mut self, why: &str) -> bool {
        let is_new = self.0.len() < REASONS_MAX && !self.0.iter().any(|known| known == why);
        if is_new {
            self.0.push(why.to_owned());
        }
        is_new
    }

    /// The log is reached again; whether it was not.
    fn end(&mut self) -> bool {
        let was_away = !self.0.is_empty();
        self.0.clear();
        was_away
    }
}

/// The earlier reports.
#[derive(Default)]
pub(super) struct Troubles {
    reasons: Reasons,
    is_clock_wrong: bool,
}

impl Troubles {
    /// The lines to write to the server log because of a view.
    pub(super) fn see(&mut self, view: &View) -> Vec<(Level, &'static str, String)> {
        let mut lines = Vec::new();
        if view.is_gone {
            return lines;
        }
        match &view.trouble {
            Some(why) if self.reasons.is_new(why) => {
                lines.push((Level::Warn, "log.unreachable", why.clone()));
            }
            None if self.reasons.end() => lines.push((Level::Info, "log.well", String::new())),
            Some(_) | None => {}
        }
        if view.trouble.is_none() {
            lines.extend(self.compare_clocks(SystemClock::default().now().0, view.log_time_ms()));
        }
        lines
    }

    fn compare_clocks(
        &mut self,
        here_ms: u64,
        log_ms: u64,
    ) -> Option<(Level, &'static str, String)> {
        let is_wrong = here_ms.abs_diff(log_ms) > CLOCK_MS_MAX;
        let was_wrong = std::mem::replace(&mut self.is_clock_wrong, is_wrong);
        if !is_wrong || was_wrong {
            return None;
        }
        let seconds = here_ms.abs_diff(log_ms) / 1_000;
        let side = if here_ms > log_ms { "ahead of" } else { "behind" };
        let why = format!(
            "the clock of this machine is {seconds} s {side} that of the log, which counts here"
        );
        Some((Level::Warn, "clock.differs", why))
    }
}

/// The lines to write when the engine of a shard has stopped, or the shard belongs to another
/// server.
pub(super) fn loss(
    stopped: Option<&Error>,
    is_lost: bool,
) -> Option<(Level, &'static str, String)> {
    match stopped {
        Some(error @ Error::WentBack { .. }) => {
            Some((Level::Error, error.code(), error.to_string()))
        }
        Some(stopped) => Some((Level::Warn, "shard.lost", stopped.to_string())),
        None if is_lost => {
            Some((Level::Warn, "shard.lost", "another server has taken over".to_owned()))
        }
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_writes_are_reported_as_an_error_of_their_own() {
        let reason = "the log has lost records that it had acknowledged".to_owned();
        let went_back = loss(Some(&Error::WentBack { reason }), false).expect("a line");
        assert_eq!((went_back.0, went_back.1), (Level::Error, "log.went_back"));
        assert!(went_back.2.contains("lost records"), "{}", went_back.2);
        let fenced = loss(Some(&Error::Fenced), true).expect("a line");
        assert_eq!((fenced.0, fenced.1), (Level::Warn, "shard.lost"));
        assert_eq!(loss(None, true).map(|line| line.1), Some("shard.lost"));
        assert_eq!(loss(None, false), None);
    }

    fn written(troubles: &mut Troubles, view: &View) -> Vec<&'static str> {
        troubles.see(view).into_iter().map(|(_, what, _)| what).collect()
    }

    #[test]
    fn every_reason_why_the_log_is_away_is_reported_once() {
        let now = SystemClock::default().now().0;
        let well = View { log_clock_ms: (now, baton_cluster::now_ms()), ..View::default() };
        let mut troubles = Troubles::default();
        let mut reported = |why: &str| troubles.see(&well.troubled(why)).pop().map(|line| line.2);
        for why in ["connection closed", "password authentication failed for user \"baton\""] {
            assert_eq!(reported(why).as_deref(), Some(why));
            assert_eq!(reported(why), None);
        }
        assert_eq!(reported("connection closed"), None);
        let others = (0..20).filter(|number| reported(&format!("port {number}")).is_some());
        assert_eq!(others.count(), 6, "a reason that is always another does not fill the log");
        assert_eq!(written(&mut troubles, &well), ["log.well"]);
        assert_eq!(written(&mut troubles, &well.troubled("again")), ["log.unreachable"]);
    }

    #[test]
    fn each_problem_is_reported_when_it_begins_and_when_it_ends() {
        let now = SystemClock::default().now().0;
        let well = View { log_clock_ms: (now, baton_cluster::now_ms()), ..View::default() };
        let away = well.troubled("connection refused");
        let mut troubles = Troubles::default();
        assert!(written(&mut troubles, &well).is_empty());
        assert_eq!(written(&mut troubles, &away), ["log.unreachable"]);
        assert!(written(&mut troubles, &away).is_empty());
        assert_eq!(written(&mut troubles, &well), ["log.well"]);
        let year = 365 * 86_400_000;
        let wrong = View { log_clock_ms: (now - year, baton_cluster::now_ms()), ..View::default() };
        assert_eq!(written(&mut troubles, &wrong), ["clock.differs"]);
        assert!(written(&mut troubles, &wrong).is_empty());
        assert!(written(&mut troubles, &well).is_empty());
    }
}
