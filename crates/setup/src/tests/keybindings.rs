use longhaul_inject::{BindingState, Keybindings, SUBMIT, SUBMIT_CHORDS};

use crate::keybindings::{with_chords, without_chords};
use crate::settings::Refusal;

/// Adds our chords, checks that a second time changes nothing, and takes them back, with and without the copy from before.
#[track_caller]
fn there_and_back(text: &str) -> String {
    let with = with_chords(Some(text)).unwrap().expect("they are not there yet");
    assert!(matches!(Keybindings::parse(&with).unwrap().bound(SUBMIT, &SUBMIT_CHORDS), BindingState::To(_)), "{with}");
    assert_eq!(with_chords(Some(&with)), Ok(None), "twice");
    assert_eq!(without_chords(&with, Some(text), None), Ok(Some(text.to_owned())));
    with
}

#[test]
fn every_shape_comes_back_to_the_byte() {
    let others = r#"{"bindings":[{"context":"Chat","bindings":{"ctrl+e":"chat:externalEditor"}}]}"#;
    let pretty = concat!(
        "{\n\t\"$schema\": \"https://www.schemastore.org/claude-code-keybindings.json\",\n\t\"bindings\": [\n\t\t{ \"context\":",
        " \"Global\",\n\t\t  \"bindings\": { \"ctrl+t\": null } }\n\t]\n}\n"
    );
    for text in ["{}", "{}\n", r#"{"bindings":[]}"#, "{ \"bindings\": [ ] }\n\n", others, pretty] {
        there_and_back(text);
    }
    for text in [others, pretty] {
        let with = there_and_back(text);
        assert_eq!(without_chords(&with, None, None), Ok(Some(text.to_owned())), "without the copy");
    }
}

#[test]
fn a_file_of_ours_alone_is_removed() {
    let with = with_chords(None).unwrap().unwrap();
    assert_eq!(
        with,
        concat!(
            "{\n  \"bindings\": [\n    {\n      \"context\": \"Chat\",\n      \"bindings\": {\n",
            "        \"ctrl+x ctrl+q\": \"chat:submit\",\n        \"ctrl+x ctrl+x\": \"chat:stash\"\n      }\n    }\n  ]\n}\n"
        )
    );
    assert_eq!(without_chords(&with, None, None), Ok(Some(String::new())));
}

#[test]
fn what_the_user_adds_meanwhile_stays() {
    let with = with_chords(Some("{}")).unwrap().unwrap();
    let more = with.replace("\"chat:submit\"", "\"chat:submit\", \"ctrl+e\": \"chat:undo\"");
    let left = without_chords(&more, Some("{}"), None).unwrap().unwrap();
    assert!(left.contains("ctrl+e") && !left.contains("chat:submit") && !left.contains("chat:stash"), "{left}");
}

#[test]
fn another_chord_is_bound_where_ours_is_taken() {
    let taken = r#"{"bindings":[{"context":"Global","bindings":{"ctrl+x ctrl+q":"app:toggleTodos"}}]}"#;
    assert!(there_and_back(taken).contains(r#""ctrl+q ctrl+x":"chat:submit""#));
    let all = r#"{"bindings":[{"context":"Global","bindings":{"ctrl+q":"app:toggleTodos"}}]}"#;
    assert_eq!(with_chords(Some(all)), Ok(None));
    let shadowed = r#"{"bindings":[{"context":"Chat","bindings":{"ctrl+x ctrl+q":"chat:submit"}},{"context":"Chat","bindings":{"ctrl+x ctrl+q":null}}]}"#;
    assert!(with_chords(Some(shadowed)).unwrap().unwrap().contains(r#""ctrl+q ctrl+x":"chat:submit""#));
}

#[test]
fn a_line_like_ours_that_was_there_before_stays() {
    let theirs = r#"{"bindings":[{"context":"Chat","bindings":{"ctrl+x ctrl+q":"chat:submit"}}]}"#;
    let with = with_chords(Some(theirs)).unwrap().unwrap();
    assert!(with.contains("chat:stash"), "{with}");
    let edited = with.replacen('{', "{\"a\":1,", 1);
    assert_eq!(without_chords(&edited, Some(theirs), None), Ok(Some(theirs.replacen('{', "{\"a\":1,", 1))));
}

#[test]
fn what_the_client_cannot_read_is_refused_and_left() {
    for text in ["", "  \n", "// mine\n{}", "{\"bindings\": [],}"] {
        assert_eq!(with_chords(Some(text)), Err(Refusal::NotJson), "{text:?}");
        assert_eq!(without_chords(text, None, None), Ok(None), "{text:?}");
    }
    for text in ["[]", r#"{"bindings":{}}"#, r#"{"bindings":[{"context":"Chat"}]}"#] {
        assert!(matches!(with_chords(Some(text)), Err(Refusal::Shape(_))), "{text:?}");
        assert_eq!(without_chords(text, None, None), Ok(None), "{text:?}");
    }
}

#[test]
fn only_what_was_added_is_removed_where_that_is_recorded() {
    let added = |chords: &[&str]| chords.iter().map(|chord| (*chord).to_owned()).collect::<Vec<_>>();
    let ours = with_chords(None).unwrap().unwrap();
    assert_eq!(without_chords(&ours, None, Some(&[])), Ok(None), "all of it was there before");
    let left = without_chords(&ours, None, Some(&added(&["ctrl+x ctrl+x"]))).unwrap().unwrap();
    assert!(left.contains("chat:submit") && !left.contains("chat:stash"), "{left}");
    // A copy that a later installation has made of a file of ours is not what was before.
    let all = added(&["ctrl+x ctrl+q", "ctrl+x ctrl+x", "ctrl+q ctrl+x"]);
    let shadowed =
        ours.replace("[\n", "[\n    { \"context\": \"Global\", \"bindings\": { \"ctrl+x ctrl+q\": \"app:x\" } },\n");
    let twice = with_chords(Some(&shadowed)).unwrap().unwrap();
    assert!(twice.contains("ctrl+q ctrl+x"), "{twice}");
    let left = without_chords(&twice, Some(&shadowed), Some(&all)).unwrap().unwrap();
    assert!(left.contains("app:x") && !left.contains("chat:"), "{left}");
}
