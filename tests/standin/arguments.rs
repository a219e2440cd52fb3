//! The arguments of the client that the stand-in takes too.

use std::env;

/// The arguments; those that are not known are ignored.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arguments {
    /// `--resume`: the session to go on with.
    pub(crate) resume: Option<String>,
    /// `--permission-mode`.
    pub(crate) permission_mode: Option<String>,
    /// `--model`.
    pub(crate) model: Option<String>,
    /// All of them, for the log.
    pub(crate) all: Vec<String>,
}

impl Arguments {
    /// Reads them; `codex` is resumed by a command instead.
    pub(crate) fn read() -> Self {
        let all: Vec<String> = env::args().skip(1).collect();
        let after = |name: &str| all.iter().skip_while(|word| *word != name).nth(1).cloned();
        Self {
            resume: after("--resume").or_else(|| after("resume")),
            permission_mode: after("--permission-mode"),
            model: after("--model"),
            all,
        }
    }
}
