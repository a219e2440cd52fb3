//! The address of an engine: `postgres://…` or `folder:PATH`.

use std::path::{Path, PathBuf};

use crate::folder::Folder;
use crate::postgres::{Postgres, PostgresAddress};
use crate::{Engine, EngineError};

/// Where a circle is stored.
#[derive(Debug, Clone)]
pub enum EngineAddress {
    Postgres(Box<PostgresAddress>),
    Folder(PathBuf),
}

impl EngineAddress {
    /// Reads an address. `home` is the user's home directory, for `folder:~/…`.
    pub fn parse(text: &str, home: Option<&Path>) -> Result<Self, EngineError> {
        let text = text.trim();
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(Box::new(PostgresAddress::parse(text)?)));
        }
        let Some(path) = text.strip_prefix("folder:") else {
            return Err(EngineError::Address("it begins with postgres:// or folder:".to_owned()));
        };
        let path = match (path.strip_prefix("~/"), home) {
            (Some(below), Some(home)) => home.join(below),
            (Some(_), None) => return Err(EngineError::Address("the home directory is not known".to_owned())),
            (None, _) => PathBuf::from(path),
        };
        if !path.is_absolute() {
            return Err(EngineError::Address("a folder needs an absolute path, such as folder:/mnt/memory".to_owned()));
        }
        Ok(Self::Folder(path))
    }

    /// Returns it without its password.
    pub fn shown(&self) -> String {
        match self {
            Self::Postgres(address) => address.shown(),
            Self::Folder(path) => format!("folder:{}", path.display()),
        }
    }

    /// Connects. `password_file` is where PostgreSQL's clients look for a password that the address does not contain.
    pub fn connect(&self, password_file: Option<&Path>) -> Result<Box<dyn Engine>, EngineError> {
        Ok(match self {
            Self::Postgres(address) => Box::new(Postgres::connect(address, password_file)?),
            Self::Folder(path) => Box::new(Folder::new(path)),
        })
    }
}

/// Returns an address without its password, as it is passed on in a join code for a team.
pub fn without_password(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    match authority.rsplit_once('@') {
        Some((user, host)) => {
            let user = user.split_once(':').map_or(user, |(user, _)| user);
            format!("{scheme}://{user}@{host}{}", without_password_parameter(path))
        }
        None => format!("{scheme}://{authority}{}", without_password_parameter(path)),
    }
}

/// Removes `password=…` from the query of an address.
fn without_password_parameter(path: &str) -> String {
    let Some((path, query)) = path.split_once('?') else { return path.to_owned() };
    let kept: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with("password=")).collect();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{EngineAddress, without_password};

    #[test]
    fn an_address_without_its_password_is_otherwise_the_same() {
        let check = |address: &str, expected: &str| assert_eq!(without_password(address), expected);
        check(
            "postgres://anna:secret@db.example:5433/team?sslmode=require",
            "postgres://anna@db.example:5433/team?sslmode=require",
        );
        check("postgres://anna:p%40ss@/team?host=/run/pg", "postgres://anna@/team?host=/run/pg");
        check("postgres://db/team?user=anna&password=secret", "postgres://db/team?user=anna");
        check("postgres://db/team?password=secret", "postgres://db/team");
        check("folder:/mnt/memory", "folder:/mnt/memory");
    }

    #[test]
    fn a_folder_has_an_absolute_path() {
        let parse = |text: &str| EngineAddress::parse(text, Some(Path::new("/home/me"))).map(|address| address.shown());
        assert_eq!(parse("folder:~/Sync/memory").unwrap(), "folder:/home/me/Sync/memory");
        assert_eq!(parse("folder:/mnt/x").unwrap(), "folder:/mnt/x");
        for wrong in ["folder:memory", "mysql://x", "/mnt/x", ""] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
