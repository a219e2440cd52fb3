//! Which rows a filter keeps, and which values of a row it searches.

use crate::session_row::SessionRow;

/// Returns whether every word of `filter` is in the row: in its project, branch, state, prompt, reason, notes, host, place,
/// number or the beginning of its id. Upper and lower case are the same.
pub fn matches(row: &SessionRow, filter: &str) -> bool {
    let number = row.number.map(|number| number.to_string());
    let notes = row.notes.iter().map(String::as_str);
    let parts = [Some(row.project.as_str()), row.branch.as_deref(), Some(row.status.as_str()), row.prompt.as_deref()];
    let more = [row.waits_for.as_deref(), row.id.host.as_deref(), row.place.as_deref()];
    let texts: Vec<String> = parts.into_iter().chain(more).flatten().chain(notes).map(str::to_lowercase).collect();
    filter.to_lowercase().split_whitespace().all(|word| {
        number.as_deref() == Some(word)
            || row.id.session.to_lowercase().starts_with(word)
            || texts.iter().any(|text| text.contains(word))
    })
}
