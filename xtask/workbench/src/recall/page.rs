//! The section of docs/benchmarks.md about how well questions are answered.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Marks around the section, which `cargo xtask recall --report` writes.
const MARKS: (&str, &str) = ("<!-- recall -->", "<!-- /recall -->");

/// The section's text before the figures.
const INTRODUCTION: &str = "\
## How well questions are answered

The conversations of tests/recall are imported as past sessions, and their questions are asked with `longhaul memory search`. hit@1
is the share of questions whose answer is the first result; R@5 and R@10 are the shares with the answer among five and ten. `weak` is
the share marked as weak, which is right if no answer exists. `newer first` is the share of amended decisions whose newer answer
comes before the older one.

Rules, weights and thresholds are chosen with the `tuning` questions. The `reporting` questions, about other conversations, only report,
but their figures were seen while rules were added. The `fresh` questions are about the conversations of both. They were written before
any of them was asked, nothing was chosen with them, and they are asked only to write this page.

In the last two tables, every question is the first prompt of a new session; they count what the hook adds to it. Everyday
prompts need nothing from earlier sessions.
`cargo xtask recall --report` writes this section.
";

/// Writes the section into the page: replaces the old one, or appends it.
pub(crate) fn write(page: &Path, figures: &str) -> Result<()> {
    let text = fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))?;
    fs::write(page, with_section(&text, figures)).with_context(|| format!("cannot write {}", page.display()))
}

/// Returns the section of a page with its marks, or an empty string if there is none.
pub(crate) fn section(page: &str) -> &str {
    let (begin, end) = MARKS;
    let range = page.find(begin).and_then(|from| Some(from..page.find(end)? + end.len()));
    range.and_then(|range| page.get(range)).unwrap_or_default()
}

fn with_section(page: &str, figures: &str) -> String {
    let (begin, end) = MARKS;
    let new = format!("{begin}\n{INTRODUCTION}\n{figures}{end}");
    match section(page) {
        "" => format!("{}\n\n{new}\n", page.trim_end()),
        old => page.replace(old, &new),
    }
}

#[cfg(test)]
mod tests {
    use super::{section, with_section};

    #[test]
    fn the_section_is_added_once_and_then_replaced() {
        let first = with_section("# Benchmarks\n\ntext\n", "| a |\n");
        assert!(first.starts_with("# Benchmarks\n\ntext\n\n<!-- recall -->\n## How well"), "{first}");
        let second = with_section(&format!("{first}\nmore\n"), "| b |\n");
        assert!(second.contains("| b |\n<!-- /recall -->\n\nmore\n") && !second.contains("| a |"), "{second}");
        assert_eq!(section("# Benchmarks\n"), "");
        assert!(section(&second).ends_with("<!-- /recall -->"));
    }
}
