//! Checks that a refusal was correct when it was decided.

use baton_core::state::Rejection as StateRejection;
use baton_core::{IdempotencyKey, Precondition, Rejection, agent, namespace};

use super::answers::{DecidedRequest, same_entry};
use super::{Audit, Breach, demand};
use crate::auditor::ledger::Ledger;
use crate::coverage::Coverage;
use crate::models::status_wait::refused_status_wait;

impl Ledger {
    /// Checks that a refusal states what was true when the request was decided.
    pub(super) fn refused(
        &self,
        asked: &DecidedRequest<'_>,
        rejection: &Rejection,
        coverage: &mut Coverage,
    ) -> Audit {
        let at = asked.decided_at;
        match rejection {
            Rejection::State(rejection) => self.refused_state(asked, rejection, at, coverage),
            Rejection::Agent(rejection) => self.refused_agent(rejection, at, coverage),
            Rejection::Namespace(rejection) => self.refused_namespace(rejection, at),
            Rejection::Message(rejection) => self.refused_message(asked, rejection, coverage),
            Rejection::Topic(rejection) => self.refused_topic(rejection, at),
            Rejection::Stream(rejection) => self.refused_stream(asked, rejection),
            Rejection::Rule(rejection) => self.refused_rule(&asked.request.mutation, rejection, at),
            Rejection::Contract(rejection) => {
                self.refused_contract(asked.agent, rejection, at, coverage)
            }
            Rejection::Reaction(rejection) => self.refused_reaction(rejection, at),
            Rejection::Lock(rejection) => self.refused_lock(rejection, at, coverage),
            Rejection::Semaphore(rejection) => self.refused_semaphore(rejection, at, coverage),
            Rejection::Task(rejection) => self.refused_task(rejection, at, coverage),
            Rejection::Barrier(rejection) => self.refused_barrier(rejection, at),
            Rejection::Join(rejection) => self.refused_join(rejection, at),
            Rejection::Wait(rejection) => refused_status_wait(rejection),
            Rejection::Checkpoint(rejection) => self.refused_checkpoint(rejection, at, coverage),
            Rejection::Artifact(rejection) => self.refused_artifact(rejection, at),
            Rejection::Spend(rejection) => self.refused_spend(rejection, at, coverage),
            Rejection::Secret(rejection) => self.refused_secret(rejection, at),
            Rejection::Pipeline(rejection) => self.refused_pipeline(asked, rejection, at),
            Rejection::Handoff(rejection) => self.refused_handoff(asked, rejection, coverage),
            Rejection::CannotWait {} => self.refused_wait(&asked.request.mutation, at),
            Rejection::StaleToken { given } => {
                coverage.met("answer: stale fence refused");
                let live = self.tokens.is_live(*given, at);
                demand!(!live, "token {given} was refused, but it was live");
                Ok(())
            }
            Rejection::NotHolder { .. } => self.refused_token(asked, rejection, coverage),
            Rejection::KeyReused { key } => {
                coverage.met("answer: idempotency key reused");
                self.refused_key(asked, key)
            }
            Rejection::CameToNothing { .. } => Ok(()),
            Rejection::PreconditionFailed { index, precondition, entry, revision, .. } => {
                coverage.met("answer: precondition failed");
                demand!(revision.0 == at, "it was checked at {revision}");
                demand!(!self.holds(precondition, at), "precondition {index} did hold");
                match &**precondition {
                    Precondition::Entry { namespace, key, .. } => {
                        let fact = self.entry(namespace, key, at);
                        same_entry(fact.map(AsRef::as_ref), entry.as_deref())
                    }
                    _ => Ok(()),
                }
            }
            Rejection::InTransaction { index, cause, .. } => {
                coverage.met("answer: transaction undone");
                // Later commands were decided against what earlier ones had made of it.
                if *index == 0 { self.refused(asked, cause, coverage) } else { Ok(()) }
            }
            other => Err(Breach(format!("no request can cause `{}`", other.code()))),
        }
    }

