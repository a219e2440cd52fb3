//! Reads what the page of a project is made of. Its text and its limits are in `memory/src/page.rs`.

use longhaul_core::Millis;
use longhaul_memory::{
    MadeBy, PAGE_NEW_SUMMARIES, PAGE_NOTES, PAGE_RECORDS, PAGE_SESSIONS, Page, PageInput, PageSession, page,
};
use longhaul_store::Store;

use super::summary_of;
use crate::Error;

/// The project of a page, and its reader.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    pub project_key: &'a str,
    pub project: &'a str,
    pub session: Option<&'a str>,
    /// The session whose last messages the reader has already seen.
    pub has_seen: Option<&'a str>,
    pub now: Millis,
    /// The UTC offset of local time in seconds.
    pub offset_seconds: i32,
}

/// Renders the page in at most `chars` characters.
pub fn render_page(store: &Store, reader: Reader<'_>, chars: usize) -> Result<Page, Error> {
    let Reader { project_key, project, now, offset_seconds, .. } = reader;
    let (sessions, records, total_records) = store.read_together("read the page of a project", |store| {
        let records = store.page_records(project_key, PAGE_RECORDS, PAGE_NOTES)?;
        Ok::<_, Error>((sessions(store, reader)?, records, store.count_records(project_key)?))
    })?;
    let mut input = PageInput::new(project, now);
    input.offset_seconds = offset_seconds;
    input.sessions = &sessions;
    input.records = &records;
    input.total_records = total_records;
    Ok(page(&input, chars))
}

fn sessions(store: &Store, reader: Reader<'_>) -> Result<Vec<PageSession>, Error> {
    let Reader { project_key, session: own, has_seen, .. } = reader;
    let mut sessions = Vec::new();
    let mut summed_up_now = 0;
    for stored in store.page_sessions(project_key, PAGE_SESSIONS)? {
        if has_seen == Some(stored.session.as_str()) {
            continue;
        }
        let (summary, made_by) = match stored.summary {
            Some(known) => known,
            None if summed_up_now < PAGE_NEW_SUMMARIES => {
                summed_up_now += 1;
                (summary_of(store, &stored.session)?, MadeBy::Rule)
            }
            None => continue,
        };
        let mut session = PageSession::new(stored.record.to_string(), stored.at, summary);
        session.is_reader = own == Some(stored.session.as_str());
        session.host = stored.host;
        session.first_prompt = stored.first_prompt;
        session.made_by = made_by;
        sessions.push(session);
    }
    Ok(sessions)
}
