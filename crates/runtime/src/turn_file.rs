//! The running turn: `sessions/<id>.turn` contains its prompt id.

use longhaul_core::SessionId;

use crate::{Error, Home, bounded_read, files};

/// Records the running turn, if the event has a prompt id.
pub(crate) fn begin(home: &Home, session: &SessionId, prompt_id: Option<&str>) -> Result<(), Error> {
    match prompt_id {
        Some(id) => files::replace(&home.session_file(session, "turn"), id.as_bytes()),
        None => Ok(()),
    }
}

/// Returns whether an event with `prompt_id` may belong to the recorded turn.
pub(crate) fn may_be(home: &Home, session: &SessionId, prompt_id: Option<&str>) -> bool {
    let noted = bounded_read::bytes(&home.session_file(session, "turn"), bounded_read::SMALL);
    match (noted, prompt_id) {
        (Ok(noted), Some(id)) => noted == id.as_bytes(),
        (Ok(_), None) | (Err(_), _) => true,
    }
}
