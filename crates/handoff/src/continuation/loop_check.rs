//! The check that a chain does not go in circles: whether the same work remains as after an earlier round.

use super::handoff_document::Document;

impl Document {
    /// Returns the remaining work in a normalized form, by which two handoffs can be compared.
    ///
    /// It is the section "Remaining", or the whole body where that section is missing or empty.
    pub fn remaining(&self) -> String {
        let remaining = normalize(self.section("Remaining").unwrap_or_default());
        if remaining.is_empty() { normalize(&self.body) } else { remaining }
    }
}

/// Returns the number of the round, from 1, after which the same work remained; `earlier` has that of every round so far.
pub(super) fn round_with_same_work(remaining: &str, earlier: &[String]) -> Option<usize> {
    earlier.iter().position(|one| one == remaining).map(|index| index + 1)
}

/// Returns `text` without list markers, extra white space and differences in case.
fn normalize(text: &str) -> String {
    let line = |line: &str| {
        let line = line.trim().trim_start_matches(['-', '*', '+', '•']).trim_start();
        let line = line.strip_prefix("[ ]").or_else(|| line.strip_prefix("[x]")).unwrap_or(line);
        line.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
    };
    text.lines().map(line).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}
