//! Shared state in one namespace.

use std::future::IntoFuture;

use baton_core::state::merge::Patch;
use baton_core::state::{
    Change, Command, Delete, Diff, Get, History, List, Page, PatchEntry, Query,
    Reply as StateReply, Set, Snapshot, Transfer,
};
use baton_core::{Entry, Json, Key, NamespaceName, Pattern, Reply, Revision, Version};
use serde::Serialize;

use crate::carrier::{Carrier, Failure};
use crate::{Prepared, Sent, Workspace};

/// Shared state in one namespace, as one agent sees it.
#[derive(Clone, Debug)]
pub struct State<C> {
    workspace: Workspace<C>,
    namespace: String,
}

impl<C: Carrier> State<C> {
    pub(crate) fn new(workspace: Workspace<C>, namespace: &str) -> Self {
        Self { workspace, namespace: namespace.to_owned() }
    }

    fn namespace(&self) -> Prepared<NamespaceName> {
        Ok(NamespaceName::parse(&self.namespace)?)
    }

    /// Writes a value. Conditions may follow before it is awaited.
    pub fn set(&self, key: &str, value: impl Serialize) -> Setting<C> {
        let prepare = || {
            let value = Json::of(&value)?;
            Ok(Set::new(self.namespace()?, Key::parse(key)?, value))
        };
        Setting { workspace: self.workspace.clone(), set: prepare() }
    }

    /// Reads an entry.
    pub async fn get(&self, key: &str) -> Result<Entry, C::Error> {
        self.ask_entry(key, None).await
    }

    /// Reads an entry as it was after a revision.
    pub async fn get_at(&self, key: &str, at: Revision) -> Result<Entry, C::Error> {
        self.ask_entry(key, Some(at)).await
    }

    async fn ask_entry(&self, key: &str, at: Option<Revision>) -> Result<Entry, C::Error> {
        let get = Get { namespace: self.namespace()?, key: Key::parse(key)?, at };
        entry(self.workspace.ask(Query::Get(get)).await?.reply)
    }

    /// Changes part of a value on the server.
    pub fn patch(&self, key: &str, patch: Patch) -> Patching<C> {
        let prepare = || {
            let (namespace, key) = (self.namespace()?, Key::parse(key)?);
            Ok(PatchEntry { namespace, key, patch, expected_version: None })
        };
        Patching { workspace: self.workspace.clone(), patch: prepare() }
    }

    /// Adds to a number.
    pub fn increment(&self, key: &str, by: i64) -> Patching<C> {
        let by = Json::of(&by).expect("numbers are JSON");
        self.patch(key, Patch::Increment(by))
    }

    /// Adds to the end of a list.
    pub fn append(&self, key: &str, value: impl Serialize) -> Patching<C> {
        match Json::of(&value) {
            Ok(value) => self.patch(key, Patch::Append(value)),
            Err(error) => Patching { workspace: self.workspace.clone(), patch: Err(error.into()) },
        }
    }

    /// Reads, changes and writes a value, and begins again whenever somebody else was faster. The
    /// change is given what is there, and answers with what shall be.
    pub async fn update<T: Serialize>(
        &self,
        key: &str,
        mut change: impl FnMut(Option<&Entry>) -> T,
    ) -> Result<Entry, C::Error> {
        let mut current = match self.get(key).await {
            Ok(entry) => Some(entry),
            Err(error) if error.code() == "state.not_found" => None,
            Err(error) => return Err(error),
        };
        loop {
            let value = change(current.as_ref());
            let version = current.as_ref().map_or(Version(0), Entry::version);
            match self.set(key, value).expected_version(version).await {
                Ok(entry) => return Ok(entry),
                Err(error) => current = error.into_winner()?,
            }
        }
    }

    /// Removes an entry, and answers with what it was.
    pub async fn delete(&self, key: &str) -> Result<Entry, C::Error> {
        self.remove(key, None).await
    }

    /// Removes an entry if it has this version.
    pub async fn delete_version(&self, key: &str, version: Version) -> Result<Entry, C::Error> {
        self.remove(key, Some(version)).await
    }

    async fn remove(
        &self,
        key: &str,
        expected_version: Option<Version>,
    ) -> Result<Entry, C::Error> {
        let (namespace, key) = (self.namespace()?, Key::parse(key)?);
        let delete = Command::Delete(Delete { namespace, key, expected_version });
        entry(self.workspace.execute(delete).await?.reply)
    }

    /// A page of entries in key order. The query's namespace is this one.
    pub async fn list(&self, list: List) -> Result<Page, C::Error> {
        let list = List { namespace: self.namespace()?, ..list };
        page(self.workspace.ask(Query::List(list)).await?.reply)
    }

    /// The entries whose keys match a pattern, up to a page.
    pub async fn matching(&self, pattern: &str) -> Result<Page, C::Error> {
        let pattern = Pattern::parse(pattern).map_err(baton_core::Rejection::from)?;
        self.list(List { pattern: Some(pattern), ..List::all(self.namespace()?) }).await
    }

