//! The events of the server as sentences.
//!
//! | mark | event |
//! |---|---|
//! | `+` `▸` `·` `✓` | a task is created, claimed, makes progress, is completed |
//! | `✗` `†` `↻` | an attempt fails, an agent is lost, another agent resumes its task |
//! | `→` `↩` `⇒` | a hand-off is offered, rejected, accepted |
//! | `…` | an agent waits for a lock |
//! | `?` `!` `★` | a request, its reply, a post to a topic |
//!
//! Facts that an event does not contain, such as the previous holder of a task, are remembered from
//! earlier events until the task or hand-off has ended.

use std::collections::BTreeMap;

use baton_core::handoff::{Handoff, Receiver};
use baton_core::task::{Cause, Outcome};
use baton_core::{Event, Json, Notice};
use baton_core::{agent, checkpoint, handoff, lock, message, task, topic};

use crate::output::{Colour, Output, plain};

/// One line of the narrative.
#[derive(Debug, PartialEq)]
pub(super) struct Line {
    mark: char,
    colour: Colour,
    who: String,
    what: String,
}

impl Line {
    fn new(
        mark: char,
        colour: Colour,
        who: &(impl ToString + ?Sized),
        what: impl Into<String>,
    ) -> Self {
        Self { mark, colour, who: who.to_string(), what: what.into() }
    }

    /// The line as printed, with a newline.
    pub(super) fn shown(&self, output: &Output) -> String {
        let before = format!("  {:<5} {} ", self.who, self.mark);
        let what = output.cut(&plain(&self.what), before.chars().count());
        let who = output.coloured(Colour::Bold, &format!("{:<5}", plain(&self.who)));
        let mark = output.coloured(self.colour, &self.mark.to_string());
        let what = match self.colour {
            Colour::Bold | Colour::Cyan => what,
            other => output.coloured(other, &what),
        };
        format!("  {who} {mark} {what}\n")
    }
}

/// The known facts about an unfinished task.
#[derive(Default)]
struct Known {
    /// The last holder.
    holder: Option<String>,
    /// Whether that holder failed or was lost.
    is_free_again: bool,
    /// The last checkpoint.
    kept: Option<String>,
}

/// Turns events into lines.
#[derive(Default)]
pub(super) struct Narrator {
    tasks: BTreeMap<String, Known>,
    /// Giver and task of each open offer.
    offers: BTreeMap<String, (String, String)>,
    /// The holder of each lock.
    locks: BTreeMap<String, String>,
    /// Agents that are lost and have not returned.
    lost: Vec<String>,
}

impl Narrator {
    /// The line for an event, if it is worth one.
    pub(super) fn line(&mut self, notice: &Notice) -> Option<Line> {
        let who = notice.agent().as_str();
        match notice.event() {
            Event::Agent(event) => self.of_agent(event),
            Event::Task(event) => self.of_task(event, who),
            Event::Handoff(event) => self.of_handoff(event),
            Event::Lock(event) => self.of_lock(event),
            Event::Checkpoint(checkpoint::Event::Saved(saved)) => {
                let known = self.tasks.entry(saved.task.to_string()).or_default();
                known.kept.clone_from(&saved.description);
                None
            }
            Event::Message(message::Event::Sent(sent)) if sent.request.is_some() => {
                let what = format!("asks {}: {}", sent.to, words(&sent.body));
                Some(Line::new('?', Colour::Cyan, who, what))
            }
            Event::Message(message::Event::Replied { to, answer, .. }) => {
                let said = answer.body.as_ref().map_or_else(String::new, words);
                Some(Line::new('!', Colour::Cyan, to, format!("answers: {said}")))
            }
            Event::Topic(topic::Event::Posted { topic, body, .. }) => {
                let what = format!("{topic}: {}", words(body));
                Some(Line::new('★', Colour::Yellow, who, what))
            }
            _ => None,
        }
    }

