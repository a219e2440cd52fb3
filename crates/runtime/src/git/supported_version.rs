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

#[cfg(test)]
mod tests {
    use super::GitVersion;

    #[test]
    fn the_version_is_read_however_it_is_printed() {
        let cases = [
            ("git version 2.47.3\n", Some((2, 47))),
            ("git version 2.30\n", Some((2, 30))),
            ("git version 2.39.5 (Apple Git-154)\n", Some((2, 39))),
            ("git version 3\n", None),
            ("git version two\n", None),
            ("", None),
        ];
        for (printed, expected) in cases {
            let read = GitVersion::parse(printed).map(|GitVersion { major, minor }| (major, minor));
            assert_eq!(read, expected, "{printed}");
        }
    }
}
