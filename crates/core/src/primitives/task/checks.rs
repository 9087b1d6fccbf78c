//! Validation of the fields of a request, independent of existing tasks.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Backoff, Create};
use crate::json::Json;
use crate::limits;
use crate::names::TaskType;
use crate::quoted::quoted;
use crate::refusal::{BadField, bad, is_list, is_object, json_fits, text_fits, within};
use crate::spending::Budget;
use crate::state::merge::{self, Patch};
use crate::task::Rejection;

/// Refuses metadata that is not an object, or too large.
pub fn check_metadata(metadata: Option<&Json>) -> Result<(), Rejection> {
    is_object("metadata", metadata)?;
    Ok(json_fits("metadata", metadata, limits::METADATA_BYTES_MAX)?)
}

/// Refuses artifacts that are not a list, or too large.
pub fn check_artifacts(artifacts: Option<&Json>) -> Result<(), Rejection> {
    is_list("artifacts", artifacts)?;
    Ok(json_fits("artifacts", artifacts, limits::ERROR_BYTES_MAX)?)
}

/// Refuses capabilities that no agent could have.
pub fn check_capabilities(capabilities: &BTreeSet<String>) -> Result<(), BadField> {
    if capabilities.len() > limits::CAPABILITIES_MAX {
        return Err(bad(
            "capabilities",
            format!("there are more than {}", limits::CAPABILITIES_MAX),
        ));
    }
    let is_odd = |name: &&String| {
        name.is_empty()
            || name.len() > limits::CAPABILITY_BYTES_MAX
            || name.chars().any(char::is_control)
    };
    let Some(odd) = capabilities.iter().find(is_odd) else { return Ok(()) };
    let shown = quoted(odd, 40);
    let bytes_max = limits::CAPABILITY_BYTES_MAX;
    let reason = format!("`{shown}` must have 1 to {bytes_max} bytes without control characters");
    Err(bad("capabilities", reason))
}

/// Refuses an empty list of types, or too many.
pub fn check_types(types: Option<&BTreeSet<TaskType>>) -> Result<(), BadField> {
    match types.map(BTreeSet::len) {
        Some(0) => Err(bad("types", "it is empty, so nothing could be claimed")),
        Some(more) if more > limits::CLAIM_TYPES_MAX => {
            Err(bad("types", format!("there are {more}, at most {}", limits::CLAIM_TYPES_MAX)))
        }
        Some(_) | None => Ok(()),
    }
}

/// Refuses a priority out of range.
pub fn check_priority(priority: i64) -> Result<i32, BadField> {
    let (min, max) = (limits::PRIORITY_MIN, limits::PRIORITY_MAX);
    let fits = i32::try_from(priority).ok().filter(|priority| (min..=max).contains(priority));
    let reason = || format!("it must be between {min} and {max}, not {priority}");
    fits.ok_or_else(|| bad("priority", reason()))
}

/// Refuses a fraction that is not between 0 and 1.
pub fn check_fraction(field: &'static str, fraction: f64) -> Result<(), BadField> {
    if (0.0..=1.0).contains(&fraction) {
        return Ok(());
    }
    Err(bad(field, format!("it must be between 0 and 1, not {fraction}")))
}

fn check_backoff(backoff: &Backoff) -> Result<(), Rejection> {
    let Backoff { initial_ms, multiplier, max_ms, jitter } = backoff;
    let range = (0, limits::LEASE_MS_MAX);
    within("backoff.initial_ms", Some(*initial_ms), 0, range)?;
    within("backoff.max_ms", Some(*max_ms), 0, range)?;
    if !(1.0..=100.0).contains(multiplier) {
        let reason = format!("it must be between 1 and 100, not {multiplier}");
        return Err(bad("backoff.multiplier", reason).into());
    }
    Ok(check_fraction("backoff.jitter", *jitter)?)
}

/// Refuses a deadline that is too far away, or over before a task can begin.
pub fn check_deadline(deadline_ms: Option<u64>, delay_ms: u64) -> Result<(), Rejection> {
    let latest = (delay_ms + 1, limits::TTL_MS_MAX + 1);
    within("deadline_ms", deadline_ms, latest.0, latest)?;
    Ok(())
}

/// Refuses a new task with invalid fields.
pub fn check_create(create: &Create) -> Result<(), Rejection> {
    text_fits("description", create.description.as_ref(), limits::DESCRIPTION_BYTES_MAX)?;
    json_fits("definition", create.definition.as_ref(), limits::VALUE_BYTES_MAX)?;
    check_metadata(create.metadata.as_ref())?;
    check_capabilities(&create.capabilities)?;
    check_priority(create.priority.unwrap_or(0).into())?;
    let span = (0, limits::TTL_MS_MAX);
    let delay_ms = within("delay_ms", create.delay_ms, 0, span)?;
    check_deadline(create.deadline_ms, delay_ms)?;
    within("max_retries", create.max_retries, 0, (0, limits::RETRIES_MAX))?;
    create.backoff.as_ref().map_or(Ok(()), check_backoff)?;
    let assigned = create.assigned_agent.as_ref();
    create.reviewers.as_ref().map_or(Ok(()), |reviewers| reviewers.check(assigned))?;
    create.budget.as_ref().map_or(Ok(()), Budget::check)?;
    if let Some(version) = &create.schema_version {
        json_fits("schema_version", Some(version), limits::SCHEMA_VERSION_BYTES_MAX)?;
        let is_plain = matches!(version.to_value(), Value::String(_) | Value::Number(_));
        if !is_plain {
            return Err(bad("schema_version", "it must be a text or a number").into());
        }
    }
    let (count, max) = (create.depends_on.len(), limits::TASK_DEPENDENCIES_MAX);
    if count > max {
        return Err(bad("depends_on", format!("there are {count} tasks, at most {max}")).into());
    }
    Ok(())
}

/// A value after a JSON Merge Patch.
pub fn merged(
    field: &'static str,
    current: Option<&Json>,
    patch: &Value,
) -> Result<Json, BadField> {
    let unfit = |reason: String| bad(field, reason);
    let patch = Json::of(patch).map_err(|error| unfit(error.to_string()))?;
    merge::patch(current, &Patch::Merge(patch)).map_err(|error| unfit(error.to_string()))
}
