//! `longhaul tmux setup` and its reversal: the key, the status line, the hooks and the options of a running server, and the
//! line in tmux.conf that runs it.

#[cfg(test)]
mod tests;

use std::path::Path;

use longhaul_core::Env;
use longhaul_inject::shell_single_quote;
use longhaul_runtime::tmux::{COMMAND, Server, words};
use longhaul_runtime::{Error, Home};
use longhaul_tracker::Options;

/// The index of Longhaul's entries in tmux's hooks. The user's own entries, which start at 0, are kept.
const INDEX: u32 = 7390;

/// The hooks that run when another pane becomes active.
const FOCUS_HOOKS: [&str; 3] = ["session-window-changed", "window-pane-changed", "client-session-changed"];

/// The command of these hooks. It does nothing in a session without a client, or in a window that is not the current
/// one.
const ON_FOCUS: &str = "if-shell -F '#{&&:#{session_attached},#{window_active}}' \
    \"run-shell -b '#{@longhaul-command} tmux pane-focus #{pane_id}'\"";

const ON_KEY: &str = "#{@longhaul-command} tmux menu 1 --client #{q:client_name}";

/// Columns that are added to status-right-length.
const ROOM: u64 = 40;

/// The options that setup and teardown read.
const NAMES: [&str; 8] = [
    "status-right",
    "status-left",
    "status-interval",
    "status-right-length",
    "@longhaul-saved-interval",
    "@longhaul-saved-length",
    "@longhaul-saved-binding",
    "@longhaul-bound-key",
];

/// Options that only Longhaul sets.
const OURS: [&str; 7] = [
    "@longhaul-saved-interval",
    "@longhaul-saved-length",
    "@longhaul-saved-binding",
    "@longhaul-bound-key",
    COMMAND,
    "@longhaul-status",
    "@longhaul-to-reopen",
];

/// Returns the command by which tmux calls Longhaul: the executable with the current home, quoted for a shell.
///
/// It is stored in the option [`COMMAND`], which tmux expands in commands for a shell.
pub fn command(exe: &Path, home: &Home, env: &Env) -> String {
    let quoted = |path: &Path| shell_single_quote(&path.to_string_lossy());
    // tmux runs in another folder, and with the environment of its own start.
    let home = std::path::absolute(home.dir()).unwrap_or_else(|_| home.dir().to_owned());
    let mut words = format!("env LONGHAUL_HOME={}", quoted(&home));
    if let Some(dir) = &env.client_config_dir {
        words.push_str(&format!(" CLAUDE_CONFIG_DIR={}", quoted(dir)));
    }
    if env.no_reap {
        words.push_str(" LONGHAUL_NO_REAP=1");
    }
    format!("{words} {}", quoted(exe))
}

/// Sets up key binding, focus hooks and status. Running it again changes nothing.
///
/// `command` is the result of [`command`]. Starts tmux three times.
pub fn set_up(server: &Server, command: &str, options: &Options) -> Result<(), Error> {
    let [right, left, interval, length, old_interval, old_length, old_binding, bound_key] = state(server)?;
    let mut commands = vec![set(COMMAND, command), set("status-right", &with_status(&right, &left))];
    for hook in FOCUS_HOOKS {
        commands.push(words(["set-hook", "-g", &format!("{hook}[{INDEX}]"), ON_FOCUS]));
    }
    // In tmux, 0 means never.
    let shorter = |now: u64| Some(options.status_interval()).filter(|ours| now == 0 || *ours < now);
    commands.extend(change("status-interval", "@longhaul-saved-interval", &interval, &old_interval, shorter));
    let wider = |now: u64| Some(now + ROOM);
    commands.extend(change("status-right-length", "@longhaul-saved-length", &length, &old_length, wider));
    let key = options.get("key");
    if !bound_key.is_empty() && bound_key != key {
        release(server, &bound_key, &old_binding)?;
    }
    match binding(server, key) {
        Some(binding) if is_ours(&binding) => {}
        Some(theirs) => commands.push(set("@longhaul-saved-binding", &theirs)),
        None => commands.push(words(["set-option", "-gu", "@longhaul-saved-binding"])),
    }
    commands.push(set("@longhaul-bound-key", key));
    // Last, so that everything else is set up even if tmux does not know the key.
    commands.push(words(["bind-key", key, "run-shell", "-b", ON_KEY]));
    commands.extend(forget_problem());
    server.run(&commands).map(drop)
}

