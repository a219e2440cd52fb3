mod client_command;
mod layout;
mod lost;
mod memory_shortage;
mod refusal;
mod window_command;

use crate::{ServerId, SessionPlace, Window};

/// Returns a session in window `index` of the tmux session `session`, last seen at `seen_ms`.
fn place(id: &str, server: u32, session: &str, index: u32, seen_ms: u64) -> SessionPlace {
    let mut place = SessionPlace::new(id, "claude", seen_ms);
    place.server = Some(ServerId { socket: "/tmp/s".to_owned(), pid: Some(server), started: None });
    place.window = Some(Window::new(session, index, format!("w{index}")));
    place.folder = Some("/p".to_owned());
    place
}
