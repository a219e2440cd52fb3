//! The command line.

mod bookmark;
mod bookmarks;
mod config;
mod continuation;
mod detail;
mod handoff;
mod hook;
mod install;
mod limits;
mod mcp;
mod memory;
mod monitor;
mod next;
mod out;
mod paint;
mod status;
mod statusline;
mod tmux;
mod worker;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Keeps long Claude Code sessions navigable
#[derive(Parser)]
#[command(name = "longhaul", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the bookmarks of a session, or of all
    Bookmarks(bookmarks::Args),
    /// Set a bookmark with a note in the session of this pane
    Bookmark(bookmark::Args),
    /// Show what every session does
    Status(status::Args),
    /// Watch how full every session's context is
    Monitor(monitor::Args),
    /// Print Claude Code's status line, and keep what it tells of the context
    Statusline(statusline::Args),
    /// Go to the session that has waited longest
    Next(next::Args),
    /// Show the sessions in tmux
    #[command(subcommand)]
    Tmux(tmux::Command),
    /// Show, word for word, what happened at a time: what was said, and what tools did
    Detail(detail::Args),
    /// Show, write or drop what a session hands over
    #[command(subcommand)]
    Handoff(handoff::Command),
    /// Show or steer sessions that go on by themselves past their context limit
    #[command(subcommand)]
    Continuation(continuation::Command),
    /// Find, add to or forget what every session did
    #[command(subcommand)]
    Memory(memory::Command),
    /// Serve the memory to Claude Code, as an MCP server on standard input and output
    Mcp,
    /// Show everything in a browser
    #[command(subcommand)]
    Worker(worker::Command),
    /// Run a hook by the name of its event, with the payload on standard input
    Hook(hook::Args),
    /// Set Codex up: hooks that show and remember its sessions, and a skill
    Install(install::Args),
    /// Take away what `install` has put anywhere
    Uninstall(install::Args),
    /// Show, find or check the configuration
    #[command(subcommand)]
    Config(config::Command),
}

/// What the exit status tells a script.
enum Exit {
    /// All is well.
    Success,
    /// The command ran, and what it looked for is not as it should be.
    Problem,
}

/// Runs the command that was asked for: exit 0 on success, 1 on a problem, 2 on a wrong call.
pub(crate) fn main() -> ExitCode {
    let cli = Cli::parse();
    let env = longhaul_runtime::env();
    let result = match cli.command {
        Command::Bookmarks(args) => bookmarks::run(&env, &args),
        Command::Bookmark(args) => bookmark::run(&env, &args),
        Command::Status(args) => status::run(&env, &args),
        Command::Monitor(args) => monitor::run(&env, &args),
        Command::Statusline(args) => statusline::run(&env, &args),
        Command::Next(args) => next::run(&env, &args),
        Command::Tmux(command) => tmux::run(&env, command),
        Command::Detail(args) => detail::run(&env, &args),
        Command::Handoff(command) => handoff::run(&env, command),
        Command::Continuation(command) => continuation::run(&env, command),
        Command::Memory(command) => memory::run(&env, command),
        Command::Mcp => mcp::run(&env),
        Command::Worker(command) => worker::run(&env, &command),
        Command::Hook(args) => hook::run(&args),
        Command::Install(args) => install::run(&env, &args),
        Command::Uninstall(args) => install::remove(&env, &args),
        Command::Config(command) => config::run(&env, command),
    };
    match result {
        Ok(Exit::Success) => ExitCode::SUCCESS,
        Ok(Exit::Problem) => ExitCode::FAILURE,
        // A reader that has seen enough, such as `head`, is no failure.
        Err(error) if out::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            out::message(&format!("longhaul: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
