//! Which window a session gets: the one that it had, where that is free.

use crate::SessionPlace;

/// The name of the tmux session for sessions whose window was never recorded.
const UNKNOWN: &str = "reopened";

/// A tmux session that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TmuxSession {
    /// Its id, `$<digits>`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The indexes of its windows.
    pub windows: Vec<u32>,
}

/// Where a window is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WindowPosition {
    /// The name of the tmux session.
    pub session: String,
    /// The id of the tmux session; `None` if it must be created.
    pub session_id: Option<String>,
    /// The index of the window; `None` for the next free one.
    pub index: Option<u32>,
    /// The name of the window; `None` if tmux names it.
    pub name: Option<String>,
}

/// Sorts sessions in the order in which their windows are opened: by tmux server, tmux session, window and pane.
pub fn opening_order(places: &mut [&SessionPlace]) {
    places.sort_by_cached_key(|place| {
        let socket = place.server.as_ref().map(|server| server.socket.clone());
        let window = place.window.as_ref().map(|window| (window.session.clone(), window.index, window.pane));
        // Sessions without a recorded window come last.
        (socket, window.is_none(), window, place.seen_ms, place.session.clone())
    });
}

/// Returns where to open the first of `remaining`, which are in [`opening_order`] and have the same tmux server.
///
/// The window gets its previous index. If one of the previous indexes of the remaining sessions is taken, all of them come
/// after the existing windows, so that their order is kept.
pub fn position(remaining: &[&SessionPlace], existing: &[TmuxSession]) -> Option<WindowPosition> {
    let window = remaining.first()?.window.as_ref();
    let session = window.map_or(UNKNOWN, |window| &window.session);
    let found = existing.iter().find(|existing| existing.name == session);
    let taken = found.map_or(&[][..], |found| &found.windows);
    let others = remaining.iter().filter_map(|place| place.window.as_ref()).filter(|other| other.session == session);
    let is_free = others.map(|other| other.index).all(|index| !taken.contains(&index));
    let after = taken.iter().max().map_or(0, |last| last.saturating_add(1));
    Some(WindowPosition {
        session: session.to_owned(),
        session_id: found.map(|found| found.id.clone()),
        index: window.map(|window| if is_free { window.index } else { after }),
        name: window.filter(|window| !window.names_itself && !window.name.is_empty()).map(|window| window.name.clone()),
    })
}
