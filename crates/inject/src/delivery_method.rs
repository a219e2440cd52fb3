//! By what means something gets into a session: in one order everywhere.

use crate::terminal::Terminal;

/// What is to get into a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Errand {
    /// `/clear`.
    Clear,
    /// `/compact`.
    Compact,
    /// A prompt.
    Prompt,
    /// A bookmark: a prompt that `/rewind` must list, which it does only of what was typed.
    Bookmark,
}

impl Errand {
    /// Every errand.
    pub const ALL: [Self; 4] = [Self::Clear, Self::Compact, Self::Prompt, Self::Bookmark];
}

/// How it gets there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryMethod<'a> {
    /// The client does it itself, when its module is told to.
    Bridge,
    /// It is typed.
    Terminal(&'a Terminal),
    /// Not at all.
    None,
}

/// Returns the means for `errand`: the client's own module before the terminal that [`Terminal::detect`] has found, before
/// none.
pub fn delivery_method(errand: Errand, has_bridge: bool, terminal: Option<&Terminal>) -> DeliveryMethod<'_> {
    match (errand, terminal) {
        (Errand::Clear | Errand::Compact | Errand::Prompt, _) if has_bridge => DeliveryMethod::Bridge,
        (_, Some(terminal)) => DeliveryMethod::Terminal(terminal),
        (_, None) => DeliveryMethod::None,
    }
}
