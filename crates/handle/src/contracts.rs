//! Who depends on which keys of a workspace.

use baton_core::contracts::{Contract, Problem, Query, Reply as ContractReply};
use baton_core::schema::Schema;
use baton_core::{Json, NamespaceName, Pattern, Rejection, Reply};
use serde::Serialize;

use crate::Workspace;
use crate::carrier::{Carrier, Failure};

/// Who depends on which keys of a workspace.
#[derive(Clone, Debug)]
pub struct Contracts<C> {
    workspace: Workspace<C>,
}

impl<C: Carrier> Contracts<C> {
    pub(crate) fn new(workspace: Workspace<C>) -> Self {
        Self { workspace }
    }

    /// All of them, by key, or those whose `namespace/key` matches a pattern.
    pub async fn show(&self, pattern: Option<&str>) -> Result<Vec<Contract>, C::Error> {
        let pattern = pattern.map(Pattern::parse).transpose().map_err(Rejection::from)?;
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let query = Query::Show { pattern: pattern.clone(), limit: None, cursor };
            match self.workspace.ask(query).await?.reply {
                Reply::Contract(ContractReply::Contracts { contracts, cursor: next }) => {
                    all.extend(contracts);
                    match next {
                        Some(next) => cursor = Some(next),
                        None => return Ok(all),
                    }
                }
                reply => return Err(C::Error::odd(&reply)),
            }
        }
    }

    /// What somebody depends on and is not as it was.
    pub async fn check(&self) -> Result<Vec<Problem>, C::Error> {
        self.problems(Query::Check { namespace: None, schema: None }).await
    }

    /// The same for one namespace.
    pub async fn check_namespace(&self, namespace: &str) -> Result<Vec<Problem>, C::Error> {
        let namespace = Some(NamespaceName::parse(namespace)?);
        self.problems(Query::Check { namespace, schema: None }).await
    }

    /// The same, and what would break if the namespace had this schema.
    pub async fn check_schema(
        &self,
        namespace: &str,
        schema: impl Serialize,
    ) -> Result<Vec<Problem>, C::Error> {
        let namespace = Some(NamespaceName::parse(namespace)?);
        let schema = Json::of(&schema).map_err(Rejection::from)?;
        let schema = Schema::compile(&schema).map_err(Rejection::from)?;
        self.problems(Query::Check { namespace, schema: Some(schema) }).await
    }

    async fn problems(&self, query: Query) -> Result<Vec<Problem>, C::Error> {
        match self.workspace.ask(query).await?.reply {
            Reply::Contract(ContractReply::Problems { problems }) => Ok(problems),
            reply => Err(C::Error::odd(&reply)),
        }
    }
}
