//! What every command needs: configuration, database, engine and key.

use std::fs::File;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use fs2::FileExt;
use longhaul_core::{Config, Env};
use longhaul_runtime::{Home, files, sync, waiting_times};
use longhaul_store::{Scan, Store};
use longhaul_sync::{CircleKey, host_name};

use super::CommandError;
use crate::exchange::Participant;
use crate::{Engine, EngineAddress, ExchangeError};

/// The page cache of the database, in KiB.
const CACHE_KIB: u32 = 32 * 1024;

const PAUSE: Duration = Duration::from_millis(50);

/// Configuration, data folder and database.
pub(super) struct Context {
    pub(super) env: Env,
    pub(super) home: Home,
    pub(super) config: Config,
    pub(super) store: Store,
    /// How long another exchange is waited for.
    pub(super) lock_limit: Duration,
}

impl Context {
    pub(super) fn open(env: &Env) -> Result<Self, CommandError> {
        let home = Home::of(env)?;
        let (config, _) = longhaul_runtime::config(env)?;
        let store = home.store(waiting_times::DATABASE)?;
        store.read_without_mapping()?;
        store.set_cache(CACHE_KIB)?;
        Ok(Self { env: env.clone(), home, config, store, lock_limit: waiting_times::OTHER_EXCHANGE })
    }

    /// Returns the engine of this machine's circle.
    pub(super) fn engine(&self) -> Result<Box<dyn Engine>, CommandError> {
        let address = sync::engine_address(&self.home, &self.config)?.ok_or(ExchangeError::NoCircle)?;
        self.connect(&address.text)
    }

    /// Connects to an address.
    pub(super) fn connect(&self, address: &str) -> Result<Box<dyn Engine>, CommandError> {
        let address = EngineAddress::parse(address, self.env.home_dir.as_deref())?;
        Ok(address.connect(self.env.password_file.as_deref())?)
    }

    /// Returns the key of this machine's circle.
    pub(super) fn key(&self) -> Result<CircleKey, CommandError> {
        let secret = sync::key_words(&self.env, &self.config)?;
        let Some(secret) = secret else {
            return Err(CommandError::NoKey(sync::key_file(&self.env)?.display().to_string()));
        };
        CircleKey::from_words(&secret.text).map_err(|problem| CommandError::BadKey { origin: secret.origin, problem })
    }

    /// Returns the name of this machine that others see.
    pub(super) fn name() -> String {
        host_name(&sync::host_name())
    }

    /// Returns this machine as a participant of an exchange.
    pub(super) fn participant<'a>(&'a self, key: &'a CircleKey) -> Participant<'a> {
        let scan = Scan { now: longhaul_runtime::now(&self.env), raw: self.config.sync.raw };
        let machine = sync::machine_id(&self.home);
        Participant { store: &self.store, key, machine, name: Self::name(), scan }
    }

    /// Waits until no other exchange runs. Fails with [`CommandError::Busy`] if one runs for longer than the limit.
    pub(super) fn lock(&self) -> Result<File, CommandError> {
        let lock = files::open_append(&self.home.locks().join("sync"))?;
        let end = Instant::now() + self.lock_limit;
        loop {
            match lock.try_lock_exclusive() {
                Ok(()) => return Ok(lock),
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error.into()),
                Err(_) if Instant::now() < end => thread::sleep(PAUSE),
                Err(_) => return Err(CommandError::Busy),
            }
        }
    }
}
