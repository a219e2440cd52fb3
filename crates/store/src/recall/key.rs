//! The rowids of the index: project, type of record, record, part.
//!
//! Rows of one project are neighbours, so a search in a project is a range of rowids. Within it, rows are ordered by type
//! and then by the record's id, so that the last stored come first in descending order.

use crate::What;

const PART_BITS: u32 = 12;
const ID_BITS: u32 = 30;
const WHAT_BITS: u32 = 2;

/// The last part of a record that the index takes.
pub(crate) const LAST_PART: i64 = (1 << PART_BITS) - 1;

/// A record, as the index names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key(i64);

impl Key {
    /// Returns the key of a record.
    pub(crate) fn new(project: i64, what: What, id: i64) -> Self {
        let project = project << (WHAT_BITS + ID_BITS);
        Self(project | number(what) << ID_BITS | id)
    }

    /// Returns the record's type.
    pub(crate) fn what(self) -> What {
        What::ALL[((self.0 >> ID_BITS) & ((1 << WHAT_BITS) - 1)).clamp(0, 2) as usize]
    }

    /// Returns the record's id among those of its type.
    pub(crate) fn id(self) -> i64 {
        self.0 & ((1 << ID_BITS) - 1)
    }

    /// Returns the rowid of a part of the record: 0 is the record itself, the others are a prompt's replies.
    pub(crate) fn row(self, part: i64) -> i64 {
        self.0 << PART_BITS | part.clamp(0, LAST_PART)
    }

    /// Returns the record that a row belongs to.
    pub(crate) fn of_row(row: i64) -> Self {
        Self(row >> PART_BITS)
    }
}

/// Returns the first and the last rowid that a project's records can have, or those of one type of them.
pub(crate) fn range(project: Option<i64>, what: Option<What>) -> (i64, i64) {
    let Some(project) = project else { return (0, i64::MAX) };
    match what {
        Some(what) => {
            let first = Key::new(project, what, 0);
            (first.row(0), Key(first.0 + (1 << ID_BITS) - 1).row(LAST_PART))
        }
        None => {
            let next = Key::new(project + 1, What::Prompt, 0);
            (Key::new(project, What::Prompt, 0).row(0), next.row(0) - 1)
        }
    }
}

/// Returns the number of a type in a rowid.
fn number(what: What) -> i64 {
    match what {
        What::Prompt => 0,
        What::Observation => 1,
        What::Summary => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, LAST_PART, range};
    use crate::What;

    #[test]
    fn a_row_says_what_it_is_of() {
        for (project, what, id) in
            [(1, What::Prompt, 1), (7, What::Observation, 999_999_999), (260_000, What::Summary, 3)]
        {
            let key = Key::new(project, what, id);
            assert_eq!((key.what(), key.id()), (what, id));
            for part in [0, 1, LAST_PART] {
                assert_eq!(Key::of_row(key.row(part)), key);
                let (first, last) = range(Some(project), None);
                assert!((first..=last).contains(&key.row(part)));
                let (first, last) = range(Some(project), Some(what));
                assert!((first..=last).contains(&key.row(part)));
                let (first, last) = range(Some(project + 1), None);
                assert!(!(first..=last).contains(&key.row(part)));
            }
        }
    }
}
