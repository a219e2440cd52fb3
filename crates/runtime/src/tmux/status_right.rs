//! What stands in status-right: the status, and the command that keeps it right.

/// Shows the status. tmux fills it in without expanding what is in it.
const STATUS: &str = "#{@longhaul-status}";

/// Runs `longhaul tmux refresh` at every interval; it prints nothing.
///
/// The executable's path is in an option, so that this text stays the same when the path changes, and needs no quoting.
const REFRESH: &str = "#(#{@longhaul-command} tmux refresh)";

/// Returns `right` with our part in front of it, once; only the command, where the user has placed the status himself.
pub(super) fn with_status(right: &str, left: &str) -> String {
    let right = without_status(right);
    let is_placed = right.contains(STATUS) || left.contains(STATUS);
    if is_placed { format!("{REFRESH}{right}") } else { format!("{STATUS}{REFRESH} {right}") }
}

/// Returns `right` as it was.
pub(super) fn without_status(right: &str) -> String {
    right.replace(&format!("{STATUS}{REFRESH} "), "").replace(REFRESH, "")
}
