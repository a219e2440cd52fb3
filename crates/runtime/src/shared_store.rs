//! One connection for all jobs of a hook: opening it is most of what a small statement costs.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

use longhaul_store::Store;

/// Where the connection rests while no job uses it.
pub(crate) type Slot = Rc<RefCell<Option<Store>>>;

/// A connection in use; it goes back to where it came from.
#[derive(Debug)]
pub(crate) struct SharedStore {
    store: Option<Store>,
    slot: Slot,
}

impl SharedStore {
    /// Takes the connection that rests in `slot`, or the one that `open` makes.
    pub(crate) fn take<E>(slot: &Slot, open: impl FnOnce() -> Result<Store, E>) -> Result<Self, E> {
        let resting = slot.borrow_mut().take();
        let store = resting.map_or_else(open, Ok)?;
        Ok(Self { store: Some(store), slot: Rc::clone(slot) })
    }

    /// Uses a connection that nobody else wants.
    pub(crate) fn own(store: Store) -> Self {
        Self { store: Some(store), slot: Slot::default() }
    }
}

impl Deref for SharedStore {
    type Target = Store;

    fn deref(&self) -> &Store {
        self.store.as_ref().expect("a connection in use is there until it is dropped")
    }
}

impl DerefMut for SharedStore {
    fn deref_mut(&mut self) -> &mut Store {
        self.store.as_mut().expect("a connection in use is there until it is dropped")
    }
}

impl Drop for SharedStore {
    fn drop(&mut self) {
        *self.slot.borrow_mut() = self.store.take();
    }
}
