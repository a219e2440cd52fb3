//! A search, from any interface, as a query of the store.

use longhaul_core::Millis;
use longhaul_core::clock::Date;
use longhaul_memory::{Kind, Query};
use longhaul_store::{Hit, NearRecords, Order, SearchQuery, Store, StoreError, What};

use crate::midnight;

/// A search: words and filters. A filter in a field takes precedence over one among the words.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The words. The caller resolves a project that is named among them.
    pub query: Query,
    /// Only observations of these kinds; empty for all.
    pub kinds: Vec<Kind>,
    /// Part of a file's path.
    pub file: Option<String>,
    /// Only from this day on.
    pub since: Option<Date>,
    /// Only before this day.
    pub before: Option<Date>,
    /// Only of this session.
    pub session: Option<String>,
    /// Not of this session.
    pub without_session: Option<String>,
    /// Only what comes from the host with this name.
    pub from_host: Option<String>,
    /// Only records of these types; empty for all.
    pub what: Vec<What>,
    /// The order of the results.
    pub order: Order,
    /// Maximum number of results.
    pub limit: usize,
    /// Number of results to skip.
    pub offset: usize,
}

/// An invalid filter among the words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{value} is not a day: write it as {name}:2026-01-31, or in quotes to search for the words")]
pub struct BadFilter {
    /// The filter.
    pub name: &'static str,
    /// Its value.
    pub value: String,
}

impl Wanted {
    /// Returns an error for an invalid filter among the words, because a search without it would not be the one that
    /// was asked for.
    pub fn check(&self) -> Result<(), BadFilter> {
        let bad = self.query.misread.first();
        bad.map_or(Ok(()), |(name, value)| Err(BadFilter { name, value: value.clone() }))
    }
}

/// Searches by words, and by the records that are near in meaning, which `near` returns, in the project with this key or in all.
pub(super) fn find(
    store: &Store,
    wanted: &Wanted,
    project_key: Option<&str>,
    near: impl FnOnce() -> NearRecords,
) -> Result<Vec<Hit>, StoreError> {
    let query = &wanted.query;
    let kinds: Vec<Kind> = wanted.kinds.iter().copied().chain(query.kind.filter(|_| wanted.kinds.is_empty())).collect();
    let day_before = |date: Date| Millis(midnight(date).0.saturating_sub(1));
    let query = SearchQuery {
        // A star matches everything.
        query: Some(query)
            .filter(|query| query.terms.iter().any(|term| term.text != "*") || !query.excluded.is_empty()),
        project_key,
        session: wanted.session.as_deref(),
        without_session: wanted.without_session.as_deref(),
        from_host: wanted.from_host.as_deref().or(query.from.as_deref()),
        kinds: &kinds,
        file: wanted.file.as_deref().or(query.file.as_deref()),
        from: wanted.since.or(query.since).map(midnight),
        to: wanted.before.or(query.before).map(day_before),
        what: &wanted.what,
        order: wanted.order,
        limit: wanted.limit,
        offset: wanted.offset,
    };
    store.search_with_meaning(&query, near)
}
