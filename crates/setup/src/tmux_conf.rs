//! Adds Longhaul's line to the text of a tmux.conf, and removes it.

use crate::tmux_server::NOT_SET_UP;

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
    if !text.lines().any(is_ours) {
        return None;
    }
    Some(text.split_inclusive('\n').filter(|line| !is_ours(line)).collect())
}

fn is_ours(line: &str) -> bool {
    line.trim_end().ends_with(MARK)
}
