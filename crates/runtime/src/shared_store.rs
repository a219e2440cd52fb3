//! The database of a hook: opened when the first job needs it, then shared by the following jobs.
//!
//! Opening costs more than a small statement, and most hook calls do not need the database.

use std::rc::Rc;

use longhaul_store::Store;
use once_cell::unsync::OnceCell;

use crate::Error;

/// A database that is opened at its first use.
#[derive(Debug, Default)]
pub(crate) struct SharedStore(OnceCell<Rc<Store>>);

impl SharedStore {
    /// Returns the database. `open` opens it if it is not open yet. After an error, the next call tries again.
    pub(crate) fn get_or_open(&self, open: impl FnOnce() -> Result<Store, Error>) -> Result<Rc<Store>, Error> {
        self.0.get_or_try_init(|| open().map(Rc::new)).map(Rc::clone)
    }

    /// Closes the database when no job uses it any more. The next call of [`SharedStore::get_or_open`] opens it again,
    /// which may be another file by then.
    pub(crate) fn close(&mut self) {
        self.0.take();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use longhaul_store::Store;

    use super::SharedStore;
    use crate::Error;

    #[test]
    fn the_database_is_opened_once_and_again_after_it_was_closed() {
        let folder = tempfile::TempDir::new().unwrap();
        let (mut shared, opened) = (SharedStore::default(), Cell::new(0));
        let open = || {
            opened.set(opened.get() + 1);
            Store::open(&folder.path().join("longhaul.db"), Duration::from_secs(5)).map_err(Error::from)
        };
        assert!(matches!(shared.get_or_open(|| Err(Error::Busy)), Err(Error::Busy)));
        let first = shared.get_or_open(open).unwrap();
        assert!(std::rc::Rc::ptr_eq(&first, &shared.get_or_open(open).unwrap()));
        assert_eq!(opened.get(), 1);
        drop(first);
        shared.close();
        shared.get_or_open(open).unwrap();
        assert_eq!(opened.get(), 2);
    }
}