    /// A key is refused only if another request was made under it.
    fn refused_key(&self, asked: &DecidedRequest<'_>, key: &IdempotencyKey) -> Audit {
        let at = asked.decided_at;
        if self.waits.under(asked.agent, key, at).is_some() {
            return Ok(());
        }
        let Some((kept, _)) = self.receipt(asked.agent, key, at) else {
            return Err(Breach(format!("`{key}` is called used, but nothing was done")));
        };
        let name = (kept.revision, asked.agent.clone(), key.clone());
        let keyed = self.keyed.get(&name);
        let first = keyed.and_then(|keyed| keyed.request.as_ref());
        demand!(first != Some(asked.request), "a repeated request was refused");
        Ok(())
    }

    fn refused_state(
        &self,
        asked: &DecidedRequest<'_>,
        rejection: &StateRejection,
        at: u64,
        coverage: &mut Coverage,
    ) -> Audit {
        match rejection {
            StateRejection::NotFound { namespace, key } => {
                demand!(self.rules(namespace, at).is_some(), "`{namespace}` was not there");
                demand!(self.entry(namespace, key, at).is_none(), "`{key}` was there");
            }
            StateRejection::UnknownNamespace { namespace } => {
                demand!(self.rules(namespace, at).is_none(), "`{namespace}` was there");
            }
            StateRejection::VersionConflict { namespace, key, expected, entry, .. } => {
                coverage.met("answer: version conflict");
                let fact = self.entry(namespace, key, at);
                same_entry(fact.map(AsRef::as_ref), entry.as_deref())?;
                let version = fact.map_or(0, |fact| fact.version);
                demand!(version != expected.0, "`{key}` was at version {expected} indeed");
            }
            StateRejection::ValueConflict { namespace, key, entry } => {
                let fact = self.entry(namespace, key, at);
                same_entry(fact.map(AsRef::as_ref), entry.as_deref())?;
            }
            StateRejection::Exists { entry, .. } => self.same_as_at(entry, at)?,
            StateRejection::AppendOnly { entry } => {
                self.same_as_at(entry, at)?;
                let rules = self.rules(entry.namespace(), at);
                demand!(rules.is_some_and(|rules| rules.append_only), "it is not append-only");
            }
            StateRejection::NoSession { agent } => {
                let active = self.session(agent, at).is_some_and(|session| session.active);
                demand!(!active && agent == asked.agent, "`{agent}` had a session");
            }
            StateRejection::Schema { .. }
            | StateRejection::ValueTooLarge { .. }
            | StateRejection::PatchFailed { .. }
            | StateRejection::SameNamespace { .. } => {}
            other => {
                let code = other.code();
                return Err(Breach(format!("no request can cause `{code}`")));
            }
        }
        Ok(())
    }

    fn refused_agent(
        &self,
        rejection: &agent::Rejection,
        at: u64,
        coverage: &mut Coverage,
    ) -> Audit {
        match rejection {
            agent::Rejection::NotFound { agent } => {
                demand!(self.session(agent, at).is_none(), "`{agent}` was there");
            }
            agent::Rejection::Ended { agent, .. } => {
                let ended = self.session(agent, at).is_some_and(|session| !session.active);
                demand!(ended, "`{agent}` had a session");
            }
            agent::Rejection::StaleToken { agent, given } => {
                coverage.met("answer: stale token refused");
                let token = self.session(agent, at).map(|session| session.token);
                demand!(
                    token.is_some_and(|token| given.0 < token),
                    "{given} is newer than {token:?}"
                );
            }
            other => self.refused_parent(other, at)?,
        }
        Ok(())
    }

    fn refused_namespace(&self, rejection: &namespace::Rejection, at: u64) -> Audit {
        match rejection {
            namespace::Rejection::Exists { namespace } => {
                demand!(self.rules(&namespace.name, at).is_some(), "it was not there");
            }
            namespace::Rejection::NotFound { name } => {
                demand!(self.rules(name, at).is_none(), "`{name}` was there");
            }
            namespace::Rejection::Permanent { .. } => {}
            other => {
                let code = other.code();
                return Err(Breach(format!("no request can cause `{code}`")));
            }
        }
        Ok(())
    }
}
