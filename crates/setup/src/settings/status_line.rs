//! The status line in settings.json: Longhaul's, which runs the user's own command if there is one.

use longhaul_core::json_text::{Object, with_value};
use longhaul_inject::shell_single_quote;
use serde_json::{Value, json};

use super::{Change, Refusal, parse};

const KEY: &str = "statusLine";
const COMMAND: &str = "command";

/// The text between Longhaul's command and the user's own.
const AROUND: &str = " -- sh -c ";

/// Returns settings in which `program`, as a shell reads it, prints the status line.
///
/// An existing status line command becomes an argument of Longhaul's, which passes its input on and shows its output.
pub fn with_status_line(text: Option<&str>, program: &str) -> Change {
    let mut settings = parse(text)?;
    let shape = || Refusal::Shape(KEY.to_owned());
    let ours = format!("{program} statusline");
    let line = match settings.members.get(KEY)? {
        None => settings.style.write(&json!({ "type": COMMAND, COMMAND: ours }), 1),
        Some(text) => {
            let theirs = command(text).ok_or_else(shape)?;
            if is_our_status_line(&theirs) {
                return Ok(None);
            }
            let around = format!("{ours}{AROUND}{}", shell_single_quote(&theirs));
            with_value(text, COMMAND, &Value::from(around)).ok_or_else(shape)?
        }
    };
    settings.members.set(KEY, line);
    Ok(Some(settings.write()))
}

/// Returns settings with the status line that was there before Longhaul's.
pub fn without_status_line(text: &str) -> Change {
    let mut settings = parse(Some(text))?;
    let Some(line) = settings.members.get(KEY)?.map(str::to_owned) else { return Ok(None) };
    let Some(ours) = command(&line).filter(|command| is_our_status_line(command)) else { return Ok(None) };
    let theirs = ours.split_once(AROUND).and_then(|(_, word)| unquote(word));
    match theirs.and_then(|theirs| with_value(&line, COMMAND, &Value::from(theirs))) {
        Some(line) => settings.members.set(KEY, line),
        None => settings.members.retain(|name, _| name != KEY),
    }
    Ok(Some(settings.write()))
}

/// Returns whether a command is Longhaul's status line, with or without a command of the user.
pub fn is_our_status_line(command: &str) -> bool {
    let Some((program, rest)) = command.split_once(" statusline") else { return false };
    let name = program.rsplit('/').next().unwrap_or(program).trim_end_matches('\'');
    name == "longhaul" && (rest.is_empty() || rest.starts_with(' '))
}

fn command(line: &str) -> Option<String> {
    serde_json::from_str(Object::parse(line)?.get(COMMAND).ok()??).ok()
}

/// Returns the text that [`shell_single_quote`] has quoted.
fn unquote(word: &str) -> Option<String> {
    Some(word.trim().strip_prefix('\'')?.strip_suffix('\'')?.replace(r"'\''", "'"))
}
