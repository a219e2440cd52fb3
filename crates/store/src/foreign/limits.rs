//! How much of another program's database is read, and how long that may take, for an import.

use std::time::Duration;

/// How many characters of one text are read at most. What is stored of a long text is far shorter.
pub(super) const MAX_CHARS: usize = 1 << 20;

/// The bytes of the largest text that is read at all: SQLite loads the whole text to return its beginning.
pub(super) const MAX_BYTES: usize = 64 << 20;

/// How long a query may run without returning a row. Checking a database of many gigabytes takes minutes.
pub(super) const QUERY_TIME: Duration = Duration::from_secs(300);

/// How long a lock of the other program is waited for.
pub(super) const LOCK_TIME: Duration = Duration::from_secs(5);
