//! Shared state in one namespace.

use std::future::{Future, IntoFuture};
use std::pin::Pin;

use baton_core::merge::Patch;
use baton_core::state::{
    Change, Command, Delete, Diff, Get, History, List, Page, PatchEntry, Query,
    Reply as StateReply, Set, Snapshot, Transfer,
};
use baton_core::{Entry, Json, Key, NamespaceName, Pattern, Reply, Revision, Version};
use serde::Serialize;

use super::{Prepared, Workspace, odd};
use crate::error::Error;

type Sent<T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send>>;

/// Shared state in one namespace, as one agent sees it.
#[derive(Clone, Debug)]
pub struct State {
    workspace: Workspace,
    namespace: String,
}

impl State {
    pub(super) fn new(workspace: Workspace, namespace: &str) -> Self {
        Self { workspace, namespace: namespace.to_owned() }
    }

    fn namespace(&self) -> Prepared<NamespaceName> {
        Ok(NamespaceName::parse(&self.namespace)?)
    }

    /// Writes a value. Conditions may follow before it is awaited.
    pub fn set(&self, key: &str, value: impl Serialize) -> Setting {
        let prepare = || {
            let value = Json::of(&value)?;
            Ok(Set::new(self.namespace()?, Key::parse(key)?, value))
        };
        Setting { workspace: self.workspace.clone(), set: prepare() }
    }

    /// Reads an entry.
    pub async fn get(&self, key: &str) -> Result<Entry, Error> {
        self.ask_entry(key, None).await
    }

    /// Reads an entry as it was after a revision.
    pub async fn get_at(&self, key: &str, at: Revision) -> Result<Entry, Error> {
        self.ask_entry(key, Some(at)).await
    }

    async fn ask_entry(&self, key: &str, at: Option<Revision>) -> Result<Entry, Error> {
        let get = Get { namespace: self.namespace()?, key: Key::parse(key)?, at };
        entry(self.workspace.ask(Query::Get(get)).await?.reply)
    }

    /// Changes part of a value on the server.
    pub fn patch(&self, key: &str, patch: Patch) -> Patching {
        let prepare = || {
            let (namespace, key) = (self.namespace()?, Key::parse(key)?);
            Ok(PatchEntry { namespace, key, patch, expected_version: None })
        };
        Patching { workspace: self.workspace.clone(), patch: prepare() }
    }

    /// Adds to a number.
    pub fn increment(&self, key: &str, by: i64) -> Patching {
        let by = Json::of(&by).expect("numbers are JSON");
        self.patch(key, Patch::Increment(by))
    }

    /// Adds to the end of a list.
    pub fn append(&self, key: &str, value: impl Serialize) -> Patching {
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
    ) -> Result<Entry, Error> {
        let mut current = match self.get(key).await {
            Ok(entry) => Some(entry),
            Err(Error::Rejected(rejection)) if rejection.code() == "state.not_found" => None,
            Err(error) => return Err(error),
        };
        loop {
            let value = change(current.as_ref());
            let version = current.as_ref().map_or(Version(0), Entry::version);
            match self.set(key, value).expected_version(version).await {
                Err(Error::Rejected(baton_core::Rejection::State(
                    baton_core::state::Rejection::VersionConflict { entry, .. },
                ))) => current = entry.map(|entry| *entry),
                outcome => return outcome,
            }
        }
    }

    /// Removes an entry, and answers with what it was.
    pub async fn delete(&self, key: &str) -> Result<Entry, Error> {
        self.remove(key, None).await
    }

    /// Removes an entry if it has this version.
    pub async fn delete_version(&self, key: &str, version: Version) -> Result<Entry, Error> {
        self.remove(key, Some(version)).await
    }

    async fn remove(&self, key: &str, expected_version: Option<Version>) -> Result<Entry, Error> {
        let (namespace, key) = (self.namespace()?, Key::parse(key)?);
        let delete = Command::Delete(Delete { namespace, key, expected_version });
        entry(self.workspace.execute(delete).await?.reply)
    }