/// Makes the server offer in its status line to reopen sessions.
pub fn offer_reopen(server: &Server) -> Result<(), Error> {
    server.run(&[set("@longhaul-offer-reopen", "1")]).map(drop)
}

/// Reverts [`set_up`]. Values that the user has changed since are kept.
pub fn tear_down(server: &Server) -> Result<(), Error> {
    let [right, _left, interval, length, old_interval, old_length, old_binding, bound_key] = state(server)?;
    let mut commands = vec![set("status-right", &without_status(&right))];
    for hook in FOCUS_HOOKS {
        commands.push(words(["set-hook", "-gu", &format!("{hook}[{INDEX}]")]));
    }
    commands.extend(restore("status-interval", &interval, &old_interval));
    commands.extend(restore("status-right-length", &length, &old_length));
    commands.extend(forget_problem());
    commands.extend(OURS.map(|name| words(["set-option", "-gu", name])));
    if !bound_key.is_empty() {
        release(server, &bound_key, &old_binding)?;
    }
    server.run(&commands)?;
    let panes = server.panes()?;
    let unset = |id: &str| words(["set-option", "-pqu", "-t", id, "@longhaul-state"]);
    let commands: Vec<_> = panes.iter().map(|live| unset(&live.pane.id)).collect();
    // An error means that a pane no longer exists, and its options neither.
    let _ = server.run(&commands);
    Ok(())
}

fn state(server: &Server) -> Result<[String; NAMES.len()], Error> {
    let values = server.globals(&NAMES)?;
    let message = "it did not print all options".to_owned();
    values.try_into().map_err(|_| Error::Program { program: "tmux".to_owned(), message })
}

/// Returns the command that binds a key after the prefix; `None` if the key is not bound.
fn binding(server: &Server, key: &str) -> Option<String> {
    let line = server.run(&[words(["list-keys", "-T", "prefix", key])]).ok()?;
    Some(line.trim_end_matches('\n').to_owned()).filter(|line| !line.is_empty())
}

/// Restores the previous binding of a key, if it is still bound to Longhaul.
fn release(server: &Server, key: &str, binding: &str) -> Result<(), Error> {
    if !self::binding(server, key).is_some_and(|binding| is_ours(&binding)) {
        return Ok(());
    }
    server.run(&[words(["unbind-key", key]), words(["set-option", "-gu", "@longhaul-saved-binding"])])?;
    if !binding.is_empty() {
        server.run_text(&format!("{binding}\n"))?;
    }
    Ok(())
}

fn set(name: &str, value: &str) -> Vec<String> {
    words(["set-option", "-g", name, value])
}

fn is_ours(binding: &str) -> bool {
    binding.contains("#{@longhaul-command} tmux menu")
}

/// Returns the commands that change a number to the result of `ours`, and store `<before> <ours>` for teardown.
fn change(name: &str, saved_name: &str, now: &str, saved: &str, ours: impl Fn(u64) -> Option<u64>) -> Vec<Vec<String>> {
    // If the current value is still ours, the change starts from the value before it.
    let before = match saved.split_once(' ') {
        Some((before, ours)) if ours == now => before,
        Some(_) | None => now,
    };
    let Some(ours) = before.parse().ok().and_then(ours) else { return Vec::new() };
    vec![set(name, &ours.to_string()), set(saved_name, &format!("{before} {ours}"))]
}

/// Returns the command that restores a number, unless the user has changed it since.
fn restore(name: &str, now: &str, saved: &str) -> Option<Vec<String>> {
    let (before, ours) = saved.split_once(' ')?;
    (ours == now).then(|| set(name, before))
}

/// The notice in the status line of a server that could not be set up. It contains no comma, which would end a branch
/// of a format.
pub const NOT_SET_UP: &str = "#[reverse]longhaul is not set up: longhaul doctor#[default] ";

/// The option with the reason why the last setup failed.
const PROBLEM: &str = "@longhaul-problem";

/// The hook that runs setup again when there is a session.
const RETRY_HOOK: &str = "session-created";

const RETRY: &str = "run-shell -b '#{@longhaul-command} tmux setup'";

/// The value of [`PROBLEM`] until there is a session.
const WAITS: &str = "setup waits for the server's first session";

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SetupState {
    /// The command by which the server calls Longhaul; empty if it was never set up.
    pub command: String,
    /// The reason why the last setup failed; empty if it did not fail.
    pub problem: String,
}

