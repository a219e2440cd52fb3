//! `/longhaul:restore`, the command of the user inside Claude Code, with its answers, and the message after a rewind.

use longhaul_core::counted;

/// The slash command that restores a snapshot, in the complete bundle and in the bundle of the one job. Claude Code knows a
/// command of a plugin only under such a name: `/restore` would be a command of the user's own.
const COMMANDS: [&str; 2] = ["/longhaul:restore", "/longhaul-bookmarks:restore"];

/// The answer to the slash command if snapshots are disabled.
pub(crate) const RESTORE_DISABLED: &str = "Snapshots are disabled (snapshots.enabled is false), so nothing was restored. `longhaul restore` in a \
                        terminal restores one that was taken before.";

/// The answer to the slash command without a word that names a snapshot.
pub(crate) const RESTORE_USAGE: &str = "Which one? `/longhaul:restore A` shows what would change, `/longhaul:restore A now` does it. A is a number of \
                     `longhaul snapshots`, a time such as 14:03, or `last`. `/longhaul:restore undo now` undoes the last restore.";

/// The answer if the restore takes longer than a prompt may.
pub(crate) const RESTORE_IN_BACKGROUND: &str = "The restore goes on in the background; `longhaul snapshots` lists it.";

/// The answer if showing what would change takes longer than a prompt may.
pub(crate) const RESTORE_IN_TERMINAL: &str =
    "That takes longer than a prompt may: run `longhaul restore` in a terminal.";

/// Returns the words after the slash command; `None` for any other prompt.
pub(crate) fn restore_command(prompt: &str) -> Option<Vec<&str>> {
    let mut words = prompt.split_whitespace();
    words.next().filter(|word| COMMANDS.contains(word) && prompt.lines().count() == 1)?;
    Some(words.collect())
}

/// Returns the arguments of `longhaul` for the words after the slash command, and whether files are changed. After `--`, every
/// word is the path of a file, also `now` and `undo`.
pub(crate) fn restore_arguments(session: &str, words: &[&str]) -> (Vec<String>, bool) {
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
pub(crate) fn rewind_message(at: &str, files: Option<usize>, snapshot: i64) -> String {
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

#[cfg(test)]
mod tests {
    use super::{restore_arguments, restore_command, rewind_message};

    #[test]
    fn the_message_after_a_rewind_names_the_time_the_files_and_the_command() {
        assert_eq!(
            rewind_message("14:20", Some(3), 7),
            "longhaul: the conversation is back at 14:20, the files are not: 3 files differ. /longhaul:restore 7 shows what it \
             would change, /longhaul:restore 7 now restores them."
        );
        assert!(rewind_message("14:20", Some(1), 7).contains("are not: 1 file differs. "));
        assert!(rewind_message("14:20", None, 7).contains("the files are not. "));
    }

    #[test]
    fn only_the_command_itself_restores() {
        assert_eq!(restore_command("/longhaul:restore 12 now"), Some(vec!["12", "now"]));
        assert_eq!(restore_command("/longhaul-bookmarks:restore last"), Some(vec!["last"]));
        assert_eq!(restore_command(" /longhaul:restore\n"), Some(Vec::new()));
        for other in [
            "restore 12",
            "/restore 12",
            "/other:restore 12",
            "/longhaul:restored 1",
            "please /longhaul:restore 1",
            "/longhaul:restore 1\nand then",
        ] {
            assert_eq!(restore_command(other), None, "{other}");
        }
    }

    #[test]
    fn a_file_may_be_called_as_a_word_of_the_command() {
        let check = |words: &[&str], expected: &[&str]| {
            let (args, is_now) = restore_arguments("s", words);
            assert_eq!(args[..3], ["restore", "--from-session", "s"], "{words:?}");
            assert_eq!(args[3..], *expected, "{words:?}");
            assert_eq!(is_now, expected[0] == "--yes", "{words:?}");
        };
        check(&["12"], &["--dry-run", "12"]);
        check(&["undo", "now"], &["--yes", "--undo"]);
        check(&["12", "--", "now", "undo"], &["--dry-run", "12", "--", "now", "undo"]);
        check(&["12", "now", "--", "now"], &["--yes", "12", "--", "now"]);
    }
}
