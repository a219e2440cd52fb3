use crate::tmux_conf::{is_set_up, line, with_line, without_line};

#[track_caller]
fn there_and_back(text: &str) {
    let with = with_line(Some(text)).expect("it is not set up yet");
    assert_eq!(with.lines().last(), Some(line().as_str()));
    assert_eq!(with_line(Some(&with)), None, "twice");
    let without = without_line(&with).expect("the line is there");
    assert_eq!(without.trim_end_matches('\n'), text.trim_end_matches('\n'));
}

#[test]
fn the_line_is_added_once_and_taken_back() {
    there_and_back("");
    there_and_back("set -g mouse on\n");
    there_and_back("set -g mouse on\nset -g prefix C-a");
    there_and_back("# run-shell 'longhaul tmux setup'\n");
}

#[test]
fn what_somebody_has_written_by_hand_is_enough_and_stays() {
    for text in [
        "run-shell 'longhaul tmux setup'\n",
        "set -g @plugin 'somebody/longhaul'\n",
        "run-shell ~/src/longhaul/longhaul.tmux\n",
    ] {
        assert!(is_set_up(text), "{text}");
        assert_eq!(with_line(Some(text)), None);
        assert_eq!(without_line(text), None);
    }
    assert!(!is_set_up("set -g @plugin 'somebody/longhaul-theme'\n"));
}
