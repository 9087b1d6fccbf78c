//! Artifacts according to their events, and to the text of every entry and message.
//!
//! 1. An artifact that an entry or a message references neither expires nor is deleted.
//! 2. One without references expires when its time has passed, counted from its upload or the
//!    removal of the last reference, and not before.
//! 3. An artifact is returned with that, and with the number of entries and messages that reference
//!    it.
//! 4. No request is rejected for an artifact that exists, or for one that it does not reference.

use std::collections::BTreeMap;

use baton_core::artifact::{Artifact, Command, Event, Query, Rejection, Reply};
use baton_core::{AgentId, ArtifactId, Batch, BlobPlace, Event as AnyEvent, Json, Timestamp};

use crate::auditor::explain::BatchReader;
use crate::auditor::timeline::Timeline;
use crate::auditor::{Audit, Breach, Ledger, demand};
use crate::coverage::Coverage;

/// The state of an artifact.
#[derive(Clone, Debug)]
struct ArtifactModel {
    bytes: u64,
    keep_ms: u64,
    free_since: Timestamp,
    place: BlobPlace,
}

/// Every artifact at every revision.
#[derive(Default)]
pub struct Artifacts(BTreeMap<ArtifactId, Timeline<Option<ArtifactModel>>>);

impl Artifacts {
    /// Whether a text mentions an artifact that ever existed.
    pub(crate) fn any_in(&self, text: &Json) -> bool {
        self.0.keys().any(|id| text.as_str().contains(id.as_str()))
    }

    fn at(&self, artifact: &ArtifactId, at: u64) -> Option<&ArtifactModel> {
        self.0.get(artifact)?.at(at)?.as_ref()
    }
}

impl Ledger {
    /// Applies a durable event about an artifact.
    pub(crate) fn add_artifact(
        &mut self,
        batch: &Batch,
        event: &Event,
        coverage: &mut Coverage,
    ) -> Audit {
        let artifact = event.artifact();
        let before = self.artifacts.at(artifact, u64::MAX).cloned();
        let named = self.names(artifact, u64::MAX);
        let after = match event {
            Event::Put { place, bytes, keep_ms, .. } => {
                demand!(place.is_none() == before.is_some(), "`{artifact}` has two places or none");
                coverage.met(if before.is_some() { "artifact: again" } else { "artifact: put" });
                let place = place.clone().or_else(|| before.map(|before| before.place));
                let place = place.ok_or_else(|| Breach("it is nowhere".to_owned()))?;
                let free_since = batch.time;
                Some(ArtifactModel { bytes: *bytes, keep_ms: *keep_ms, free_since, place })
            }
            Event::Deleted { .. } => {
                coverage.met("artifact: deleted");
                demand!(before.is_some(), "`{artifact}` was deleted, but was not there");
                demand!(named == 0, "`{artifact}` was deleted, but {named} entries reference it");
                None
            }
            Event::Expired { .. } => {
                coverage.met("artifact: expired");
                demand!(batch.agent == AgentId::engine(), "it expired by an agent's hand");
                let Some(before) = before else {
                    return Err(Breach(format!("`{artifact}` expired, but was not there")));
                };
                demand!(named == 0, "`{artifact}` expired, but {named} entries reference it");
                let end = before.free_since.after(before.keep_ms);
                demand!(batch.time >= end, "`{artifact}` expired before {end:?}");
                None
            }
        };
        self.artifacts.0.entry(artifact.clone()).or_default().set(batch.revision.0, after);
        Ok(())
    }

    /// The number of entries and messages that reference an artifact. A message does as long as it
    /// is known.
    fn names(&self, artifact: &ArtifactId, at: u64) -> usize {
        let names_it = |text: &Json| text.as_str().contains(artifact.as_str());
        let entries = self.facts(at).filter(|(_, fact)| names_it(&fact.value));
        let messages = self.messages.all_at(at).filter(|message| {
            let answer = message.request.iter().flat_map(|asked| &asked.answer);
            let answer = answer.flat_map(|given| given.body.iter().chain(&given.error));
            names_it(&message.body) || answer.into_iter().any(names_it)
        });
        entries.count() + messages.count()
    }

    /// An entry no longer has this value, and may have been the last reference to an artifact.
    pub(crate) fn let_go(&mut self, batch: &Batch, value: &Json, coverage: &mut Coverage) {
        let named = self.artifacts.0.keys().filter(|id| value.as_str().contains(id.as_str()));
        let named: Vec<ArtifactId> = named.cloned().collect();
        for artifact in named {
            let there = self.artifacts.at(&artifact, u64::MAX).cloned();
            if let Some(there) = there.filter(|_| self.names(&artifact, u64::MAX) == 0) {
                coverage.met("artifact: released");
                let after = Some(ArtifactModel { free_since: batch.time, ..there });
                self.artifacts.0.entry(artifact).or_default().set(batch.revision.0, after);
            }
        }
    }

