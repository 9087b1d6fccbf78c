//! Commands by name: one, or a list of them; and transactions.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::Response;
use axum::routing::post;
use baton::{Error, Waiting};
use baton_core::wire::{Call, Fault, Frame, Problem, elements, write_answer};
use baton_core::{AgentId, Answer, IdempotencyKey, Mutation, Request};
use baton_handle::Caller;

use super::visit::{TOKEN, Visit, json};
use crate::problem::Refused;
use crate::refusal::Refusal;
use crate::shared::Shared;
use crate::turn::{self, Handed, Looked, Stalled, Turn};

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/v1/{workspace}/commands", post(commands))
        .route("/v1/{workspace}/transactions", post(transaction))
}

async fn commands(visit: Visit) -> Result<Response<Body>, Refused> {
    no_parameters(&visit, "give it as the field `token` of the command")?;
    let text = visit.text()?;
    if text.trim_start().starts_with('[') {
        return many(&visit, text).await;
    }
    let (caller, call) = read(&visit, text)?;
    Ok(told(&visit.carry_out(&caller, call).await?))
}

async fn transaction(visit: Visit) -> Result<Response<Body>, Refused> {
    no_parameters(&visit, "give it in `require` of the transaction")?;
    let (caller, frame) = envelope(&visit, visit.text()?)?;
    Ok(told(&visit.carry_out(&caller, frame.transaction()?).await?))
}

/// Refuses what is not looked at here. Whoever believes to act under a token must not be left in
/// that belief.
fn no_parameters(visit: &Visit, of_token: &str) -> Result<(), Refused> {
    if visit.headers.contains_key(TOKEN) {
        return Err(Fault::field(TOKEN.as_str(), of_token).into());
    }
    Ok(visit.fields().none()?)
}

fn told(answer: &Answer) -> Response<Body> {
    let mut body = b"{".to_vec();
    write_answer(&mut body, answer);
    body.push(b'}');
    json(body)
}

fn read(visit: &Visit, text: &str) -> Result<(Caller, Call), Refused> {
    let (caller, frame) = envelope(visit, text)?;
    Ok((caller, frame.call()?))
}

/// Who acts and under which key may stand in the headers, or in the object itself.
fn envelope<'a>(visit: &'a Visit, text: &'a str) -> Result<(Caller, Frame<'a>), Refused> {
    let mut frame = Frame::parse(text)?;
    let elsewhere = [("id", frame.id.is_some()), ("workspace", frame.workspace.is_some())];
    if let Some((name, _)) = elsewhere.into_iter().find(|(_, given)| *given) {
        return Err(Fault::field(name, "the path says it").into());
    }
    let mut caller = visit.caller.clone();
    match &frame.agent {
        Some(name) => {
            let agent = AgentId::of_caller(name).map_err(|error| Fault::field("agent", error))?;
            // An agent's own commands name it as a field; who acts may be another.
            if !visit.names_agent {
                caller.agent = agent;
            }
        }
        None if visit.names_agent => frame.acts(visit.caller.agent.as_str()),
        None => {}
    }
    if let Some(key) = frame.idempotency_key.take() {
        let key = IdempotencyKey::parse(&key);
        caller.idempotency_key = Some(key.map_err(|error| Fault::field("idempotency_key", error))?);
    }
    Ok((caller, frame))
}

