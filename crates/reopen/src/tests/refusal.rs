use super::place;
use crate::{Facts, FolderState, Refusal, SessionPlace, refusal};

fn good() -> Facts {
    Facts { folder: FolderState::Same, has_transcript: true, program: Some("/bin/claude".to_owned()) }
}

#[track_caller]
fn check(change: impl Fn(&mut SessionPlace, &mut Facts), expected: Option<&str>) {
    let (mut place, mut facts) = (place("0b5c-1", 1, "main", 0, 1), good());
    change(&mut place, &mut facts);
    assert_eq!(refusal(&place, &facts).map(|refusal| refusal.to_string()).as_deref(), expected);
}

#[test]
fn a_refusal_says_what_is_missing() {
    check(|_, _| {}, None);
    check(|_, facts| facts.folder = FolderState::Gone, Some("its folder /p does not exist any more"));
    check(
        |_, facts| facts.folder = FolderState::LeadsTo("/etc".to_owned()),
        Some("its folder /p is now a link to /etc"),
    );
    check(|_, facts| facts.folder = FolderState::OtherOwner, Some("its folder /p now belongs to another user"));
    check(|place, _| place.folder = None, Some("its folder is not known"));
    check(
        |_, facts| facts.has_transcript = false,
        Some("it has no transcript: no prompt was sent yet, or the file was deleted"),
    );
    check(|_, facts| facts.program = None, Some("there is no claude on the PATH"));
    check(|place, _| place.server = None, Some("it did not run in tmux"));
    check(
        |place, _| place.agent_type = Some("teammate".to_owned()),
        Some("it is a teammate, which its own session starts again"),
    );
    check(|place, _| place.agent_type = Some("worktree".to_owned()), None);
    check(|place, _| place.client = "cursor".to_owned(), Some("cursor cannot resume a session by its id"));
    let gemini = |place: &mut SessionPlace, facts: &mut Facts| {
        (place.session, place.client) = ("gemini:4ee8".to_owned(), "gemini".to_owned());
        facts.has_transcript = false;
    };
    check(gemini, None);
}

#[test]
fn an_id_that_looks_like_an_option_is_refused() {
    let long = "a".repeat(101);
    for id in ["-p", "--dangerously-skip-permissions", "", "a b", "a;b", "$(x)", "../x", &long] {
        let mut place = place("x", 1, "main", 0, 1);
        place.session = id.to_owned();
        assert_eq!(refusal(&place, &good()), Some(Refusal::UnusableId { client: "claude".to_owned() }), "{id}");
    }
    let mut codex = place("codex:-x", 1, "main", 0, 1);
    codex.client = "codex".to_owned();
    assert!(refusal(&codex, &good()).is_some());
    codex.session = "codex:019a".to_owned();
    assert_eq!(refusal(&codex, &good()), None);
}
