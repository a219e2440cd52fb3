//! Cuts labels of the menu to the width of a client.

/// Cuts an escaped label to `width` columns. `##` counts as one unit and is never split.
///
/// tmux itself cuts a label with more bytes than there are columns: it keeps the end, so that neither icon nor project
/// is visible, and appends a `>`. A label that was cut here leaves nothing for tmux to cut.
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

/// Returns the parts of a label that are shown as one character each, with their widths.
fn parts(label: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = label;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = if rest.starts_with("##") { 2 } else { first.len_utf8() };
        let (part, after) = rest.split_at(length);
        rest = after;
        // A character of unknown width counts as wide, which at worst wastes a column.
        Some((part, if (first as u32) < 0x1100 { 1 } else { 2 }))
    })
}

#[cfg(test)]
mod tests {
    use super::fit;

    #[test]
    fn a_label_is_cut_where_the_screen_ends_and_never_inside_an_escape() {
        assert_eq!(fit("abcdef", 6), "abcdef");
        assert_eq!(fit("abcdefg", 6), "abcde>");
        assert_eq!(fit("a##(b)", 6), "a##(b)");
        assert_eq!(fit("a##(bc)", 6), "a##(bc");
        assert_eq!(fit("a##(bc)", 5), "a##(b");
        assert_eq!(fit("a##(bc)", 3), "a##");
        assert_eq!(fit("日本語", 7), "日本語");
        assert_eq!(fit("日本語", 6), "日本");
        assert_eq!(fit("日本語", 4), "日>");
        assert_eq!(fit("abc", 1), ">");
        assert_eq!(fit("abc", 0), "");
    }
}
