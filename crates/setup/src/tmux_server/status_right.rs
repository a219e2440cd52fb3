//! Longhaul's part of status-right: the status, and the command that refreshes it. How often: the option
//! `status-interval`.

use super::setup_problem::NOT_SET_UP;

/// Shows the status. tmux inserts it without expanding its content.
const STATUS: &str = "#{@longhaul-status}";

/// Shows how many sessions can be reopened, where that is offered. tmux inserts it without expanding its content.
const OFFER: &str = "#{?@longhaul-to-reopen, #{@longhaul-to-reopen} ,}";

/// Runs `longhaul tmux refresh` at every status interval. It prints nothing.
///
/// The path of the executable is in an option, so that this text does not change with the path and needs no quoting.
const REFRESH: &str = "#(#{@longhaul-command} tmux refresh)";

/// Returns `right` with [`NOT_SET_UP`] before it, once.
pub(super) fn with_notice(right: &str) -> String {
    format!("{NOT_SET_UP}{}", right.replace(NOT_SET_UP, ""))
}

/// Returns `right` with Longhaul's part before it, once. The part is only the command if the user has placed the
/// status.
pub(super) fn with_status(right: &str, left: &str) -> String {
    let right = without_status(right);
    let is_placed = right.contains(STATUS) || left.contains(STATUS);
    if is_placed { format!("{REFRESH}{OFFER}{right}") } else { format!("{STATUS}{REFRESH}{OFFER} {right}") }
}

/// Returns `right` without Longhaul's part.
pub(super) fn without_status(right: &str) -> String {
    let right = right.replace(NOT_SET_UP, "").replace(OFFER, "");
    right.replace(&format!("{STATUS}{REFRESH} "), "").replace(REFRESH, "")
}
