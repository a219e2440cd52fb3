//! The address of the engine and the key of the circle: from files of mode 0600, or from commands of the user.

use std::io;
use std::path::PathBuf;

use longhaul_core::config::Names;
use longhaul_core::{Config, Env};
use longhaul_inject::TerminalCommand;
use serde::{Deserialize, Serialize};

use crate::{Error, Home, bounded_read, files, process, waiting_times};

/// The most that a command may print.
const MAX_OUTPUT: usize = 64 * 1024;

/// A secret, and where it came from.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// Its text.
    pub text: String,
    /// The setting or file, for messages.
    pub origin: String,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secret(from {})", self.origin)
    }
}

/// `sync/circle.json`.
#[derive(Serialize, Deserialize)]
struct CircleFile {
    engine: String,
}

/// Returns the address of the engine: of `sync.url_command`, `sync.url`, or `init` and `join`. `None` if there is none.
pub fn engine_address(home: &Home, config: &Config) -> Result<Option<Secret>, Error> {
    if let Some(secret) = of_command(&config.sync.url_command, "sync.url_command")? {
        return Ok(Some(secret));
    }
    if let Some(url) = config.sync.url.get() {
        return Ok(Some(Secret { text: url.to_owned(), origin: "sync.url".to_owned() }));
    }
    let path = circle_file(home);
    let Some(text) = read(&path)? else { return Ok(None) };
    let file: Option<CircleFile> = serde_json::from_str(&text).ok();
    Ok(file.map(|file| Secret { text: file.engine, origin: path.display().to_string() }))
}

/// Stores the address of the engine.
pub fn write_address(home: &Home, engine: &str) -> Result<(), Error> {
    let text = serde_json::to_string(&CircleFile { engine: engine.to_owned() }).unwrap_or_default();
    files::replace(&circle_file(home), text.as_bytes())
}

/// Returns an address without what may be a password, for messages.
pub fn shown_address(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let rest = rest.split('?').next().unwrap_or_default();
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    match authority.rsplit_once('@') {
        Some((user, host)) => {
            let user = user.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}@{host}{path}")
        }
        None => format!("{scheme}://{authority}{path}"),
    }
}

/// Returns the key of the circle as words: of `sync.key_command`, or of the file beside the configuration.
pub fn key_words(env: &Env, config: &Config) -> Result<Option<Secret>, Error> {
    if let Some(secret) = of_command(&config.sync.key_command, "sync.key_command")? {
        return Ok(Some(secret));
    }
    let path = key_file(env)?;
    Ok(read(&path)?.map(|text| Secret { text, origin: path.display().to_string() }))
}

/// Stores the key of the circle as words, with mode 0600.
pub fn write_key_words(env: &Env, words: &str) -> Result<(), Error> {
    files::replace(&key_file(env)?, format!("{words}\n").as_bytes())
}

/// Removes the files of the address and the key.
pub fn remove_secrets(env: &Env, home: &Home) -> Result<(), Error> {
    files::remove(&circle_file(home))?;
    files::remove(&key_file(env)?)
}

/// Returns the file of the key: `sync.key` beside the configuration.
pub fn key_file(env: &Env) -> Result<PathBuf, Error> {
    env.config_path.as_ref().map(|path| path.with_file_name("sync.key")).ok_or(Error::NoDataDir)
}

fn circle_file(home: &Home) -> PathBuf {
    home.sync().join("circle.json")
}

fn read(path: &std::path::Path) -> Result<Option<String>, Error> {
    match bounded_read::text(path, bounded_read::SMALL) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Read { path: path.to_owned(), source }),
    }
}

/// Runs a command of the user and returns what it prints, without the line end; `None` if none is set.
fn of_command(argv: &Names, origin: &str) -> Result<Option<Secret>, Error> {
    if argv.0.is_empty() {
        return Ok(None);
    }
    let step = TerminalCommand { argv: argv.0.clone(), stdin: None };
    let output = process::run_bounded(&step, MAX_OUTPUT, waiting_times::SECRET_COMMAND)?;
    let text = String::from_utf8_lossy(&output).trim().to_owned();
    if text.is_empty() {
        let message = format!("{origin} printed nothing");
        return Err(Error::Program { program: argv.0[0].clone(), message });
    }
    Ok(Some(Secret { text, origin: origin.to_owned() }))
}

#[cfg(test)]
mod tests {
    use super::shown_address;

    #[test]
    fn a_password_is_not_shown() {
        let check = |address: &str, shown: &str| assert_eq!(shown_address(address), shown);
        check("postgres://anna:a%40b@db.example:5433/team?password=x", "postgres://anna@db.example:5433/team");
        check("postgres://anna:s@e@db/team", "postgres://anna@db/team");
        check("postgres://db/team", "postgres://db/team");
        check("folder:/mnt/x", "folder:/mnt/x");
    }
}
