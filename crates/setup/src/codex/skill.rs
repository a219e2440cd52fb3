//! Longhaul's skill in `~/.agents/skills`.

use crate::settings::{Change, Refusal};

/// Its path below `$HOME`.
pub(super) const PATH: &str = ".agents/skills/longhaul-memory/SKILL.md";

/// The text of the skill.
const TEXT: &str = include_str!("../../../../plugin/skills/memory/SKILL.md");

/// The comment by which a skill that Longhaul has written is recognised.
const MARK: &str = "<!-- put here by `longhaul install --codex` -->";

/// Returns the text of the skill, or `None` if the file has it already. A file that Longhaul has not written is refused.
pub(crate) fn with_skill(text: Option<&str>) -> Change {
    if text.is_some_and(|text| !text.trim().is_empty() && !text.contains(MARK)) {
        return Err(Refusal::NotFromLonghaul);
    }
    // A skill is named like its folder, and the folder is shared with other programs.
    let skill = TEXT.replacen("name: memory\n", "name: longhaul-memory\n", 1);
    let skill = format!("{}\n\n{MARK}\n", skill.trim_end());
    Ok((text != Some(skill.as_str())).then_some(skill))
}

/// Returns an empty text if Longhaul has written the skill, and `None` otherwise.
pub(crate) fn without_skill(text: &str) -> Option<String> {
    text.contains(MARK).then(String::new)
}
