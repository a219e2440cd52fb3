//! Targets, and the machines that they are for.

use std::collections::BTreeMap;

/// A kind of machine, in the words of `uname`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Machine {
    /// The operating system, as `uname -s` prints it.
    pub system: &'static str,
    /// The processor, as `uname -m` prints it.
    pub processor: &'static str,
}

impl Machine {
    /// Returns the machine with this operating system and architecture, in the words of `std::env::consts`.
    pub fn named(system: &str, architecture: &str) -> Option<Self> {
        match system {
            "linux" => Self::of(&format!("{architecture}-unknown-linux-musl")),
            "macos" => Self::of(&format!("{architecture}-apple-darwin")),
            _ => None,
        }
    }

    /// Returns the machine that a target triple is for; `None` if launchers do not know that kind of machine.
    pub fn of(target: &str) -> Option<Self> {
        let (architecture, rest) = target.split_once('-')?;
        let system = match rest {
            "unknown-linux-musl" | "unknown-linux-gnu" => "Linux",
            "apple-darwin" => "Darwin",
            _ => return None,
        };
        let processor = match (architecture, system) {
            ("x86_64", _) => "x86_64",
            ("aarch64", "Darwin") => "arm64",
            ("aarch64", _) => "aarch64",
            _ => return None,
        };
        Some(Self { system, processor })
    }
}

/// Returns for each machine the target that it uses, sorted. Targets of an unknown kind are left out.
///
/// Of two targets for one machine, musl's is used: its executables depend on no library of the machine.
pub fn choose<'a>(targets: impl IntoIterator<Item = &'a str>) -> Vec<(Machine, &'a str)> {
    let mut chosen: BTreeMap<Machine, &str> = BTreeMap::new();
    for target in targets {
        let Some(machine) = Machine::of(target) else { continue };
        let current = chosen.entry(machine).or_insert(target);
        if target.ends_with("-musl") {
            *current = target;
        }
    }
    chosen.into_iter().collect()
}