    fn of_agent(&mut self, event: &agent::Event) -> Option<Line> {
        match event {
            agent::Event::Joined { agent, capabilities, .. } => {
                let role = capabilities.first().map_or("agent", String::as_str);
                let was_lost = self.lost.iter().any(|lost| lost == agent.as_str());
                self.lost.retain(|lost| lost != agent.as_str());
                let what = if was_lost { "returns as" } else { "joins as" };
                Some(Line::new('●', Colour::Green, agent, format!("{what} {role}")))
            }
            agent::Event::Lost { agent, .. } => {
                self.lost.push(agent.to_string());
                let what = "is lost: no heartbeat, its tasks and locks are released";
                Some(Line::new('†', Colour::Red, agent, what))
            }
            agent::Event::Left { agent } => Some(Line::new('○', Colour::Dim, agent, "leaves")),
            agent::Event::Seen { .. } | agent::Event::Forgotten { .. } => None,
        }
    }

    fn of_task(&mut self, event: &task::Event, who: &str) -> Option<Line> {
        match event {
            task::Event::Created(created) => {
                let what = created.description.as_deref().unwrap_or("something");
                let what = format!("creates {}: {what}", created.task);
                Some(Line::new('+', Colour::Cyan, who, what))
            }
            task::Event::Claimed { task, holder, .. } => {
                let known = self.tasks.entry(task.to_string()).or_default();
                let before = known.holder.replace(holder.to_string());
                if !std::mem::take(&mut known.is_free_again) {
                    return Some(Line::new('▸', Colour::Cyan, holder, format!("claims {task}")));
                }
                let kept = known.kept.as_ref().map_or(String::new(), |kept| format!(" at {kept}"));
                let from = before.map_or(String::new(), |before| format!(", from {before}"));
                let what = format!("resumes {task}{kept}{from}");
                Some(Line::new('↻', Colour::Green, holder, what))
            }
            task::Event::HandedOver { task, holder, .. } => {
                self.tasks.entry(task.to_string()).or_default().holder = Some(holder.to_string());
                None
            }
            task::Event::Progressed { task, fraction, note } if *fraction > 0.0 => {
                let note = note.as_deref().unwrap_or("in progress");
                let what = format!("{task} {:.0} %: {note}", fraction * 100.0);
                Some(Line::new('·', Colour::Dim, who, what))
            }
            task::Event::Completed { task, .. } => {
                self.tasks.remove(task.as_str());
                Some(Line::new('✓', Colour::Green, who, format!("completes {task}")))
            }
            task::Event::Failed { task, error, cause, outcome } => {
                let known = self.tasks.entry(task.to_string()).or_default();
                known.is_free_again = true;
                let holder = known.holder.clone().unwrap_or_else(|| who.to_owned());
                let then = match outcome {
                    Outcome::Retry { .. } => "it will be retried",
                    Outcome::Failed => "no retries left",
                    Outcome::Review => "it waits for review",
                    Outcome::Reassigned { .. } => "it is reassigned",
                };
                // The line of the lost agent covers this already.
                let gone = matches!(cause, Cause::AgentGone);
                let what = format!("fails {task}: {}; {then}", words(error));
                (!gone).then(|| Line::new('✗', Colour::Red, &holder, what))
            }
            task::Event::Cancelled { task, .. } => {
                self.tasks.remove(task.as_str());
                Some(Line::new('✗', Colour::Red, who, format!("cancels {task}")))
            }
            _ => None,
        }
    }

