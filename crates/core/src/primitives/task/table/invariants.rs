//! The invariants of the table of tasks.

use super::Table;
use crate::task::{Record, Status};

impl Table {
    /// Asserts the invariants that the primitive lists.
    pub(super) fn check_invariants(&self) {
        self.queues.check();
        self.claims.check();
        let records = || self.by_id.values();
        let count = |wanted: fn(&Record) -> bool| records().filter(|record| wanted(record)).count();
        assert_eq!(self.queues.len(), count(|record| record.ready), "what is ready is in line");
        let held = count(|record| record.lease.as_ref().is_some_and(|lease| !lease.abandoned));
        assert_eq!(self.leases.counts(), [held; 2], "one lease for each");
        let apart = count(|record| record.status != Status::Pending);
        assert_eq!(self.by_status.len(), apart, "what is not pending is listed apart");
        for record in records() {
            assert_eq!(record.lease.is_some(), record.status == Status::InProgress);
            let may_be_ready = matches!(record.status, Status::Pending | Status::HandedOff);
            assert!(!record.ready || may_be_ready, "a ready task has no holder");
            assert!(record.number < self.created, "all were counted");
            let waits = self.waiting_for(record).next().is_some();
            assert!(!(waits && record.ready), "what waits for another task is not ready");
            assert_eq!(self.stages.get(&record.id).copied(), self.stage_of(record));
            assert_eq!(self.timers.get(&record.id), self.moment_of(record), "{}", record.id);
            let is_free = record.status.is_finished() && !self.links.is_needed(&record.id);
            let ended = record.finished_at().map(|time| (time, record.number, record.id.clone()));
            assert_eq!(is_free, ended.is_some_and(|ended| self.forgettable.contains(&ended)));
            for task in record.depends_on().iter().filter(|_| record.may_run()) {
                assert!(self.by_id.contains(task), "what is waited for is known");
            }
        }
        let bytes = |is_finished: bool| {
            let those = records().filter(|record| record.status.is_finished() == is_finished);
            those.map(|record| record.bytes()).sum::<usize>()
        };
        assert_eq!([self.unfinished_bytes, self.finished_bytes], [false, true].map(bytes));
        let unready = count(|record| record.status == Status::Pending && !record.ready);
        assert_eq!(self.stages.len(), unready, "what is pending is ready or waits");
        assert!(self.timers.len() <= self.by_id.len(), "only known tasks have a moment");
    }
}
