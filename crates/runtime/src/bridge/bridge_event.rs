//! The events that the bridge reports, with their names.

/// An event that the bridge reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BridgeEvent {
    /// The bridge was loaded.
    Start,
    /// A turn of the main loop ended.
    Turn,
    /// The requested `/clear` is done.
    Cleared,
    /// The session ended.
    End,
    /// A requested action failed.
    Failed,
    /// The user submitted a prompt, or a turn began, before a requested action could be performed.
    Overtaken,
    /// The bridge got no answer, or one that it could not parse.
    Trouble,
}

impl BridgeEvent {
    /// Every event.
    pub const ALL: [Self; 7] =
        [Self::Start, Self::Turn, Self::Cleared, Self::End, Self::Failed, Self::Overtaken, Self::Trouble];

    /// Returns the name of the event as the bridge writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Turn => "turn",
            Self::Cleared => "cleared",
            Self::End => "end",
            Self::Failed => "failed",
            Self::Overtaken => "overtaken",
            Self::Trouble => "trouble",
        }
    }
}
