//! Namespaces of a workspace.

use std::future::IntoFuture;

use baton_core::namespace::{Command, Namespace, Query, Reply as NamespaceReply};
use baton_core::{NamespaceName, Reply, Rules};

use crate::carrier::{Carrier, Failure};
use crate::{Prepared, Sent, Workspace};

/// Namespaces of a workspace, as one agent sees them.
#[derive(Clone, Debug)]
pub struct Namespaces<C> {
    workspace: Workspace<C>,
}

impl<C: Carrier> Namespaces<C> {
    pub(crate) fn new(workspace: Workspace<C>) -> Self {
        Self { workspace }
    }

    /// Creates one. Rules may follow before it is awaited.
    pub fn create(&self, name: &str) -> CreateNamespace<C> {
        let name = NamespaceName::parse(name).map_err(Into::into);
        CreateNamespace { workspace: self.workspace.clone(), name, rules: Rules::default() }
    }

    /// Replaces the rules of one.
    pub async fn configure(&self, name: &str, rules: Rules) -> Result<Namespace, C::Error> {
        let name = NamespaceName::parse(name)?;
        self.execute(Command::Configure { name, rules }).await
    }

    /// Deletes one, with all its entries.
    pub async fn delete(&self, name: &str) -> Result<Namespace, C::Error> {
        self.execute(Command::Delete { name: NamespaceName::parse(name)? }).await
    }

    /// One of them.
    pub async fn get(&self, name: &str) -> Result<Namespace, C::Error> {
        let query = Query::Get { name: NamespaceName::parse(name)? };
        namespace(self.workspace.ask(baton_core::Query::from(query)).await?.reply)
    }

    /// All of them, by name.
    pub async fn list(&self) -> Result<Vec<Namespace>, C::Error> {
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let query = Query::List { limit: None, cursor };
            match self.workspace.ask(baton_core::Query::from(query)).await?.reply {
                Reply::Namespace(NamespaceReply::Namespaces { namespaces, cursor: next }) => {
                    all.extend(namespaces);
                    match next {
                        Some(next) => cursor = Some(next),
                        None => return Ok(all),
                    }
                }
                reply => return Err(C::Error::odd(&reply)),
            }
        }
    }

    async fn execute(&self, command: Command) -> Result<Namespace, C::Error> {
        namespace(self.workspace.execute(command).await?.reply)
    }
}

fn namespace<F: Failure>(reply: Reply) -> Result<Namespace, F> {
    match reply {
        Reply::Namespace(NamespaceReply::Namespace(namespace)) => Ok(namespace),
        reply => Err(F::odd(&reply)),
    }
}

/// A namespace that is created when this is awaited.
#[must_use = "nothing is created before this is awaited"]
pub struct CreateNamespace<C> {
    workspace: Workspace<C>,
    name: Prepared<NamespaceName>,
    rules: Rules,
}

impl<C: Carrier> CreateNamespace<C> {
    /// What it demands of what is written into it.
    pub fn rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }
}

impl<C: Carrier> IntoFuture for CreateNamespace<C> {
    type Output = Result<Namespace, C::Error>;
    type IntoFuture = Sent<Namespace, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let command = Command::Create { name: self.name?, rules: self.rules };
            namespace(self.workspace.execute(command).await?.reply)
        })
    }
}
