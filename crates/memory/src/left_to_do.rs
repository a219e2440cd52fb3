//! The items that a reply lists as left to do.

use crate::text::one_line;

/// Maximum length of an item, and maximum number of items.
const ITEM_CHARS: usize = 160;
const ITEMS: usize = 8;

/// Headings under which a reply lists what is left to do.
const HEADINGS: [&str; 9] = [
    "next steps",
    "next step",
    "remaining",
    "remaining work",
    "todo",
    "to do",
    "what's left",
    "still to do",
    "open questions",
];

/// Returns the items that a reply leaves to do: unticked boxes, and items under a heading such as `Next steps`.
pub(crate) fn left_to_do(reply: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let mut under_heading = false;
    for line in reply.lines() {
        let line = line.trim();
        if let Some(rest) = heading(line) {
            under_heading = true;
            items.extend(Some(rest).filter(|rest| !rest.is_empty()).map(item));
        } else if let Some(open) = unticked(line) {
            items.push(item(open));
        } else if is_ticked(line) || line.is_empty() {
            // There may be empty lines between items. Ticked items are done.
        } else if under_heading && (is_item(line) || (items.is_empty() && !line.starts_with('#'))) {
            // Without a list, the first line under the heading is the item.
            items.push(item(line));
        } else {
            under_heading = false;
        }
    }
    items.retain(|item| !item.is_empty());
    items.dedup();
    items.truncate(ITEMS);
    items
}

/// Returns the rest of a line that begins with such a heading.
pub(crate) fn heading(line: &str) -> Option<&str> {
    let bare = line.trim_start_matches(['#', '*', '_', ' ']);
    let end = bare.find([':', '*']).unwrap_or(bare.len());
    let title = bare[..end].trim().replace('’', "'").to_lowercase();
    let marked = line.starts_with(['#', '*']) || end < bare.len() || line.len() <= "remaining work".len();
    (marked && HEADINGS.contains(&title.as_str())).then(|| bare[end..].trim_start_matches([':', '*', ' ']))
}

fn unticked(line: &str) -> Option<&str> {
    let item = line.trim_start_matches(['-', '*', '+', ' ']);
    ["[ ]", "☐"].into_iter().find_map(|mark| item.strip_prefix(mark))
}

fn is_ticked(line: &str) -> bool {
    let item = line.trim_start_matches(['-', '*', '+', ' ']);
    ["[x]", "[X]", "☑", "☒", "✅"].iter().any(|mark| item.starts_with(mark))
}

/// Returns whether a line is an item of a list, with a bullet or a number.
pub(crate) fn is_item(line: &str) -> bool {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let is_numbered = digits > 0 && line[digits..].starts_with(['.', ')']);
    is_numbered || ["- ", "* ", "+ ", "• "].iter().any(|mark| line.starts_with(mark))
}

/// Returns an item without its bullet, cut to the maximum length.
fn item(line: &str) -> String {
    one_line(unmarked(line).trim_start_matches(['-', '*', '+', '•', '.', ')', ' ']), ITEM_CHARS)
}

/// Returns a line without its bullet or number.
pub(crate) fn unmarked(line: &str) -> &str {
    if !is_item(line) {
        return line;
    }
    line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(['-', '*', '+', '•', '.', ')', ' '])
}

#[cfg(test)]
mod tests {
    use super::{is_item, left_to_do};

    #[test]
    fn an_item_begins_with_a_number_or_a_bullet() {
        assert!(["1. x", "12) x", "- x", "* x", "+ x", "• x"].into_iter().all(is_item));
        assert!([". x", ") x", "1 x", "-x", "x"].into_iter().all(|line| !is_item(line)));
    }

    #[test]
    fn items_end_with_the_first_line_that_is_none() {
        assert_eq!(left_to_do("## Next steps\n\n- one\n\n2. two\nThat is all.\n- three"), ["one", "two"]);
        assert_eq!(left_to_do("Todo: one\n- [ ] two\n- [x] done\n☐ three"), ["one", "two", "three"]);
        assert_eq!(left_to_do("## Remaining\n# Another heading\n- x"), [""; 0]);
    }
}
