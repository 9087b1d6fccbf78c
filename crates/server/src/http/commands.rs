//! Commands by name: one, or a list of them; and transactions.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::Response;
use axum::routing::post;
use baton::error::Error;
use baton::{Admission, Caller, Waiting};
use baton_core::wire::{Call, Fault, Frame, Problem, elements, write_answer};
use baton_core::{AgentId, Answer, IdempotencyKey, Mutation, Request};

use super::request_context::{RequestContext, TOKEN, json};
use crate::in_flight::{self, InFlight};
use crate::large_answer::{encode_apart, is_large};
use crate::problem::Refused;
use crate::refusal::Refusal;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/v1/{workspace}/commands", post(commands))
        .route("/v1/{workspace}/transactions", post(transaction))
}

async fn commands(context: RequestContext) -> Result<Response<Body>, Refused> {
    no_parameters(&context, "give it as the field `token` of the command")?;
    let text = context.text()?;
    if text.trim_start().starts_with('[') {
        return many(&context, text).await;
    }
    let (caller, call) = read(&context, text)?;
    Ok(render(&context, context.carry_out(&caller, call).await?).await)
}

async fn transaction(context: RequestContext) -> Result<Response<Body>, Refused> {
    no_parameters(&context, "give it in `require` of the transaction")?;
    let (caller, frame) = envelope(&context, context.text()?)?;
    Ok(render(&context, context.carry_out(&caller, frame.transaction()?).await?).await)
}

/// Rejects parameters that are not used here. A caller that sends a token must not assume that it
/// protects the request.
fn no_parameters(context: &RequestContext, of_token: &str) -> Result<(), Refused> {
    if context.headers.contains_key(TOKEN) {
        return Err(Fault::field(TOKEN.as_str(), of_token).into());
    }
    Ok(context.fields().none()?)
}

async fn render(context: &RequestContext, answer: Answer) -> Response<Body> {
    let is_large = is_large(&answer);
    let encode = move || {
        let mut body = b"{".to_vec();
        write_answer(&mut body, &answer);
        body.push(b'}');
        body
    };
    json(if is_large { encode_apart(&context.shared.encoders, encode).await } else { encode() })
}

fn read(context: &RequestContext, text: &str) -> Result<(Caller, Call), Refused> {
    let (caller, frame) = envelope(context, text)?;
    Ok((caller, frame.call()?))
}

/// The agent and the idempotency key may be in the headers or in the object.
fn envelope<'a>(
    context: &'a RequestContext,
    text: &'a str,
) -> Result<(Caller, Frame<'a>), Refused> {
    let mut frame = Frame::parse(text)?;
    let elsewhere = [("id", frame.id.is_some()), ("workspace", frame.workspace.is_some())];
    if let Some((name, _)) = elsewhere.into_iter().find(|(_, given)| *given) {
        return Err(Fault::field(name, "the path says it").into());
    }
    let mut caller = context.caller.clone();
    match frame.acting() {
        Some(name) => {
            let field = if frame.caller.is_some() { "caller" } else { "agent" };
            let agent = AgentId::of_caller(name).map_err(|error| Fault::field(field, error))?;
            // Commands about an agent name it as a field; the acting agent may be another one.
            let may_differ = frame.is_about_agent() && frame.caller.is_none();
            if context.names_agent && !may_differ && agent != caller.agent {
                let reason = "the header `Baton-Agent` names another agent";
                return Err(Fault::field(field, reason).into());
            }
            if !context.names_agent && !context.authority.asks_as_itself(&frame) {
                caller.agent = agent;
            }
        }
        None if context.names_agent => frame.acts(context.caller.agent.as_str()),
        None => {}
    }
    if let Some(key) = frame.idempotency_key.take() {
        let key = IdempotencyKey::parse(&key);
        let key = key.map_err(|error| Fault::field("idempotency_key", error))?;
        // Neither may be dropped: its sender relies on it when it repeats the request.
        if caller.idempotency_key.as_ref().is_some_and(|header| *header != key) {
            let reason = "the header `Idempotency-Key` has another value";
            return Err(Fault::field("idempotency_key", reason).into());
        }
        caller.idempotency_key = Some(key);
    }
    Ok((caller, frame))
}