    /// All entries at one revision, page by page.
    pub async fn snapshot(&self, snapshot: Snapshot) -> Result<Page, C::Error> {
        let snapshot = Snapshot { namespace: Some(self.namespace()?), ..snapshot };
        page(self.workspace.ask(Query::Snapshot(snapshot)).await?.reply)
    }

    /// Changes, newest first, and where the next page begins. The query's namespace is this one.
    pub async fn history(
        &self,
        history: History,
    ) -> Result<(Vec<Change>, Option<String>), C::Error> {
        let history = History { namespace: Some(self.namespace()?), ..history };
        changes(self.workspace.ask(Query::History(history)).await?.reply)
    }

    /// What differs between two revisions.
    pub async fn diff(&self, from: Revision, to: Revision) -> Result<Vec<Change>, C::Error> {
        let diff = Diff { namespace: Some(self.namespace()?), from, to: Some(to) };
        changes(self.workspace.ask(Query::Diff(diff)).await?.reply).map(|(changes, _)| changes)
    }

    /// Moves entries to another namespace: these, or all. Each keeps a note of its source.
    pub async fn transfer_to(
        &self,
        to_namespace: &str,
        keys: Option<&[&str]>,
    ) -> Result<Vec<Key>, C::Error> {
        let parse = |keys: &[&str]| keys.iter().map(|key| Key::parse(key)).collect();
        let transfer = Transfer {
            from_namespace: self.namespace()?,
            to_namespace: NamespaceName::parse(to_namespace)?,
            keys: keys.map(parse).transpose()?,
            overwrite: false,
        };
        match self.workspace.execute(Command::Transfer(transfer)).await?.reply {
            Reply::State(StateReply::Moved { keys }) => Ok(keys),
            reply => Err(C::Error::odd(&reply)),
        }
    }
}

fn entry<F: Failure>(reply: Reply) -> Result<Entry, F> {
    match reply {
        Reply::State(StateReply::Entry(entry)) => Ok(entry),
        reply => Err(F::odd(&reply)),
    }
}

fn page<F: Failure>(reply: Reply) -> Result<Page, F> {
    match reply {
        Reply::State(StateReply::Entries(page)) => Ok(page),
        reply => Err(F::odd(&reply)),
    }
}

fn changes<F: Failure>(reply: Reply) -> Result<(Vec<Change>, Option<String>), F> {
    match reply {
        Reply::State(StateReply::Changes { changes, cursor, .. }) => Ok((changes, cursor)),
        reply => Err(F::odd(&reply)),
    }
}

/// A write that is carried out when it is awaited.
#[must_use = "nothing is written before this is awaited"]
pub struct Setting<C> {
    workspace: Workspace<C>,
    set: Prepared<Set>,
}

impl<C: Carrier> Setting<C> {
    fn with(mut self, change: impl FnOnce(&mut Set)) -> Self {
        self.set = self.set.map(|mut set| {
            change(&mut set);
            set
        });
        self
    }

    /// Only if the entry has this version; 0 means that it is absent.
    pub fn expected_version(self, version: impl Into<Version>) -> Self {
        self.with(|set| set.expected_version = Some(version.into()))
    }

    /// Only if there is no entry.
    pub fn if_absent(self) -> Self {
        self.with(|set| set.if_absent = true)
    }

    /// Only if the entry has this value.
    pub fn expected_value(mut self, value: impl Serialize) -> Self {
        self.set = self.set.and_then(|mut set| {
            set.expected_value = Some(Json::of(&value)?);
            Ok(set)
        });
        self
    }

    /// The entry goes after so many milliseconds unless written again.
    pub fn ttl_ms(self, milliseconds: u64) -> Self {
        self.with(|set| set.ttl_ms = Some(milliseconds))
    }

    /// The entry goes when the session of the acting agent ends.
    pub fn ephemeral(self) -> Self {
        self.with(|set| set.ephemeral = true)
    }
}

impl<C: Carrier> IntoFuture for Setting<C> {
    type Output = Result<Entry, C::Error>;
    type IntoFuture = Sent<Entry, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { entry(self.workspace.execute(Command::Set(self.set?)).await?.reply) })
    }
}

/// A patch that is carried out when it is awaited.
#[must_use = "nothing is written before this is awaited"]
pub struct Patching<C> {
    workspace: Workspace<C>,
    patch: Prepared<PatchEntry>,
}

impl<C: Carrier> Patching<C> {
    /// Only if the entry has this version; 0 means that it is absent.
    pub fn expected_version(mut self, version: impl Into<Version>) -> Self {
        let version = Some(version.into());
        self.patch = self.patch.map(|patch| PatchEntry { expected_version: version, ..patch });
        self
    }
}

impl<C: Carrier> IntoFuture for Patching<C> {
    type Output = Result<Entry, C::Error>;
    type IntoFuture = Sent<Entry, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(
            async move { entry(self.workspace.execute(Command::Patch(self.patch?)).await?.reply) },
        )
    }
}
