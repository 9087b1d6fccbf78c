//! Nodes of the order index, and the rules of a parent and its nodes.
//!
//! A node is a run with a lower bound, its low. A parent is a run of nodes by their lows, which
//! determine the node of a key:
//!
//! 1. A key is in the last node whose low is not above it, or in the first node.
//! 2. Lows ascend. The first one is ignored, since there is no node before it: its node may have
//!    keys below it.
//! 3. A node holds at least one item and fewer than [`NODE_ITEMS_MAX`].
//!
//! A full node is split where keys keep arriving, so that ascending or descending ones leave full
//! nodes behind. If they arrive everywhere, it is split near the middle, where its keys differ
//! most: the parts then share longer prefixes, and their digests are more selective.

use super::run::{Digest, Keys, Run};

/// Longer nodes make an insert read and move more, shorter ones cost more memory per key. Tests use
/// short ones, so that a few hundred keys fill all levels.
pub(super) const NODE_ITEMS_MAX: usize = if cfg!(test) { 16 } else { 128 };

/// Nodes of a bulk load have spare capacity, so that the first inserts do not split all of them.
pub(super) const NODE_ITEMS_LOADED: usize = NODE_ITEMS_MAX / 8 * 7;

pub(super) struct Node<D, T> {
    pub(super) low: Box<[u8]>,
    pub(super) run: Run<D, T>,
    /// The position of the latest insertion, to detect sequential keys.
    pub(super) latest: usize,
}

/// Nodes are boxed so that a parent moves pointers, and their digests are twice as wide as those of
/// slots because lows are few and far apart.
pub(super) type Parent<D, T> = Run<u128, Box<Node<D, T>>>;

/// The keys of a parent.
pub(super) struct Lows;

impl<D, T> Keys<Box<Node<D, T>>> for Lows {
    #[inline]
    fn key<'a>(&'a self, node: &'a Box<Node<D, T>>) -> &'a [u8] {
        &node.low
    }

    /// A low may be anywhere between two nodes, and the keys on its left are not known here.
    fn separator<'a>(&self, _left: &[u8], right: &'a [u8]) -> &'a [u8] {
        right
    }
}

impl<D: Digest, T> Node<D, T> {
    pub(super) fn new(low: &[u8], run: Run<D, T>) -> Node<D, T> {
        Node { low: low.into(), run, latest: 0 }
    }

    /// Inserts an item. Returns its position if the node is full now.
    #[inline]
    pub(super) fn insert(
        &mut self,
        at: usize,
        key: &[u8],
        item: T,
        keys: &impl Keys<T>,
    ) -> Option<usize> {
        self.run.insert(at, key, item, keys);
        if self.run.len() == NODE_ITEMS_MAX {
            return Some(at);
        }
        self.latest = at;
        None
    }

    /// How many items of a full node stay after an insert at `at`.
    fn cut(&self, at: usize) -> usize {
        let last = self.run.len() - 1;
        if at == last {
            last
        } else if at == 0 {
            1
        } else if at == self.latest + 1 && at >= NODE_ITEMS_MAX / 2 {
            // The sequence continues in the left part, and its next key is at the end.
            at + 1
        } else {
            self.run.widest_gap(NODE_ITEMS_MAX / 8 * 3..NODE_ITEMS_MAX / 8 * 5)
        }
    }
}

impl<D: Digest, T> Parent<D, T> {
    /// The node of a key.
    #[inline]
    pub(super) fn node_of(&self, key: &[u8]) -> usize {
        self.find(key, &Lows).unwrap_or_else(|after| after.saturating_sub(1))
    }

    /// Splits a node that an insert at `at` has filled; returns the new node and its position among
    /// the nodes.
    pub(super) fn split_node(
        &mut self,
        number: usize,
        at: usize,
        keys: &impl Keys<T>,
    ) -> (usize, Box<Node<D, T>>) {
        if number == 0 {
            self.set_first_low(keys);
        }
        let node = self.item_mut(number);
        let run = node.run.split_off(node.cut(at), keys);
        node.latest = 0;
        let last = node.run.items().last().expect("a cut leaves both sides at least one");
        let first = run.items().first().expect("a cut leaves both sides at least one");
        let low: Box<[u8]> = keys.separator(keys.key(last), keys.key(first)).into();
        (number + 1, Box::new(Node { low, run, latest: 0 }))
    }

    /// Makes the first low a real lower bound, like the others.
    fn set_first_low(&mut self, keys: &impl Keys<T>) {
        let mut node = self.remove(0);
        let first = node.run.items().first().expect("nodes are not empty");
        let low: Box<[u8]> = keys.key(first).into();
        node.low.clone_from(&low);
        self.insert(0, &low, node, &Lows);
    }
}
