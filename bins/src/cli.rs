//! The command line: its commands, and its exit status.

mod background;
mod blame;
mod bookmarks;
mod config;
mod continuation;
mod cost;
mod doctor;
mod handoff;
mod help;
mod hook;
mod import;
mod install;
mod limits;
mod mcp;
mod memory;
mod monitor;
mod notifications;
mod out;
mod paint;
mod rate_limits;
mod reopen;
mod sessions;
mod snapshots;
mod statusline;
mod sync;
mod tmux;
mod tracker;
mod view;
mod worker;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{FromArgMatches, Parser, Subcommand};
use longhaul_core::Env;

/// Bookmarks, snapshots, a tracker, handoffs and a memory for long Claude Code sessions
#[derive(Parser)]
#[command(name = "longhaul", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install this version: the executables, the plugin and, if you agree, the tmux setup and Claude Code's status line
    Install(install::Args),
    /// Install the version that is now in the folder from which Longhaul was last installed, or in the folder given with --from
    Update(install::UpdateArgs),
    /// Remove everything that install has added
    Uninstall(install::UninstallArgs),
    /// Check the installation and suggest fixes; exit 1 if something is broken
    Doctor(doctor::Args),
    /// List the bookmarks of one session or of all sessions
    Bookmarks(bookmarks::Args),
    /// Set a bookmark with a note, in the session of this terminal pane
    Bookmark(bookmarks::BookmarkArgs),
    /// List the snapshots of the work tree, for one session or for all sessions
    Snapshots(snapshots::Args),
    /// Show what differs between two snapshots, or between a snapshot and the current files
    Diff(snapshots::DiffArgs),
    /// Restore the files of a snapshot; a snapshot of the current files is taken first
    Restore(snapshots::RestoreArgs),
    /// Show which prompt, command or person each line of a file comes from
    Blame(blame::Args),
    /// Show why a line is there: the prompt, what the reply said about it, and what stood there before
    Why(blame::WhyArgs),
    /// List the running sessions and their states
    Status(tracker::StatusArgs),
    /// Send a prompt to a running session
    Send(tracker::SendArgs),
    /// Show how full the context of each running session is, in a table that is kept up to date
    Monitor(monitor::Args),
    /// Print Claude Code's status line and record the context use
    Statusline(statusline::Args),
    /// Estimate what the sessions cost, from the tokens in their transcripts, by day, project, model or session
    Cost(cost::Args),
    /// Show what sessions may spend, what they have spent, and what would stop next; or raise the limit of a session
    Limit(limits::Args),
    /// Switch to the session that has waited longest for you
    Next(tracker::NextArgs),
    /// Switch to the pane of a session
    Goto(tracker::GotoArgs),
    /// Send a test notification, or list past notifications
    #[command(subcommand)]
    Notify(notifications::Command),
    /// Reopen the sessions that were alive when their tmux server died, each in its window, with its conversation
    Reopen(reopen::Args),
    /// Continue a session in this terminal, with the agent that ran it
    Resume(reopen::ResumeArgs),
    /// Show the sessions in tmux: setup, menu, and counts in tmux's status line
    #[command(subcommand)]
    Tmux(tmux::Command),
    /// Show the messages and the tool calls of a given time or turn
    Detail(handoff::DetailArgs),
    /// Show what is passed on to the next session of this project, or choose the session that the next one continues
    #[command(subcommand)]
    Handoff(handoff::Command),
    /// Show, resume or cancel chains: sessions that continue one another automatically when the context is nearly full
    #[command(subcommand)]
    Continuation(continuation::Command),
    /// Search the memory of all sessions, add to it, or delete from it
    #[command(subcommand)]
    Memory(memory::Command),
    /// Exchange the memory of shared projects with other machines, through PostgreSQL or a folder
    #[command(subcommand)]
    Sync(sync::Command),
    /// Run the MCP server of the memory on standard input and output
    Mcp,
    /// Start or stop the worker, the background process that shows the memory in a browser
    #[command(subcommand)]
    Worker(worker::Command),
    /// Import the data of tav, tmux-claude-agent-tracker, throughline and claude-mem
    Import(import::Args),
    /// Run a hook by the name of its event, with the payload on standard input
    Hook(hook::Args),
    /// Answer an event from the plugin's module inside Claude Code; not for use by hand
    Bridge(continuation::BridgeArgs),
    /// Show, check or change the configuration
    #[command(subcommand)]
    Config(config::Command),
    /// Print the completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the man pages
    #[command(hide = true)]
    Man {
        /// The folder to write the man pages to
        folder: PathBuf,
    },
}

