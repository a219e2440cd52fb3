//! How many sessions, records and notes a page is made of, how many lines its sections have, and how long its names are.

/// Maximum number of sessions on a page: the project's newest ones.
pub const PAGE_SESSIONS: usize = 24;

/// Number of the project's newest records that are searched for failed checks, decisions and notes.
pub const PAGE_RECORDS: usize = 300;

/// Maximum number of older notes.
pub const PAGE_NOTES: usize = 12;

/// Maximum number of sessions that are summarized for a page, because their summary is missing.
pub const PAGE_NEW_SUMMARIES: usize = 3;

/// A page is not shown if there is room for fewer characters than this.
pub const PAGE_MIN_CHARS: usize = 600;

/// Maximum length of a project's name, in characters.
pub(super) const NAME_CHARS: usize = 100;

/// Maximum length of the name of a host, in characters.
pub(super) const HOST_CHARS: usize = 40;

/// Maximum number of lines of what is left to do.
pub(super) const LEFT_LINES: usize = 5;

/// Maximum number of lines of failed checks.
pub(super) const FAILING_LINES: usize = 5;

/// Maximum number of lines of decisions and notes.
pub(super) const KEPT_LINES: usize = 12;
