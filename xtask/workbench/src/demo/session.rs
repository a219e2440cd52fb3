//! The session of the demo: one prompt, and the tool calls of the long turn that follows.

/// The session's id.
pub(crate) const ID: &str = "de300000-0000-4000-8000-000000000001";

/// The user's prompt.
pub(crate) const PROMPT: &str = "Move the parser into a crate of its own and get all tests to pass";

/// The model's last message.
pub(crate) const ANSWER: &str = "The parser is a crate of its own now; all 128 tests pass.";

/// One tool call.
pub(crate) struct Call {
    /// The tool.
    pub(crate) tool: &'static str,
    /// The field of its input that names what it works on.
    pub(crate) key: &'static str,
    /// The value of that field.
    pub(crate) subject: &'static str,
    /// Number of characters in its response.
    pub(crate) chars: usize,
}

const fn call(tool: &'static str, key: &'static str, subject: &'static str, chars: usize) -> Call {
    Call { tool, key, subject, chars }
}

/// Every call of the turn, in order.
pub(crate) const CALLS: &[Call] = &[
    call("Glob", "pattern", "src/**/*.rs", 940),
    call("Read", "file_path", "src/lib.rs", 1460),
    call("Read", "file_path", "src/parser.rs", 3920),
    call("Grep", "pattern", "use crate::parser", 610),
    call("Read", "file_path", "Cargo.toml", 480),
    call("Bash", "command", "cargo new --lib crates/parser", 190),
    call("Bash", "command", "git mv src/parser.rs crates/parser/src/lib.rs", 20),
    call("Edit", "file_path", "Cargo.toml", 310),
    call("Edit", "file_path", "crates/parser/src/lib.rs", 870),
    call("Edit", "file_path", "src/lib.rs", 420),
    call("Bash", "command", "cargo check --workspace", 2350),
    call("Read", "file_path", "src/eval.rs", 2980),
    call("Edit", "file_path", "src/eval.rs", 540),
    call("Bash", "command", "cargo check --workspace", 260),
    call("Bash", "command", "cargo test --workspace", 4120),
    call("Read", "file_path", "tests/errors.rs", 1730),
    call("Edit", "file_path", "tests/errors.rs", 380),
    call("Bash", "command", "cargo test --workspace", 3890),
];
