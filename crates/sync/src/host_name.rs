//! The name of a host: which characters it may have, and how long it may be.

/// The longest name, in characters.
const MAX_NAME: usize = 64;

/// Returns a name that can be shown as `@name` and typed as `from:name`: letters, digits, `-`, `_` and `.`, in lower case.
///
/// Other characters become `-`. An empty name becomes `host`.
pub fn host_name(text: &str) -> String {
    let kept = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let name: String = text.trim().to_lowercase().chars().map(kept).take(MAX_NAME).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "host".to_owned() } else { name.to_owned() }
}
