//! The state of something at every revision.

/// The values of one object, each from a revision on.
#[derive(Clone, Debug)]
pub struct Timeline<T>(Vec<(u64, T)>);

impl<T> Default for Timeline<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Timeline<T> {
    /// Sets the value from a revision on. Within one revision the last one counts.
    pub fn set(&mut self, revision: u64, value: T) {
        match self.0.last_mut() {
            Some((last, there)) if *last == revision => *there = value,
            _ => self.0.push((revision, value)),
        }
    }

    /// The state after a revision.
    pub fn at(&self, revision: u64) -> Option<&T> {
        self.at_with_revision(revision).map(|(_, value)| value)
    }

    /// The state after a revision, and the revision that set it.
    pub fn at_with_revision(&self, revision: u64) -> Option<(u64, &T)> {
        let index = self.0.partition_point(|(from, _)| *from <= revision).checked_sub(1)?;
        self.0.get(index).map(|(from, value)| (*from, value))
    }

    /// The current state.
    pub fn now(&self) -> Option<&T> {
        self.0.last().map(|(_, value)| value)
    }
}
