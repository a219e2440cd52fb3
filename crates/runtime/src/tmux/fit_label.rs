//! Labels as wide as a client has room for.

/// Cuts an escaped label to `width` columns; `##` is one of them and never cut in two.
///
/// What has more bytes than there are columns, tmux cuts itself: it keeps one column less, and of them the last ones, so
/// that neither icon nor project would be seen, and puts a `>` behind. It finds nothing to cut here.
pub(super) fn fit(label: &str, width: usize) -> String {
    if label.len() <= width {
        return label.to_owned();
    }
    let mut text = String::new();
    let mut used = 0;
    for (part, columns) in parts(label) {
        used += columns;
        if used + 1 > width {
            break;
        }
        text.push_str(part);
    }
    if text.len() < label.len() && text.len() < width {
        text.push('>');
    }
    text
}

/// Returns what is shown as one character each, with its width.
fn parts(label: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = label;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = if rest.starts_with("##") { 2 } else { first.len_utf8() };
        let (part, after) = rest.split_at(length);
        rest = after;
        // Where nothing is known of a character's width, taking it for wide wastes a column and breaks nothing.
        Some((part, if (first as u32) < 0x1100 { 1 } else { 2 }))
    })
}
