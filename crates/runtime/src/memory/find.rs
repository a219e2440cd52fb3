//! What somebody looks for, wherever it is asked, as the store is asked for it.

use longhaul_core::Millis;
use longhaul_core::clock::Date;
use longhaul_memory::{Kind, Query};
use longhaul_store::{Hit, Order, RecordId, SearchQuery, Store, StoreError, What};

use crate::midnight;

/// What somebody looks for: words, and filters. A filter of its own counts more than one among the words.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The words; the project that is named among them is the caller's to find.
    pub query: Query,
    /// Observations of these kinds; empty for all.
    pub kinds: Vec<Kind>,
    /// Part of a file's path.
    pub file: Option<String>,
    /// From this day on.
    pub since: Option<Date>,
    /// Before this day.
    pub before: Option<Date>,
    /// Of this session.
    pub session: Option<String>,
    /// Nothing of this session.
    pub without_session: Option<String>,
    /// Records of these types; empty for all.
    pub what: Vec<What>,
    /// What comes first.
    pub order: Order,
    /// How many at most.
    pub limit: usize,
    /// How many to leave out first.
    pub offset: usize,
}

/// A filter among the words that cannot be one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{value} is not a day: write it as {name}:2026-01-31, or in quotes to search for the words")]
pub struct BadFilter {
    /// The filter.
    pub name: &'static str,
    /// What stood behind it.
    pub value: String,
}

impl Wanted {
    /// Refuses filters among the words that cannot be ones: what is found without them is not what was asked for.
    pub fn check(&self) -> Result<(), BadFilter> {
        let bad = self.query.misread.first();
        bad.map_or(Ok(()), |(name, value)| Err(BadFilter { name, value: value.clone() }))
    }
}

/// Finds it by words, in the project with this key or in all.
pub fn find(store: &Store, wanted: &Wanted, project_key: Option<&str>) -> Result<Vec<Hit>, StoreError> {
    find_with(store, wanted, project_key, &[])
}

/// Finds it by words, and by the records that are near in meaning.
pub(super) fn find_with(
    store: &Store,
    wanted: &Wanted,
    project_key: Option<&str>,
    near: &[(RecordId, f32)],
) -> Result<Vec<Hit>, StoreError> {
    let query = &wanted.query;
    let kinds: Vec<Kind> = wanted.kinds.iter().copied().chain(query.kind.filter(|_| wanted.kinds.is_empty())).collect();
    let day_before = |date: Date| Millis(midnight(date).0.saturating_sub(1));
    store.search(&SearchQuery {
        // A star stands for everything.
        query: Some(query)
            .filter(|query| query.terms.iter().any(|term| term.text != "*") || !query.excluded.is_empty()),
        near,
        project_key,
        session: wanted.session.as_deref(),
        without_session: wanted.without_session.as_deref(),
        kinds: &kinds,
        file: wanted.file.as_deref().or(query.file.as_deref()),
        from: wanted.since.or(query.since).map(midnight),
        to: wanted.before.or(query.before).map(day_before),
        what: &wanted.what,
        order: wanted.order,
        limit: wanted.limit,
        offset: wanted.offset,
    })
}
