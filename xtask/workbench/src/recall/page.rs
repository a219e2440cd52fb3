//! The section of docs/benchmarks.md about how well questions are answered.

use std::path::Path;

use anyhow::Result;

use crate::page_section;

/// The name of the section.
const NAME: &str = "recall";

/// The section's text before the figures.
const INTRODUCTION: &str = "\
## How well questions are answered

The conversations of tests/recall are imported as past sessions, and their questions are asked with `longhaul memory search`. hit@1
is the share of questions whose answer is the first result; R@5 and R@10 are the shares with the answer among five and ten. `weak` is
the share marked as weak, and `empty` the share to which `recall` answers that nothing was found; both are right if no answer
exists. `newer first` is the share of amended decisions whose newer answer
comes before the older one.

Rules, weights and thresholds are chosen with the `tuning` questions. The `reporting` questions, about other conversations, only report,
but their figures were seen while rules were added. The `fresh` questions are about the conversations of both. They were written before
any of them was asked, nothing was chosen with them, and they are asked only to write this page.

In the last two tables, every question is the first prompt of a new session; they count what the hook adds to it. Everyday
prompts need nothing from earlier sessions.
`cargo xtask recall --report` writes this section.
";

/// Writes the section into the page.
pub(crate) fn write(page: &Path, figures: &str) -> Result<()> {
    page_section::write(page, NAME, &format!("{INTRODUCTION}\n{figures}"))
}
