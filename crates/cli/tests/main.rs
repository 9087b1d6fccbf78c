//! The program as people and scripts use it.
