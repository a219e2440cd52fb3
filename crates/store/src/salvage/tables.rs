//! The tables that are salvaged, and their rows by column. What a row must be is what the current schema says, never what that
//! of the damaged file does.

use std::collections::HashMap;

use rusqlite::Connection;
use rusqlite::types::Value;

use super::pages::{PageRows, Pages, StoredRow, Trees, rows_of};
use crate::sql::Sql;

/// What is salvaged, in this order: rows refer to those of the tables before. Indexes and vectors are made from the rows again,
/// and what only concerns running sessions is out of date.
pub(super) const SALVAGED: [&str; 12] = [
    "projects",
    "sessions",
    "known_ids",
    "model_spending",
    "turns",
    "observations",
    "session_summaries",
    "details",
    "links",
    "bookmarks",
    "snapshots",
    "blame",
];

#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    has_numbers: bool,
    /// In the order in which they are stored.
    pub(super) columns: Vec<Column>,
}

#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    kind: String,
    may_be_null: bool,
    has_default: bool,
    /// Whether it is the number of the row.
    pub(super) is_number: bool,
}

impl Table {
    fn read(connection: &Connection, name: &'static str) -> rusqlite::Result<Self> {
        let sql = "SELECT wr FROM pragma_table_list(?1) WHERE schema = 'main'";
        let has_numbers = !connection.one_with(sql, [name], |row| row.get::<_, bool>(0))?;
        // Generated columns are not stored.
        let sql = "SELECT name, type, \"notnull\", dflt_value IS NOT NULL, pk FROM pragma_table_xinfo(?1)
                   WHERE hidden = 0 ORDER BY cid";
        let mut keys = HashMap::new();
        let mut columns = Vec::new();
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([name])?;
        while let Some(row) = rows.next()? {
            let (kind, key): (String, i64) = (row.get(1)?, row.get(4)?);
            let is_key = key > 0;
            let column = Column {
                name: row.get(0)?,
                is_number: has_numbers && is_key && kind == "INTEGER",
                may_be_null: !row.get::<_, bool>(2)? && (has_numbers || !is_key),
                has_default: row.get(3)?,
                kind,
            };
            keys.insert(column.name.clone(), if is_key { key } else { i64::MAX });
            columns.push(column);
        }
        if !has_numbers {
            // The key is stored first.
            columns.sort_by_key(|column| keys[&column.name]);
        }
        Ok(Self { name, has_numbers, columns })
    }

    /// Returns a row by column; `None` if it cannot be one of this table.
    pub(super) fn fields(&self, row: StoredRow) -> Option<Fields<'_>> {
        let StoredRow { number, mut values } = row;
        let (present, absent) = self.columns.split_at_checked(values.len())?;
        // A column that was added later is not in older rows.
        if absent.iter().any(|column| !column.may_be_null && !column.has_default) {
            return None;
        }
        for (column, value) in present.iter().zip(&mut values) {
            if column.is_number {
                if *value != Value::Null || number < 1 {
                    return None;
                }
                *value = Value::Integer(number);
            }
            let fits = match value {
                Value::Null => column.may_be_null,
                Value::Integer(_) => matches!(column.kind.as_str(), "INTEGER" | "REAL"),
                Value::Real(_) => column.kind == "REAL",
                Value::Text(_) => column.kind == "TEXT",
                Value::Blob(_) => column.kind == "BLOB",
            };
            if !fits {
                return None;
            }
        }
        Some(Fields { table: self, values })
    }
}

#[derive(Debug)]
pub(super) struct Fields<'t> {
    pub(super) table: &'t Table,
    pub(super) values: Vec<Value>,
}

