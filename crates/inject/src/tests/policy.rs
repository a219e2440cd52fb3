use crate::{ClientActivity, ScreenState, TurnSign, TypeWhen, TypingDecision, UnsafeScreen, WaitReason, may_type};

const TEXT: &str = "·";

fn input(draft: Option<&str>, turn: TurnSign) -> ScreenState {
    ScreenState::Input { draft: draft.map(str::to_owned), turn, stashed: false, agents: false }
}

fn stash(draft: &str) -> TypingDecision {
    TypingDecision::Stash { draft: draft.to_owned() }
}

#[track_caller]
fn check(look: &ScreenState, client: ClientActivity, want: TypeWhen, expected: TypingDecision) {
    assert_eq!(may_type(look, client, want, TEXT), expected, "{look:?} {client:?} {want:?}");
}

#[test]
fn a_waiting_client_is_never_typed_at() {
    for want in [TypeWhen::MidTurn, TypeWhen::Idle, TypeWhen::Either] {
        for turn in [TurnSign::Running, TurnSign::Idle] {
            for draft in [None, Some("x"), Some(TEXT)] {
                check(
                    &input(draft, turn),
                    ClientActivity::Waiting,
                    want,
                    TypingDecision::Wait(WaitReason::ClientWaiting),
                );
            }
        }
    }
}

#[test]
fn an_unsafe_screen_is_never_typed_at() {
    for want in [TypeWhen::MidTurn, TypeWhen::Idle, TypeWhen::Either] {
        for client in [ClientActivity::Busy, ClientActivity::Idle, ClientActivity::Unknown] {
            for danger in [UnsafeScreen::Dialog, UnsafeScreen::PaneInMode, UnsafeScreen::NoInputBox] {
                check(&ScreenState::Unsafe(danger), client, want, TypingDecision::Wait(WaitReason::Unsafe(danger)));
            }
        }
    }
}

#[test]
fn mid_turn_needs_a_running_turn_and_an_empty_input() {
    for client in [ClientActivity::Busy, ClientActivity::Idle, ClientActivity::Unknown] {
        check(&input(None, TurnSign::Running), client, TypeWhen::MidTurn, TypingDecision::Type);
        let hidden = if client == ClientActivity::Busy {
            TypingDecision::Type
        } else {
            TypingDecision::Wait(WaitReason::NoTurn)
        };
        check(&input(None, TurnSign::Idle), client, TypeWhen::MidTurn, hidden);
        check(&input(Some("x"), TurnSign::Running), client, TypeWhen::MidTurn, TypingDecision::Wait(WaitReason::Draft));
        check(&input(Some(TEXT), TurnSign::Running), client, TypeWhen::MidTurn, TypingDecision::TypedAlready);
    }
}

#[test]
fn idle_needs_screen_and_client_to_agree() {
    check(
        &input(None, TurnSign::Running),
        ClientActivity::Idle,
        TypeWhen::Idle,
        TypingDecision::Wait(WaitReason::TurnRunning),
    );
    check(
        &input(None, TurnSign::Idle),
        ClientActivity::Busy,
        TypeWhen::Idle,
        TypingDecision::Wait(WaitReason::ClientBusy),
    );
    for client in [ClientActivity::Idle, ClientActivity::Unknown] {
        check(&input(None, TurnSign::Idle), client, TypeWhen::Idle, TypingDecision::Type);
        check(&input(Some("x"), TurnSign::Idle), client, TypeWhen::Idle, stash("x"));
        check(&input(Some(TEXT), TurnSign::Idle), client, TypeWhen::Idle, TypingDecision::TypedAlready);
    }
}

#[test]
fn either_does_not_ask_for_the_turn() {
    for turn in [TurnSign::Running, TurnSign::Idle] {
        check(&input(None, turn), ClientActivity::Busy, TypeWhen::Either, TypingDecision::Type);
        check(&input(Some("x"), turn), ClientActivity::Busy, TypeWhen::Either, stash("x"));
    }
}

#[test]
fn an_open_menu_is_left_alone() {
    for (draft, expected) in [
        ("/", TypingDecision::Wait(WaitReason::Completing)),
        ("/cl", TypingDecision::Wait(WaitReason::Completing)),
        ("/model opus", stash("/model opus")),
        ("@", TypingDecision::Wait(WaitReason::Completing)),
        ("read @src", TypingDecision::Wait(WaitReason::Completing)),
        ("read @src/lib.rs and", stash("read @src/lib.rs and")),
        ("a/b", stash("a/b")),
    ] {
        check(&input(Some(draft), TurnSign::Idle), ClientActivity::Idle, TypeWhen::Idle, expected);
    }
    // Our own command opens the menu too.
    let look = input(Some("/compact"), TurnSign::Idle);
    assert_eq!(may_type(&look, ClientActivity::Idle, TypeWhen::Idle, "/compact"), TypingDecision::TypedAlready);
}

#[test]
fn a_second_draft_is_not_stashed_over_the_first() {
    let with_draft = |draft: Option<&str>| ScreenState::Input {
        draft: draft.map(str::to_owned),
        turn: TurnSign::Idle,
        stashed: true,
        agents: false,
    };
    check(&with_draft(Some("x")), ClientActivity::Idle, TypeWhen::Idle, TypingDecision::Wait(WaitReason::StashTaken));
    check(&with_draft(None), ClientActivity::Idle, TypeWhen::Idle, TypingDecision::Type);
    check(&with_draft(Some(TEXT)), ClientActivity::Idle, TypeWhen::Idle, TypingDecision::TypedAlready);
}

#[test]
fn every_reason_has_words() {
    let unsafe_screens = [
        (UnsafeScreen::PaneDead, "the pane's program has ended"),
        (UnsafeScreen::PaneInMode, "the pane is in a tmux mode such as copy-mode"),
        (UnsafeScreen::PaneSynchronized, "the pane is synchronized with others"),
        (UnsafeScreen::Dialog, "a dialog is open"),
        (UnsafeScreen::ShellMode, "the input is in shell mode"),
        (UnsafeScreen::VimNormal, "the input is not in vim's insert mode"),
        (UnsafeScreen::Compacting, "the conversation is being compacted"),
        (UnsafeScreen::Exiting, "Claude Code is about to exit"),
        (UnsafeScreen::NoCursor, "the cursor is not in the input"),
        (UnsafeScreen::NoInputBox, "there is no input box on the screen"),
    ];
    for (danger, words) in unsafe_screens {
        assert_eq!(danger.to_string(), words);
        assert_eq!(WaitReason::Unsafe(danger).to_string(), words);
    }
    for (reason, words) in [
        (WaitReason::ClientWaiting, "Claude Code waits for an answer"),
        (WaitReason::ClientBusy, "Claude Code reports that it is busy"),
        (WaitReason::NoTurn, "no turn is running"),
        (WaitReason::TurnRunning, "a turn is running"),
        (WaitReason::Agents, "a subagent is running and may ask something at any moment"),
        (WaitReason::Draft, "a draft is in the input"),
        (WaitReason::Completing, "a command or a file name is being completed in the input"),
        (WaitReason::StashTaken, "a draft is in the input and another one is stashed"),
    ] {
        assert_eq!(reason.to_string(), words);
    }
}
