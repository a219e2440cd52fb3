//! The bulk mode: what an import writes is copied from the WAL less often, and a whole session is stored in one transaction.

use crate::{SETTINGS, Store, StoreError, cannot};

impl Store {
    /// Switches to the bulk mode for as long as the returned value lives.
    pub fn bulk(&mut self) -> Result<Bulk<'_>, StoreError> {
        // Made first, so that dropping it restores the settings.
        let bulk = Bulk { store: self };
        let settings = "PRAGMA wal_autocheckpoint = 16000; PRAGMA cache_size = -65536;";
        bulk.store.connection.execute_batch(settings).map_err(cannot("prepare for an import"))?;
        Ok(bulk)
    }
}

/// A database in the bulk mode.
#[derive(Debug)]
pub struct Bulk<'a> {
    pub(super) store: &'a mut Store,
}

impl Drop for Bulk<'_> {
    /// Leaves the connection as [`Store::open`] made it, and an empty WAL.
    fn drop(&mut self) {
        let _ = self.store.connection.execute_batch(SETTINGS);
        let _ = self.store.empty_wal();
    }
}

impl Bulk<'_> {
    /// Returns the database for sessions and turns, and for reading.
    pub fn plain(&self) -> &Store {
        self.store
    }
}
