//! The tmux options as they were last read: hooks do not ask tmux for them.

use longhaul_tracker::Options;

use crate::tmux::Server;
use crate::{Error, Home, bounded_read, files};

/// Returns the options that were cached for a server; the defaults where none were.
pub(super) fn load(home: &Home, server: &Server) -> Options {
    let cached = bounded_read::bytes(&home.tmux_options(&server.socket), bounded_read::LARGE).ok();
    let values: Vec<String> = cached.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    Options::from_values(|at| values.get(at).cloned())
}

/// Caches the options of a server, if they are others than before.
pub(super) fn save(home: &Home, server: &Server, options: &Options) -> Result<(), Error> {
    if load(home, server) == *options {
        return Ok(());
    }
    let json = serde_json::to_vec(options.values()).unwrap_or_default();
    files::replace(&home.tmux_options(&server.socket), &json)
}
