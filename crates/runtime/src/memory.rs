//! What every session did: noted by the hooks in a spool, and taken in where somebody wants to know.

use longhaul_core::Config;
use longhaul_store::Store;

use crate::{Error, Home};

/// Takes in everything that hooks have noted and nobody has taken in yet: before anything is looked for.
pub fn take_in_all(store: &mut Store, home: &Home, config: &Config) -> Result<(), Error> {
    let _ = (store, home, config);
    Ok(())
}
