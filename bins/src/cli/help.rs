//! `longhaul --help`: the commands in groups, those to start with first and those for programs last. Also the completion
//! scripts and man pages, which are made of the same definitions.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_complete::Shell;

use super::{Cli, Exit};

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

#[derive(clap::Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

#[derive(clap::Args)]
pub(crate) struct Man {
    /// The folder to write the man pages to
    folder: PathBuf,
}

pub(crate) fn completions(args: &Completions) -> Result<Exit> {
    // The whole script is built first: clap would panic if the reader closed the pipe.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "longhaul", &mut script);
    io::stdout().write_all(&script)?;
    Ok(Exit::Success)
}

pub(crate) fn man(args: &Man) -> Result<Exit> {
    let folder: &Path = &args.folder;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    clap_mangen::generate_to(Cli::command().disable_help_subcommand(true), folder)
        .with_context(|| format!("cannot write to {}", folder.display()))?;
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_is_shown_is_in_one_group() {
        let command = Cli::command();
        let mut all: Vec<&str> =
            command.get_subcommands().filter(|one| !one.is_hide_set()).map(|one| one.get_name()).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        all.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, all);
    }

    #[test]
    fn the_help_begins_with_five_commands_and_ends_with_those_of_programs() {
        let help = command().render_help().to_string();
        let at = |text: &str| help.find(text).unwrap_or_else(|| panic!("{text} is not in\n{help}"));
        let order = ["\nStart with:", "\nEvery day:", "\nLook back:", "\nSet up:", "\nFor programs:", "\nOptions:"];
        let places = order.map(at);
        assert!(places.is_sorted(), "{help}");
        assert_eq!(help[places[0]..places[1]].matches("\n  longhaul").count(), 5);
        assert!((places[4]..places[5]).contains(&at("\n  statusline")), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= WIDTH), "{help}");
        assert!(at("-V, --version") > places[5]);
    }
}
