//! The command that resumes a session of Claude Code, with its model and permission mode. For Codex and other agents:
//! `agents/src/table/NAME.rs`.

use crate::SessionPlace;

/// The longest value that is passed to a client.
const MAX_CHARS: usize = 100;

/// The command of a client, and the environment that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Variables, as `NAME=VALUE`.
    pub variables: Vec<String>,
}

/// Returns the command that resumes a session of Claude Code, with the model and the permission mode that it had.
///
/// `program` is the path of the client. A value that a client could take for an option is left out.
pub fn resume(program: &str, place: &SessionPlace) -> Resume {
    let id = own_id(place).to_owned();
    let mut argv = vec![program.to_owned()];
    argv.extend(["--resume".to_owned(), id]);
    if let Some(mode) = place.permission_mode.as_deref().filter(|mode| is_word(mode)) {
        argv.extend(["--permission-mode", mode].map(str::to_owned));
    }
    if let Some(model) = place.model.as_deref().and_then(model_name) {
        argv.extend(["--model", model].map(str::to_owned));
    }
    let variables = place.config_dir.iter().map(|dir| format!("CLAUDE_CONFIG_DIR={dir}")).collect();
    Resume { argv, variables }
}

/// Returns the id that the client itself uses, without the name of the client that Longhaul puts before it.
pub fn own_id(place: &SessionPlace) -> &str {
    let prefixed = place.session.strip_prefix(place.client.as_str()).and_then(|rest| rest.strip_prefix(':'));
    prefixed.unwrap_or(&place.session)
}

/// Returns whether `id` consists of the characters of a session id, and cannot be taken for an option.
pub(crate) fn is_safe_id(id: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !id.is_empty() && id.len() <= MAX_CHARS && !id.starts_with('-') && id.chars().all(is_allowed)
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_CHARS && text.chars().all(|c| c.is_ascii_alphanumeric())
}

/// Returns `name` if it is the name of a model: `<synthetic>`, which Claude Code writes for its own messages, is none.
pub fn model_name(name: &str) -> Option<&str> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "._:/@[]-".contains(c);
    let first = name.chars().next()?;
    (first.is_ascii_alphanumeric() && name.len() <= MAX_CHARS && name.chars().all(is_allowed)).then_some(name)
}
