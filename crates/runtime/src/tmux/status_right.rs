//! What stands in status-right: the status, and the command that keeps it right.

/// Shows the status. tmux fills it in without expanding what is in it.
const STATUS: &str = "#{@longhaul-status}";

/// Runs `longhaul tmux refresh` at every interval; it prints nothing.
///
/// The executable's path is in an option, so that this text stays the same when the path changes, and needs no quoting.
const REFRESH: &str = "#(#{@longhaul-command} tmux refresh)";

/// What the status line shows where the server could not be set up. No comma in it: it would end a branch of a format.
pub const NOT_SET_UP: &str = "#[reverse]longhaul is not set up: longhaul doctor#[default] ";

/// Returns `right` with [`NOT_SET_UP`] in front of it, once.
pub(super) fn with_notice(right: &str) -> String {
    format!("{NOT_SET_UP}{}", right.replace(NOT_SET_UP, ""))
}

/// Returns `right` with our part in front of it, once; only the command, where the user has placed the status himself.
pub(super) fn with_status(right: &str, left: &str) -> String {
    let right = without_status(right);
    let is_placed = right.contains(STATUS) || left.contains(STATUS);
    if is_placed { format!("{REFRESH}{right}") } else { format!("{STATUS}{REFRESH} {right}") }
}

/// Returns `right` as it was.
pub(super) fn without_status(right: &str) -> String {
    right.replace(NOT_SET_UP, "").replace(&format!("{STATUS}{REFRESH} "), "").replace(REFRESH, "")
}