    /// A page of entries in key order. The query's namespace is this one.
    pub async fn list(&self, list: List) -> Result<Page, Error> {
        let list = List { namespace: self.namespace()?, ..list };
        page(self.workspace.ask(Query::List(list)).await?.reply)
    }

    /// The entries whose keys match a pattern, up to a page.
    pub async fn matching(&self, pattern: &str) -> Result<Page, Error> {
        let pattern = Pattern::parse(pattern).map_err(baton_core::Rejection::from)?;
        self.list(List { pattern: Some(pattern), ..List::all(self.namespace()?) }).await
    }

    /// All entries at one revision, page by page.
    pub async fn snapshot(&self, snapshot: Snapshot) -> Result<Page, Error> {
        let snapshot = Snapshot { namespace: Some(self.namespace()?), ..snapshot };
        page(self.workspace.ask(Query::Snapshot(snapshot)).await?.reply)
    }

    /// Changes, newest first, and where the next page begins. The query's namespace is this one.
    pub async fn history(&self, history: History) -> Result<(Vec<Change>, Option<String>), Error> {
        let history = History { namespace: Some(self.namespace()?), ..history };
        changes(self.workspace.ask(Query::History(history)).await?.reply)
    }

    /// What differs between two revisions.
    pub async fn diff(&self, from: Revision, to: Revision) -> Result<Vec<Change>, Error> {
        let diff = Diff { namespace: Some(self.namespace()?), from, to: Some(to) };
        Ok(changes(self.workspace.ask(Query::Diff(diff)).await?.reply)?.0)
    }

    /// Moves entries to another namespace: these, or all. Each keeps a note of its source.
    pub async fn transfer_to(
        &self,
        to_namespace: &str,
        keys: Option<&[&str]>,
    ) -> Result<Vec<Key>, Error> {
        let parse = |keys: &[&str]| keys.iter().map(|key| Key::parse(key)).collect();
        let transfer = Transfer {
            from_namespace: self.namespace()?,
            to_namespace: NamespaceName::parse(to_namespace)?,
            keys: keys.map(parse).transpose()?,
            overwrite: false,
        };
        match self.workspace.execute(Command::Transfer(transfer)).await?.reply {
            Reply::State(StateReply::Moved { keys }) => Ok(keys),
            reply => odd(&reply),
        }
    }
}

fn entry(reply: Reply) -> Result<Entry, Error> {
    match reply {
        Reply::State(StateReply::Entry(entry)) => Ok(entry),
        reply => odd(&reply),
    }
}

fn page(reply: Reply) -> Result<Page, Error> {
    match reply {
        Reply::State(StateReply::Entries(page)) => Ok(page),
        reply => odd(&reply),
    }
}

fn changes(reply: Reply) -> Result<(Vec<Change>, Option<String>), Error> {
    match reply {
        Reply::State(StateReply::Changes { changes, cursor, .. }) => Ok((changes, cursor)),
        reply => odd(&reply),
    }
}

/// A write that is carried out when it is awaited.
#[must_use = "nothing is written before this is awaited"]
pub struct Setting {
    workspace: Workspace,
    set: Prepared<Set>,
}

impl Setting {
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

impl IntoFuture for Setting {
    type Output = Result<Entry, Error>;
    type IntoFuture = Sent<Entry>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { entry(self.workspace.execute(Command::Set(self.set?)).await?.reply) })
    }
}

/// A patch that is carried out when it is awaited.
#[must_use = "nothing is written before this is awaited"]
pub struct Patching {
    workspace: Workspace,
    patch: Prepared<PatchEntry>,
}

impl Patching {
    /// Only if the entry has this version; 0 means that it is absent.
    pub fn expected_version(mut self, version: impl Into<Version>) -> Self {
        let version = Some(version.into());
        self.patch = self.patch.map(|patch| PatchEntry { expected_version: version, ..patch });
        self
    }
}

impl IntoFuture for Patching {
    type Output = Result<Entry, Error>;
    type IntoFuture = Sent<Entry>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(
            async move { entry(self.workspace.execute(Command::Patch(self.patch?)).await?.reply) },
        )
    }
}
