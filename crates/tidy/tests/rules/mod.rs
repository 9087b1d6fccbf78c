//! The rules, one file per concern.

mod codes;
mod dependencies;
mod documents;
mod features;
mod guarantees;
mod lengths;
mod manifests;
mod markers;
mod names;
mod purity;
mod shape;
mod text;
mod type_names;
