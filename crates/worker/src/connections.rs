//! The open connections. If there are too many, the oldest one that has not shown a key is closed for a new one: any user of
//! this machine can open connections and send nothing, and must not keep the page out by that.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::task::AbortHandle;

use crate::database::lock;

/// The maximum number of connections.
const CONNECTIONS: usize = 256;

/// Who is at the other end of a connection. Every request of the connection has it as an extension.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caller(Arc<AtomicBool>);

impl Caller {
    /// Records that the caller has shown a key. Its connection is not closed for another one.
    pub(crate) fn trust(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_trusted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The open connections, by the order in which they were opened.
#[derive(Debug, Default)]
pub(crate) struct Connections(Arc<Mutex<Open>>);

#[derive(Debug, Default)]
struct Open {
    next: u64,
    tasks: BTreeMap<u64, (Caller, Option<AbortHandle>)>,
}

impl Connections {
    /// Returns a place for a new connection; `None` if every connection has shown a key.
    pub(crate) fn enter(&self) -> Option<Place> {
        let mut open = lock(&self.0);
        if open.tasks.len() >= CONNECTIONS {
            let oldest = *open.tasks.iter().find(|(_, (caller, _))| !caller.is_trusted())?.0;
            // The task is dropped later, by the runtime, and finds its place gone.
            if let Some((_, Some(task))) = open.tasks.remove(&oldest) {
                task.abort();
            }
        }
        let (number, caller) = (open.next, Caller::default());
        open.next += 1;
        open.tasks.insert(number, (caller.clone(), None));
        Some(Place { number, caller, open: Arc::clone(&self.0) })
    }
}

/// The place of one connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    number: u64,
    caller: Caller,
    open: Arc<Mutex<Open>>,
}

impl Place {
    pub(crate) fn caller(&self) -> Caller {
        self.caller.clone()
    }

    /// Starts the task of the connection, which has the place until it ends.
    pub(crate) fn hold(self, connection: impl Future<Output = ()> + Send + 'static) {
        let (number, open) = (self.number, Arc::clone(&self.open));
        let task = tokio::spawn(async move {
            connection.await;
            drop(self);
        });
        if let Some((_, handle)) = lock(&open).tasks.get_mut(&number) {
            *handle = Some(task.abort_handle());
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.open).tasks.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::{CONNECTIONS, Connections};

    #[test]
    fn the_oldest_connection_without_a_key_makes_room() {
        let connections = Connections::default();
        let places: Vec<_> = (0..CONNECTIONS).map(|_| connections.enter().unwrap()).collect();
        places[0].caller().trust();
        let new = connections.enter().unwrap();
        let is_open = |number| super::lock(&connections.0).tasks.contains_key(&number);
        assert!(is_open(0) && !is_open(1) && is_open(2) && is_open(new.number));
        places.iter().for_each(|place| place.caller().trust());
        new.caller().trust();
        assert!(connections.enter().is_none());
        drop(places);
        assert!(connections.enter().is_some());
    }
}
