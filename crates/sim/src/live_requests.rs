//! Live requests, from the call to the answer: the log knows nothing of them, so what their callers
//! were told goes to a model of its own.

use baton::clock::Clock;
use baton_core::{AgentId, Answer, Rejection, Timestamp, WorkspaceName};

use crate::actors::agent::Action;
use crate::auditor::{Audit, demand};
use crate::models::live::{live_reply, live_request, received, recorded};
use crate::requests::{PendingRequest, RequestState};
use crate::story::render_answer;
use crate::world::{World, broken};

impl World {
    /// Notes what the admission of a call means for live requests. Returns what the log may contain
    /// of the call.
    pub(crate) fn note_live(
        &mut self,
        workspace: &WorkspaceName,
        id: &AgentId,
        action: Action,
        (waiting, now): (&RequestState, Timestamp),
    ) -> Audit<Action> {
        let Action::Submit(request) = &action else { return Ok(action) };
        let ledger = self.auditor.ledger(workspace);
        if let (RequestState::Live { .. }, Some(live)) = (waiting, live_request(request)) {
            ledger.live_asked(id, live, now);
        }
        let is_accepted = match waiting {
            RequestState::Request { answer, .. } | RequestState::LiveAnswer(answer) => {
                answer.judge(Result::is_ok)
            }
            _ => true,
        };
        if let Some(respond) = live_reply(request).filter(|_| is_accepted) {
            let may_repeat = request.idempotency_key.is_some();
            ledger.live_replied(respond, id, (now, may_repeat))?;
        }
        Ok(Action::Submit(recorded(request)))
    }

    /// A live request was received, or a reply to one was accepted.
    pub(crate) fn open_live(
        &mut self,
        PendingRequest { agent, workspace, action, waiting, .. }: PendingRequest,
        durable: u64,
    ) -> Audit {
        let RequestState::LiveAnswer(held) = waiting else {
            return Err(broken("only this is answered like that"));
        };
        let (id, answer) = (self.agents[agent].id.clone(), held.open(durable));
        self.trace.tell(|| format!("   {id} is answered: {}", render_answer(&answer)));
        self.sum_answer(&answer)?;
        let ledger = self.auditor.ledger(&workspace);
        if let (Some(message), Ok(answer)) = (received(&answer), &answer) {
            ledger.live_received(message, &id, answer.revision.0, &mut self.coverage)?;
        }
        self.agents[agent].learn(&action, &answer);
        Ok(())
    }

    /// A call that waited has received a live request, or the reply to one. True if it is so.
    pub(crate) fn end_live(
        &mut self,
        pending: &PendingRequest,
        answer: &Result<Answer, Rejection>,
    ) -> Audit<bool> {
        let Action::Submit(request) = &pending.action else { return Ok(false) };
        let now = self.server().shard.machine().local_time(&pending.workspace, self.clock.now());
        let id = self.agents[pending.agent].id.clone();
        let ledger = self.auditor.ledger(&pending.workspace);
        if let (RequestState::Live { group, .. }, Some(live)) =
            (&pending.waiting, live_request(request))
        {
            let status = self.server.as_ref().map(|it| it.shard.watermark().group_status(*group));
            demand!(matches!(status, Some(Some(Ok(_)))), "`{id}` was answered too early");
            ledger.live_ended(live, answer, now, &mut self.coverage)?;
            return Ok(true);
        }
        if let (RequestState::Call { call, .. }, Some(message), Ok(answer)) =
            (&pending.waiting, received(answer), answer)
        {
            ledger.waits.live.explains(call.wait.0);
            ledger.live_received(message, &id, answer.revision.0, &mut self.coverage)?;
            return Ok(true);
        }
        Ok(false)
    }
}
