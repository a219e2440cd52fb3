//! The command line.

mod ask;
mod bookmark;
mod bookmarks;
mod bridge;
mod config;
mod continuation;
mod detail;
mod doctor;
mod handoff;
mod hook;
mod import;
mod install;
mod limits;
mod mcp;
mod memory;
mod monitor;
mod next;
mod out;
mod paint;
mod progress;
mod sessions;
mod shell;
mod status;
mod statusline;
mod tmux;
mod uninstall;
mod update;
mod worker;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Keeps long Claude Code sessions navigable, visible and continuous
#[derive(Parser)]
#[command(name = "longhaul", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install this version: executables, plugin, and what you want of tmux and status line
    Install(install::Args),
    /// Install the version that lies where this one came from, or elsewhere
    Update(update::Args),
    /// Take away everything that install has put anywhere
    Uninstall(uninstall::Args),
    /// Look whether all is well, and say how to mend what is not; exit 1 if something is broken
    Doctor(doctor::Args),
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
    /// Show what happened at a time: what was said, and what tools did
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
    /// Bring over what tav, tmux-claude-agent-tracker, throughline and claude-mem have kept
    Import(import::Args),
    /// Run a hook by the name of its event, with the payload on standard input
    Hook(hook::Args),
    /// Answer the client's own module, which tells on standard input what happened
    Bridge(bridge::Args),
    /// Show, find or check the configuration
    #[command(subcommand)]
    Config(config::Command),
    /// Print completions for a shell
    Completions(shell::Completions),
    /// Write the man pages
    #[command(hide = true)]
    Man(shell::Man),
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
    let cli = Cli::parse_from(memory::find::with_excluded_words(std::env::args_os().collect()));
    let env = longhaul_runtime::env();
    let result = match cli.command {
        Command::Install(args) => install::run(&env, &args),
        Command::Update(args) => update::run(&env, &args),
        Command::Uninstall(args) => uninstall::run(&env, &args),
        Command::Doctor(args) => doctor::run(&env, &args),
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
        Command::Import(args) => import::run(&env, &args),
        Command::Hook(args) => hook::run(&args),
        Command::Bridge(args) => bridge::run(&env, &args),
        Command::Config(command) => config::run(&env, command),
        Command::Completions(args) => shell::completions(&args),
        Command::Man(args) => shell::man(&args),
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
