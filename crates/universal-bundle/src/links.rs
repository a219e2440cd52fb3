//! The links that replace launchers.

use longhaul_core::catalog;

use crate::Checksums;

/// The executable that replaces the launchers, and its own last.
const LAST: &str = "longhaul-session-start";

/// A link that replaces a launcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The launcher's name in `bin/`.
    pub name: &'static str,
    /// What the link leads to, relative to `bin/`.
    pub to: String,
    /// The checksum that the executable must have.
    pub checksum: String,
}

/// Returns the links for `target`, in the order in which they are made.
///
/// The last one is that of SessionStart. While it is a launcher, some others may be launchers, too: a process that was
/// killed before the last link leaves the rest to the next session. Only names of the catalogue become links.
pub fn links(checksums: &Checksums, target: &str) -> Vec<Link> {
    let link = |(name, checksum): (&str, &str)| {
        let name = catalog::executables(None).find(|known| *known == name)?;
        Some(Link { name, to: format!("{target}/{name}"), checksum: checksum.to_owned() })
    };
    let mut links: Vec<Link> = checksums.of_target(target).filter_map(link).collect();
    // A stable sort: the others keep the order of their names.
    links.sort_by_key(|link| link.name == LAST);
    links
}
