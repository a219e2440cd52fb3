use crate::event::bookmark_prompt::{bookmark_note, is_bookmark_command};

#[test]
fn only_the_marker_alone_or_with_a_note_is_a_bookmark() {
    for (prompt, expected) in [
        ("·", Some(None)),
        ("  · \n", Some(None)),
        ("· before the rewrite ", Some(Some("before the rewrite"))),
        ("·x", None),
        ("·\nplease do x", None),
        ("· fix the parser\n· then the tests", None),
        ("", None),
        ("please · go on", None),
        ("/longhaul:bookmark", Some(None)),
        ("/longhaul:bookmark green tests", Some(Some("green tests"))),
        ("/longhaul-bookmarks:bookmark x", Some(Some("x"))),
        ("/longhaul:bookmarks", None),
    ] {
        assert_eq!(bookmark_note(prompt, "·"), expected, "{prompt:?}");
    }
}

#[test]
fn the_command_is_not_the_marker() {
    assert!(is_bookmark_command("/longhaul:bookmark x") && is_bookmark_command(" /longhaul-bookmarks:bookmark"));
    assert!(!is_bookmark_command("· x") && !is_bookmark_command("x /longhaul:bookmark"));
}
