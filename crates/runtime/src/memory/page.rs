//! What a new session is shown of its project's past.

use longhaul_core::Millis;
use longhaul_memory::{MadeBy, Page, PageInput, PageRecord, PageSession, page};
use longhaul_store::Store;

use super::summary_of;
use crate::Error;

/// How many of a project's newest sessions a page is made of.
const SESSIONS: usize = 24;

/// How many of a project's newest records are looked at for failed checks, decisions and notes.
const RECORDS: usize = 300;

/// How many notes older than those are shown at most.
const NOTES: usize = 12;

/// How many sessions are summed up for the page, because no turn of them has ended or the summary is of an earlier version.
const SUMMED_UP_NOW: usize = 3;

/// Whose past is rendered, for whom.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    /// What tells projects apart.
    pub project_key: &'a str,
    /// The project's name.
    pub project: &'a str,
    /// The session that reads it, if any.
    pub session: Option<&'a str>,
    /// The session whose last words the reader has seen already.
    pub has_seen: Option<&'a str>,
    /// Now.
    pub now: Millis,
    /// Local time, in seconds east of UTC.
    pub offset_seconds: i32,
}

/// Renders what a new session is shown of its project's past, in at most `chars` characters.
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
            // What was said may have been deleted since.
            (Some(new), Some(known)) if new.exchanges.is_empty() => (known, stored.is_unpaired),
            (Some(new), _) => ((new, MadeBy::Rule), false),
            (None, Some(known)) => (known, stored.is_unpaired),
            (None, None) => continue,
        };
        sessions.push(PageSession {
            record: stored.record.to_string(),
            at: stored.at,
            is_reader: own == Some(stored.session.as_str()),
            first_prompt: stored.first_prompt,
            summary,
            made_by,
            is_unpaired,
        });
    }
    let records: Vec<PageRecord> = store
        .page_records(project_key, RECORDS, NOTES)?
        .into_iter()
        .map(|stored| PageRecord {
            id: stored.id,
            at: stored.at,
            kind: stored.kind,
            title: stored.title,
            command_key: stored.command_key,
        })
        .collect();
    let total_records = store.count_records(project_key)?;
    let input = PageInput { project, now, offset_seconds, sessions: &sessions, records: &records, total_records };
    Ok(page(&input, chars))
}
