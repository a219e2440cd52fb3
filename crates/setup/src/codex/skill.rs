//! Our skill in `~/.agents/skills`.

use crate::settings::{Change, Refusal};

/// What the skill says.
const TEXT: &str = include_str!("../../../../plugin/skills/memory/SKILL.md");

/// By what a skill that we put there is known.
const MARK: &str = "<!-- put here by `longhaul install --codex` -->";

/// Returns the skill, `None` where it is so already; refuses where somebody else's is in its place.
pub(crate) fn with_skill(text: Option<&str>) -> Change {
    if text.is_some_and(|text| !text.trim().is_empty() && !text.contains(MARK)) {
        return Err(Refusal::SomebodyElses);
    }
    // A skill is called like its folder, and that is one among many people's.
    let skill = TEXT.replacen("name: memory\n", "name: longhaul-memory\n", 1);
    let skill = format!("{}\n\n{MARK}\n", skill.trim_end());
    Ok((text != Some(skill.as_str())).then_some(skill))
}

/// Returns nothing in the place of a skill that we put there, `None` where it is somebody else's.
pub(crate) fn without_skill(text: &str) -> Option<String> {
    text.contains(MARK).then(String::new)
}
