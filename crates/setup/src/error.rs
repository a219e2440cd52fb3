//! Why something could not be set up.

use std::io;
use std::path::PathBuf;

use crate::settings::Refusal;

/// Why something could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody knows where to put anything.
    #[error("no home: set HOME")]
    NoHome,
    /// Codex keeps its settings elsewhere, or nowhere yet.
    #[error("there is no {}: start codex once, or set CODEX_HOME to the folder of its settings", folder.display())]
    NoCodex { folder: PathBuf },
    /// This executable does not lie in a bundle.
    #[error(
        "{} is not part of a bundle: run `cargo xtask install`, or bin/longhaul of an unpacked archive",
        exe.display()
    )]
    NoBundle { exe: PathBuf },
    /// Nothing to update from.
    #[error("{} holds no bundle: name the folder of an unpacked archive, or of `cargo xtask dist`, with --from", folder.display())]
    NoSource { folder: PathBuf },
    /// Nothing is known to update from.
    #[error(
        "nobody knows what to update from: name the folder of an unpacked archive, or of `cargo xtask dist`, with --from"
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
    /// A file of somebody's is left as it is.
    #[error("{} {refusal}; nothing in it was changed", path.display())]
    Refused { path: PathBuf, refusal: Refusal },
    /// The client refused, or could not be run.
    #[error("`{command}` failed: {message}")]
    Client { command: String, message: String },
    /// Something else went wrong.
    #[error(transparent)]
    Runtime(#[from] longhaul_runtime::Error),
}

/// The result of setting something up.
pub type Result<T, E = Error> = std::result::Result<T, E>;
