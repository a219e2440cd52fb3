//! Ctrl-C and its kin: taken note of, so that what was started is ended on the way out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result, ensure};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Takes note of signals from now on; the second one ends the program at once.
pub(crate) fn watch() -> Result<()> {
    let interrupted = INTERRUPTED.get_or_init(Arc::default);
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, 130, Arc::clone(interrupted))
            .context("cannot watch for signals")?;
        flag::register(signal, Arc::clone(interrupted)).context("cannot watch for signals")?;
    }
    Ok(())
}

/// Fails once a signal has come.
pub(crate) fn check() -> Result<()> {
    let interrupted = INTERRUPTED.get().is_some_and(|interrupted| interrupted.load(Ordering::Relaxed));
    ensure!(!interrupted, "interrupted; everything that was started has been ended");
    Ok(())
}