    fn of_handoff(&mut self, event: &handoff::Event) -> Option<Line> {
        match event {
            handoff::Event::Offered(offered) => {
                let Handoff { id, from, task, reason, to, .. } = &**offered;
                let task = task.as_ref().map_or("something", |task| task.as_str());
                let to = match to {
                    Receiver::Agent(agent) => agent.to_string(),
                    Receiver::Capability(name) => format!("any {name}"),
                };
                self.offers.insert(id.to_string(), (from.to_string(), task.to_owned()));
                let why = reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
                let what = format!("offers {task} to {to}{why}");
                Some(Line::new('→', Colour::Magenta, from, what))
            }
            handoff::Event::Accepted { handoff, receiver, .. } => {
                let (from, task) = self.offers.remove(handoff.as_str())?;
                let what = format!("accepts {task} from {from}");
                Some(Line::new('⇒', Colour::Magenta, receiver, what))
            }
            handoff::Event::Rejected { handoff, by, reason } => {
                let (from, task) = self.offers.remove(handoff.as_str())?;
                let why = reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
                let what = format!("rejects {task} from {from}{why}");
                Some(Line::new('↩', Colour::Red, by, what))
            }
            handoff::Event::Expired { handoff, .. } | handoff::Event::Cancelled { handoff, .. } => {
                let (from, task) = self.offers.remove(handoff.as_str())?;
                Some(Line::new(
                    '↩',
                    Colour::Red,
                    &from,
                    format!("keeps {task}: the offer was not accepted"),
                ))
            }
            _ => None,
        }
    }

    fn of_lock(&mut self, event: &lock::Event) -> Option<Line> {
        match event {
            lock::Event::Acquired { name, holder, .. } => {
                self.locks.insert(name.to_string(), holder.to_string());
                None
            }
            lock::Event::Queued { name, waiter, .. } => {
                let holder = self.locks.get(name.as_str()).map_or("another agent", String::as_str);
                let what = format!("waits for lock {name}, held by {holder}");
                Some(Line::new('…', Colour::Yellow, waiter, what))
            }
            _ => None,
        }
    }
}

/// A string without quotes, anything else as JSON.
fn words(json: &Json) -> String {
    json.to::<String>().unwrap_or_else(|_| json.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn narrated(narrator: &mut Narrator, event: &str) -> Option<String> {
        let around = r#""revision": 1, "index": 0, "time": "2026-11-15T09:00:00.000Z""#;
        let notice = Notice::parse(&format!("{{{around}, {event}}}")).unwrap();
        narrator.line(&notice).map(|line| format!("{} {} {}", line.who, line.mark, line.what))
    }

    #[test]
    fn a_resumed_task_names_the_previous_holder() {
        let mut narrator = Narrator::default();
        let mut tell = |event: &str| narrated(&mut narrator, event);
        let claimed = |who: &str, token: u8| {
            format!(
                r#""type": "task.claimed", "subject": "tasks/x", "agent": "{who}", "task": "x",
                   "holder": "{who}", "token": {token}, "lease_ms": 1000"#
            )
        };
        assert_eq!(tell(&claimed("mia", 1)).unwrap(), "mia ▸ claims x");
        let lost = r#""type": "agent.lost", "subject": "agents/mia", "agent": "mia""#;
        assert!(tell(lost).unwrap().starts_with("mia † is lost"));
        let failed = r#""type": "task.failed", "subject": "tasks/x", "agent": "mia", "task": "x",
            "error": "gone", "cause": "agent_gone", "outcome": {"retry": {}}"#;
        assert_eq!(tell(failed), None, "the lost agent was reported already");
        assert_eq!(tell(&claimed("rui", 2)).unwrap(), "rui ↻ resumes x, from mia");
    }

    #[test]
    fn text_of_others_cannot_control_the_terminal() {
        let mut narrator = Narrator::default();
        let said = r#""type": "topic.posted", "subject": "topics/news", "agent": "ada",
            "topic": "news", "body": "\u001b[2J", "live": false"#;
        let around = r#""revision": 1, "index": 0, "time": "2026-11-15T09:00:00.000Z""#;
        let notice = Notice::parse(&format!("{{{around}, {said}}}")).unwrap();
        let line = narrator.line(&notice).unwrap();
        let output = Output::to_stdout(crate::output::Mode::Table, true);
        assert!(!line.shown(&output).contains("\u{1b}[2J"));
    }
}
