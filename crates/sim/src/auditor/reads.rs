//! Checks that a read of the present shows exactly one durable revision, and not an old one.

use std::ops::RangeInclusive;

use baton_core::state::{
    Get, List, Page, Query as StateQuery, Rejection as StateRejection, Snapshot,
};
use baton_core::{
    Answer, Query, Rejection, Reply, agent, artifact, checkpoint, handoff, join, message,
    namespace, pipeline, secret, semaphore, spend, state, stream, task, topic, workspace,
};

use super::{Audit, Breach, demand};
use crate::auditor::answers::same_entry;
use crate::auditor::ledger::{EntryKey, EntryModel, Ledger};
use crate::models::lock::is_shown;
use crate::models::lock_pool::semaphore_name;
use crate::models::watch::matches;

/// The default page size.
const PAGE_DEFAULT: usize = 100;

impl Ledger {
    /// Checks the answer to a query about the present. `asked_head` was durable when it was sent.
    pub fn present(
        &self,
        query: &Query,
        answer: &Result<Answer, Rejection>,
        asked_head: u64,
    ) -> Audit {
        let Answer { revision, reply } = match answer {
            Ok(answer) => answer,
            Err(rejection) => {
                return self.refused_between(query, rejection, asked_head..=self.head());
            }
        };
        let at = revision.0;
        demand!(at <= self.head(), "an answer shows revision {at}, {} is durable", self.head());
        demand!(at >= asked_head, "an answer shows revision {at}, {asked_head} was durable before");
        match (query, reply) {
            (Query::State(StateQuery::Get(get)), Reply::State(state::Reply::Entry(entry))) => {
                let fact = self.entry(&get.namespace, &get.key, at);
                same_entry(fact.map(AsRef::as_ref), Some(entry))
            }
            (Query::State(StateQuery::List(list)), Reply::State(state::Reply::Entries(page))) => {
                self.listed(list, page, at)
            }
            (
                Query::State(StateQuery::Snapshot(snapshot)),
                Reply::State(state::Reply::Entries(page)),
            ) => self.pictured(snapshot, page, at),
            (Query::Namespace(_), Reply::Namespace(reply)) => self.namespaces_shown(reply, at),
            (Query::Agent(query), Reply::Agent(reply)) => self.agents_shown(query, reply, at),
            (Query::Message(query), Reply::Message(reply)) => self.messages_shown(query, reply, at),
            (Query::Topic(_), Reply::Topic(reply)) => self.topic_reply(reply, at),
            (Query::Stream(query), Reply::Stream(reply)) => self.streams_shown(query, reply, at),
            (Query::Spend(query), Reply::Spend(reply)) => self.spending_shown(query, reply, at),
            (Query::Secret(query), Reply::Secret(reply)) => self.secrets_shown(query, reply, at),
            (Query::Rule(query), Reply::Rule(reply)) => self.rules_shown(query, reply, at),
            (Query::Lock(query), Reply::Lock(reply)) => self.locks_shown(query, reply, at),
            (Query::Semaphore(query), Reply::Semaphore(reply)) => {
                self.semaphores_shown(query, reply, at)
            }
            (Query::Join(query), Reply::Join(reply)) => self.joins_shown(query, reply, at),
            (Query::Checkpoint(query), Reply::Checkpoint(reply)) => {
                self.checkpoints_shown(query, reply, at)
            }
            (Query::Artifact(query), Reply::Artifact(reply)) => {
                self.artifacts_shown(query, reply, at)
            }
            (Query::Pipeline(query), Reply::Pipeline(reply)) => {
                self.pipelines_shown(query, reply, at)
            }
            (Query::Handoff(query), Reply::Handoff(reply)) => self.handoffs_shown(query, reply, at),
            (Query::Contract(query), Reply::Contract(reply)) => {
                self.contracts_shown(query, reply, at)
            }
            (Query::Task(query), Reply::Task(reply)) => self.tasks_shown(query, reply, at),
            (Query::Barrier(query), Reply::Barrier(reply)) => self.barriers_shown(query, reply, at),
            (
                Query::Workspace(_),
                Reply::Workspace(workspace::Reply::Workspace { entries, retention, .. }),
            ) => {
                let there = self.facts(at).count() as u64;
                demand!(*entries == there, "there are {there} entries, not {entries}");
                demand!(Some(retention) == self.retention.at(at), "retention is another one");
                Ok(())
            }
            (query, reply) => Err(Breach(format!("{query:?} was answered with {reply:?}"))),
        }
    }

