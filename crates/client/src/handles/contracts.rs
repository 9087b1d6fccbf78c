//! The contracts of a workspace: which agents depend on which keys.

use baton_core::contracts::{Contract, Problem, Query};
use baton_core::schema::Schema;
use baton_core::{Json, NamespaceName, Pattern, Rejection};
use serde::Serialize;

use crate::{Contracts, Error};

impl Contracts {
    /// Lists the contracts by key: all, or those whose `namespace/key` matches a pattern.
    pub async fn show(&self, pattern: Option<&str>) -> Result<Vec<Contract>, Error> {
        let pattern = pattern.map(Pattern::parse).transpose().map_err(Rejection::from)?;
        let show = |cursor| Query::Show { pattern: pattern.clone(), limit: None, cursor };
        self.workspace.pages(None, show).await
    }

    /// Lists the contracts that are broken.
    pub async fn check(&self) -> Result<Vec<Problem>, Error> {
        self.workspace.query(Query::Check { namespace: None, schema: None }).await
    }

    /// Lists the contracts of one namespace that are broken.
    pub async fn check_namespace(&self, namespace: &str) -> Result<Vec<Problem>, Error> {
        let namespace = Some(NamespaceName::parse(namespace)?);
        self.workspace.query(Query::Check { namespace, schema: None }).await
    }

    /// Lists the contracts that are broken, or would be if the namespace had this schema.
    pub async fn check_schema(
        &self,
        namespace: &str,
        schema: impl Serialize,
    ) -> Result<Vec<Problem>, Error> {
        let namespace = Some(NamespaceName::parse(namespace)?);
        let schema = Json::of(&schema).map_err(Rejection::from)?;
        let schema = Some(Schema::compile(&schema).map_err(Rejection::from)?);
        self.workspace.query(Query::Check { namespace, schema }).await
    }
}
