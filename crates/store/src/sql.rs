//! Short forms for what nearly every query does: prepare it once, bind its values, and read its rows.

use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension, Params, Row};

use crate::row_ids::{ChainId, ProjectRow, SessionRow, Time};

/// What a row is read as, column by column.
pub(crate) trait FromRow: Sized {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self>;
}

macro_rules! one_column {
    ($($type:ty),*) => {$(
        impl FromRow for $type {
            fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
                row.get(0)
            }
        }
    )*};
}

one_column!(bool, u32, i64, String, Vec<u8>, [u8; 16], ChainId, ProjectRow, SessionRow, Time);

impl<T: FromSql> FromRow for Option<T> {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        row.get(0)
    }
}

macro_rules! columns {
    ($(($($type:ident $column:literal),*))*) => {$(
        impl<$($type: FromSql),*> FromRow for ($($type,)*) {
            fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
                Ok(($(row.get::<_, $type>($column)?,)*))
            }
        }
    )*};
}

columns! {
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
}

/// Statements on a connection. Each is prepared once and kept.
pub(crate) trait Sql {
    /// Runs a statement; returns how many rows it has changed.
    fn run(&self, sql: &str, values: impl Params) -> rusqlite::Result<usize>;

    /// Inserts a row; returns its number.
    fn add(&self, sql: &str, values: impl Params) -> rusqlite::Result<i64>;

    /// Returns whether there is a row.
    fn has(&self, sql: &str, values: impl Params) -> rusqlite::Result<bool>;

    /// Returns the first row, if there is one.
    fn first_with<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Option<T>>;

    /// Returns every row.
    fn all_with<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>>;

    /// Returns the first row; an error if there is none.
    fn one_with<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        self.first_with(sql, values, read)?.ok_or(rusqlite::Error::QueryReturnedNoRows)
    }

    /// Returns the columns of the first row; an error if there is none.
    fn one<T: FromRow>(&self, sql: &str, values: impl Params) -> rusqlite::Result<T> {
        self.one_with(sql, values, T::from_row)
    }

    /// Returns the columns of the first row, if there is one.
    fn first<T: FromRow>(&self, sql: &str, values: impl Params) -> rusqlite::Result<Option<T>> {
        self.first_with(sql, values, T::from_row)
    }

    /// Returns the columns of every row.
    fn all<T: FromRow>(&self, sql: &str, values: impl Params) -> rusqlite::Result<Vec<T>> {
        self.all_with(sql, values, T::from_row)
    }
}

impl Sql for Connection {
    fn run(&self, sql: &str, values: impl Params) -> rusqlite::Result<usize> {
        self.prepare_cached(sql)?.execute(values)
    }

    fn add(&self, sql: &str, values: impl Params) -> rusqlite::Result<i64> {
        self.prepare_cached(sql)?.insert(values)
    }

    fn has(&self, sql: &str, values: impl Params) -> rusqlite::Result<bool> {
        self.prepare_cached(sql)?.exists(values)
    }

    fn first_with<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Option<T>> {
        self.prepare_cached(sql)?.query_row(values, read).optional()
    }

    fn all_with<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        self.prepare_cached(sql)?.query_map(values, read)?.collect()
    }
}
