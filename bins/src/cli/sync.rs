//! `longhaul sync`: its commands and their help. Those that need the engine are in `sync-engine/src/commands/`.

mod hosts;
mod projects;
mod status;

use longhaul_core::Env;
use longhaul_runtime::sync::EXECUTABLE;
use longhaul_runtime::{Home, become_sibling};
use longhaul_store::{Store, SyncSelf};

use super::Exit;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Create a circle (machines that share one memory) in a PostgreSQL database or a folder, and print the code with which another machine joins
    Init {
        /// `postgres://USER@HOST/DATABASE` or `folder:PATH`; `-` reads the address from standard input
        address: String,
    },
    /// Join the circle of another machine; first, the key and the address of the database or folder are checked
    Join {
        /// The code that `init` or `code` printed on another machine; `-` reads it from standard input, or asks for it in a terminal
        code: String,
        /// Use this address of the database or folder instead of the one in the code, for example with your own name as the user of the database; `-` reads it from standard input, after the code
        #[arg(long)]
        url: Option<String>,
    },
    /// Exchange records now
    Now,
    /// Show the last exchange, and how many records are still to be sent; exit 1 if the last exchange has failed
    Status(status::Args),
    /// List the machines of the circle, with their names and when they were last seen
    Hosts(hosts::Args),
    /// Share the project in this folder with the circle from now on
    Share(projects::ShareArgs),
    /// Stop sharing the project in this folder; the other machines keep what was sent
    Unshare,
    /// List the projects that this machine shares, and those that only other machines share
    Projects(projects::ListArgs),
    /// Give the circle a new key, so that a person who has left cannot read new records
    Rotate,
    /// Leave the circle; this machine keeps what it has fetched
    Leave,
    /// Print the key of the circle as 24 words
    Key {
        /// Print it as a QR code instead
        #[arg(long)]
        qr: bool,
    },
    /// Print the code with which another machine joins the circle
    Code {
        /// Leave out the password of the database, for a team in which each member has a database user
        #[arg(long)]
        without_password: bool,
    },
}

pub(crate) fn run(env: &Env, command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Init { address } => engine(&["init", address]),
        Command::Join { code, url: None } => engine(&["join", code]),
        Command::Join { code, url: Some(url) } => engine(&["join", code, "--url", url]),
        Command::Now => engine(&["now"]),
        Command::Rotate => engine(&["rotate"]),
        Command::Leave => engine(&["leave"]),
        Command::Key { qr: false } => engine(&["key"]),
        Command::Key { qr: true } => engine(&["key", "--qr"]),
        Command::Code { without_password: false } => engine(&["code"]),
        Command::Code { without_password: true } => engine(&["code", "--without-password"]),
        Command::Status(args) => status::run(env, args),
        Command::Hosts(args) => hosts::run(env, args),
        Command::Share(args) => projects::share(env, args),
        Command::Unshare => projects::unshare(env),
        Command::Projects(args) => projects::list(env, args),
    }
}

/// Becomes the executable that contains the engines. Returns only if that fails.
fn engine(arguments: &[&str]) -> anyhow::Result<Exit> {
    let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    Err(become_sibling(EXECUTABLE, &arguments).into())
}

/// Returns the database and this machine as its circle knows it; an error without a circle.
fn circle(env: &Env) -> anyhow::Result<(Store, SyncSelf)> {
    let store = Home::of(env)?.existing_store()?;
    let own = store.as_ref().map(Store::sync_self).transpose()?.flatten();
    store.zip(own).ok_or_else(|| {
        anyhow::anyhow!(
            "this machine has no circle: `longhaul sync init` makes one, `longhaul sync join CODE` joins one"
        )
    })
}
