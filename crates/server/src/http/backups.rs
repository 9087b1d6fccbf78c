//! A backup of the whole server, for an admin. Its route is not below a workspace.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, header};
use axum::routing::get;

use baton_core::access::Permission;

use super::parcels::streamed;
use super::tokens::admitted;
use crate::problem::Refused;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new().route("/v1/access/backup", get(backup))
}

async fn backup(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response<Body>, Refused> {
    admitted(&request, Permission::Administer, "server.backup")?;
    let pack = |output| async move {
        let _slot = shared.upload_slot(Vec::new())?;
        shared.baton.backup(output).await?;
        Ok(())
    };
    let mut response = streamed("server.backup", pack).await?;
    // It contains secrets: no cache may store it.
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, no_store);
    Ok(response)
}
