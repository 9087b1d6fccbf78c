//! The contracts of a workspace: the declared ones, and which agents depend on which keys.

use baton_core::contract::{self, Command, Declaration, Declare, OnBreak, Query, Terms};
use baton_core::contracts::{Contract, ContractProblem};
use baton_core::json::Shape;
use baton_core::refusal::BadField;
use baton_core::schema::Schema;
use baton_core::{ContractName, Json, NamespaceName, Pattern, Rejection};
use serde::Serialize;

use crate::request::request;
use crate::{Contracts, Error};

impl Contracts {
    /// Declares a contract, or replaces the one with this name. It needs at least one key.
    pub fn declare(&self, name: &str) -> DeclaringContract {
        let declare = ContractName::parse(name).map_err(Into::into);
        let declare =
            declare.map(|name| Declare { name, keys: Vec::new(), on_break: OnBreak::Warn });
        DeclaringContract::new(&self.workspace, declare)
    }

    /// Deletes a contract that this agent owns.
    pub async fn delete(&self, name: &str) -> Result<Declaration, Error> {
        self.workspace.run(Command::Delete { name: ContractName::parse(name)?, force: false }).await
    }

    /// Deletes a contract even if another agent owns it.
    pub async fn force_delete(&self, name: &str) -> Result<Declaration, Error> {
        self.workspace.run(Command::Delete { name: ContractName::parse(name)?, force: true }).await
    }

    /// Lists the declared contracts, by name.
    pub async fn list(&self) -> Result<Vec<Declaration>, Error> {
        self.workspace.pages(None, |cursor| Query::List { limit: None, cursor }).await
    }

    /// Lists the contracts by key: all, or those whose `namespace/key` matches a pattern.
    pub async fn show(&self, pattern: Option<&str>) -> Result<Vec<Contract>, Error> {
        let pattern = pattern.map(Pattern::parse).transpose().map_err(Rejection::from)?;
        let show = |cursor| Query::Show { pattern: pattern.clone(), limit: None, cursor };
        self.workspace.pages(None, show).await
    }

    /// Lists the contracts that are broken.
    pub async fn check(&self) -> Result<Vec<ContractProblem>, Error> {
        self.workspace.query(Query::Check { namespace: None, schema: None }).await
    }

    /// Lists the contracts of one namespace that are broken.
    pub async fn check_namespace(&self, namespace: &str) -> Result<Vec<ContractProblem>, Error> {
        let namespace = Some(NamespaceName::parse(namespace)?);
        self.workspace.query(Query::Check { namespace, schema: None }).await
    }

    /// Lists the contracts that are broken, or would be if the namespace had this schema.
    pub async fn check_schema(
        &self,
        namespace: &str,
        schema: impl Serialize,
    ) -> Result<Vec<ContractProblem>, Error> {
        let namespace = Some(NamespaceName::parse(namespace)?);
        let schema = Json::of(&schema).map_err(Rejection::from)?;
        let schema = Some(Schema::compile(&schema).map_err(Rejection::from)?);
        self.workspace.query(Query::Check { namespace, schema }).await
    }
}

request! {
    /// Declares a contract when it is awaited.
    DeclaringContract(Declare) -> Declaration:
        |workspace, declare| workspace.run(Command::Declare(Box::new(declare)));
    /// Depends on the entry `namespace/key`, or on all that match a pattern.
    key(key: &str) |declare| declare.keys.push(terms(key)?);
    /// Expects a JSON type of the last key.
    of_type(kind: Shape) |declare| last(&mut declare)?.kind = Some(kind);
    /// Expects a field in the value of the last key: a name, or a JSON Pointer.
    field(field: &str) |declare| last(&mut declare)?.fields.push(field.to_owned());
    /// Expects that the value of the last key satisfies a JSON Schema.
    schema(schema: impl Serialize) |declare|
        last(&mut declare)?.schema = Some(Schema::compile(&Json::of(&schema)?)?);
    /// The entry of the last key may be deleted.
    optional() |declare| last(&mut declare)?.optional = true;
    /// Adds a key with everything that is expected of it.
    terms(terms: Terms) |declare| declare.keys.push(terms);
    /// Commands that would break the contract are refused.
    refuse() |declare| declare.on_break = OnBreak::Refuse;
}

fn terms(key: &str) -> Result<Terms, Rejection> {
    let key = Pattern::parse(key)?;
    Ok(Terms { key, kind: None, fields: Vec::new(), schema: None, optional: false })
}

/// The key that was added last.
fn last(declare: &mut Declare) -> Result<&mut Terms, Rejection> {
    let reason = "a key must be given before what is expected of it".to_owned();
    let missing = BadField { field: "keys".into(), reason };
    declare.keys.last_mut().ok_or_else(|| contract::Rejection::from(missing).into())
}
