//! The maximum lengths of tool input, tool output, prompts and replies that are stored. Longer ones are cut in the middle
//! (`core/src/cut_text.rs`).

/// The number of characters that are kept of a tool's input.
pub const INPUT_CHARS: usize = 4_096;

/// The number of characters that are kept of a tool's response.
pub const RESPONSE_CHARS: usize = 16_384;

/// The number of characters that are kept of a prompt or a reply, wherever it is stored.
pub const SAID_CHARS: usize = 16_384;
