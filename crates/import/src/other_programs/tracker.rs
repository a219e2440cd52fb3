//! tmux-claude-agent-tracker: its options, which work as they are, and the same options with our names.

use std::collections::BTreeMap;

use longhaul_core::Env;
use longhaul_tracker::OPTIONS;

use super::{Move, Report, Trouble};
use longhaul_runtime::bounded_read;
use longhaul_runtime::tmux::Server;

const PREFIX: &str = "@claude-tracker-";

pub(super) fn run(mover: &Move<'_>, report: &mut Report) -> Result<(), Trouble> {
    let found = options(mover.env);
    let mut honoured = 0;
    for (name, value) in &found {
        match OPTIONS.iter().find(|option| option.older == name) {
            Some(option) => {
                honoured += 1;
                report.advice.push(format!("set -g @longhaul-{} {}", option.name, quoted(value)));
            }
            None => report.leaves("options", 1, &format!("{PREFIX}{name} has no counterpart here")),
        }
    }
    report.brings("options", honoured);
    if honoured > 0 {
        let about = "They work as they are. To replace the old plugin's names, put these lines in tmux.conf:";
        report.advice.insert(0, about.to_owned());
    }
    if report.place.join("tracker.db").exists() {
        report.leaves("databases", 1, "running sessions are found automatically, and it stores no others");
    }
    Ok(())
}

/// Returns the options that are set, by the names after the prefix.
pub(super) fn options(env: &Env) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let files = env.home_dir.iter().flat_map(|home| [home.join(".tmux.conf"), home.join(".config/tmux/tmux.conf")]);
    for bytes in files.filter_map(|path| bounded_read::bytes(&path, bounded_read::LARGE).ok()) {
        found.extend(String::from_utf8_lossy(&bytes).lines().filter_map(option));
    }
    // The server takes precedence: a file may have been read only in part, or not yet.
    if let Some(server) = Server::of(env) {
        found.extend(server.options_like(PREFIX).unwrap_or_default());
    }
    // The plugin sets this option itself.
    found.retain(|name, value| name != "status" && !value.is_empty());
    found
}

/// Parses a line that sets one of its options.
fn option(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    let rest = line.strip_prefix("set-option").or_else(|| line.strip_prefix("set"))?;
    let at = rest.find(PREFIX)?;
    // Only flags may precede the name.
    if !rest[..at].split_whitespace().all(|word| word.starts_with('-')) {
        return None;
    }
    let (name, value) = rest[at + PREFIX.len()..].split_once(char::is_whitespace)?;
    Some((name.to_owned(), unquoted(value.trim())))
}

/// Returns a value without its quotes, or without a comment after it.
fn unquoted(value: &str) -> String {
    for quote in ['"', '\''] {
        if let Some(inner) = value.strip_prefix(quote)
            && let Some(end) = inner.rfind(quote)
        {
            return inner[..end].to_owned();
        }
    }
    value.split(" #").next().unwrap_or(value).trim_end().to_owned()
}

/// Returns a value quoted for tmux.conf.
fn quoted(value: &str) -> String {
    if value.contains('\'') {
        let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$");
        return format!("\"{escaped}\"");
    }
    format!("'{value}'")
}

#[cfg(test)]
mod tests {
    use super::{option, quoted};

    #[test]
    fn options_are_read_as_people_write_them() {
        for (line, expected) in [
            ("set -g @claude-tracker-icon-idle '.'", Some(("icon-idle", "."))),
            (
                "  set-option -gq @claude-tracker-on-blocked \"say 'hi' #1\"  # loud",
                Some(("on-blocked", "say 'hi' #1")),
            ),
            ("set -g @claude-tracker-keybinding a # the key", Some(("keybinding", "a"))),
            ("# set -g @claude-tracker-icon-idle x", None),
            ("set -g status-right '#{@claude-tracker-status}'", None),
            ("set -g @claude-tracker-icon-idle", None),
        ] {
            let expected = expected.map(|(name, value): (&str, &str)| (name.to_owned(), value.to_owned()));
            assert_eq!(option(line), expected, "{line}");
        }
        assert_eq!(quoted("it's $HOME"), "\"it's \\$HOME\"");
    }
}
