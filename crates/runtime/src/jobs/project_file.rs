//! The file of a project: the user is notified once of its values.

use longhaul_core::catalog::Job;
use longhaul_core::config::ProjectReading;
use longhaul_core::event::{SessionStart, StartSource};

use crate::project_file::{Consent, PROJECT_FILE, ProjectFile};
use crate::{Error, Flow, Hook};

/// Maximum number of values that are shown.
const SHOWN: usize = 5;

/// Maximum number of characters of a value that are shown.
const MAX_VALUE: usize = 40;

/// Notifies the user, once for each content, which values the project's file asks for and how to allow them.
pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    if !hook.serves(Job::Continuation) || hook.event.source == StartSource::Compact {
        return Ok(Flow::Next);
    }
    let Some(file) = hook.project_dir().and_then(|dir| ProjectFile::read(&dir)) else { return Ok(Flow::Next) };
    let consent = file.consent(&hook.home);
    let reading = hook.config.with_project(&file.text, consent.trust());
    let Some(message) = message(&file, consent, &reading) else { return Ok(Flow::Next) };
    if file.is_news(&hook.home, hook.env.now.0) {
        hook.log.write(&message);
        hook.notify(&format!("longhaul: {message}"));
    }
    Ok(Flow::Next)
}

/// Returns the notice for a project's file; `None` if all of it is in force.
fn message(file: &ProjectFile, consent: Consent, reading: &ProjectReading) -> Option<String> {
    let folder = longhaul_inject::printable(&file.folder.display().to_string());
    if let Some(problem) = &reading.problem {
        return Some(format!("{PROJECT_FILE} in {folder} {problem}: nothing in it is in force"));
    }
    let waiting: Vec<String> =
        reading.waiting().map(|value| format!("{} = {}", value.key, value.shown(MAX_VALUE))).collect();
    let refused = reading.refused().count();
    if waiting.is_empty() && refused == 0 {
        return None;
    }
    let not_its_to_set = match refused {
        0 => String::new(),
        1 => "; 1 value is refused (`longhaul config show`)".to_owned(),
        refused => format!("; {refused} values are refused (`longhaul config show`)"),
    };
    if waiting.is_empty() {
        return Some(format!("{PROJECT_FILE} in {folder}{}", not_its_to_set.replacen(';', ":", 1)));
    }
    let asks = match consent {
        Consent::Outdated => "has changed since you trusted it, and asks for",
        Consent::Given | Consent::None => "asks for",
    };
    let more = match waiting.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let waiting = waiting.into_iter().take(SHOWN).collect::<Vec<_>>().join(", ");
    Some(format!(
        "{PROJECT_FILE} in {folder} {asks} {waiting}{more}: not in force. To allow it, run `longhaul config trust` in \
         that folder{not_its_to_set}"
    ))
}
