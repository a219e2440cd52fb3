//! In which order a search returns records.

/// The order of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The best match first; the newest first if the query has no words.
    #[default]
    Relevance,
    /// The newest first.
    Newest,
    /// The oldest first.
    Oldest,
}

impl Order {
    /// Every order.
    pub const ALL: [Self; 3] = [Self::Relevance, Self::Newest, Self::Oldest];

    /// Returns its name: `relevance`, `newest` or `oldest`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Relevance => "relevance",
            Self::Newest => "newest",
            Self::Oldest => "oldest",
        }
    }

    /// Returns the order of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.as_str() == name)
    }
}