    /// Checks an answer at a revision that may be long past.
    pub fn past(&self, query: &Query, answer: &Result<Answer, Rejection>, at: u64) -> Audit {
        match answer {
            Ok(Answer { revision, .. }) => {
                demand!(revision.0 == at, "revision {revision} is shown for {at}");
                self.present(query, answer, at)
            }
            Err(rejection) => self.refused_between(query, rejection, at..=at),
        }
    }

    /// A refusal names no revision: it must be correct at one of those that are possible.
    fn refused_between(
        &self,
        query: &Query,
        rejection: &Rejection,
        mut revisions: RangeInclusive<u64>,
    ) -> Audit {
        let truth = |at: u64| match (query, rejection) {
            (
                Query::State(StateQuery::Get(Get { namespace, key, .. })),
                Rejection::State(StateRejection::NotFound { .. }),
            ) => self.rules(namespace, at).is_some() && self.entry(namespace, key, at).is_none(),
            (Query::State(_), Rejection::State(StateRejection::UnknownNamespace { namespace })) => {
                self.rules(namespace, at).is_none()
            }
            (
                Query::Namespace(namespace::Query::Get { name }),
                Rejection::Namespace(namespace::Rejection::NotFound { .. }),
            ) => self.rules(name, at).is_none(),
            (
                Query::Agent(agent::Query::Get { agent }),
                Rejection::Agent(agent::Rejection::NotFound { .. }),
            ) => self.session(agent, at).is_none(),
            (Query::Message(_), Rejection::Message(message::Rejection::NotFound { message })) => {
                self.messages.at(message, at).is_none()
            }
            (Query::Topic(_), Rejection::Topic(topic::Rejection::NotFound { topic })) => {
                self.messages.topic(topic, at).is_none()
            }
            (Query::Stream(_), Rejection::Stream(stream::Rejection::NotFound { stream })) => {
                !self.knows_stream(stream, at)
            }
            (Query::Secret(_), Rejection::Secret(secret::Rejection::NotFound { secret })) => {
                self.secrets.at(secret, at).is_none()
            }
            (Query::Join(_), Rejection::Join(join::Rejection::NotFound { join })) => {
                !self.knows_join(join, at)
            }
            (
                Query::Checkpoint(_),
                Rejection::Checkpoint(checkpoint::Rejection::NotFound { checkpoint }),
            ) => !self.knows_checkpoint(checkpoint, at),
            (
                Query::Artifact(_),
                Rejection::Artifact(artifact::Rejection::NotFound { artifact }),
            ) => !self.knows_artifact(artifact, at),
            (
                Query::Pipeline(_),
                Rejection::Pipeline(pipeline::Rejection::NotFound { pipeline }),
            ) => !self.knows_pipeline(pipeline, at),
            (Query::Handoff(_), Rejection::Handoff(handoff::Rejection::NotFound { handoff })) => {
                self.handoffs.at(handoff, at).is_none()
            }
            (Query::Task(_), Rejection::Task(task::Rejection::NotFound { task }))
            | (Query::Spend(_), Rejection::Spend(spend::Rejection::UnknownTask { task })) => {
                self.tasks.at(task, at).is_none()
            }
            (
                Query::Semaphore(_),
                Rejection::Semaphore(semaphore::Rejection::NotFound { name }),
            ) => self.pool(&semaphore_name(name), at).is_none(),
            _ => false,
        };
        let ever = revisions.any(truth);
        demand!(ever, "{query:?} was refused with `{rejection}`, which was never so");
        Ok(())
    }

    /// All entries after a revision, by namespace and key.
    pub fn facts(&self, at: u64) -> impl Iterator<Item = (&EntryKey, &EntryModel)> {
        self.entries.iter().filter_map(move |(place, timeline)| {
            timeline.at(at)?.as_ref().map(|fact| (place, fact.as_ref()))
        })
    }

    /// Checks a page of a list.
    pub fn listed(&self, list: &List, page: &Page, at: u64) -> Audit {
        demand!(page.revision.0 == at, "a page of revision {at} states {}", page.revision);
        let wanted = |(namespace, key): &&EntryKey| {
            let key = key.as_str();
            *namespace == list.namespace
                && list.prefix.as_ref().is_none_or(|prefix| key.starts_with(prefix.as_str()))
                && list.pattern.as_ref().is_none_or(|pattern| matches(pattern.as_str(), key))
                && list.cursor.as_ref().is_none_or(|cursor| key > cursor.as_str())
        };
        let facts = self.facts(at).filter(|(place, _)| wanted(place));
        let cursor = |(_, key): &EntryKey| key.as_str().to_owned();
        same_page(facts, page, list.limit.unwrap_or(PAGE_DEFAULT), cursor)
    }