/// Independent of each other, handed in together, answered in order.
async fn many(visit: &Visit, text: &str) -> Result<Response<Body>, Refused> {
    let max = visit.shared.settings.commands_max;
    let mut calls = Vec::new();
    elements(text, |item| {
        if calls.len() == max {
            return Err(Fault::TooLarge { what: "commands", given: max + 1, max });
        }
        let traced = |(caller, call)| (caller, visit.traced(call), item.len());
        calls.push(read(visit, item).map(traced));
        Ok(())
    })?;
    if visit.caller.idempotency_key.is_some() && calls.len() > 1 {
        let reason = "one key cannot stand for several commands: give each its own";
        return Err(Fault::field("idempotency-key", reason).into());
    }
    let mut answers: Vec<Option<Result<Answer, Problem>>> = Vec::new();
    answers.resize_with(calls.len(), || None);
    let mut turn = Turn::default();
    let mut waits = Vec::new();
    for (place, read) in calls.into_iter().enumerate() {
        answers[place] = match read {
            Ok((caller, call, bytes)) => {
                match visit.authority.permits(&caller.workspace, &caller.agent, &call, bytes) {
                    Ok(()) => {
                        visit.shared.shares.enter(&caller.workspace, bytes).await;
                        hand_in(visit, (&mut turn, &mut waits), caller, call, place).await
                    }
                    Err(problem) => Some(Err(problem)),
                }
            }
            Err(refused) => Some(Err(refused.0)),
        };
    }
    let baton = &visit.shared.baton;
    turn.settle(baton).await;
    while let Some((place, outcome)) = turn.next(baton) {
        answers[place] = Some(outcome.map_err(|error| Problem::from(&error)));
    }
    for (place, waiting) in waits {
        answers[place] = Some(waiting.answer().await.map_err(|error| Problem::from(&error)));
    }
    let mut body = b"[".to_vec();
    for (place, answer) in answers.into_iter().enumerate() {
        body.extend_from_slice(if place > 0 { b",{" } else { b"{" });
        match answer.expect("everything that was handed in is answered") {
            Ok(answer) => write_answer(&mut body, &answer),
            Err(problem) => {
                visit.shared.refused(visit.connection, &problem.code);
                body.extend_from_slice(b"\"error\":");
                serde_json::to_writer(&mut body, &problem).expect("problems can be encoded");
            }
        }
        body.push(b'}');
    }
    body.push(b']');
    Ok(json(body))
}

/// Hands in one of many that is permitted; an answer if it is known at once. Those that wait are
/// put aside: nobody after them has to wait with them.
async fn hand_in(
    visit: &Visit,
    (turn, waits): (&mut Turn<usize>, &mut Vec<(usize, Waiting)>),
    caller: Caller,
    call: Call,
    place: usize,
) -> Option<Result<Answer, Problem>> {
    let baton = &visit.shared.baton;
    let failed = |error: Error| Some(Err(Problem::from(&error)));
    let mutation = match call {
        Call::Command(command) => Mutation::Command(command),
        Call::Transaction(mutation) => mutation,
        Call::Query(query) => loop {
            match turn.look_up(baton, &caller.workspace, &query, place) {
                Ok(Looked::Handed) => return None,
                Ok(Looked::Past) => {
                    let answer = turn::aside(Arc::clone(&visit.shared), caller, query).await;
                    return Some(answer.map_err(|error| Problem::from(&error)));
                }
                Ok(Looked::Absent) => {
                    if let Err(error) = baton.load(&caller.workspace).await {
                        return failed(error);
                    }
                }
                Err(error) => return failed(error),
            }
        },
        Call::Watch(_) | Call::Unwatch { .. } | Call::Ping => {
            return Some(Err(Refusal::NeedsConnection {}.into()));
        }
    };
    let mut request = Request { mutation, idempotency_key: caller.idempotency_key };
    loop {
        let waited = match turn.hand_in(baton, &caller.workspace, &caller.agent, request, place) {
            Ok(Handed::In) => return None,
            Ok(Handed::Waits(waiting)) => {
                waits.push((place, waiting));
                return None;
            }
            Ok(Handed::Stalled(Stalled::Absent((back, _)))) => {
                request = back;
                baton.load(&caller.workspace).await
            }
            Ok(Handed::Stalled(Stalled::Crowded((back, _), group))) => {
                request = back;
                baton.wait_durable(group).await.map(drop)
            }
            Err(error) => return failed(error),
        };
        if let Err(error) = waited {
            return failed(error);
        }
    }
}
