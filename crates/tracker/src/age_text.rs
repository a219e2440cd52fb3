//! An age as short text, such as `3m`, for tmux and most lists. The view's is in `bins/src/cli/view/rows.rs`.

/// Formats an age compactly: empty under a minute, then `3m`, then `2h`.
pub fn age(seconds: u64) -> String {
    match seconds / 60 {
        0 => String::new(),
        minutes @ 1..60 => format!("{minutes}m"),
        minutes => format!("{}h", minutes / 60),
    }
}
