//! The tmux command that opens a window.

use crate::{Resume, WindowPosition};

/// What tmux prints of the window that it has opened.
const PRINTED: &str = "#{session_id} #{pane_id} #{window_index}";

/// Returns the words of the tmux command that opens a window at `position`, in `folder`, and runs `resume` there.
///
/// The command prints the ids of session and pane, and the window's index. A new session begins with the index that
/// tmux is configured for. Several words after `--` are passed to the program as they are, without a shell.
pub fn open_command(position: &WindowPosition, folder: &str, resume: &Resume) -> Vec<String> {
    let mut words: Vec<String> = match &position.session_id {
        Some(id) => {
            let index = position.index.map(|index| index.to_string()).unwrap_or_default();
            ["new-window", "-d", "-t", &format!("{id}:{index}")].map(str::to_owned).to_vec()
        }
        None => ["new-session", "-d", "-s", &escape_format(&position.session)].map(str::to_owned).to_vec(),
    };
    words.extend(["-P", "-F", PRINTED, "-c", &escape_format(folder)].map(str::to_owned));
    if let Some(name) = &position.name {
        words.extend(["-n".to_owned(), escape_format(name)]);
    }
    for variable in &resume.variables {
        words.extend(["-e".to_owned(), variable.clone()]);
    }
    words.push("--".to_owned());
    words.extend(resume.argv.iter().cloned());
    words
}

/// Returns `text` so that tmux, which expands names and folders as formats, arrives at `text` again.
///
/// `#` is doubled, except before `[`: tmux leaves any number of `#` before a bracket as they are.
pub fn escape_format(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('#') {
        let (before, hashes) = rest.split_at(at);
        let count = hashes.len() - hashes.trim_start_matches('#').len();
        let after = &hashes[count..];
        escaped.push_str(before);
        escaped.push_str(&"#".repeat(if after.starts_with('[') { count } else { 2 * count }));
        rest = after;
    }
    escaped + rest
}
