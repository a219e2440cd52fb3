use longhaul_core::Millis;

use crate::{ChainError, ChainSession, FallbackSession, MAX_MERGES, NoBaton, Refusal, fall_back, follow, predecessor};

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

fn candidate(session: ChainSession) -> FallbackSession {
    FallbackSession { session, is_of_own_client: false, has_turns: true }
}

#[track_caller]
fn check_fallback(sessions: &[FallbackSession], expected: Result<&str, NoBaton>) {
    let found = fall_back(&session("heir", 100, None), sessions).map(|session| session.id.as_str());
    assert_eq!(found, expected);
}

#[test]
fn the_fallback_is_the_newest_that_is_free() {
    let live = ChainSession { live_elsewhere: true, ..session("live", 60, None) };
    let sessions = [
        session("a", 1, None),
        session("b", 50, None),
        session("c", 70, Some("b")),
        live,
        session("heir", 90, None),
        session("codex:d", 80, None),
        session("z", 200, None),
    ];
    check_fallback(&sessions.map(candidate), Ok("b"));
    check_fallback(&[], Err(NoBaton::NoSession));
}

#[test]
fn a_session_of_the_same_client_and_with_turns_comes_first() {
    let own = FallbackSession { is_of_own_client: true, ..candidate(session("own", 10, None)) };
    let other = candidate(session("other", 20, None));
    check_fallback(&[own.clone(), other.clone()], Ok("own"));
    let used = FallbackSession { session: session("own", 10, Some("x")), ..own.clone() };
    check_fallback(&[used, other.clone()], Ok("other"));
    let empty = FallbackSession { has_turns: false, ..own };
    check_fallback(&[empty.clone(), other], Ok("other"));
    check_fallback(&[empty], Err(NoBaton::NoTurns));
    check_fallback(&[candidate(session("codex:a", 1, None))], Err(NoBaton::NoSession));
}

#[test]
fn a_session_of_the_same_time_is_not_older() {
    let sessions = [session("a", 99, None), session("b", 100, None)].map(candidate);
    check_fallback(&sessions, Ok("a"));
    check_fallback(&sessions[1..], Err(NoBaton::NoneFree));
    assert_eq!(Refusal::BrokenChain(ChainError::Cycle).to_string(), "merge_cycle");
}
