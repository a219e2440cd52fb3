//! Imports into the memory: past sessions from their transcripts, and the data of other programs.
//!
//! Only the command line uses it. No hook links it.

pub mod other_programs;
pub mod transcripts;