/// Independent calls, submitted together and answered in order.
async fn many(context: &RequestContext, text: &str) -> Result<Response<Body>, Refused> {
    let max = context.shared.settings.commands_max;
    let mut calls = Vec::new();
    elements(text, |item| {
        if calls.len() == max {
            return Err(Fault::TooLarge { what: "commands", given: max + 1, max });
        }
        let traced = |(caller, call)| (caller, context.traced(call), item.len());
        calls.push(read(context, item).map(traced));
        Ok(())
    })?;
    if context.caller.idempotency_key.is_some() && calls.len() > 1 {
        let reason = "one key cannot stand for several commands: give each its own";
        return Err(Fault::field("idempotency-key", reason).into());
    }
    let mut answers: Vec<Option<Result<Answer, Problem>>> = Vec::new();
    answers.resize_with(calls.len(), || None);
    let mut in_flight = InFlight::default();
    let mut waits = VecDeque::new();
    for (index, read) in calls.into_iter().enumerate() {
        answers[index] = match read {
            Ok((caller, call, bytes)) => {
                match context.authority.permits(&caller.workspace, &caller.agent, &call, bytes) {
                    Ok(()) => {
                        context.shared.fairness.enter(&caller.workspace, bytes).await;
                        submit(context, (&mut in_flight, &mut waits), caller, call, index).await
                    }
                    Err(problem) => Some(Err(problem)),
                }
            }
            Err(refused) => Some(Err(refused.0)),
        };
    }
    let baton = &context.shared.baton;
    in_flight.await_durable(baton).await;
    while let Some((index, outcome)) = in_flight.next(baton) {
        answers[index] = Some(outcome.map_err(|error| Problem::from(&error)));
    }
    for (index, waiting) in waits {
        answers[index] = Some(waiting.answer().await.map_err(|error| Problem::from(&error)));
    }
    let answers = answers.into_iter().map(|it| it.expect("everything handed in is answered"));
    let answers: Vec<_> = answers.collect();
    let is_large = answers.iter().any(|answer| answer.as_ref().is_ok_and(is_large));
    let (shared, connection) = (Arc::clone(&context.shared), context.connection);
    let encode = move || encode_many(&shared, connection, answers);
    Ok(json(if is_large { encode_apart(&context.shared.encoders, encode).await } else { encode() }))
}

fn encode_many(shared: &Shared, connection: u64, answers: Vec<Result<Answer, Problem>>) -> Vec<u8> {
    let mut body = b"[".to_vec();
    for (index, answer) in answers.into_iter().enumerate() {
        body.extend_from_slice(if index > 0 { b",{" } else { b"{" });
        match answer {
            Ok(answer) => write_answer(&mut body, &answer),
            Err(problem) => {
                shared.refused(connection, &problem.code);
                body.extend_from_slice(b"\"error\":");
                serde_json::to_writer(&mut body, &problem).expect("problems can be encoded");
            }
        }
        body.push(b'}');
    }
    body.push(b']');
    body
}

/// Submits one of several calls, after the permission check; returns the answer if it is known at
/// once. Calls that wait are collected, so that the following ones do not wait with them.
async fn submit(
    context: &RequestContext,
    (in_flight, waits): (&mut InFlight<usize>, &mut VecDeque<(usize, Waiting)>),
    caller: Caller,
    call: Call,
    index: usize,
) -> Option<Result<Answer, Problem>> {
    let baton = &context.shared.baton;
    let failed = |error: Error| Some(Err(Problem::from(&error)));
    let mutation = match call {
        Call::Command(command) => Mutation::Command(command),
        Call::Transaction(mutation) => mutation,
        Call::Query(query) => loop {
            match in_flight.look_up(baton, &caller.workspace, caller.viewer(), &query, index) {
                Ok(Admission::Answer(large)) => {
                    if let Some(held) = large {
                        in_flight.add(index, held);
                    }
                    return None;
                }
                Ok(Admission::Wait(_)) => {
                    let shared = Arc::clone(&context.shared);
                    let answer = in_flight::query_deferred(shared, caller, query).await;
                    return Some(answer.map_err(|error| Problem::from(&error)));
                }
                Ok(Admission::Retry((), after)) => {
                    if let Err(error) = baton.wait_for_retry(&caller.workspace, after).await {
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
        match in_flight.submit(baton, &caller.workspace, &caller.agent, request, index) {
            Ok(Admission::Answer(())) => return None,
            Ok(Admission::Wait(waiting)) => {
                // If the caller disconnects, its last call leaves the queue first: a resource that
                // an earlier one releases must not be granted to a later one.
                waits.push_front((index, waiting));
                return None;
            }
            Ok(Admission::Retry(back, after)) => {
                request = back;
                if let Err(error) = baton.wait_for_retry(&caller.workspace, after).await {
                    return failed(error);
                }
            }
            Err(error) => return failed(error),
        }
    }
}
