//! The version of git: the oldest that snapshots work with, and how it is read.

/// The version of git.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitVersion {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
}

impl GitVersion {
    /// The oldest version that snapshots work with.
    pub const OLDEST: Self = Self { major: 2, minor: 30 };

    /// Reads what `git --version` prints; `None` if there is no version in it.
    pub(super) fn parse(printed: &str) -> Option<Self> {
        let version = printed.split_whitespace().nth(2)?;
        let mut numbers = version.split('.').map_while(|part| part.parse().ok());
        Some(Self { major: numbers.next()?, minor: numbers.next()? })
    }
}
