//! The operations as HTTP resources: a method and a path for each, from the table.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Response, header};
use axum::response::IntoResponse;
use axum::routing::{MethodFilter, on};
use baton_core::wire::{Effect, Fault, Fields, Method, OPERATIONS, Operation, Rest};

use super::request_context::{RequestContext, body_kind, header_text, not_modified};
use crate::problem::Refused;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    OPERATIONS.iter().fold(Router::new(), |router, operation| {
        let path = format!("/v1/{{workspace}}{}", operation.path);
        let answer = async move |context: RequestContext| answer(context, operation).await;
        router.route(&path, on(filter(operation.method), answer))
    })
}

fn filter(method: Method) -> MethodFilter {
    match method {
        Method::Get => MethodFilter::GET,
        Method::Put => MethodFilter::PUT,
        Method::Post => MethodFilter::POST,
        Method::Patch => MethodFilter::PATCH,
        Method::Delete => MethodFilter::DELETE,
    }
}

async fn answer(
    mut context: RequestContext,
    operation: &'static Operation,
) -> Result<Response<Body>, Refused> {
    if operation.acts_as_agent {
        context.act_as_named()?;
    }
    if let Some((name, field)) = operation.alias {
        context.rename(name, field);
    }
    let value;
    let mut fields = match whole(operation.rest, &context.headers)? {
        Some(field) => {
            value = context.value()?;
            let mut fields = context.fields();
            fields.json(field, &value);
            fields
        }
        None if operation.rest == Rest::Query => {
            context.no_body()?;
            context.fields()
        }
        None => context.fields_with_body()?,
    };
    if operation.has_version && operation.effect == Effect::Changes {
        conditions(&context.headers, &mut fields)?;
    }
    let answer = context.perform(operation, fields).await?;
    if operation.has_version && operation.effect == Effect::Asks && context.has(&answer)? {
        return Ok(not_modified(&answer));
    }
    Ok(answer.into_response())
}

/// The field that the whole body represents, if there is one.
fn whole(rest: Rest, headers: &HeaderMap) -> Result<Option<&'static str>, Refused> {
    Ok(match rest {
        Rest::Query | Rest::Body => None,
        Rest::Whole(field) => Some(field),
        Rest::Patch => match body_kind(headers)?.as_str() {
            "application/merge-patch+json" => Some("merge"),
            "application/json-patch+json" => Some("json_patch"),
            _ => None,
        },
    })
}

/// `If-Match` with a version, and `If-None-Match: *`, as the fields they represent.
fn conditions(headers: &HeaderMap, fields: &mut Fields<'_>) -> Result<(), Refused> {
    if let Some(tag) = header_text(headers, &header::IF_MATCH)? {
        let version = tag.trim().strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
        let is_version = |text: &&str| text.parse::<u64>().is_ok();
        match version.filter(is_version) {
            Some(version) => fields.text("expected_version", version.to_owned()),
            None => return Err(Fault::field("if-match", "it must be a version in quotes").into()),
        }
    }
    match header_text(headers, &header::IF_NONE_MATCH)?.as_deref() {
        None => Ok(()),
        Some("*") => {
            fields.text("if_absent", "true");
            Ok(())
        }
        Some(_) => Err(Fault::field("if-none-match", "only `*` makes sense here").into()),
    }
}
