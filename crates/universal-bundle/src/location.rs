//! Where an executable is in its bundle.

use std::path::Path;

use crate::Machine;

/// The place of an executable: `bin/NAME`, or `bin/TARGET/NAME` in a universal bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location<'a> {
    /// The folder of the bundle.
    pub bundle: &'a Path,
    /// The target whose folder the executable is in; `None` if it is in `bin/` itself.
    pub target: Option<&'a str>,
}

impl<'a> Location<'a> {
    /// Returns the location of `exe`, or `None` if its path is not that of an executable in a bundle.
    pub fn of(exe: &'a Path) -> Option<Self> {
        let folder = exe.parent()?;
        let target = folder.file_name()?.to_str().filter(|name| Machine::of(name).is_some());
        let bin = if target.is_some() { folder.parent()? } else { folder };
        let bundle = bin.parent().filter(|_| bin.ends_with("bin"))?;
        Some(Self { bundle, target })
    }
}
