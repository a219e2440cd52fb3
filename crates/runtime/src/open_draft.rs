//! Whether the user was writing in the input of a session when its last turn ended, as the bridge reports it.
//!
//! The file is `sessions/<id>.draft`. It contains the time, and nothing of the draft. It exists only while there is a draft.

use longhaul_core::{Millis, SessionId};

use crate::{Error, Home, bounded_read, files};

/// Records whether the input is empty.
pub(crate) fn note(home: &Home, session: &SessionId, is_empty: bool, now: Millis) -> Result<(), Error> {
    let path = home.session_file(session, "draft");
    if is_empty { files::remove(&path) } else { files::replace(&path, now.0.to_string().as_bytes()) }
}

/// Returns when a draft was last reported; `None` if the input was empty.
pub fn reported(home: &Home, session: &SessionId) -> Option<Millis> {
    let text = bounded_read::text(&home.session_file(session, "draft"), bounded_read::SMALL).ok()?;
    text.trim().parse().ok().map(Millis)
}
