//! Hand-offs as text.

use super::render::brief;
use crate::handoff;
use crate::primitive::Event as _;

/// An event in one line.
pub(super) fn rendered_handoff(event: &handoff::Event) -> String {
    let [_, name, ..] = event.subject_parts();
    let line = format!("{} {name}", event.kind());
    let said = |text: &Option<String>| text.as_ref().map_or(String::new(), |it| format!(" ({it})"));
    match event {
        handoff::Event::Offered(handoff) | handoff::Event::Executed(handoff) => {
            let task = handoff.task.as_ref().map_or(String::new(), |task| format!(" of {task}"));
            let warned = handoff.warnings.iter().map(|finding| format!(" !{}", finding.rule));
            let warned: String = warned.collect();
            format!("{line}{task} to {}{warned}", handoff.to)
        }
        handoff::Event::Passed(handoff) => {
            let task = handoff.task.as_ref().map_or(String::new(), |task| format!(" of {task}"));
            let output = handoff.state.get("output").map_or("", |output| output.as_str());
            format!("{line}{task} from {} to {} with {output}", handoff.from, handoff.to)
        }
        handoff::Event::Refused(handoff) => {
            let step = handoff.steps.last().unwrap();
            format!("{line} {}: {}", step.step, step.detail.as_ref().unwrap())
        }
        handoff::Event::Approved { by, reason, .. }
        | handoff::Event::Rejected { by, reason, .. } => format!("{line} by {by}{}", said(reason)),
        handoff::Event::Delivered { receiver, until, wait, .. } => {
            let call = wait.map_or(String::new(), |wait| format!(" call={wait}"));
            format!("{line} to {receiver} until {}{call}", until.0)
        }
        handoff::Event::Accepted { receiver, receipt, .. } => {
            let keys = receipt.keys.iter().map(|taken| format!(" +{}", taken.key));
            let out = receipt.left_out.iter().map(|out| format!(" -{} {}", out.key, out.reason));
            format!("{line} by {receiver}{}", keys.chain(out).collect::<String>())
        }
        handoff::Event::Expired { reason, .. } => format!("{line} ({reason})"),
        handoff::Event::Cancelled { reason, .. } => format!("{line}{}", said(reason)),
        handoff::Event::Completed { result, .. } => {
            let result = result.as_ref().map_or(String::new(), |it| format!(" {}", brief(it)));
            format!("{line}{result}")
        }
        handoff::Event::Failed { error, .. } => format!("{line} {}", brief(error)),
        handoff::Event::Queued { wait, until, .. } => {
            format!("{line} call={wait} until {}", until.0)
        }
        handoff::Event::GaveUp { wait, left, .. } => format!("{line} call={wait} {left:?}"),
        handoff::Event::Undelivered { .. } => line,
    }
}

/// A reply in one line.
pub(super) fn shown_handoff(reply: &handoff::Reply) -> String {
    let whole = |handoff: &handoff::Handoff| {
        format!("{} {} {} to {}", handoff.id, handoff.status.word(), handoff.from, handoff.to)
    };
    match reply {
        handoff::Reply::Handoff(handoff) => whole(handoff),
        handoff::Reply::Received(handoff) => handoff.as_ref().map_or("null".into(), |it| whole(it)),
        handoff::Reply::Accepted { handoff, task, values } => {
            let token = task.as_ref().and_then(|task| Some(task.lease.as_ref()?.token));
            let token = token.map_or(String::new(), |token| format!(" token={token}"));
            format!("{}{token} with {:?}", whole(handoff), values.keys().collect::<Vec<_>>())
        }
        handoff::Reply::Handoffs { handoffs, cursor } => {
            let all: Vec<String> = handoffs.iter().map(whole).collect();
            let next = cursor.as_ref().map_or(String::new(), |cursor| format!(" next={cursor}"));
            format!("[{}]{next}", all.join(", "))
        }
        handoff::Reply::Verdict { valid, errors, warnings } => {
            let all = errors.iter().chain(warnings).map(|it| format!(" {}", it.rule));
            format!("valid={valid}{}", all.collect::<String>())
        }
        handoff::Reply::Context(context) => serde_json::to_string(context).unwrap(),
        handoff::Reply::Stats(stats) => format!(
            "count={} completed={} failed={} rejected={} invalid={} rate={} p50={} pairs={}",
            stats.count,
            stats.completed,
            stats.failed,
            stats.rejected,
            stats.validation_errors,
            stats.success_rate,
            stats.durations.p50_ms,
            stats.pairs.len()
        ),
    }
}
