use proptest::prelude::*;

use super::place;
use crate::{WindowPosition, escape_format, open_command, position, resume};

#[test]
fn the_program_gets_its_arguments_without_a_shell() {
    let place = place("0b5c", 1, "main", 4, 1);
    let mut resumed = resume("/bin/claude", &place);
    resumed.variables.push("A=b".to_owned());
    let new = position(&[&place], &[]).unwrap();
    let printed = "#{session_id} #{pane_id} #{window_index}";
    let expected = [
        "new-session",
        "-d",
        "-s",
        "main",
        "-P",
        "-F",
        printed,
        "-c",
        "/p/##{pid}",
        "-n",
        "w4",
        "-e",
        "A=b",
        "--",
        "/bin/claude",
        "--resume",
        "0b5c",
    ];
    assert_eq!(open_command(&new, "/p/#{pid}", &resumed), expected);
    let existing = WindowPosition { session_id: Some("$3".to_owned()), name: None, ..new };
    let words = open_command(&existing, "/p", &resumed);
    assert_eq!(words[..4], ["new-window", "-d", "-t", "$3:4"]);
    assert!(!words.contains(&"-n".to_owned()));
    let anywhere = WindowPosition { index: None, ..existing };
    assert_eq!(open_command(&anywhere, "/p", &resumed)[3], "$3:");
}

/// What tmux 3.3 makes of a format that contains nothing to expand.
fn expanded(format: &str) -> String {
    let mut text = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('#') {
        let (before, hashes) = rest.split_at(at);
        let count = hashes.len() - hashes.trim_start_matches('#').len();
        let after = &hashes[count..];
        text.push_str(before);
        assert!(after.starts_with('[') || count % 2 == 0, "{format} expands something");
        text.push_str(&"#".repeat(if after.starts_with('[') { count } else { count / 2 }));
        rest = after;
    }
    text + rest
}

proptest! {
    #[test]
    fn nothing_in_a_name_is_expanded(name in "[#\\[\\]{}()a-c ]{0,12}") {
        prop_assert_eq!(expanded(&escape_format(&name)), name);
    }
}