    fn same_artifact(&self, shown: &Artifact, at: u64) -> Audit {
        let artifact = &shown.artifact;
        let Some(known) = self.artifacts.at(artifact, at) else {
            return Err(Breach(format!("`{artifact}` is shown, but is not there")));
        };
        let named = self.names(artifact, at);
        demand!(shown.references == named as u64, "{named} entries reference it: {shown:?}");
        let end = (named == 0).then(|| known.free_since.after(known.keep_ms));
        demand!(shown.expires_at == end, "it ends at {end:?}: {shown:?}");
        let same = (shown.bytes, shown.keep_ms) == (known.bytes, known.keep_ms);
        demand!(same, "it is {known:?}, and shown as {shown:?}");
        Ok(())
    }

    /// Checks that the answer to a change is the artifact after or before it.
    pub(crate) fn artifact_reply(&self, command: &Command, reply: &Reply, revision: u64) -> Audit {
        match (command, reply) {
            (Command::Put(put), Reply::Put { artifact, known }) => {
                demand!(artifact.artifact == put.artifact, "another artifact was put");
                let was = self.artifacts.at(&put.artifact, revision - 1).is_some();
                demand!(*known == was, "it was there before or was not: {was}");
                self.same_artifact(artifact, revision)
            }
            (Command::Delete { artifact }, Reply::Artifact(gone)) => {
                demand!(gone.artifact == *artifact, "another artifact went");
                self.same_artifact(gone, revision - 1)
            }
            (command, reply) => Err(Breach(format!("{command:?} was answered with {reply:?}"))),
        }
    }

    /// Checks returned artifacts.
    pub(crate) fn artifacts_shown(&self, query: &Query, reply: &Reply, at: u64) -> Audit {
        match (query, reply) {
            (Query::Get { artifact }, Reply::Artifact(shown)) => {
                demand!(shown.artifact == *artifact, "another artifact is shown");
                self.same_artifact(shown, at)
            }
            (Query::List(_), Reply::Artifacts { artifacts, bytes, .. }) => {
                let there = self.artifacts.0.values().filter_map(|it| it.at(at)?.as_ref());
                let (count, sum) =
                    there.fold((0, 0), |(count, sum), known| (count + 1, sum + known.bytes));
                demand!((artifacts.len(), *bytes) == (count, sum), "there are {count}, not these");
                artifacts.iter().try_for_each(|shown| self.same_artifact(shown, at))
            }
            (query, reply) => Err(Breach(format!("{query:?} was answered with {reply:?}"))),
        }
    }

    /// Whether an artifact existed.
    pub(crate) fn knows_artifact(&self, artifact: &ArtifactId, at: u64) -> bool {
        self.artifacts.at(artifact, at).is_some()
    }

    /// Checks a command that was refused because of an artifact.
    pub(crate) fn refused_artifact(&self, rejection: &Rejection, at: u64) -> Audit {
        match rejection {
            Rejection::NotFound { artifact } => {
                demand!(!self.knows_artifact(artifact, at), "`{artifact}` was there");
            }
            Rejection::InUse { artifact, references, .. } => {
                let named = self.names(artifact, at) as u64;
                demand!(
                    named > 0 && named == *references,
                    "{named} entries reference `{artifact}`"
                );
            }
            other => {
                let code = other.code();
                return Err(Breach(format!("no request can cause `{code}`")));
            }
        }
        Ok(())
    }
}

impl BatchReader<'_> {
    /// One command about an artifact, one event.
    pub(crate) fn artifact(&mut self, command: &Command) -> Audit {
        let event = match self.take()? {
            AnyEvent::Artifact(event) => event,
            other => return Err(Breach(format!("an artifact was due, not {}", other.kind()))),
        };
        let same = match (command, event) {
            (Command::Put(put), Event::Put { artifact, place, bytes, .. }) => {
                put.artifact == *artifact
                    && put.bytes == *bytes
                    && place.as_ref().is_none_or(|place| *place == put.place)
            }
            (Command::Delete { artifact }, Event::Deleted { artifact: gone }) => artifact == gone,
            _ => false,
        };
        demand!(same, "{command:?} became {event:?}");
        Ok(())
    }
}
