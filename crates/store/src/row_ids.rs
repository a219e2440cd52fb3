//! Row numbers and times, each a type of its own, as SQLite stores them.
//!
//! In the tables of a conversation (`turns`, `details`, `observations`, `session_summaries`), `session_id` is
//! the number of the row in `sessions`, which is short enough for every row and index. In all others it is the session's own
//! id, a text. In the code the first is a [`SessionRow`], the second a `&str`: one cannot be passed for the other.

use longhaul_core::Millis;
use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlResult, ToSqlOutput, ValueRef};

/// The number of a session's row in `sessions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SessionRow(pub(crate) i64);

/// The number of a project's row in `projects`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ProjectRow(pub(crate) i64);

/// The number of a chain of sessions, in `continuations`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainId(pub i64);

/// A time in a statement or a row: milliseconds since the Unix epoch.
///
/// It wraps [`Millis`], for which no trait of rusqlite can be implemented here. A time past the range of SQLite's integers
/// is stored as the last that there is; a negative number, which is damage, is read as its amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Time(pub(crate) Millis);

macro_rules! stored_as_integer {
    ($($name:ident),*) => {$(
        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(self.0.into())
            }
        }

        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                i64::column_result(value).map(Self)
            }
        }
    )*};
}

stored_as_integer!(SessionRow, ProjectRow, ChainId);

impl ToSql for Time {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(i64::try_from(self.0.0).unwrap_or(i64::MAX).into())
    }
}

impl FromSql for Time {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        i64::column_result(value).map(|ms| Self(Millis(ms.unsigned_abs())))
    }
}

impl From<Time> for Millis {
    fn from(time: Time) -> Self {
        time.0
    }
}

impl std::fmt::Display for ChainId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
