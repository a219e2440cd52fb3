//! Numbers of things, in words.

/// Returns a number with the name of what is counted: `1 turn`, `2 turns`.
pub fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
