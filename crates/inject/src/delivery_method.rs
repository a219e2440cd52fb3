//! How a command or prompt is delivered to a session.

use crate::terminal::Terminal;

/// A command or prompt to deliver to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Errand {
    /// The command `/clear`.
    Clear,
    /// The command `/compact`.
    Compact,
    /// A prompt.
    Prompt,
    /// A bookmark. It must be typed: `/rewind` lists only prompts that were typed.
    Bookmark,
}

impl Errand {
    /// Every errand.
    pub const ALL: [Self; 4] = [Self::Clear, Self::Compact, Self::Prompt, Self::Bookmark];
}

/// How a command or prompt is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryMethod<'a> {
    /// By the plugin's module inside Claude Code.
    Bridge,
    /// By typing into this terminal.
    Terminal(&'a Terminal),
    /// There is no way to deliver it.
    None,
}

/// Returns how to deliver `errand`: by the module inside Claude Code where possible, else by typing into `terminal`.
pub fn delivery_method(errand: Errand, has_bridge: bool, terminal: Option<&Terminal>) -> DeliveryMethod<'_> {
    match (errand, terminal) {
        (Errand::Clear | Errand::Compact | Errand::Prompt, _) if has_bridge => DeliveryMethod::Bridge,
        (_, Some(terminal)) => DeliveryMethod::Terminal(terminal),
        (_, None) => DeliveryMethod::None,
    }
}
