//! The sizes of models' context windows.

use std::collections::BTreeMap;

/// The window of models before generation 5.
const SMALL_WINDOW: u64 = 200_000;

/// The window of models from generation 5 on.
const LARGE_WINDOW: u64 = 1_000_000;

/// The first model generation in which every model has the large window.
const LARGE_SINCE_GENERATION: u32 = 5;

/// Returns the size of `model`'s context window, in tokens.
///
/// `known` gives sizes by model id or by the beginning of one; the longest match counts. Without a match, the window is
/// large for an id that contains `[1m]`, for models of generation 5 and later, and when more tokens than the small window
/// holds have been used.
pub fn window_tokens(model: Option<&str>, used: u64, known: &BTreeMap<String, u64>) -> u64 {
    let model = model.unwrap_or_default();
    let longest = known.iter().filter(|(id, _)| model.starts_with(id.as_str())).max_by_key(|(id, _)| id.len());
    if let Some((_, tokens)) = longest {
        return *tokens;
    }
    let large = model.contains("[1m]")
        || generation(model).is_some_and(|generation| generation >= LARGE_SINCE_GENERATION)
        || used > SMALL_WINDOW;
    if large { LARGE_WINDOW } else { SMALL_WINDOW }
}

/// Returns the generation in an id such as `claude-opus-5-5` (5) or `claude-3-5-haiku-20241022` (3).
fn generation(model: &str) -> Option<u32> {
    model.split('-').find_map(|part| part.parse().ok())
}
