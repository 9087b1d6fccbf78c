//! The fields and elements of a value that were evaluated by some keyword.
//!
//! It is a journal: a branch that fails is undone by truncating its entries, so undoing costs no
//! more than writing.

/// The fields and items evaluated so far, if a keyword needs them.
#[derive(Default)]
pub(crate) struct Evaluated<'a> {
    /// Whether `unevaluatedProperties` or `unevaluatedItems` needs it.
    pub(crate) wanted: bool,
    names: Vec<&'a str>,
    elements: Vec<usize>,
    whole: Whole,
}

/// The facts about many fields or items together.
#[derive(Clone, Copy, Default)]
struct Whole {
    all_names: bool,
    all_elements: bool,
    /// Every element before this one.
    prefix: usize,
}

/// A position in the log.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    names: usize,
    elements: usize,
    whole: Whole,
}

impl<'a> Evaluated<'a> {
    /// A log that will be read.
    pub(crate) fn wanted() -> Evaluated<'a> {
        Evaluated { wanted: true, ..Evaluated::default() }
    }

    /// The position to return to.
    pub(crate) fn mark(&self) -> Mark {
        Mark { names: self.names.len(), elements: self.elements.len(), whole: self.whole }
    }

    /// Discards what was added since.
    pub(crate) fn return_to(&mut self, mark: Mark) {
        self.names.truncate(mark.names);
        self.elements.truncate(mark.elements);
        self.whole = mark.whole;
    }

    pub(crate) fn add_name(&mut self, name: &'a str) {
        if self.wanted && !self.whole.all_names {
            self.names.push(name);
        }
    }

    pub(crate) fn add_element(&mut self, at: usize) {
        if self.wanted && !self.whole.all_elements {
            self.elements.push(at);
        }
    }

    pub(crate) fn add_prefix(&mut self, count: usize) {
        self.whole.prefix = self.whole.prefix.max(count);
    }

    pub(crate) fn add_all_names(&mut self) {
        self.whole.all_names = true;
    }

    pub(crate) fn add_all_elements(&mut self) {
        self.whole.all_elements = true;
    }

    /// Adds what another log of the same value has.
    pub(crate) fn add(&mut self, other: Evaluated<'a>) {
        if self.wanted {
            self.names.extend(other.names);
            self.elements.extend(other.elements);
            self.whole.prefix = self.whole.prefix.max(other.whole.prefix);
            self.whole.all_names |= other.whole.all_names;
            self.whole.all_elements |= other.whole.all_elements;
        }
    }

    /// Prepares for [`Evaluated::has_name`] and [`Evaluated::has_element`].
    pub(crate) fn sort(&mut self) {
        self.names.sort_unstable();
        self.elements.sort_unstable();
    }

    pub(crate) fn has_name(&self, name: &str) -> bool {
        self.whole.all_names || self.names.binary_search(&name).is_ok()
    }

    pub(crate) fn has_element(&self, at: usize) -> bool {
        let whole = self.whole;
        whole.all_elements || at < whole.prefix || self.elements.binary_search(&at).is_ok()
    }
}
