//! The shared state in one namespace.

use baton_core::state::merge::Patch;
use baton_core::state::{
    Change, Command, Delete, Diff, Get, History, List, Page, PatchEntry, Query, Set, Snapshot,
    Transfer,
};
use baton_core::{Entry, Json, Key, NamespaceName, Pattern, Rejection, Revision, Version};
use serde::Serialize;

use crate::request::{Prepared, request};
use crate::{Error, Workspace};

/// The shared state in one namespace.
#[derive(Clone, Debug)]
pub struct State {
    workspace: Workspace,
    namespace: String,
}

impl State {
    pub(crate) fn new(workspace: Workspace, namespace: &str) -> Self {
        Self { workspace, namespace: namespace.to_owned() }
    }

    fn namespace(&self) -> Prepared<NamespaceName> {
        Ok(NamespaceName::parse(&self.namespace)?)
    }

    /// Writes a value.
    pub fn set(&self, key: &str, value: impl Serialize) -> Setting {
        let prepare = || {
            let value = Json::of(&value)?;
            Ok(Set::new(self.namespace()?, Key::parse(key)?, value))
        };
        Setting::new(&self.workspace, prepare())
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
        self.workspace.query(Query::Get(get)).await
    }

    /// Changes part of a value where it is stored.
    pub fn patch(&self, key: &str, patch: Patch) -> Patching {
        self.patching(key, Ok(patch))
    }

    /// Adds to a number.
    pub fn increment(&self, key: &str, by: i64) -> Patching {
        self.patching(key, Json::of(&by).map(Patch::Increment).map_err(Into::into))
    }

    /// Appends to a list.
    pub fn append(&self, key: &str, value: impl Serialize) -> Patching {
        self.patching(key, Json::of(&value).map(Patch::Append).map_err(Into::into))
    }

    fn patching(&self, key: &str, patch: Prepared<Patch>) -> Patching {
        let prepare = || {
            let (namespace, key, patch) = (self.namespace()?, Key::parse(key)?, patch?);
            let (expected_version, expected_revision) = (None, None);
            Ok(PatchEntry { namespace, key, patch, expected_version, expected_revision })
        };
        Patching::new(&self.workspace, prepare())
    }

    /// Reads, changes and writes a value, and starts again if another write came first. `change` is
    /// given the current entry and returns the new value.
    pub async fn update<T: Serialize>(
        &self,
        key: &str,
        mut change: impl FnMut(Option<&Entry>) -> T,
    ) -> Result<Entry, Error> {
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

    /// Deletes an entry. Returns it as it was.
    pub async fn delete(&self, key: &str) -> Result<Entry, Error> {
        self.remove(key, None, None).await
    }

    /// Deletes an entry if it has this version.
    pub async fn delete_version(&self, key: &str, version: Version) -> Result<Entry, Error> {
        self.remove(key, Some(version), None).await
    }

    /// Deletes an entry if it was last changed by this revision.
    pub async fn delete_revision(&self, key: &str, revision: Revision) -> Result<Entry, Error> {
        self.remove(key, None, Some(revision)).await
    }

    async fn remove(
        &self,
        key: &str,
        expected_version: Option<Version>,
        expected_revision: Option<Revision>,
    ) -> Result<Entry, Error> {
        let (namespace, key) = (self.namespace()?, Key::parse(key)?);
        let delete = Delete { namespace, key, expected_version, expected_revision };
        self.workspace.run(Command::Delete(delete)).await
    }

    /// Lists a page of entries by key. The namespace of the query is this one.
    pub async fn list(&self, list: List) -> Result<Page, Error> {
        let list = List { namespace: self.namespace()?, ..list };
        self.workspace.query(Query::List(list)).await
    }

    /// Lists the entries whose keys match a pattern, up to a page.
    pub async fn matching(&self, pattern: &str) -> Result<Page, Error> {
        let pattern = Pattern::parse(pattern).map_err(Rejection::from)?;
        self.list(List { pattern: Some(pattern), ..List::all(self.namespace()?) }).await
    }

    /// Reads all entries at one revision, page by page.
    pub async fn snapshot(&self, snapshot: Snapshot) -> Result<Page, Error> {
        let snapshot = Snapshot { namespace: Some(self.namespace()?), ..snapshot };
        self.workspace.query(Query::Snapshot(snapshot)).await
    }

    /// Lists a page of changes, newest first, with the cursor of the next page. The namespace of
    /// the query is this one.
    pub async fn history(&self, history: History) -> Result<(Vec<Change>, Option<String>), Error> {
        let history = History { namespace: Some(self.namespace()?), ..history };
        self.workspace.query(Query::History(history)).await
    }

    /// Lists the differences between two revisions.
    pub async fn diff(&self, from: Revision, to: Revision) -> Result<Vec<Change>, Error> {
        let diff = Diff { namespace: Some(self.namespace()?), from, to: Some(to) };
        let (changes, _): (_, Option<String>) = self.workspace.query(Query::Diff(diff)).await?;
        Ok(changes)
    }

    /// Moves some entries, or all, to another namespace. Each records where it came from.
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
            pattern: None,
            overwrite: false,
            copy: false,
        };
        self.workspace.run(Command::Transfer(transfer)).await
    }
}

request! {
    /// Writes a value when it is awaited.
    Setting(Set) -> Entry: |workspace, set| workspace.run(Command::Set(set));
    /// Only if the entry has this version; 0 means that it does not exist.
    expected_version(version: impl Into<Version>) |set| set.expected_version = Some(version.into());
    /// Only if the entry was last changed by this revision; 0 means that it does not exist.
    expected_revision(revision: impl Into<Revision>) |set|
        set.expected_revision = Some(revision.into());
    /// Only if the entry does not exist.
    if_absent() |set| set.if_absent = true;
    /// Only if the entry has this value; null is a value, not the absence of the entry.
    expected_value(value: impl Serialize) |set| set.expected_value = Some(Json::of(&value)?);
    /// Deletes the entry after this time unless it is written again.
    ttl_ms(milliseconds: u64) |set| set.ttl_ms = Some(milliseconds);
    /// Deletes the entry when the session of the acting agent ends.
    ephemeral() |set| set.ephemeral = true;
}

request! {
    /// Applies a patch when it is awaited.
    Patching(PatchEntry) -> Entry: |workspace, patch| workspace.run(Command::Patch(patch));
    /// Only if the entry has this version; 0 means that it does not exist.
    expected_version(version: impl Into<Version>) |patch|
        patch.expected_version = Some(version.into());
    /// Only if the entry was last changed by this revision; 0 means that it does not exist.
    expected_revision(revision: impl Into<Revision>) |patch|
        patch.expected_revision = Some(revision.into());
}
