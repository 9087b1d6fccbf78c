//! A backup of the whole server, for an admin. Its route is not below a workspace.

use std::io::Write;
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
    backup_response(|output| async move {
        let _slot = shared.upload_slot(Vec::new())?;
        shared.baton.backup(output).await?;
        Ok(())
    })
    .await
}

/// Responds with a backup while it is being written.
pub(crate) async fn backup_response<F>(
    pack: impl FnOnce(Box<dyn Write + Send>) -> F,
) -> Result<Response<Body>, Refused>
where
    F: Future<Output = Result<(), Refused>> + Send + 'static,
{
    let mut response = streamed("server.backup", pack).await?;
    // It contains secrets: no cache may store it.
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, no_store);
    Ok(response)
}
