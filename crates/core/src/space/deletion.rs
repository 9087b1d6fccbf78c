//! The end of a workspace, and the start of the next one of the same name.

use super::Space;
use crate::numbers::Revision;

impl Space {
    /// The empty workspace that takes the place of this one when it is deleted. Revisions, fencing
    /// tokens and versions of entries continue, so that nothing that a client remembers fits again.
    pub fn emptied(&self) -> Self {
        let state = self.state.emptied();
        #[cfg(feature = "planted")]
        let state = if crate::planted::is("deletion.versions_again") {
            crate::state::Table::default()
        } else {
            state
        };
        let (revision, time, token) = (self.revision, self.time, self.token);
        let mut next = Self { state, revision, time, token, ..Self::default() };
        next.workspace.begin_after(revision);
        next
    }

    /// Continues after the last revision of the workspace that had this name before.
    pub fn continue_after(&mut self, revision: Revision) {
        self.revision = self.revision.max(revision.next());
        self.workspace.begin_after(revision);
        if self.workspace.founding().is_some() {
            self.workspace.settle_founding(self.revision, self.time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Request;
    use crate::names::AgentId;
    use crate::testing::read_command;
    use crate::time::Timestamp;

    fn act(space: &mut Space, asked: &str) -> Result<(), String> {
        let agent = AgentId::parse("ada").expect("a good name");
        let request = Request::from(read_command(asked));
        space.commit(request, &agent, Timestamp(1)).map(drop).map_err(|it| it.code().to_owned())
    }

    #[test]
    fn nothing_that_was_known_before_the_deletion_fits_after_it() {
        let mut space = Space::default();
        for key in ["a", "a", "a", "b"] {
            act(&mut space, &format!("state.set shared/{key} 1")).unwrap();
        }
        let mut next = space.emptied();
        next.check();
        assert_eq!((next.revision(), next.workspace.began()), (Revision(4), Revision(4)));
        assert_eq!(next.state.namespaces().map(|(_, entries)| entries.len()).sum::<usize>(), 0);
        act(&mut next, "state.set shared/b 1").unwrap();
        act(&mut next, "state.set shared/a 1").unwrap();
        for version in 1..=3 {
            let stale = format!("state.set shared/a 1 expected_version={version}");
            assert_eq!(act(&mut next, &stale), Err("state.version_conflict".to_owned()));
        }
        let restored = Space::restore(next.head(), Vec::new());
        assert_eq!(restored.workspace.began(), Revision(4));
    }
}
