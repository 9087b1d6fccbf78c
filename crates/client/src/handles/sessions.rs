//! The state of a conversation, in the scopes that agent frameworks use.
//!
//! | name | shared by | key in `shared` |
//! |---|---|---|
//! | `app:theme` | all users of the application | `sessions/app/APP/theme` |
//! | `user:name` | all conversations of the user | `sessions/user/APP/USER/name` |
//! | `plan` | nothing else: this conversation | `sessions/own/APP/USER/SESSION/plan` |
//! | `temp:draft` | nothing else: it is in this [`Session`] value and not stored | |
//!
//! ```text
//!   session.state() ──▶ variables of a hand-off ──▶ the receiver works and returns its changes
//!         ▲                                                          │
//!         └──────────────────── session.apply(changes) ◀────────────┘
//! ```
//!
//! The answer of an agent is stored under its `output_key` in the same way.
//!
//! Deliberately absent: a table of sessions. Session state is entries, so it has versions, history,
//! watches and rules like all others.

use std::collections::BTreeMap;

use baton_core::names::NameError;
use baton_core::state::{Command, List, Set};
use baton_core::{Json, Key, NamespaceName};
use serde::Serialize;

use crate::request::Prepared;
use crate::{Error, Workspace};

const NAMESPACE: &str = "shared";
const APP: &str = "app:";
const USER: &str = "user:";
const TEMP: &str = "temp:";

/// The state of one conversation of a user with an application.
#[derive(Clone, Debug)]
pub struct Session {
    workspace: Workspace,
    of_app: String,
    of_user: String,
    own: String,
    temporary: BTreeMap<String, Json>,
}

impl Session {
    pub(crate) fn new(
        workspace: Workspace,
        app: &str,
        user: &str,
        session: &str,
    ) -> Prepared<Self> {
        for (what, name) in [("application", app), ("user", user), ("session", session)] {
            // With a slash, the entries of one could be those of another.
            if name.is_empty() || name.contains('/') {
                let reason = "it must not be empty or have a `/`".to_owned();
                return Err(NameError { what, given: name.to_owned(), reason }.into());
            }
        }
        Ok(Self {
            workspace,
            of_app: format!("sessions/app/{app}/"),
            of_user: format!("sessions/user/{app}/{user}/"),
            own: format!("sessions/own/{app}/{user}/{session}/"),
            temporary: BTreeMap::new(),
        })
    }

    /// The key of a name; none if it is not stored.
    fn key(&self, name: &str) -> Prepared<Option<Key>> {
        let (scope, rest) = if name.starts_with(TEMP) {
            return Ok(None);
        } else if let Some(rest) = name.strip_prefix(APP) {
            (&self.of_app, rest)
        } else if let Some(rest) = name.strip_prefix(USER) {
            (&self.of_user, rest)
        } else {
            (&self.own, name)
        };
        Ok(Some(Key::parse(&format!("{scope}{rest}"))?))
    }

    /// Reads the value of a name.
    pub async fn get(&self, name: &str) -> Result<Option<Json>, Error> {
        let Some(key) = self.key(name)? else { return Ok(self.temporary.get(name).cloned()) };
        match self.workspace.state(NAMESPACE).get(key.as_str()).await {
            Ok(entry) => Ok(Some(entry.json())),
            Err(error) if error.code() == "state.not_found" => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads all values by name, with the prefixes of their scopes.
    pub async fn state(&self) -> Result<BTreeMap<String, Json>, Error> {
        let mut state = self.temporary.clone();
        for (prefix, scope) in [(APP, &self.of_app), (USER, &self.of_user), ("", &self.own)] {
            let mut list = List::all(NamespaceName::parse(NAMESPACE)?);
            list.prefix = Some(scope.clone());
            loop {
                let page = self.workspace.state(NAMESPACE).list(list.clone()).await?;
                state.extend(page.entries.iter().map(|entry| {
                    (format!("{prefix}{}", &entry.key()[scope.len()..]), entry.json())
                }));
                // Later pages are read at the revision of the first, so that a scope is consistent.
                (list.cursor, list.at) = (page.cursor, Some(page.revision));
                if list.cursor.is_none() {
                    break;
                }
            }
        }
        Ok(state)
    }

    /// Sets the value of a name, for example the answer of an agent under its `output_key`.
    pub async fn set(&mut self, name: &str, value: impl Serialize) -> Result<(), Error> {
        let value = Json::of(&value).map_err(baton_core::Rejection::from)?;
        self.apply([(name.to_owned(), value)].into()).await
    }

    /// Sets the values of names, all or none: the changes of a tool or of the receiver of a
    /// hand-off.
    pub async fn apply(&mut self, changes: BTreeMap<String, Json>) -> Result<(), Error> {
        let mut transaction = self.workspace.transaction();
        let (mut temporary, mut is_empty) = (BTreeMap::new(), true);
        for (name, value) in changes {
            match self.key(&name)? {
                Some(key) => {
                    let set = Set::new(NamespaceName::parse(NAMESPACE)?, key, value);
                    transaction = transaction.command(Command::Set(set));
                    is_empty = false;
                }
                None => drop(temporary.insert(name, value)),
            }
        }
        if !is_empty {
            transaction.commit().await?;
        }
        self.temporary.append(&mut temporary);
        Ok(())
    }
}
