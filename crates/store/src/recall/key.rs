//! The rowids of the index: class, project, type of record, record, part.
//!
//! There are two classes: passages (prompts with their replies), and all other records. A search reads them separately. FTS5
//! reads every row of a term from the first one up to the wanted range, and there are many more other records than passages.
//! Within a class, rows of one project are adjacent, so a search in a project is one range of rowids for each class. Projects
//! and ids are stored in descending order, so that the newest record comes first: FTS5 reads rows much faster in ascending than
//! in descending order.

use std::ops::RangeInclusive;

use crate::What;

pub(crate) const PART_BITS: u32 = 12;
const ID_BITS: u32 = 30;
const PROJECT_BITS: u32 = 19;

/// Where the bits of a rowid begin.
const ID_AT: u32 = PART_BITS;
const SUMMARY_AT: u32 = ID_AT + ID_BITS;
const PROJECT_AT: u32 = SUMMARY_AT + 1;
const CLASS_AT: u32 = PROJECT_AT + PROJECT_BITS;

/// The last part of a record that the index contains.
pub(crate) const LAST_PART: i64 = (1 << PART_BITS) - 1;

const LAST_ID: i64 = (1 << ID_BITS) - 1;
const LAST_PROJECT: i64 = (1 << PROJECT_BITS) - 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    project: i64,
    what: What,
    id: i64,
}

impl Key {
    pub(crate) fn new(project: i64, what: What, id: i64) -> Self {
        Self { project, what, id }
    }

    pub(crate) fn what(self) -> What {
        self.what
    }

    /// Returns the id of the record within its type.
    pub(crate) fn id(self) -> i64 {
        self.id
    }

    /// Returns the rowid of a part of the record: 0 is the record itself, the others are a prompt's replies.
    pub(crate) fn row(self, part: i64) -> i64 {
        let class = i64::from(self.what != What::Prompt) << CLASS_AT;
        let project = (LAST_PROJECT - self.project) << PROJECT_AT;
        let summary = i64::from(self.what == What::Summary) << SUMMARY_AT;
        class | project | summary | (LAST_ID - self.id) << ID_AT | part.clamp(0, LAST_PART)
    }

    pub(crate) fn of_row(row: i64) -> Self {
        let what = match (row >> CLASS_AT & 1, row >> SUMMARY_AT & 1) {
            (0, _) => What::Prompt,
            (_, 0) => What::Observation,
            _ => What::Summary,
        };
        Self {
            project: LAST_PROJECT - (row >> PROJECT_AT & LAST_PROJECT),
            what,
            id: LAST_ID - (row >> ID_AT & LAST_ID),
        }
    }
}

/// Returns the rowids that records of one type can have, in one project or in all.
///
/// Across projects, observations and summaries are not apart from each other.
pub(crate) fn range(project: Option<i64>, what: What) -> RangeInclusive<i64> {
    match (project, what) {
        (Some(project), what) => rows_between(project, what, what),
        (None, What::Prompt) => 0..=(1 << CLASS_AT) - 1,
        (None, What::Observation | What::Summary) => 1 << CLASS_AT..=i64::MAX,
    }
}

/// Returns the rowids that records other than passages can have, in one project or in all.
pub(crate) fn range_of_others(project: Option<i64>) -> RangeInclusive<i64> {
    match project {
        Some(project) => rows_between(project, What::Observation, What::Summary),
        None => range(None, What::Observation),
    }
}

fn rows_between(project: i64, first: What, last: What) -> RangeInclusive<i64> {
    Key::new(project, first, LAST_ID).row(0)..=Key::new(project, last, 0).row(LAST_PART)
}

#[cfg(test)]
mod tests {
    use super::{Key, LAST_ID, LAST_PART, LAST_PROJECT, range, range_of_others};
    use crate::What;

    #[test]
    fn a_row_says_what_it_is_of() {
        for (project, what, id) in [
            (1, What::Prompt, 1),
            (7, What::Observation, 999_999_999),
            (260_000, What::Summary, 3),
            (LAST_PROJECT, What::Prompt, LAST_ID),
            (0, What::Summary, 0),
        ] {
            let key = Key::new(project, what, id);
            for part in [0, 1, LAST_PART] {
                assert_eq!(Key::of_row(key.row(part)), key);
                assert!(key.row(part) >= 0);
                assert!(range(Some(project), what).contains(&key.row(part)));
                assert!(range(None, what).contains(&key.row(part)));
                let is_other = what != What::Prompt;
                assert_eq!(range_of_others(Some(project)).contains(&key.row(part)), is_other);
                assert_eq!(range_of_others(None).contains(&key.row(part)), is_other);
                assert!(!range(Some(project ^ 1), what).contains(&key.row(part)));
            }
        }
    }

    #[test]
    fn the_last_stored_of_a_project_comes_first_and_passages_before_all_others() {
        let row = |project: i64, what: What, id: i64| Key::new(project, what, id).row(0);
        let rows = [
            row(8, What::Prompt, 1),
            row(7, What::Prompt, 9),
            row(7, What::Prompt, 8),
            row(8, What::Observation, 3),
            row(7, What::Observation, 4),
            row(7, What::Summary, 2),
            row(7, What::Summary, 1),
        ];
        assert!(rows.is_sorted());
    }
}
