use crate::{CodexWindow, codex_window};

fn window(pid: u32, shows_prompt: bool, resumed: Option<&str>) -> CodexWindow {
    CodexWindow { pid, shows_prompt, resumed: resumed.map(str::to_owned) }
}

#[track_caller]
fn check(windows: &[CodexWindow], recorded: Option<u32>, expected: Option<u32>) {
    assert_eq!(codex_window(windows, "own", recorded), expected, "{windows:?}");
}

#[test]
fn a_single_window_is_the_one() {
    check(&[window(1, false, None)], None, Some(1));
    check(&[], Some(1), None);
}

#[test]
fn the_screen_with_the_prompt_decides() {
    check(&[window(1, false, None), window(2, true, None)], None, Some(2));
    check(&[window(1, false, None), window(2, true, None)], Some(1), Some(2));
}

#[test]
fn the_record_decides_where_the_screens_do_not() {
    let neither = [window(1, false, None), window(2, false, None)];
    check(&neither, Some(2), Some(2));
    check(&neither, None, None);
    check(&neither, Some(3), None);
    let both = [window(1, true, None), window(2, true, None)];
    check(&both, Some(1), Some(1));
    check(&both, None, None);
    check(&[window(1, true, None), window(2, true, None), window(3, false, None)], Some(3), None);
}

#[test]
fn a_window_that_was_started_for_the_session_is_it_unless_there_are_two() {
    let other = window(2, false, Some("other"));
    check(&[window(1, false, Some("own")), other.clone()], None, Some(1));
    check(&[window(1, false, Some("own")), window(3, false, Some("own")), other], None, None);
}
