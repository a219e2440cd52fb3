#![doc = include_str!("../README.md")]

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::path::Path;

use longhaul_core::catalog::{self, HOOK_EXECUTABLE, POST_TOOL_USE_EXECUTABLE, REGISTRATIONS};
use longhaul_core::event::EventName;

/// Returns the machine that a target triple is for, as `uname -s` and `uname -m` name it, with a dash between them; `None` if
/// launchers do not know that kind of machine.
pub fn machine_of(target: &str) -> Option<&'static str> {
    match target.split_once('-')? {
        ("x86_64", "unknown-linux-musl" | "unknown-linux-gnu") => Some("Linux-x86_64"),
        ("aarch64", "unknown-linux-musl" | "unknown-linux-gnu") => Some("Linux-aarch64"),
        ("x86_64", "apple-darwin") => Some("Darwin-x86_64"),
        ("aarch64", "apple-darwin") => Some("Darwin-arm64"),
        _ => None,
    }
}

/// Returns the machine with this operating system and architecture, in the words of `std::env::consts`.
pub fn machine_named(system: &str, architecture: &str) -> Option<&'static str> {
    match system {
        "linux" => machine_of(&format!("{architecture}-unknown-linux-musl")),
        "macos" => machine_of(&format!("{architecture}-apple-darwin")),
        _ => None,
    }
}

/// Returns for each machine the target that it uses, sorted. Targets of an unknown kind are left out.
///
/// Of two targets for one machine, musl's is used: its executables depend on no library of the machine.
pub fn choose<'a>(targets: impl IntoIterator<Item = &'a str>) -> Vec<(&'static str, &'a str)> {
    let mut chosen: BTreeMap<&str, &str> = BTreeMap::new();
    for target in targets {
        let Some(machine) = machine_of(target) else { continue };
        let current = chosen.entry(machine).or_insert(target);
        if target.ends_with("-musl") {
            *current = target;
        }
    }
    chosen.into_iter().collect()
}

/// The launcher without what differs: `@NAME@`, `@TARGETS@` and `@GIVE_UP@`.
const TEMPLATE: &str = include_str!("launcher.sh");

const BEGINNING: &str = "#!/bin/sh\n# longhaul launcher: ";

/// Returns what the launcher of `name` does if there is no executable for the machine, as shell code that ends it.
fn give_up(name: &str) -> String {
    let answer = include_str!("launcher/answer.sh");
    match name {
        // At the start of a session it also reports the reason, once.
        HOOK_EXECUTABLE => {
            let silent = REGISTRATIONS.iter().filter(|registration| !catalog::answers(registration.event));
            let silent: Vec<&str> = silent.flat_map(|registration| registration.arguments).copied().collect();
            let start = catalog::arguments(EventName::SessionStart).concat();
            let report = include_str!("launcher/report.sh");
            format!(
                "    case ${{1-}} in\n    {}) exit 0 ;;\n    {start}) ;;\n    *)\n    {answer}    ;;\n    esac\n{report}",
                silent.join(" | "),
            )
        }
        POST_TOOL_USE_EXECUTABLE => answer.to_owned(),
        // A person or the module starts it.
        _ => include_str!("launcher/print.sh").to_owned(),
    }
}

/// Returns the text of the launcher of the executable `name`, in a bundle with these targets.
pub fn launcher<'a>(name: &str, targets: impl IntoIterator<Item = &'a str>) -> String {
    let mut cases = String::new();
    for (machine, target) in choose(targets) {
        // Writing to a string cannot fail.
        let _ = writeln!(cases, "{machine}) target={target} ;;");
    }
    TEMPLATE.replace("@GIVE_UP@\n", &give_up(name)).replace("@TARGETS@\n", &cases).replace("@NAME@", name)
}

/// Returns whether a file with this content, or beginning, is a launcher.
pub fn is_launcher(content: &[u8]) -> bool {
    content.starts_with(BEGINNING.as_bytes())
}

pub const CHECKSUMS: &str = "SHA256SUMS";

/// The extension of an executable that no launcher has unpacked yet: gzip, which every supported system has.
pub const PACKED: &str = "gz";

/// The checksums of the executables, by target and name.
///
/// They detect a file that is incomplete or damaged. They do not protect against somebody who can change the bundle, and
/// with it this file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checksums(BTreeMap<(String, String), String>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of {CHECKSUMS} is not a checksum with the path of an executable")]
pub struct ParseError {
    /// The number of the line, from 1.
    pub line: usize,
}

impl Checksums {
    /// Reads the file, which has the form that `sha256sum --check` reads.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut sums = Self::default();
        for (at, line) in text.lines().enumerate() {
            let error = ParseError { line: at + 1 };
            let (sum, path) = line.split_once("  ").ok_or(error)?;
            let (target, name) = path.split_once('/').ok_or(error)?;
            // SHA-256 in hexadecimal digits.
            let is_sum =
                sum.len() == 64 && sum.bytes().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit));
            if !is_sum || machine_of(target).is_none() || !is_name(name) {
                return Err(error);
            }
            sums.insert(target, name, sum);
        }
        Ok(sums)
    }

    /// Adds the checksum of an executable, in lower-case hexadecimal digits.
    pub fn insert(&mut self, target: &str, name: &str, sum: &str) {
        self.0.insert((target.to_owned(), name.to_owned()), sum.to_owned());
    }

    /// Returns the executables of a target with their checksums, sorted by name.
    pub fn of_target<'a>(&'a self, target: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let entries = self.0.iter().filter(move |((of, _), _)| of == target);
        entries.map(|((_, name), sum)| (name.as_str(), sum.as_str()))
    }
}

impl fmt::Display for Checksums {
    /// Writes the text of the file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|((target, name), sum)| writeln!(f, "{sum}  {target}/{name}"))
    }
}

/// Returns whether `name` can be the name of an executable, and no path.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// A link that replaces a launcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub name: &'static str,
    /// What the link leads to, relative to `bin/`.
    pub to: String,
    /// The checksum that the executable must have.
    pub checksum: String,
}

/// Returns the links for `target`, in the order in which they are made.
///
/// The last one is that of the hook at the start of a session, which makes them. While it is a launcher, some others may be
/// launchers, too: a process that was killed before the last link leaves the rest to the next session. Only names of the
/// catalogue become links.
pub fn links(checksums: &Checksums, target: &str) -> Vec<Link> {
    let link = |(name, checksum): (&str, &str)| {
        let name = catalog::executables(None).find(|known| *known == name)?;
        Some(Link { name, to: format!("{target}/{name}"), checksum: checksum.to_owned() })
    };
    let mut links: Vec<Link> = checksums.of_target(target).filter_map(link).collect();
    // A stable sort: the others keep the order of their names.
    links.sort_by_key(|link| link.name == HOOK_EXECUTABLE);
    links
}

/// The place of an executable: `bin/NAME`, or `bin/TARGET/NAME` in a universal bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location<'a> {
    pub bundle: &'a Path,
    /// The target whose folder the executable is in; `None` if it is in `bin/` itself.
    pub target: Option<&'a str>,
}

impl<'a> Location<'a> {
    /// Returns the location of `exe`, or `None` if its path is not that of an executable in a bundle.
    pub fn of(exe: &'a Path) -> Option<Self> {
        let folder = exe.parent()?;
        let target = folder.file_name()?.to_str().filter(|name| machine_of(name).is_some());
        let bin = if target.is_some() { folder.parent()? } else { folder };
        let bundle = bin.parent().filter(|_| bin.ends_with("bin"))?;
        Some(Self { bundle, target })
    }
}

#[cfg(test)]
mod tests;
