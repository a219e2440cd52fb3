//! `/longhaul:restore`, the command of the user inside Claude Code, with its answers, and the message after a rewind.

use longhaul_core::counted;

/// The slash command that restores a snapshot, in the complete bundle and in the bundle of the one job. Claude Code knows a
/// command of a plugin only under such a name: `/restore` would be a command of the user's own.
const COMMANDS: [&str; 2] = ["/longhaul:restore", "/longhaul-bookmarks:restore"];

/// The answer to the slash command if snapshots are disabled.
pub const RESTORE_DISABLED: &str = "Snapshots are disabled (snapshots.enabled is false), so nothing was restored. `longhaul restore` in a \
                        terminal restores one that was taken before.";

/// The answer to the slash command without a word that names a snapshot.
pub const RESTORE_USAGE: &str = "Which one? `/longhaul:restore A` shows what would change, `/longhaul:restore A now` does it. A is a number of \
                     `longhaul snapshots`, a time such as 14:03, or `last`. `/longhaul:restore undo now` undoes the last restore.";

/// The answer if the restore takes longer than a prompt may.
pub const RESTORE_IN_BACKGROUND: &str = "The restore goes on in the background; `longhaul snapshots` lists it.";

/// The answer if showing what would change takes longer than a prompt may.
pub const RESTORE_IN_TERMINAL: &str = "That takes longer than a prompt may: run `longhaul restore` in a terminal.";

/// Returns the words after the slash command; `None` for any other prompt.
pub fn restore_command(prompt: &str) -> Option<Vec<&str>> {
    let mut words = prompt.split_whitespace();
    words.next().filter(|word| COMMANDS.contains(word) && prompt.lines().count() == 1)?;
    Some(words.collect())
}

/// Returns the arguments of `longhaul` for the words after the slash command, and whether files are changed. After `--`, every
/// word is the path of a file, also `now` and `undo`.
pub fn restore_arguments(session: &str, words: &[&str]) -> (Vec<String>, bool) {
    let options = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    let (options, paths) = words.split_at(options);
    let is_now = options.contains(&"now");
    let mut args = vec!["restore", "--from-session", session, if is_now { "--yes" } else { "--dry-run" }];
    args.extend(
        options.iter().filter(|word| **word != "now").map(|word| if *word == "undo" { "--undo" } else { word }),
    );
    args.extend(paths);
    (args.into_iter().map(str::to_owned).collect(), is_now)
}

/// Returns the message after a rewind; `files` is `None` if counting took too long.
pub fn rewind_message(at: &str, files: Option<usize>, snapshot: i64) -> String {
    let differ = match files {
        Some(1) => ": 1 file differs".to_owned(),
        Some(files) => format!(": {} differ", counted(files, "file")),
        None => String::new(),
    };
    let command = COMMANDS[0];
    format!(
        "longhaul: the conversation is back at {at}, the files are not{differ}. {command} {snapshot} shows what it would \
         change, {command} {snapshot} now restores them."
    )
}
