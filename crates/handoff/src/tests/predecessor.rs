use longhaul_core::Millis;

use crate::{ChainError, ChainSession, MAX_MERGES, Refusal, follow, newest_unmerged, predecessor};

fn session(id: &str, created: u64, merged_into: Option<&str>) -> ChainSession {
    ChainSession {
        id: id.to_owned(),
        created: Millis(created),
        merged_into: merged_into.map(str::to_owned),
        ..ChainSession::default()
    }
}

#[track_caller]
fn check(sessions: &[ChainSession], wanted: &str, expected: Result<&str, Refusal>) {
    let heir = session("heir", 100, None);
    let find = |id: &str| sessions.iter().chain([&heir]).find(|session| session.id == id).cloned();
    let found = predecessor(&heir, wanted, find).map(|session| session.id);
    assert_eq!(found.as_deref().map_err(|refusal| *refusal), expected);
}

#[test]
fn the_end_of_the_chain_is_inherited() {
    check(&[session("a", 1, None)], "a", Ok("a"));
    check(&[session("a", 1, Some("b")), session("b", 2, None)], "a", Ok("b"));
}

#[test]
fn refusals_say_why() {
    check(&[], "heir", Err(Refusal::SelfHandoff));
    check(&[], "a", Err(Refusal::NotFound));
    check(&[session("a", 1, Some("lost"))], "a", Err(Refusal::NotFound));
    check(&[session("a", 1, Some("heir"))], "a", Err(Refusal::AlreadyMerged));
    let live = ChainSession { live_elsewhere: true, ..session("b", 2, None) };
    check(&[session("a", 1, Some("b")), live], "a", Err(Refusal::AlreadyMerged));
    check(&[session("a", 100, None)], "a", Err(Refusal::NotOlder));
    check(&[session("a", 101, None)], "a", Err(Refusal::NotOlder));
    let cycle = [session("a", 1, Some("b")), session("b", 2, Some("a"))];
    check(&cycle, "a", Err(Refusal::BrokenChain(ChainError::Cycle)));
    check(&[session("a", 1, Some("a"))], "a", Err(Refusal::BrokenChain(ChainError::Cycle)));
    let names =
        [Refusal::SelfHandoff, Refusal::NotFound, Refusal::AlreadyMerged, Refusal::NotOlder].map(Refusal::as_str);
    assert_eq!(names, ["self_handoff", "predecessor_not_found", "already_merged", "predecessor_not_older"]);
}

#[test]
fn ten_merges_are_followed() {
    let chain = |length: usize| {
        move |id: &str| {
            let at: usize = id.parse().unwrap();
            (at < length).then(|| (at + 1).to_string())
        }
    };
    assert_eq!(follow("0", chain(MAX_MERGES)), Ok(MAX_MERGES.to_string()));
    assert_eq!(follow("0", chain(MAX_MERGES + 1)), Err(ChainError::TooLong));
}

#[test]
fn the_fallback_is_the_newest_that_is_free() {
    let heir = session("heir", 100, None);
    let live = ChainSession { live_elsewhere: true, ..session("live", 60, None) };
    let sessions = [
        session("a", 1, None),
        session("b", 50, None),
        session("c", 70, Some("b")),
        live,
        heir.clone(),
        session("z", 200, None),
    ];
    assert_eq!(newest_unmerged(&heir, &sessions).map(|session| session.id.as_str()), Some("b"));
    assert_eq!(newest_unmerged(&heir, &[]), None);
}

#[test]
fn a_session_of_the_same_time_is_not_older() {
    let heir = session("heir", 100, None);
    let sessions = [session("a", 99, None), session("b", 100, None)];
    assert_eq!(newest_unmerged(&heir, &sessions).map(|session| session.id.as_str()), Some("a"));
    assert_eq!(newest_unmerged(&heir, &sessions[1..]), None);
    assert_eq!(Refusal::BrokenChain(ChainError::Cycle).to_string(), "merge_cycle");
}
