//! The line in tmux.conf. Text in, text out.

/// By this the line is known as ours.
const MARK: &str = "# by longhaul install";

/// Returns the line.
///
/// The shell that tmux runs it in knows where `~` is.
pub fn line() -> String {
    format!("run-shell '~/.local/bin/longhaul tmux setup' {MARK}")
}

/// Returns whether tmux is set up by this file already, by our line, by hand, or by a plugin manager.
pub fn is_set_up(text: &str) -> bool {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let mut theirs = lines.filter(|line| {
        (line.contains("longhaul") && line.contains("tmux setup"))
            || line.contains("longhaul.tmux")
            || (line.contains("@plugin") && line.trim_end_matches(['\'', '"']).ends_with("/longhaul"))
    });
    theirs.next().is_some()
}

/// Returns the file with the line at its end; `None` where it is set up already.
pub fn with_line(text: Option<&str>) -> Option<String> {
    let text = text.unwrap_or_default();
    if is_set_up(text) {
        return None;
    }
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    Some(format!("{text}{end}{}\n", line()))
}

/// Returns the file without our line; `None` where it is not in it. A line by another hand stays.
pub fn without_line(text: &str) -> Option<String> {
    let is_ours = |line: &&str| line.trim_end().ends_with(MARK);
    if !text.lines().any(|line| is_ours(&line)) {
        return None;
    }
    Some(text.split_inclusive('\n').filter(|line| !is_ours(line)).collect())
}
