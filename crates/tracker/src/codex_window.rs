//! Which of several windows of Codex shows a session.
//!
//! All windows of Codex share one server process, which starts the hooks, so that no hook can ask for its window. What
//! the windows show tells them apart.

/// A window of Codex.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CodexWindow {
    /// The process id.
    pub pid: u32,
    /// The id of the session that it was started to resume, by its command line.
    pub resumed: Option<String>,
    /// Whether its screen shows the prompt of the event as the newest one.
    pub shows_prompt: bool,
}

impl CodexWindow {
    /// Returns a window of which only the process is known.
    pub fn new(pid: u32) -> Self {
        Self { pid, ..Self::default() }
    }
}

/// Returns the process id of the window that shows the session `own`, Codex's id of it; `None` where that is not certain.
///
/// `recorded` is the window in which the session was found last. The screen is newer: a session can be resumed in another
/// window. If two windows show the same prompt, the record decides.
pub fn codex_window(windows: &[CodexWindow], own: &str, recorded: Option<u32>) -> Option<u32> {
    if let [only] = windows {
        return Some(only.pid);
    }
    let showing: Vec<u32> = windows.iter().filter(|window| window.shows_prompt).map(|window| window.pid).collect();
    let recorded = recorded.filter(|pid| windows.iter().any(|window| window.pid == *pid));
    match (showing.as_slice(), recorded) {
        ([only], _) => Some(*only),
        ([], Some(recorded)) => Some(recorded),
        (_, Some(recorded)) if showing.contains(&recorded) => Some(recorded),
        _ => {
            let mut resuming = windows.iter().filter(|window| window.resumed.as_deref() == Some(own));
            let first = resuming.next().map(|window| window.pid);
            first.filter(|_| resuming.next().is_none())
        }
    }
}
