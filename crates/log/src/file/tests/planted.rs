//! The tests of this folder find the planted bugs.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{crash, damage};
use crate::planted;

fn is_found(name: &'static str, test: impl FnOnce()) {
    planted::set(Some(name));
    let outcome = catch_unwind(AssertUnwindSafe(test));
    planted::set(None);
    assert!(outcome.is_err(), "`{name}` was not found");
}

#[test]
fn a_skipped_sync_is_found() {
    is_found("log.skip_sync", || crash::power_cuts(false, 3));
}

#[test]
fn an_ignored_bad_record_is_found() {
    is_found("log.ignore_bad_record", damage::flips_in_one_segment);
}

#[test]
fn reuse_without_a_position_check_is_found() {
    is_found("log.reuse_without_position_check", || crash::power_cuts(true, 3));
    is_found("log.reuse_without_position_check", || crash::power_cuts(false, 3));
}

#[test]
fn a_record_lost_on_rotation_is_found() {
    is_found("log.lose_last_on_rotate", || crash::power_cuts(true, 1));
}

#[test]
fn a_missing_directory_sync_is_found() {
    is_found("log.no_directory_sync", || crash::power_cuts(true, 3));
}
