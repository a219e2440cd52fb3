//! A prompt that sets a bookmark: the marker or the slash command, with or without a note.

/// The slash command that sets a bookmark, in the complete bundle and in the bundle of the one job.
const BOOKMARK_COMMANDS: [&str; 2] = ["/longhaul:bookmark", "/longhaul-bookmarks:bookmark"];

/// The slash command that lists the bookmarks, in the same bundles.
const LIST_COMMANDS: [&str; 2] = ["/longhaul:bookmarks", "/longhaul-bookmarks:bookmarks"];

/// Returns the note of a prompt that sets a bookmark: `Some(None)` for a bookmark without a note, `None` for any other
/// prompt.
pub fn bookmark_note<'a>(prompt: &'a str, marker: &str) -> Option<Option<&'a str>> {
    let prompt = prompt.trim();
    let command = BOOKMARK_COMMANDS.iter().find_map(|command| prompt.strip_prefix(command));
    let rest = prompt.strip_prefix(marker).or(command)?;
    let note = rest.trim();
    // `·x` only begins with the marker, `/longhaul:bookmarks` is another command, and several lines are a list of tasks.
    let is_note = rest.is_empty() || (rest.starts_with(' ') && !rest.contains(['\n', '\r']));
    is_note.then_some((!note.is_empty()).then_some(note))
}

/// Returns whether the prompt is the slash command that lists the bookmarks.
pub fn is_list_command(prompt: &str) -> bool {
    LIST_COMMANDS.contains(&prompt.trim())
}

/// Returns whether the prompt sets a bookmark by the slash command, not by the marker.
pub fn is_bookmark_command(prompt: &str) -> bool {
    BOOKMARK_COMMANDS.iter().any(|command| prompt.trim_start().starts_with(command))
}
