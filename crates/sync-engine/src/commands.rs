//! The commands of the engine. `longhaul sync …` checks the arguments and calls them; hooks start `longhaul run-sync
//! exchange`. Here is what every command needs: configuration, database, engine and key, and secrets that are not given
//! as arguments, because other users of the machine can read those, and shells store them.

mod circle_key;
mod membership;
mod now;

use std::fs::File;
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

use longhaul_core::text::error_chain;
use longhaul_core::{Config, Env};
use longhaul_runtime::sync::{self, AUTOMATIC};
use longhaul_runtime::{Home, files, waiting_times};
use longhaul_store::{Scan, Store};
use longhaul_sync::{CircleKey, host_name};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::exchange::Participant;
use crate::{Engine, EngineAddress, EngineError, ExchangeError};

#[cfg(test)]
mod tests;

/// Why a command has failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error("this machine has a circle already: `longhaul sync leave` first")]
    HasCircle,
    #[error(transparent)]
    Code(#[from] longhaul_sync::JoinCodeError),
    #[error("no key: {0} does not exist; `longhaul sync join CODE` stores it again")]
    NoKey(String),
    #[error("the key in {origin} cannot be used: {problem}")]
    BadKey {
        /// The file or setting.
        origin: String,
        /// What is wrong with it.
        problem: longhaul_sync::WordsError,
    },
    #[error("another exchange is running: try again when it has ended")]
    Busy,
    #[error("usage: longhaul sync init ADDRESS | join CODE | now | rotate | leave | key | code")]
    Usage,
    #[error("cannot read the input or print the answer")]
    Terminal(#[from] io::Error),
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    #[error(transparent)]
    File(#[from] longhaul_runtime::Error),
}

impl From<EngineError> for CommandError {
    fn from(error: EngineError) -> Self {
        Self::Exchange(error.into())
    }
}

impl From<longhaul_store::StoreError> for CommandError {
    fn from(error: longhaul_store::StoreError) -> Self {
        Self::Exchange(error.into())
    }
}

impl From<longhaul_sync::CircleError> for CommandError {
    fn from(error: longhaul_sync::CircleError) -> Self {
        Self::Exchange(error.into())
    }
}

impl CommandError {
    /// Returns the message and its causes on one line.
    pub(crate) fn chain(&self) -> String {
        error_chain(self)
    }
}

/// Runs a command.
pub fn run(env: &Env, args: &[String]) -> ExitCode {
    limit_memory();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    if args == [AUTOMATIC] {
        return now::run_detached(env);
    }
    match Context::open(env).and_then(|context| dispatch(&context, &args)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(CommandError::Usage) => {
            let _ = writeln!(io::stderr(), "{}", CommandError::Usage);
            ExitCode::from(2)
        }
        Err(error) => {
            let message: String = error.chain().chars().filter(|c| !c.is_control()).collect();
            let _ = writeln!(io::stderr(), "longhaul: {message}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(context: &Context, args: &[&str]) -> Result<(), CommandError> {
    match args {
        ["init", address] => membership::init(context, &given_or_input(address, "The address of the engine")?),
        ["join", code] => membership::join(context, &given_or_input(code, "The join code")?, None),
        ["join", code, "--url", url] => {
            let code = given_or_input(code, "The join code")?;
            membership::join(context, &code, Some(&given_or_input(url, "The address of the engine")?))
        }
        ["now"] => now::run(context),
        ["rotate"] => circle_key::rotate(context),
        ["leave"] => membership::leave(context),
        ["key"] => circle_key::print_words(context),
        ["key", "--qr"] => circle_key::print_picture(context),
        ["code"] => circle_key::print_code(context, true),
        ["code", "--without-password"] => circle_key::print_code(context, false),
        _ => Err(CommandError::Usage),
    }
}

/// The page cache of the database, in KiB.
const CACHE_KIB: u32 = 32 * 1024;

const PAUSE: Duration = Duration::from_millis(50);

/// Configuration, data folder and database.
struct Context {
    env: Env,
    home: Home,
    config: Config,
    store: Store,
    /// How long another exchange is waited for.
    lock_limit: Duration,
}

impl Context {
    fn open(env: &Env) -> Result<Self, CommandError> {
        let home = Home::of(env)?;
        let (config, _) = longhaul_runtime::config(env)?;
        let store = home.store(waiting_times::DATABASE)?;
        store.read_without_mapping()?;
        store.set_cache(CACHE_KIB)?;
        Ok(Self { env: env.clone(), home, config, store, lock_limit: waiting_times::OTHER_EXCHANGE })
    }

    /// Returns the engine of this machine's circle.
    fn engine(&self) -> Result<Box<dyn Engine>, CommandError> {
        let address = sync::engine_address(&self.home, &self.config)?.ok_or(ExchangeError::NoCircle)?;
        self.connect(&address.text)
    }

    /// Connects to an address.
    fn connect(&self, address: &str) -> Result<Box<dyn Engine>, CommandError> {
        let address = EngineAddress::parse(address, self.env.home_dir.as_deref())?;
        Ok(address.connect(self.env.password_file.as_deref())?)
    }

    /// Returns the key of this machine's circle.
    fn key(&self) -> Result<CircleKey, CommandError> {
        let secret = sync::key_words(&self.env, &self.config)?;
        let Some(secret) = secret else {
            return Err(CommandError::NoKey(sync::key_file(&self.env)?.display().to_string()));
        };
        CircleKey::from_words(&secret.text).map_err(|problem| CommandError::BadKey { origin: secret.origin, problem })
    }

    /// Returns the name of this machine that others see.
    fn name() -> String {
        host_name(&sync::host_name())
    }

    /// Returns this machine as a participant of an exchange.
    fn participant<'a>(&'a self, key: &'a CircleKey) -> Participant<'a> {
        let scan = Scan { now: longhaul_runtime::now(&self.env), raw: self.config.sync.raw };
        let machine = sync::machine_id(&self.home);
        Participant { store: &self.store, key, machine, name: Self::name(), scan }
    }

    /// Waits until no other exchange runs. Fails with [`CommandError::Busy`] if one runs for longer than the limit.
    fn lock(&self) -> Result<File, CommandError> {
        let lock = files::open_append(&self.home.locks().join("sync"))?;
        match files::lock_within(&lock, self.lock_limit, PAUSE) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(CommandError::Busy),
            locked => Ok(locked.map(|()| lock)?),
        }
    }
}

/// The most that is read of a line.
const MAX_LINE: u64 = 64 * 1024;

/// Returns an argument; for `-`, the next line of standard input. On a terminal, `what` is asked for.
fn given_or_input(argument: &str, what: &str) -> Result<String, CommandError> {
    if argument != "-" {
        return Ok(argument.to_owned());
    }
    let mut input = io::stdin().lock();
    if input.is_terminal() {
        write!(io::stderr(), "{what}: ")?;
    }
    next_line(&mut input)
}

/// Returns the next line that is not empty, without white space around it.
fn next_line(input: &mut impl BufRead) -> Result<String, CommandError> {
    loop {
        let mut line = String::new();
        let read = input.by_ref().take(MAX_LINE).read_line(&mut line)?;
        if read == 0 || !line.trim().is_empty() {
            return Ok(line.trim().to_owned());
        }
    }
}

/// The most memory that this process may have, several times what an exchange of a million records needs.
const BYTES: u64 = 512 << 20;

/// Makes the process end when it needs more memory than an exchange ever does.
///
/// A row is read whole before its size can be checked, and a server that lies can announce up to 2 GB. An exchange that ends in
/// this way has stored what it has taken in before, and the next one goes on there.
fn limit_memory() {
    let maximum = getrlimit(Resource::Data).maximum;
    // Where the limit cannot be set, the exchange works without it.
    let _ = setrlimit(Resource::Data, Rlimit { current: Some(maximum.map_or(BYTES, |most| most.min(BYTES))), maximum });
}