/// The exit status of a command that did not fail.
enum Exit {
    Success,
    /// Exit status 1: the command ran, and what it checked or searched for is not there or not right.
    Problem,
    /// The exit status of a part that has printed what is wrong.
    Code(ExitCode),
}

/// Runs the command: exit status 0 on success, 1 on a problem, 2 for wrong arguments.
pub(crate) fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    if args.len() == 1 && view::has_terminal() {
        return exit_code(view::run(&longhaul_runtime::env()));
    }
    let command = args.get(1).and_then(|command| command.to_str()).unwrap_or_default();
    if let Some(code) = background::run(command, std::env::args().skip(2)) {
        return code;
    }
    let is_hook = hook::is_called_by_agent(&args);
    let env = longhaul_runtime::env();
    let parsed = help::command().try_get_matches_from(memory::search::with_excluded_words(args));
    match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(Cli { command: Command::Hook(args) }) if is_hook => hook::run_for_agent(&env, &args),
        Ok(cli) => exit_code(run(&env, cli.command)),
        // `use_stderr`: not a request for help.
        Err(error) if is_hook && error.use_stderr() => hook::refuse(&env, &error.to_string()),
        Err(error) => error.exit(),
    }
}

fn run(env: &Env, command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Install(args) => return install::run(env, &args),
        Command::Update(args) => install::update(env, &args)?,
        Command::Uninstall(args) => install::uninstall(env, &args)?,
        Command::Doctor(args) => return doctor::run(env, &args),
        Command::Bookmarks(args) => bookmarks::run(env, &args)?,
        Command::Bookmark(args) => bookmarks::bookmark(env, &args)?,
        Command::Snapshots(args) => snapshots::run(env, &args)?,
        Command::Diff(args) => return snapshots::diff(env, &args),
        Command::Restore(args) => return snapshots::restore(env, &args),
        Command::Blame(args) => blame::run(env, &args)?,
        Command::Why(args) => blame::why(env, &args)?,
        Command::Status(args) => tracker::status(env, &args)?,
        Command::Send(args) => tracker::send(env, &args)?,
        Command::Monitor(args) => monitor::run(env, &args)?,
        Command::Statusline(args) => statusline::run(env, &args),
        Command::Cost(args) => return cost::run(env, &args),
        Command::Limit(args) => limits::run(env, &args)?,
        Command::Next(args) => tracker::next(env, &args)?,
        Command::Goto(args) => tracker::goto(env, &args)?,
        Command::Notify(command) => return notifications::run(env, &command),
        Command::Reopen(args) => return reopen::run(env, &args),
        Command::Resume(args) => return reopen::continue_here(env, &args),
        Command::Tmux(command) => tmux::run(env, command)?,
        Command::Detail(args) => return handoff::detail(env, &args),
        Command::Handoff(command) => handoff::run(env, command)?,
        Command::Continuation(command) => return continuation::run(env, command),
        Command::Memory(command) => return memory::run(env, command),
        Command::Sync(command) => return sync::run(env, &command),
        Command::Mcp => mcp::run(env)?,
        Command::Worker(command) => return worker::run(env, &command),
        Command::Import(args) => return import::run(env, &args),
        Command::Hook(args) => return hook::run(&args),
        Command::Bridge(args) => continuation::answer_bridge(env, &args)?,
        Command::Config(command) => return config::run(env, command),
        Command::Completions { shell } => help::completions(shell)?,
        Command::Man { folder } => help::man(&folder)?,
    }
    Ok(Exit::Success)
}

fn exit_code(result: anyhow::Result<Exit>) -> ExitCode {
    match result {
        Ok(Exit::Success) => ExitCode::SUCCESS,
        Ok(Exit::Problem) => ExitCode::FAILURE,
        Ok(Exit::Code(code)) => code,
        // A reader that stops early, such as `head`, is not an error.
        Err(error) if out::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            out::message(&format!("longhaul: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
