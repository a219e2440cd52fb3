//! Which error of the engine (`engine.rs`, with the texts) an error of the server or the connection is.

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::address::chain;
use super::schema;
use crate::EngineError;

/// How the library begins the message about a failed TLS handshake. It has no other way to recognise one.
const TLS_FAILED: &str = "error performing TLS handshake";

/// How much of a message of the server is shown, in characters.
const MESSAGE: usize = 500;

/// Returns whether a statement failed because a table or the schema does not exist.
pub(super) fn is_missing_table(error: &Error) -> bool {
    matches!(error.code(), Some(&SqlState::UNDEFINED_TABLE | &SqlState::INVALID_SCHEMA_NAME))
}

/// Returns whether a statement failed because this user may not do it, or because nothing can be written at all.
pub(super) fn is_refused(error: &Error) -> bool {
    matches!(error.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE | &SqlState::READ_ONLY_SQL_TRANSACTION))
}

/// Returns what an error while connecting means. `mode` is the value of `sslmode`.
pub(super) fn of_connecting(engine: &str, mode: &'static str, error: &Error) -> EngineError {
    let engine = engine.to_owned();
    if error.to_string().starts_with(TLS_FAILED) {
        return EngineError::Tls { engine, mode, problem: chain(error) };
    }
    match error.code() {
        Some(_) => of_request(&engine, error),
        // Such as a missing password, which the library finds out.
        None if error.to_string().starts_with("invalid configuration") => {
            let problem = format!("{}: set it in the address, in PGPASSFILE or by a command in sync.url", chain(error));
            EngineError::Login { engine, problem }
        }
        None if error.to_string().starts_with("authentication") => EngineError::Login { engine, problem: chain(error) },
        None => EngineError::Unreachable { engine, problem: chain(error) },
    }
}

/// Returns what an error of a request means.
pub(super) fn of_request(engine: &str, error: &Error) -> EngineError {
    let engine = engine.to_owned();
    let Some(server) = error.as_db_error() else {
        return EngineError::Unreachable { engine, problem: chain(error) };
    };
    let message = server.message().chars().take(MESSAGE);
    let problem: String = message.map(|c| if c.is_control() { ' ' } else { c }).collect();
    match server.code() {
        &SqlState::INVALID_PASSWORD | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            EngineError::Login { engine, problem }
        }
        &SqlState::INSUFFICIENT_PRIVILEGE => {
            let problem = format!("{problem}; a member of the team needs the role {}", schema::MEMBER);
            EngineError::NoPermission { engine, problem }
        }
        &SqlState::READ_ONLY_SQL_TRANSACTION => EngineError::NoPermission { engine, problem },
        &SqlState::DISK_FULL => EngineError::Full { engine, problem },
        &SqlState::ADMIN_SHUTDOWN | &SqlState::CRASH_SHUTDOWN | &SqlState::CANNOT_CONNECT_NOW => {
            EngineError::Unreachable { engine, problem }
        }
        _ => EngineError::Other { engine, problem },
    }
}
