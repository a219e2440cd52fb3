//! How many characters of a text are kept; longer texts are cut in the middle.

/// The number of characters that are kept of a tool's input.
pub const INPUT_CHARS: usize = 4_096;

/// The number of characters that are kept of a tool's response.
pub const RESPONSE_CHARS: usize = 16_384;

/// The number of characters that are kept of a prompt or a reply, wherever it is stored.
pub const SAID_CHARS: usize = 16_384;
