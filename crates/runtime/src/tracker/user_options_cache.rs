//! A cache of the tmux options that the user has set, so that hooks do not query tmux. What Longhaul shows in tmux is
//! corrected by `refresh.rs`.

use longhaul_tracker::Options;

use crate::tmux::Server;
use crate::{Error, Home, bounded_read, files};

/// Returns the cached options of a server; the defaults if there are none.
pub(super) fn load(home: &Home, server: &Server) -> Options {
    let cached = bounded_read::bytes(&home.tmux_options(&server.socket), bounded_read::LARGE).ok();
    let values: Vec<String> = cached.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    Options::from_values(|at| values.get(at).cloned())
}

/// Caches the options of a server if they have changed.
pub(super) fn save(home: &Home, server: &Server, options: &Options) -> Result<(), Error> {
    if load(home, server) == *options {
        return Ok(());
    }
    let json = serde_json::to_vec(options.values()).unwrap_or_default();
    files::replace(&home.tmux_options(&server.socket), &json)
}
