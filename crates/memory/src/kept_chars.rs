//! The maximum lengths of tool input, tool output, prompts and replies that are stored. Longer ones are cut in the middle
//! (`core/src/text.rs`).

/// The number of characters that are kept of a tool's input.
pub const INPUT_CHARS: usize = 4_096;

/// Returns the number of characters that are kept of the input of `tool`: of a task list all of it, unless it is endless.
pub fn input_chars(tool: &str) -> usize {
    if tool == "TodoWrite" { RESPONSE_CHARS } else { INPUT_CHARS }
}

/// The number of characters that are kept of a tool's response.
pub const RESPONSE_CHARS: usize = 16_384;

/// The number of characters that are kept of a prompt, wherever it is stored. Where a reply is shown to a model or
/// summarized, no more of it is used either.
pub const SAID_CHARS: usize = 16_384;

/// The number of characters that are kept of the replies of a turn. They are searched in full, so the limit is far above
/// the length of replies that are written to be read.
pub const REPLY_CHARS: usize = 262_144;