    /// Checks a page of all entries.
    pub fn pictured(&self, snapshot: &Snapshot, page: &Page, at: u64) -> Audit {
        demand!(page.revision.0 == at, "a page of revision {at} states {}", page.revision);
        let after = snapshot.cursor.as_ref().and_then(|cursor| cursor.split_once('/'));
        let after = after.and_then(|(_, place)| place.split_once('/'));
        let wanted = |(namespace, key): &&EntryKey| {
            snapshot.namespace.as_ref().is_none_or(|only| only == namespace)
                && after.is_none_or(|after| (namespace.as_str(), key.as_str()) > after)
        };
        let facts = self.facts(at).filter(|(place, _)| wanted(place));
        let cursor = |(namespace, key): &EntryKey| format!("{at}/{namespace}/{key}");
        same_page(facts, page, snapshot.limit.unwrap_or(PAGE_DEFAULT), cursor)
    }

    fn namespaces_shown(&self, reply: &namespace::Reply, at: u64) -> Audit {
        match reply {
            namespace::Reply::Namespace(shown) => self.namespace_shown(shown, at),
            namespace::Reply::Namespaces { namespaces, cursor } => {
                for shown in namespaces {
                    self.namespace_shown(shown, at)?;
                }
                let there = self
                    .namespaces
                    .values()
                    .filter(|timeline| timeline.at(at).is_some_and(Option::is_some));
                let there = there.count();
                let complete = namespaces.len() == there || cursor.is_some();
                demand!(complete, "{} of {there} namespaces are shown", namespaces.len());
                Ok(())
            }
        }
    }

    fn namespace_shown(&self, shown: &namespace::Namespace, at: u64) -> Audit {
        let rules = self.rules(&shown.name, at).map(AsRef::as_ref);
        demand!(rules == Some(&shown.rules), "namespace `{}` was returned incorrectly", shown.name);
        Ok(())
    }

    fn agents_shown(&self, query: &agent::Query, reply: &agent::Reply, at: u64) -> Audit {
        let shown = match reply {
            agent::Reply::Agent(agent) => std::slice::from_ref(agent),
            agent::Reply::Agents { agents, .. } => agents,
        };
        for agent in shown {
            let active = agent.status == agent::Status::Active;
            let session = self.session(&agent.id, at);
            demand!(
                session.is_some_and(|session| session.active == active
                    && is_shown(session.token, agent.token)
                    && session.seen == agent.last_seen_at),
                "agent `{}` is shown as {agent:?}, but it is {session:?}",
                agent.id
            );
        }
        if let agent::Query::List { capability: None, status: None, cursor: None, limit: None } =
            query
        {
            let there = self.agents.values().filter(|timeline| timeline.at(at).is_some()).count();
            let shown = shown.len();
            demand!(shown == there.min(PAGE_DEFAULT), "{shown} of {there} agents are shown");
        }
        Ok(())
    }
}

pub(crate) fn same_page<'a>(
    facts: impl Iterator<Item = (&'a EntryKey, &'a EntryModel)>,
    page: &Page,
    limit: usize,
    cursor: impl Fn(&EntryKey) -> String,
) -> Audit {
    let mut facts = facts.peekable();
    let mut last = None;
    for entry in page.entries.iter().take(limit) {
        let Some(((namespace, key), fact)) = facts.next() else {
            return Err(Breach(format!("a page has {entry:?}, which did not exist")));
        };
        demand!(
            entry.namespace() == namespace && entry.key() == key.as_str(),
            "a page shows {entry:?} where `{namespace}/{key}` is due"
        );
        same_entry(Some(fact), Some(entry))?;
        last = Some((namespace.clone(), key.clone()));
    }
    demand!(page.entries.len() <= limit, "a page has {} entries", page.entries.len());
    let more = facts.peek().is_some();
    demand!(
        !more || page.entries.len() == limit,
        "a page ends with {last:?} although {:?} follows",
        facts.peek()
    );
    let expected = last.filter(|_| more).map(|place| cursor(&place));
    demand!(page.cursor == expected, "the cursor of a page is {:?}, not {expected:?}", page.cursor);
    Ok(())
}
