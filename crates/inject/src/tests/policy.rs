use crate::{ClientSays, Decision, Look, Turn, Unsafe, Want, Why, may_type};

const TEXT: &str = "·";

fn input(draft: Option<&str>, turn: Turn) -> Look {
    Look::Input { draft: draft.map(str::to_owned), turn, stashed: false, agents: false }
}

fn stash(draft: &str) -> Decision {
    Decision::Stash { draft: draft.to_owned() }
}

#[track_caller]
fn check(look: &Look, client: ClientSays, want: Want, expected: Decision) {
    assert_eq!(may_type(look, client, want, TEXT), expected, "{look:?} {client:?} {want:?}");
}

#[test]
fn a_waiting_client_is_never_typed_at() {
    for want in [Want::MidTurn, Want::Idle, Want::Either] {
        for turn in [Turn::Running, Turn::Idle] {
            for draft in [None, Some("x"), Some(TEXT)] {
                check(&input(draft, turn), ClientSays::Waiting, want, Decision::Wait(Why::ClientWaiting));
            }
        }
    }
}

#[test]
fn an_unsafe_screen_is_never_typed_at() {
    for want in [Want::MidTurn, Want::Idle, Want::Either] {
        for client in [ClientSays::Busy, ClientSays::Idle, ClientSays::Unknown] {
            for danger in [Unsafe::Dialog, Unsafe::PaneInMode, Unsafe::NoInputBox] {
                check(&Look::Unsafe(danger), client, want, Decision::Wait(Why::Unsafe(danger)));
            }
        }
    }
}

#[test]
fn mid_turn_needs_a_running_turn_and_an_empty_input() {
    for client in [ClientSays::Busy, ClientSays::Idle, ClientSays::Unknown] {
        check(&input(None, Turn::Running), client, Want::MidTurn, Decision::Type);
        let hidden = if client == ClientSays::Busy { Decision::Type } else { Decision::Wait(Why::NoTurn) };
        check(&input(None, Turn::Idle), client, Want::MidTurn, hidden);
        check(&input(Some("x"), Turn::Running), client, Want::MidTurn, Decision::Wait(Why::Draft));
        check(&input(Some(TEXT), Turn::Running), client, Want::MidTurn, Decision::TypedAlready);
    }
}

#[test]
fn idle_needs_screen_and_client_to_agree() {
    check(&input(None, Turn::Running), ClientSays::Idle, Want::Idle, Decision::Wait(Why::TurnRunning));
    check(&input(None, Turn::Idle), ClientSays::Busy, Want::Idle, Decision::Wait(Why::ClientBusy));
    for client in [ClientSays::Idle, ClientSays::Unknown] {
        check(&input(None, Turn::Idle), client, Want::Idle, Decision::Type);
        check(&input(Some("x"), Turn::Idle), client, Want::Idle, stash("x"));
        check(&input(Some(TEXT), Turn::Idle), client, Want::Idle, Decision::TypedAlready);
    }
}

#[test]
fn either_does_not_ask_for_the_turn() {
    for turn in [Turn::Running, Turn::Idle] {
        check(&input(None, turn), ClientSays::Busy, Want::Either, Decision::Type);
        check(&input(Some("x"), turn), ClientSays::Busy, Want::Either, stash("x"));
    }
}

#[test]
fn an_open_menu_is_left_alone() {
    for (draft, expected) in [
        ("/", Decision::Wait(Why::Completing)),
        ("/cl", Decision::Wait(Why::Completing)),
        ("/model opus", stash("/model opus")),
        ("@", Decision::Wait(Why::Completing)),
        ("read @src", Decision::Wait(Why::Completing)),
        ("read @src/lib.rs and", stash("read @src/lib.rs and")),
        ("a/b", stash("a/b")),
    ] {
        check(&input(Some(draft), Turn::Idle), ClientSays::Idle, Want::Idle, expected);
    }
    // Our own command opens the menu too.
    let look = input(Some("/compact"), Turn::Idle);
    assert_eq!(may_type(&look, ClientSays::Idle, Want::Idle, "/compact"), Decision::TypedAlready);
}

#[test]
fn a_second_draft_is_not_stashed_over_the_first() {
    let look = |draft: Option<&str>| Look::Input {
        draft: draft.map(str::to_owned),
        turn: Turn::Idle,
        stashed: true,
        agents: false,
    };
    check(&look(Some("x")), ClientSays::Idle, Want::Idle, Decision::Wait(Why::StashTaken));
    check(&look(None), ClientSays::Idle, Want::Idle, Decision::Type);
    check(&look(Some(TEXT)), ClientSays::Idle, Want::Idle, Decision::TypedAlready);
}

#[test]
fn every_reason_is_said_in_plain_words() {
    assert_eq!(Why::ClientWaiting.to_string(), "the client waits for an answer");
    assert_eq!(Why::Unsafe(Unsafe::Dialog).to_string(), "a dialog is open");
}
