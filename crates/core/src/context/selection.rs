//! Selects the items of a context from recorded facts.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt::Write;

use super::layout::{Item, fenced, fit, named};
use super::{Build, Context, ContextLeftOut, ContextWhy, Rejection};
use crate::agent::Status;
use crate::handoff::Handoff;
use crate::json::Json;
use crate::limits;
use crate::names::{AgentId, KeyName, NamespaceName, TaskId};
use crate::pattern::Pattern;
use crate::refusal::within;
use crate::space::Space;
use crate::spending::{Payer, Unit};
use crate::state::Entry;
use crate::task::Task;

/// Builds a context.
pub fn build(space: &Space, asked: &Build) -> Result<Context, Rejection> {
    let range = (limits::CONTEXT_TOKENS_MIN, limits::CONTEXT_TOKENS_MAX);
    let usual = limits::CONTEXT_TOKENS_DEFAULT;
    let budget = within("token_budget", asked.token_budget, usual, range)?;
    let task = match &asked.task {
        Some(id) => {
            let missing = || Rejection::NotFound { task: id.clone() };
            Some(space.task.shown(id, Vec::new()).ok_or_else(missing)?)
        }
        None => None,
    };
    let mut selection = Selection {
        space,
        agent: &asked.agent,
        items: Vec::new(),
        left_out: Vec::new(),
        seen: BTreeSet::new(),
        examined: 0,
    };
    match &task {
        Some(task) => {
            selection.task(task);
            selection.of_task(task);
        }
        None => selection.mail(),
    }
    selection.others(asked.task.as_ref());
    selection.recent();
    let Selection { items, left_out, .. } = selection;
    let traceparent = task.and_then(|task| task.traceparent);
    Ok(Context { traceparent, ..fit(items, left_out, budget) })
}

struct Selection<'a> {
    space: &'a Space,
    agent: &'a AgentId,
    items: Vec<Item>,
    left_out: Vec<ContextLeftOut>,
    /// Keys that were added already.
    seen: BTreeSet<String>,
    /// The number of examined entries.
    examined: usize,
}

/// How often a task was tried.
fn attempts(count: u64) -> String {
    match count {
        0 => "not tried yet".to_owned(),
        1 => "tried once".to_owned(),
        count => format!("tried {count} times"),
    }
}

