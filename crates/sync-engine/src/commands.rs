//! The commands of the engine. `longhaul sync …` checks the arguments and calls them; hooks start `longhaul run-sync
//! exchange`.

mod automatic;
mod circle_key;
mod context;
mod first_exchange;
mod init;
mod join;
mod leave;
mod next_key;
mod now;
mod rotate;
mod secret_input;

use std::io::{self, Write};
use std::process::ExitCode;

use longhaul_core::Env;
use longhaul_runtime::sync::AUTOMATIC;

use self::context::Context;
use self::secret_input::given_or_input;
use crate::memory_limit::limit_memory;
use crate::{EngineError, ExchangeError};

/// Why a command has failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// This machine has a circle already.
    #[error("this machine has a circle already: `longhaul sync leave` first")]
    HasCircle,
    /// The code is not one.
    #[error(transparent)]
    Code(#[from] longhaul_sync::JoinCodeError),
    /// The key is missing.
    #[error("no key: {0} does not exist; `longhaul sync join CODE` stores it again")]
    NoKey(String),
    /// The key cannot be read.
    #[error("the key in {origin} cannot be used: {problem}")]
    BadKey {
        /// The file or setting.
        origin: String,
        /// What is wrong with it.
        problem: longhaul_sync::WordsError,
    },
    /// Another process exchanges records.
    #[error("another exchange is running: try again when it has ended")]
    Busy,
    /// The arguments are wrong.
    #[error("usage: longhaul sync init ADDRESS | join CODE | now | rotate | leave | key | code")]
    Usage,
    /// Standard input or output failed.
    #[error("cannot read the input or print the answer")]
    Terminal(#[from] io::Error),
    /// The exchange failed.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// A file failed.
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
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }
}

/// Runs a command.
pub fn run(env: &Env, args: &[String]) -> ExitCode {
    limit_memory();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    if args == [AUTOMATIC] {
        return automatic::run(env);
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
        ["init", address] => init::run(context, &given_or_input(address, "The address of the engine")?),
        ["join", code] => join::run(context, &given_or_input(code, "The join code")?, None),
        ["join", code, "--url", url] => {
            let code = given_or_input(code, "The join code")?;
            join::run(context, &code, Some(&given_or_input(url, "The address of the engine")?))
        }
        ["now"] => now::run(context),
        ["rotate"] => rotate::run(context),
        ["leave"] => leave::run(context),
        ["key"] => circle_key::print_words(context),
        ["key", "--qr"] => circle_key::print_picture(context),
        ["code"] => circle_key::print_code(context, true),
        ["code", "--without-password"] => circle_key::print_code(context, false),
        _ => Err(CommandError::Usage),
    }
}

#[cfg(test)]
mod tests;
