//! `longhaul --help`: the commands in groups, those to start with first and those for programs last. Also the completion
//! scripts and man pages, which are made of the same definitions.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_complete::Shell;

use super::Cli;

/// What to try first. The first one has no subcommand.
const START_WITH: [(&str, &str); 5] = [
    ("longhaul", "Show all sessions on the whole screen: switch to one, send it a prompt, answer its dialog"),
    ("longhaul status", "List the running sessions, in any terminal"),
    ("longhaul bookmarks", "List the places in this session that /rewind can go back to"),
    ("longhaul memory recall QUESTION", "Ask in your own words what an earlier session did, decided or said"),
    ("longhaul doctor", "Check the installation and suggest fixes"),
];

/// Every command that is shown, in the groups and in the order of the help.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Every day", &["status", "next", "goto", "send", "monitor", "bookmark", "limit", "reopen", "resume"]),
    (
        "Look back",
        &[
            "bookmarks",
            "snapshots",
            "diff",
            "restore",
            "blame",
            "why",
            "detail",
            "memory",
            "worker",
            "handoff",
            "continuation",
            "cost",
        ],
    ),
    (
        "Set up",
        &["install", "update", "uninstall", "doctor", "config", "tmux", "notify", "sync", "import", "completions"],
    ),
    ("For programs", &["statusline", "mcp", "hook", "bridge"]),
];

/// The width of the text: that of clap, which does not know the terminal's.
const WIDTH: usize = 100;

/// Returns the command line, with its help in groups.
pub(super) fn command() -> Command {
    let command = Cli::command();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}\n\n\
         `longhaul help COMMAND` describes a command.",
        groups(&command)
    );
    command.help_template(template)
}

fn groups(command: &Command) -> String {
    let about = |name: &str| {
        let found = command.find_subcommand(name).and_then(|found| found.get_about());
        found.map(ToString::to_string).unwrap_or_default()
    };
    let mut text = section("Start with", &START_WITH.map(|(name, about)| (name, about.to_owned())));
    for (title, names) in GROUPS {
        text += &section(title, &names.iter().map(|name| (*name, about(name))).collect::<Vec<_>>());
    }
    text
}

/// Returns a title and a line for each command.
fn section(title: &str, rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let mut text = format!("{title}:\n");
    for (name, about) in rows {
        let lines = wrapped(about, WIDTH.saturating_sub(width + 4));
        for (at, line) in lines.iter().enumerate() {
            text += &format!("  {:<width$}  {line}\n", if at == 0 { name } else { "" });
        }
    }
    text + "\n"
}

/// Returns the words of `text` in lines of at most `width` characters.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => line.extend([" ", word]),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

pub(crate) fn completions(shell: Shell) -> Result<()> {
    // The whole script is built first: clap would panic if the reader closed the pipe.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "longhaul", &mut script);
    Ok(io::stdout().write_all(&script)?)
}

pub(crate) fn man(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    clap_mangen::generate_to(Cli::command().disable_help_subcommand(true), folder)
        .with_context(|| format!("cannot write to {}", folder.display()))
}

#[cfg(test)]
mod tests;