impl Selection<'_> {
    fn push(&mut self, section: &'static str, what: impl Into<String>, text: String) {
        self.items.push(Item { section, what: what.into(), text });
    }

    fn task(&mut self, task: &Task) {
        let mut text = format!(
            "{} of type {}, {}, wanted by {}, {}",
            named(task.id.as_str()),
            named(task.task_type.as_str()),
            task.status.phrase(),
            named(task.requested_by.as_str()),
            attempts(task.attempts)
        );
        if let Some(lease) = &task.lease {
            let _ = write!(text, ", in the hands of {}", named(lease.holder.as_str()));
        }
        if let Some(deadline) = task.deadline {
            let _ = write!(text, ", to be done by {deadline}");
        }
        text.push_str(".\n");
        self.budgets(&mut text, &task.id);
        quoted(&mut text, "What is to be done:", task.description.as_deref());
        valued(&mut text, "In particular:", task.definition.as_ref());
        valued(&mut text, "So far:", task.result.as_ref());
        valued(&mut text, "Why the last try failed:", task.error.as_ref());
        let returned = task.reason.as_deref().filter(|_| !task.status.is_finished());
        quoted(&mut text, "What was said when it was returned:", returned);
        if task.review {
            text.push_str("Its result must be accepted by another agent.\n");
        }
        self.push("task", format!("task {}", task.id), text);
    }

    /// Lists the remaining amounts of the budgets that apply to a task.
    fn budgets(&self, text: &mut String, task: &TaskId) {
        let tasks = self.space.task.lineage(task).map(|task| Payer::Task(task.clone()));
        let agent = Payer::Agent(self.agent.clone());
        for of in tasks.chain([agent, Payer::Workspace]) {
            let account = self.space.spend.account(of);
            let (Some(budget), Some(left)) = (account.budget, account.left) else { continue };
            let _ = write!(text, "Left of the budget of {}:", account.of);
            let units = Unit::ALL.into_iter().filter_map(|unit| {
                Some(format!(" {} of {} {unit}", left.limit(unit)?, budget.limit(unit)?))
            });
            let _ = writeln!(text, "{}.", units.collect::<Vec<_>>().join(","));
        }
    }

    fn of_task(&mut self, task: &Task) {
        let moved: Vec<&Handoff> =
            self.space.handoff.moved(&task.id).take(limits::HOPS_EXAMINED_MAX).collect();
        let mut later = moved.iter();
        if let Some(latest) = later.next() {
            self.handoff(latest);
        }
        self.checkpoint(&task.id);
        for handoff in &moved {
            self.handed_over(handoff);
        }
        self.stage(&task.id);
        self.mentioned(task);
        self.mail();
        for handoff in later {
            self.handoff(handoff);
        }
        self.written_by(task, &moved);
    }

    fn handoff(&mut self, handoff: &Handoff) {
        let receiver = handoff.receiver.as_ref().map_or("nobody", AgentId::as_str);
        let mut text = format!(
            "Hand-off {} from {} to {}, {}.\n",
            named(handoff.id.as_str()),
            named(handoff.from.as_str()),
            named(receiver),
            handoff.status.word()
        );
        quoted(&mut text, "Why:", handoff.reason.as_deref());
        valued(&mut text, "What was done:", handoff.work_completed.as_ref());
        valued(&mut text, "What is left:", handoff.remaining_work.as_ref());
        valued(&mut text, "Notes:", handoff.notes.as_ref());
        for (name, value) in &handoff.state {
            valued(&mut text, &format!("{}:", named(name)), Some(value));
        }
        if let Some(receipt) = &handoff.receipt {
            for taken in &receipt.keys {
                let (key, version) = (named(taken.key.as_str()), taken.version);
                let _ = writeln!(text, "Came along: {key} at version {version}.");
            }
            for missing in &receipt.left_out {
                let _ =
                    writeln!(text, "Did not: {}, {}.", named(missing.key.as_str()), missing.reason);
            }
        }
        self.push("handoffs", format!("hand-off {}", handoff.id), text);
    }

    fn checkpoint(&mut self, task: &TaskId) {
        let table = &self.space.checkpoint;
        let head = table.thread(task).and_then(|thread| table.get(thread.head_id()));
        let Some(checkpoint) = head.map(|record| table.shown(record)) else { return };
        let mut text = format!(
            "Checkpoint {} by {}, {}.\n",
            named(checkpoint.id.as_str()),
            named(checkpoint.saved_by.as_str()),
            checkpoint.saved_at
        );
        let state = checkpoint.state.or_else(|| table.state(&checkpoint.id).ok());
        valued(&mut text, "The state:", state.as_ref());
        self.push("checkpoint", format!("checkpoint {}", checkpoint.id), text);
    }

    /// Keys that a hand-off handed over, where they are now.
    fn handed_over(&mut self, handoff: &Handoff) {
        let (Some(receiver), Some(receipt)) = (&handoff.receiver, &handoff.receipt) else { return };
        for taken in &receipt.keys {
            self.key(&taken.name_now(receiver), true);
        }
    }

    /// Keys that a stage of a pipeline reads.
    fn stage(&mut self, task: &TaskId) {
        let Some((record, index)) = self.space.pipeline.of_task(task) else { return };
        let Some(stage) = record.plan.stages.get(index) else { return };
        for pattern in &stage.reads {
            match pattern.is_exact() {
                Some(exact) => self.key(exact, true),
                None => self.matching(pattern),
            }
        }
    }

    /// Keys that match, as `namespace/key`.
    fn matching(&mut self, pattern: &Pattern) {
        let space = self.space;
        for (namespace, entries) in space.state.namespaces() {
            if !pattern.reaches(&format!("{namespace}/")) {
                continue;
            }
            for packed in entries {
                if !self.examine(pattern.as_str()) {
                    return;
                }
                let name = format!("{namespace}/{}", packed.key());
                if pattern.matches(&name) {
                    self.key(&name, false);
                }
            }
        }
    }

    /// Whether another entry may be examined. When the limit is reached, that is reported once.
    fn examine(&mut self, what: &str) -> bool {
        self.examined += 1;
        if self.examined == limits::CONTEXT_ENTRIES_MAX + 1 {
            let what = format!("more entries, beginning with {what}");
            self.left_out.push(ContextLeftOut { what, why: ContextWhy::NotExamined, tokens: 0 });
        }
        self.examined <= limits::CONTEXT_ENTRIES_MAX
    }

    /// Keys that are mentioned as `namespace/key`: words of the description and of texts in the
    /// definition, without surrounding punctuation.
    fn mentioned(&mut self, task: &Task) {
        let definition = task.definition.as_ref().map_or("", Json::as_str);
        let texts = [task.description.as_deref().unwrap_or_default(), definition];
        let is_edge = |sign: char| !sign.is_alphanumeric();
        let words = texts.into_iter().flat_map(|text| text.split([' ', '\n', '\t', '"', ',']));
        let words = words.take(limits::CONTEXT_WORDS_MAX);
        for word in words.map(|word| word.trim_matches(is_edge)).filter(|word| word.contains('/')) {
            self.key(word, false);
        }
    }

    /// Messages that the agent has not acknowledged, oldest first.
    fn mail(&mut self) {
        let store = self.space.message.store();
        let unread = store.delivered(self.agent).chain(store.waiting(self.agent));
        let mut unread: Vec<_> = unread.take(limits::CONTEXT_MAIL_MAX + 1).collect();
        if unread.len() > limits::CONTEXT_MAIL_MAX {
            unread.pop();
            let (what, why) = ("more mail".to_owned(), ContextWhy::NotExamined);
            self.left_out.push(ContextLeftOut { what, why, tokens: 0 });
        }
        unread.sort_by_key(|message| &message.id);
        for message in unread {
            let mut text = format!(
                "Message {} from {}, {}:\n",
                named(message.id.as_str()),
                named(message.from.as_str()),
                message.sent_at
            );
            text.push_str(&fenced("json", message.body.as_str()));
            self.push("mail", format!("message {}", message.id), text);
        }
    }

    /// A key by its name. If it is missing and was expected, that is reported.
    fn key(&mut self, name: &str, is_expected: bool) {
        let Ok(place) = KeyName::parse(name) else { return };
        if self.seen.contains(name) {
            return;
        }
        match self.space.state.find(&place) {
            Some(entry) => self.entry(&entry),
            None if is_expected => {
                self.seen.insert(name.to_owned());
                let what = format!("entry {name}");
                self.left_out.push(ContextLeftOut { what, why: ContextWhy::Missing, tokens: 0 });
            }
            None => {}
        }
    }

    fn entry(&mut self, entry: &Entry) {
        let name = format!("{}/{}", entry.namespace(), entry.key());
        if !self.seen.insert(name.clone()) {
            return;
        }
        let mut text = format!(
            "{} at version {}, by {}, {}:\n",
            named(&name),
            entry.version(),
            named(entry.updated_by().as_str()),
            entry.updated_at()
        );
        text.push_str(&fenced("json", entry.json().as_str()));
        self.push("entries", format!("entry {name}"), text);
    }

    /// The last writes of agents that held the task, in `shared` and in their own namespaces.
    fn written_by(&mut self, task: &Task, moved: &[&Handoff]) {
        let mut hands: BTreeSet<&AgentId> = moved.iter().map(|handoff| &handoff.from).collect();
        hands.extend(moved.iter().filter_map(|handoff| handoff.receiver.as_ref()));
        hands.extend(task.lease.as_ref().map(|lease| &lease.holder));
        hands.insert(self.agent);
        let mut places: BTreeSet<NamespaceName> =
            hands.iter().map(|agent| NamespaceName::of_agent(agent)).collect();
        places.insert(NamespaceName::shared());
        let newest = self.newest(&places, |entry| hands.contains(entry.updated_by()));
        for entry in &newest {
            self.entry(entry);
        }
    }

    /// The last changes in `shared`.
    fn recent(&mut self) {
        let places = BTreeSet::from([NamespaceName::shared()]);
        let newest = self.newest(&places, |_| true);
        for entry in &newest {
            self.entry(entry);
        }
    }

    /// The entries of these namespaces that changed last, latest first.
    fn newest(
        &mut self,
        places: &BTreeSet<NamespaceName>,
        wanted: impl Fn(&Entry) -> bool,
    ) -> Vec<Entry> {
        let space = self.space;
        let mut newest = Vec::new();
        for (namespace, entries) in space.state.namespaces() {
            if !places.contains(namespace) {
                continue;
            }
            for packed in entries {
                if !self.examine(&format!("{namespace}/{}", packed.key())) {
                    break;
                }
                newest.extend(Some(space.state.shown(namespace, packed)).filter(&wanted));
            }
        }
        newest.sort_by_key(|entry| {
            (Reverse(entry.revision()), entry.namespace().clone(), entry.key().to_owned())
        });
        newest.truncate(limits::CONTEXT_RECENT_MAX);
        newest
    }

    fn others(&mut self, task: Option<&TaskId>) {
        let space = self.space;
        let active = space.agent.after(None).filter(|agent| agent.status == Status::Active);
        let others = active.filter(|agent| agent.id != *self.agent);
        for agent in others.take(limits::CONTEXT_OTHERS_MAX) {
            let mut text = format!("{} takes part", named(agent.id.as_str()));
            if !agent.capabilities.is_empty() {
                let able: Vec<_> = agent.capabilities.iter().map(|name| named(name)).collect();
                let _ = write!(text, ", can do {}", able.join(", "));
            }
            text.push_str(".\n");
            let held = space.task.held_by(&agent.id).filter(|held| Some(&held.id) != task);
            for record in held.take(limits::CONTEXT_HELD_MAX) {
                let Some(held) = space.task.shown(&record.id, Vec::new()) else { continue };
                let (id, kind) = (named(held.id.as_str()), named(held.task_type.as_str()));
                let _ = writeln!(text, "It works on {id} of type {kind}.");
                quoted(&mut text, "Which is:", held.description.as_deref());
            }
            self.push("others", format!("agent {}", agent.id), text);
        }
    }
}

fn quoted(text: &mut String, head: &str, said: Option<&str>) {
    if let Some(said) = said {
        let _ = write!(text, "{head}\n{}", fenced("text", said));
    }
}

fn valued(text: &mut String, head: &str, value: Option<&Json>) {
    if let Some(value) = value {
        let _ = write!(text, "{head}\n{}", fenced("json", value.as_str()));
    }
}