impl Fields<'_> {
    fn at(&self, name: &str) -> Option<usize> {
        self.table.columns.iter().position(|column| column.name == name).filter(|at| *at < self.values.len())
    }

    pub(super) fn integer(&self, name: &str) -> Option<i64> {
        match self.values[self.at(name)?] {
            Value::Integer(number) => Some(number),
            _ => None,
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        match &self.values[self.at(name)?] {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        if let Some(at) = self.at(name) {
            self.values[at] = value;
        }
    }

    /// Returns the texts with the names of their columns.
    pub(super) fn texts(&mut self) -> impl Iterator<Item = (&str, &mut String)> {
        self.table.columns.iter().zip(&mut self.values).filter_map(|(column, value)| match value {
            Value::Text(text) => Some((column.name.as_str(), text)),
            _ => None,
        })
    }
}

/// A damaged file, and where the tables are in it.
pub(super) struct Damaged {
    pages: Pages,
    trees: Trees,
    tables: HashMap<&'static str, Table>,
    roots: HashMap<String, u32>,
}

impl Damaged {
    pub(super) fn read(pages: Pages, connection: &Connection) -> rusqlite::Result<Self> {
        let mut tables = HashMap::new();
        for name in SALVAGED {
            tables.insert(name, Table::read(connection, name)?);
        }
        let mut trees = Trees::find(&pages);
        let mut roots = HashMap::new();
        let mut others = Vec::new();
        for row in trees.pages(1).iter().flat_map(|page| rows_of(&pages, *page).rows) {
            // Type, name, table, root and definition, which is not looked at.
            let [Value::Text(kind), Value::Text(name), _, Value::Integer(root), ..] = row.values.as_slice() else {
                continue;
            };
            let Ok(root) = u32::try_from(*root) else { continue };
            others.push(root);
            let is_index = kind == "index" && name.starts_with("sqlite_autoindex_");
            if is_index || (kind == "table" && tables.contains_key(name.as_str())) {
                roots.insert(name.clone(), root);
            }
        }
        trees.add_roots(&pages, others.iter().copied());
        let mut found = Self { pages, trees, tables, roots };
        found.find_unnamed(&others);
        Ok(found)
    }

    /// Finds the tables whose line in the schema is damaged by their rows: a tree of which all rows on a page can be of one of
    /// these tables only is that table.
    fn find_unnamed(&mut self, named: &[u32]) {
        let missing: Vec<&Table> = self.tables.values().filter(|table| !self.roots.contains_key(table.name)).collect();
        let mut found = Vec::new();
        for root in self.trees.roots().filter(|root| *root != 1 && !named.contains(root)) {
            let pages = self.trees.pages(root).iter().map(|page| rows_of(&self.pages, *page));
            let Some(PageRows { rows, .. }) = pages.into_iter().find(|page| !page.rows.is_empty()) else { continue };
            let has_numbers = rows.iter().any(|row| row.number != 0);
            let fits = |table: &&&Table| {
                table.has_numbers == has_numbers
                    && rows.iter().all(|row| {
                        let is_whole = row.values.len() == table.columns.len() || table.has_later_columns();
                        is_whole && table.fields(row.clone()).is_some()
                    })
            };
            let candidates: Vec<&&Table> = missing.iter().filter(fits).collect();
            if let [table] = candidates.as_slice() {
                found.push((table.name.to_owned(), root));
            }
        }
        self.roots.extend(found);
    }

    pub(super) fn has(&self, table: &str) -> bool {
        self.roots.contains_key(table)
    }

    pub(super) fn table(&self, name: &str) -> &Table {
        &self.tables[name]
    }

    /// Returns how many pages of a table cannot be read.
    pub(super) fn damaged_pages(&self, table: &str) -> usize {
        self.roots.get(table).map_or(0, |root| self.trees.damaged(*root))
    }

    /// Returns the pages of a table, in the order of their rows.
    pub(super) fn pages(&self, table: &str) -> Vec<u32> {
        let Some(root) = self.roots.get(table) else { return Vec::new() };
        let mut pages: Vec<(i64, u32)> = self
            .trees
            .pages(*root)
            .iter()
            .filter_map(|page| Some((rows_of(&self.pages, *page).rows.first()?.number, *page)))
            .collect();
        pages.sort_unstable();
        pages.into_iter().map(|(_, page)| page).collect()
    }

    pub(super) fn rows(&self, page: u32) -> PageRows {
        rows_of(&self.pages, page)
    }

    /// Returns the names that the index of a table's unique name has, by the number of the row.
    pub(super) fn names(&self, table: &str) -> HashMap<i64, String> {
        let pages = self.roots.get(&format!("sqlite_autoindex_{table}_1")).map(|root| self.trees.pages(*root));
        let rows = pages.unwrap_or_default().iter().flat_map(|page| self.rows(*page).rows);
        rows.filter_map(|row| match row.values.as_slice() {
            [Value::Text(name), Value::Integer(number)] => Some((*number, name.clone())),
            _ => None,
        })
        .collect()
    }
}

impl Table {
    /// Returns whether rows may be shorter than the table: columns were added to it.
    fn has_later_columns(&self) -> bool {
        self.columns.last().is_some_and(|column| column.may_be_null || column.has_default)
    }
}
