//! Errors of installing, uninstalling and checking.

use std::io;
use std::path::PathBuf;

use crate::settings::Refusal;

/// Why an installation could not be changed or checked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `HOME` is not set.
    #[error("no home directory: set HOME")]
    NoHome,
    /// The folder of Codex's settings does not exist.
    #[error("{} does not exist: start codex once, or set CODEX_HOME to the folder of its settings", folder.display())]
    NoCodex { folder: PathBuf },
    /// The folder of an agent's settings does not exist.
    #[error("{} does not exist: start {program} once, so that {agent} creates it", folder.display())]
    NoAgent { agent: &'static str, program: &'static str, folder: PathBuf },
    /// This executable is not in a bundle.
    #[error(
        "{} is not part of a bundle: run `cargo xtask install`, or bin/longhaul of an unpacked archive",
        exe.display()
    )]
    NoBundle { exe: PathBuf },
    /// The given folder is not a bundle.
    #[error("{} holds no bundle: name the folder of an unpacked archive, or of `cargo xtask dist`, with --from", folder.display())]
    NoSource { folder: PathBuf },
    /// It is not recorded which folder the installed version came from.
    #[error(
        "it is not known which folder to update from: name the folder of an unpacked archive, or of `cargo xtask dist`, with --from"
    )]
    UnknownSource,
    /// A file could not be read.
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A file could not be written.
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// A file or folder could not be removed.
    #[error("cannot remove {}", path.display())]
    Remove { path: PathBuf, source: io::Error },
    /// A file of the user cannot be changed safely.
    #[error("{} {refusal}; it was not changed", path.display())]
    Refused { path: PathBuf, refusal: Refusal },
    /// Claude Code returned an error, or could not be run.
    #[error("`{command}` failed: {message}")]
    Client { command: String, message: String },
    /// An error of the runtime.
    #[error(transparent)]
    Runtime(#[from] longhaul_runtime::Error),
}

/// The result of an operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
