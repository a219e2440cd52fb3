//! The page that a new session is shown of its project's memory.

use longhaul_core::Millis;
use longhaul_memory::{MadeBy, Page, PageInput, PageRecord, PageSession, page};
use longhaul_store::Store;

use super::summary_of;
use crate::Error;

/// Maximum number of the project's newest sessions on a page.
const SESSIONS: usize = 24;

/// Number of the project's newest records that are searched for failed checks, decisions and notes.
const RECORDS: usize = 300;

/// Maximum number of older notes.
const NOTES: usize = 12;

/// Maximum number of sessions whose summary is written for the page, because it is missing or of an earlier version.
const SUMMED_UP_NOW: usize = 3;

/// The project of a page, and its reader.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    /// The key that identifies the project.
    pub project_key: &'a str,
    /// The name of the project.
    pub project: &'a str,
    /// The session that reads it, if any.
    pub session: Option<&'a str>,
    /// The session whose last messages the reader has already seen.
    pub has_seen: Option<&'a str>,
    /// The current time.
    pub now: Millis,
    /// The UTC offset of local time in seconds.
    pub offset_seconds: i32,
}

/// Renders the page in at most `chars` characters.
pub fn render_page(store: &Store, reader: Reader<'_>, chars: usize) -> Result<Page, Error> {
    let Reader { project_key, project, session: own, has_seen, now, offset_seconds } = reader;
    let mut sessions = Vec::new();
    let mut summed_up_now = 0;
    for stored in store.page_sessions(project_key, SESSIONS)? {
        if has_seen == Some(stored.session.as_str()) {
            continue;
        }
        let is_stale = stored.is_unpaired || stored.summary.is_none();
        let made_now = if is_stale && summed_up_now < SUMMED_UP_NOW {
            summed_up_now += 1;
            Some(summary_of(store, &stored.session)?)
        } else {
            None
        };
        let ((summary, made_by), is_unpaired) = match (made_now, stored.summary) {
            // The turns may have been deleted since.
            (Some(new), Some(known)) if new.exchanges.is_empty() => (known, stored.is_unpaired),
            (Some(new), _) => ((new, MadeBy::Rule), false),
            (None, Some(known)) => (known, stored.is_unpaired),
            (None, None) => continue,
        };
        let mut session = PageSession::new(stored.record.to_string(), stored.at, summary);
        session.is_reader = own == Some(stored.session.as_str());
        session.host = stored.host;
        session.first_prompt = stored.first_prompt;
        session.made_by = made_by;
        session.is_unpaired = is_unpaired;
        sessions.push(session);
    }
    let records: Vec<PageRecord> = store
        .page_records(project_key, RECORDS, NOTES)?
        .into_iter()
        .map(|stored| {
            let mut record = PageRecord::new(stored.id, stored.at, stored.kind, stored.title);
            record.host = stored.host;
            record.command_key = stored.command_key;
            record
        })
        .collect();
    let mut input = PageInput::new(project, now);
    input.offset_seconds = offset_seconds;
    input.sessions = &sessions;
    input.records = &records;
    input.total_records = store.count_records(project_key)?;
    Ok(page(&input, chars))
}
