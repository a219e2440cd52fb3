//! How much a search reads.

/// The limits of a search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// Number of rows of the index that are read for all terms together.
    pub(super) rows: usize,
    /// Minimum and maximum number of rows that are read for one term.
    pub(super) rows_of_term: (usize, usize),
    /// Maximum number of prompts of a project that are counted. With more, the rarity of a word hardly changes.
    pub(super) counted: usize,
    /// Number of records that are read and ranked.
    pub(super) candidates: usize,
    /// Whether every tool call with a term is a candidate. Otherwise, only calls with an identifier are, notes and decisions.
    pub(super) takes_calls: bool,
    /// Whether unknown words are corrected.
    pub(super) corrects: bool,
    /// Number of the best passages whose neighbours are read.
    pub(super) with_neighbours: usize,
    /// How far before and after a passage they are.
    pub(super) distances: &'static [i64],
    /// Number of the best passages that are compared for which is newer.
    pub(super) compared: usize,
    /// Number of the nearest records by meaning that are read.
    pub(super) nearest: usize,
    /// Number of bytes that are read of long passages after their beginnings, of all together.
    pub(super) read_on: usize,
}

/// A search that was asked for.
pub(super) const SEARCH: Effort = Effort {
    rows: 24_000,
    rows_of_term: (300, 3_000),
    counted: 20_000,
    candidates: 200,
    takes_calls: true,
    corrects: true,
    with_neighbours: 16,
    distances: &[-1, 1, -2, 2],
    compared: 16,
    nearest: 50,
    read_on: 2 * 1024 * 1024,
};

/// A search for a prompt, which waits for it.
pub(super) const PROMPT: Effort = Effort {
    rows: 1_500,
    rows_of_term: (100, 250),
    counted: 4_000,
    candidates: 12,
    takes_calls: false,
    corrects: false,
    with_neighbours: 2,
    distances: &[-1, 1],
    compared: 5,
    nearest: 8,
    read_on: 128 * 1024,
};