pub fn setup_state(server: &Server) -> Result<SetupState, Error> {
    let mut values = server.globals(&[COMMAND, PROBLEM])?.into_iter();
    let mut next = || values.next().unwrap_or_default();
    Ok(SetupState { command: next(), problem: next() })
}

/// Shows in the status line that the server could not be set up, and stores the reason for `longhaul doctor`.
pub fn show_setup_problem(server: &Server, reason: &str) -> Result<(), Error> {
    let right = server.globals(&["status-right"])?.pop().unwrap_or_default();
    server.run(&[set(PROBLEM, reason), set("status-right", &with_notice(&right))]).map(drop)
}

/// Makes the server run setup again when it has its first session. `command` is the result of
/// [`command`].
pub fn set_up_with_first_session(server: &Server, command: &str) -> Result<(), Error> {
    let hook = format!("{RETRY_HOOK}[{INDEX}]");
    let commands = [set(COMMAND, command), set(PROBLEM, WAITS), words(["set-hook", "-g", &hook, RETRY])];
    server.run(&commands).map(drop)
}

fn forget_problem() -> [Vec<String>; 2] {
    [words(["set-hook", "-gu", &format!("{RETRY_HOOK}[{INDEX}]")]), words(["set-option", "-gu", PROBLEM])]
}

/// Shows the status. tmux inserts it without expanding its content.
const STATUS: &str = "#{@longhaul-status}";

/// Shows how many sessions can be reopened, where that is offered. tmux inserts it without expanding its content.
const OFFER: &str = "#{?@longhaul-to-reopen, #{@longhaul-to-reopen} ,}";

/// Runs `longhaul tmux refresh` at every status interval. It prints nothing.
///
/// The path of the executable is in an option, so that this text does not change with the path and needs no quoting.
const REFRESH: &str = "#(#{@longhaul-command} tmux refresh)";

/// Returns `right` with [`NOT_SET_UP`] before it, once.
fn with_notice(right: &str) -> String {
    format!("{NOT_SET_UP}{}", right.replace(NOT_SET_UP, ""))
}

/// Returns `right` with Longhaul's part before it, once. The part is only the command if the user has placed the
/// status.
fn with_status(right: &str, left: &str) -> String {
    let right = without_status(right);
    let is_placed = right.contains(STATUS) || left.contains(STATUS);
    if is_placed { format!("{REFRESH}{OFFER}{right}") } else { format!("{STATUS}{REFRESH}{OFFER} {right}") }
}

/// Returns `right` without Longhaul's part.
fn without_status(right: &str) -> String {
    let right = right.replace(NOT_SET_UP, "").replace(OFFER, "");
    right.replace(&format!("{STATUS}{REFRESH} "), "").replace(REFRESH, "")
}

/// The comment by which the line is recognised.
const MARK: &str = "# by longhaul install";

/// Returns the line.
///
/// `~` is expanded by the shell in which tmux runs the command. If the setup fails, the tmux server itself shows a notice in
/// the status line: the program may be missing, or may not find tmux. There is one notice, even if the file is read again.
pub fn line() -> String {
    let is_shown = "#{||:#{@longhaul-problem},#{m:*longhaul*,#{status-right}}}";
    let notice = format!("set -gF status-right '#{{?{is_shown},,{NOT_SET_UP}}}#{{status-right}}'");
    format!("if-shell '~/.local/bin/longhaul tmux setup' '' \"{notice}\" {MARK}")
}

/// Returns whether this file sets tmux up: with the line of `install`, by hand, or by a plugin manager.
pub fn is_set_up(text: &str) -> bool {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let mut theirs = lines.filter(|line| {
        (line.contains("longhaul") && line.contains("tmux setup"))
            || line.contains("longhaul.tmux")
            || (line.contains("@plugin") && line.trim_end_matches(['\'', '"']).ends_with("/longhaul"))
    });
    theirs.next().is_some()
}

/// Returns the file with the line at its end; `None` if the file sets tmux up already.
pub fn with_line(text: Option<&str>) -> Option<String> {
    let text = text.unwrap_or_default();
    if is_set_up(text) {
        return None;
    }
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    Some(format!("{text}{end}{}\n", line()))
}

/// Returns the file without the line, or `None` if it has none. A line that the user has written stays.
pub fn without_line(text: &str) -> Option<String> {
    if !text.lines().any(is_our_line) {
        return None;
    }
    Some(text.split_inclusive('\n').filter(|line| !is_our_line(line)).collect())
}

fn is_our_line(line: &str) -> bool {
    line.trim_end().ends_with(MARK)
}
