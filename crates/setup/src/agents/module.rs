//! Installs Longhaul's module for opencode (`opencode.js`).

use std::path::{Path, PathBuf};

use crate::settings::{Change, Refusal};

/// The module, with a placeholder for the program that it starts.
const TEXT: &str = include_str!("opencode.js");

/// The placeholder.
const PROGRAM: &str = "'longhaul' /* the program */";

/// The comment by which a module that Longhaul has written is recognised.
const MARK: &str = "// Longhaul's module for opencode";

/// Returns the text of the module, or `None` if the file has it already. A file that Longhaul has not written is refused.
pub(crate) fn with_module(text: Option<&str>, program: &Path) -> Change {
    if text.is_some_and(|text| !text.trim().is_empty() && !is_ours(text)) {
        return Err(Refusal::NotFromLonghaul);
    }
    // A string of JSON is also one of JavaScript.
    let program = serde_json::Value::from(program.to_string_lossy()).to_string();
    let module = TEXT.replacen(PROGRAM, &program, 1);
    Ok((text != Some(module.as_str())).then_some(module))
}

/// Returns an empty text if Longhaul has written the module, and `None` otherwise.
pub(crate) fn without_module(text: &str) -> Option<String> {
    is_ours(text).then(String::new)
}

/// Returns whether Longhaul has written a file.
pub(super) fn is_ours(text: &str) -> bool {
    text.starts_with(MARK)
}

/// Returns the program that a module starts.
pub(super) fn program(text: &str) -> Option<PathBuf> {
    let value = text.lines().find_map(|line| line.strip_prefix("const LONGHAUL = "))?;
    serde_json::from_str::<String>(value).ok().map(PathBuf::from)
}
