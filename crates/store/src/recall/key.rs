//! The rowids of the index: project, type of record, record, part.
//!
//! Rows of one project are adjacent, so a search in a project is a range of rowids. Within it, rows are ordered by
//! type, passages first, then by the id of the record, the newest first. Projects and ids are stored in descending
//! order for that, because FTS5 reads rows much faster in ascending than in descending order.

use crate::What;

const PART_BITS: u32 = 12;
const ID_BITS: u32 = 30;
const WHAT_BITS: u32 = 2;
const PROJECT_BITS: u32 = 19;

/// The last part of a record that the index contains.
pub(crate) const LAST_PART: i64 = (1 << PART_BITS) - 1;

const LAST_ID: i64 = (1 << ID_BITS) - 1;
const LAST_PROJECT: i64 = (1 << PROJECT_BITS) - 1;

/// The key of a record in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key(i64);

impl Key {
    /// Returns the key of a record.
    pub(crate) fn new(project: i64, what: What, id: i64) -> Self {
        let project = project << (WHAT_BITS + ID_BITS);
        Self(project | number(what) << ID_BITS | id)
    }

    /// Returns the type of the record.
    pub(crate) fn what(self) -> What {
        What::ALL[((self.0 >> ID_BITS) & ((1 << WHAT_BITS) - 1)).clamp(0, 2) as usize]
    }

    /// Returns the id of the record within its type.
    pub(crate) fn id(self) -> i64 {
        self.0 & LAST_ID
    }

    /// Returns the rowid of a part of the record: 0 is the record itself, the others are a prompt's replies.
    pub(crate) fn row(self, part: i64) -> i64 {
        self.counted_down() << PART_BITS | part.clamp(0, LAST_PART)
    }

    /// Returns the record of a row.
    pub(crate) fn of_row(row: i64) -> Self {
        Self(Self(row >> PART_BITS).counted_down())
    }

    /// Returns the key with project and id counted from the other end. Applied twice, it returns the original.
    fn counted_down(self) -> i64 {
        self.0 ^ (LAST_PROJECT << (WHAT_BITS + ID_BITS) | LAST_ID)
    }
}

/// Returns the first and the last possible rowid of a project's records, or of one type of them.
pub(crate) fn range(project: Option<i64>, what: Option<What>) -> (i64, i64) {
    match (project, what) {
        (None, _) => (0, i64::MAX),
        (Some(project), Some(what)) => rows_between(project, what, what),
        (Some(project), None) => rows_between(project, What::Prompt, What::Summary),
    }
}

/// Returns the first and the last possible rowid of a project's records other than passages.
pub(crate) fn range_behind_passages(project: i64) -> (i64, i64) {
    rows_between(project, What::Observation, What::Summary)
}

fn rows_between(project: i64, first: What, last: What) -> (i64, i64) {
    (Key::new(project, first, LAST_ID).row(0), Key::new(project, last, 0).row(LAST_PART))
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
    use super::{Key, LAST_PART, range, range_behind_passages};
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

    #[test]
    fn rows_of_a_project_begin_with_the_last_stored_passage() {
        let row = |what: What, id: i64| Key::new(7, what, id).row(0);
        let rows = [row(What::Prompt, 9), row(What::Prompt, 8), row(What::Observation, 3), row(What::Summary, 1)];
        assert!(rows.is_sorted());
        let (first, last) = range_behind_passages(7);
        assert_eq!(rows.map(|row| (first..=last).contains(&row)), [false, false, true, true]);
    }
}
