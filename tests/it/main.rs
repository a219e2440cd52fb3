//! End to end: the real executables, a real tmux server or GNU screen, and a stand-in for the client.
//!
//! Run with `cargo test`, which builds the stand-in too; `cargo test --test it` alone does not, so build it once with
//! `cargo build --example standin`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stderr, reason = "a test that is left out, or measures, says so")]
#![expect(clippy::disallowed_methods, reason = "end-to-end tests run programs and read the clock")]

mod attached;
#[path = "../shared/dice.rs"]
mod dice;
#[path = "../shared/mutant.rs"]
mod mutant;
mod past;
mod poll;
mod predecessors;
#[path = "../shared/recall_corpus.rs"]
mod recall_corpus;
mod sandbox;
mod screen_session;
mod small_disk;
mod standin;
mod tmux;

mod agents;
mod answers;
mod blame;
mod bookmarks_screen;
mod bookmarks_terminals;
mod bookmarks_tmux;
mod bridge_module;
mod cli;
mod codex;
mod context_guard;
mod continuation;
mod cost;
mod documentation;
mod domain_crates;
mod faults;
mod handoff;
mod hostile_repository;
mod import_from;
mod import_from_hostile;
mod install;
mod limits;
mod logging;
mod memory;
mod memory_cli;
mod memory_import;
mod memory_mcp;
mod memory_meaning;
mod monitor;
mod notifications;
mod prompt_recall;
mod recall;
mod reopen;
mod search_by_meaning;
mod search_process;
mod snapshots;
mod source_rules;
mod standin_behaves;
mod states;
mod statusline;
mod submit_chord;
mod sync;
mod tmux_start;
mod tracker_cli;
mod tracker_hooks;
mod tracker_tmux;
mod transition_scripts;
mod universal_bundle;
mod unreadable_files;
mod view;
mod viewer;
mod worker;
mod worker_model;
