use crate::{restore_arguments, restore_command, rewind_message};

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
