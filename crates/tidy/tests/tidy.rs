//! The house rules, as ordinary tests over the files of this repository.
//!
//! ```text
//!   repository ──▶ files ──▶ rule ──▶ findings ──▶ file:line: what is wrong, what to do
//!                    │         ▲
//!                    └▶ masked ┘   (source without its comments and literals)
//! ```
//!
//! 1. A rule is a pure function from files to findings; only [`repository`] touches the disk.
//! 2. Every rule has two tests: the repository obeys it, and a bad snippet is caught by it. A rule
//!    that catches nothing is worse than none.
//! 3. A finding says what to do, so that the rule need not be read.
//!
//! Deliberately absent: a parser. The repository is formatted by rustfmt and compiled by clippy
//! before these tests matter, so a lexer and counting braces are enough.

mod findings;
mod repository;
mod rules;
mod source;
