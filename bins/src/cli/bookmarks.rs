//! `longhaul bookmarks`.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use longhaul_core::{Env, short_session};
use longhaul_inject::printable;
use longhaul_runtime::Home;
use longhaul_store::Bookmark;
use serde_json::json;

use super::{Exit, out, paint};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the session whose id begins with ID
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    let store = Home::of(env)?.existing_store()?;
    let bookmarks = match &store {
        Some(store) => store.bookmarks(args.session.as_deref())?,
        None => Vec::new(),
    };
    if args.json {
        let rows: Vec<_> = bookmarks.iter().map(to_json).collect();
        out::json(&rows)?;
    } else if bookmarks.is_empty() {
        out::message(match args.session {
            Some(_) => "No bookmarks in that session.",
            None => {
                "No bookmarks yet. They are set automatically in long turns; `longhaul bookmark NOTE` sets one now."
            }
        });
    } else {
        for line in table(&bookmarks) {
            out::line(&line)?;
        }
    }
    Ok(Exit::Success)
}

fn to_json(bookmark: &Bookmark) -> serde_json::Value {
    json!({
        "id": bookmark.id,
        "session": bookmark.session,
        "created_at": timestamp(bookmark).to_string(),
        "created_at_ms": bookmark.created_at,
        "prompt_id": bookmark.prompt_id,
        "note": bookmark.note,
        "cwd": bookmark.cwd,
        "git_commit": bookmark.git_commit,
        "git_dirty": bookmark.git_dirty,
        "context_tokens": bookmark.context_tokens,
    })
}

/// Returns the bookmarks as a table.
fn table(bookmarks: &[Bookmark]) -> Vec<String> {
    let header = ["TIME", "SESSION", "COMMIT", "CONTEXT", "NOTE"].map(str::to_owned);
    let rows: Vec<[String; 5]> = std::iter::once(header).chain(bookmarks.iter().map(row)).collect();
    paint::columns(&rows, &[3])
}

fn row(bookmark: &Bookmark) -> [String; 5] {
    let time = timestamp(bookmark).to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string();
    let session = short_session(&bookmark.session).to_owned();
    let dirty = if bookmark.git_dirty == Some(true) { "+" } else { "" };
    let commit = bookmark.git_commit.as_ref().map_or("-".to_owned(), |commit| format!("{:.8}{dirty}", commit));
    let context = bookmark.context_tokens.map_or("-".to_owned(), |tokens| format!("{}k", tokens.div_ceil(1000)));
    [time, session, commit, context, printable(bookmark.note.as_deref().unwrap_or_default())]
}

fn timestamp(bookmark: &Bookmark) -> Timestamp {
    i64::try_from(bookmark.created_at).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or_default()
}
