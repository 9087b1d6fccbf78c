//! The namespaces of a workspace.

use baton_core::namespace::{Command, Namespace, Query};
use baton_core::{NamespaceName, Rules};

use crate::request::request;
use crate::{Error, Namespaces};

impl Namespaces {
    /// Creates a namespace.
    pub fn create(&self, name: &str) -> CreateNamespace {
        let name = NamespaceName::parse(name).map_err(Into::into);
        CreateNamespace::new(&self.workspace, name.map(|name| (name, Rules::default())))
    }

    /// Replaces the rules of a namespace.
    pub async fn configure(&self, name: &str, rules: Rules) -> Result<Namespace, Error> {
        self.workspace.run(Command::Configure { name: NamespaceName::parse(name)?, rules }).await
    }

    /// Deletes a namespace with all its entries.
    pub async fn delete(&self, name: &str) -> Result<Namespace, Error> {
        self.workspace.run(Command::Delete { name: NamespaceName::parse(name)? }).await
    }

    /// Reads a namespace.
    pub async fn get(&self, name: &str) -> Result<Namespace, Error> {
        self.workspace.query(Query::Get { name: NamespaceName::parse(name)? }).await
    }

    /// Lists the namespaces, by name.
    pub async fn list(&self) -> Result<Vec<Namespace>, Error> {
        self.workspace.pages(None, |cursor| Query::List { limit: None, cursor }).await
    }
}

request! {
    /// Creates a namespace when it is awaited.
    CreateNamespace((NamespaceName, Rules)) -> Namespace: |workspace, create|
        workspace.run(Command::Create { name: create.0, rules: create.1 });
    /// Sets rules for what is written into it.
    rules(rules: Rules) |create| create.1 = rules;
}
