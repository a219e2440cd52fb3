use crate::{EditorMode, Inspection, ScreenState, TurnSign, UnsafeScreen, parse_inspection, screen_state};

/// A screen recorded from Claude Code, in tests/screens of the workspace, which `shared_screens` links to.
macro_rules! shared {
    ($name:literal) => {
        include_str!(concat!("shared_screens/", $name, ".ansi"))
    };
}

/// A screen recorded from Claude Code for this crate.
macro_rules! own {
    ($name:literal) => {
        include_str!(concat!("screens/", $name, ".ansi"))
    };
}

pub(super) const IDLE: &str = shared!("idle-after-stop");
pub(super) const PERMISSION: &str = shared!("permission-dialog");
pub(super) const RECORDED: [&str; 6] = [
    IDLE,
    PERMISSION,
    shared!("draft-multiline"),
    shared!("ask-user-question"),
    shared!("busy-streaming"),
    own!("named-session"),
];

fn input(draft: Option<&str>, turn: TurnSign) -> ScreenState {
    ScreenState::Input { draft: draft.map(str::to_owned), turn, stashed: false, agents: false }
}

fn stashed(draft: Option<&str>, turn: TurnSign) -> ScreenState {
    ScreenState::Input { draft: draft.map(str::to_owned), turn, stashed: true, agents: false }
}

fn inspection(screen: &str) -> Inspection {
    Inspection { screen: screen.to_owned(), ..Inspection::default() }
}

fn beside_agents(turn: TurnSign) -> ScreenState {
    ScreenState::Input { draft: None, turn, stashed: false, agents: true }
}

#[track_caller]
fn check(screen: &str, expected: ScreenState) {
    assert_eq!(screen_state(&inspection(screen), EditorMode::Normal), expected);
}

#[track_caller]
fn check_unsafe(screen: &str, expected: UnsafeScreen) {
    check(screen, ScreenState::Unsafe(expected));
}

#[track_caller]
fn check_vim(screen: &str, expected: ScreenState) {
    assert_eq!(screen_state(&inspection(screen), EditorMode::Vim), expected);
}

#[test]
fn an_idle_client_has_an_empty_input() {
    check(IDLE, input(None, TurnSign::Idle));
    check(shared!("fresh-start-placeholder"), input(None, TurnSign::Idle));
    check(shared!("after-escape-at-permission"), input(None, TurnSign::Idle));
    check(shared!("interrupted"), input(None, TurnSign::Idle));
    check(shared!("after-compact"), input(None, TurnSign::Idle));
    check(shared!("midturn-markers"), input(None, TurnSign::Idle));
    check(shared!("narrow-idle"), input(None, TurnSign::Idle));
    check(shared!("accept-edits-idle"), input(None, TurnSign::Idle));
    check(shared!("bypass-idle"), input(None, TurnSign::Idle));
    check(shared!("idle-background-shell"), input(None, TurnSign::Idle));
    check(shared!("placeholder"), input(None, TurnSign::Idle));
    check(own!("named-session"), input(None, TurnSign::Idle));
}

#[test]
fn a_running_turn_shows_in_the_footer_or_by_its_spinner() {
    check(shared!("busy-streaming"), input(None, TurnSign::Running));
    check(shared!("running-tool"), input(None, TurnSign::Running));
    check(shared!("running-queued"), input(None, TurnSign::Running));
    check(shared!("narrow-running"), input(None, TurnSign::Running));
    check(shared!("accept-edits-running"), input(None, TurnSign::Running));
    check(shared!("bypass-running"), input(None, TurnSign::Running));
    check(shared!("running-background-shell"), input(None, TurnSign::Running));
    // With a draft, in vim mode, or with a notice in its place, the footer does not offer to interrupt.
    check_vim(shared!("vim-insert-running"), input(None, TurnSign::Running));
    check(shared!("running-draft"), input(Some("half a thought"), TurnSign::Running));
    check(own!("running-notice-in-footer"), beside_agents(TurnSign::Running));
    let wrapped = "draft text that is long enough to wrap over\nmore than one line";
    check(shared!("narrow-running-draft"), input(Some(wrapped), TurnSign::Running));
}

#[test]
fn listed_agents_are_seen() {
    check(shared!("background-subagents"), beside_agents(TurnSign::Idle));
    check(shared!("foreground-subagents"), beside_agents(TurnSign::Running));
}

#[test]
fn compacting_and_exiting_are_unsafe() {
    check_unsafe(shared!("compacting"), UnsafeScreen::Compacting);
    check_unsafe(shared!("ctrl-c-once"), UnsafeScreen::Exiting);
}

#[test]
fn drafts_are_read() {
    check(shared!("draft"), input(Some("my half typed draft"), TurnSign::Idle));
    check(shared!("draft-restored"), input(Some("my half typed draft"), TurnSign::Idle));
    check(shared!("draft-multiline"), input(Some("line one\nline two"), TurnSign::Idle));
    check(own!("draft-wrapped"), input(Some("some longer draft that wraps around\nin forty columns"), TurnSign::Idle));
    check(shared!("rewind-restored"), input(Some("·"), TurnSign::Idle));
    check(shared!("hash-mode"), input(Some("#"), TurnSign::Idle));
    check(shared!("slash-menu"), input(Some("/"), TurnSign::Idle));
    check(shared!("at-menu"), input(Some("@"), TurnSign::Idle));
    check(own!("pasted-long"), input(Some("[Pasted text #1]"), TurnSign::Idle));
    let words = |count| vec!["日本語テキスト"; count].join(" ");
    check(own!("draft-wide"), input(Some(&format!("{}\n{}", words(7), words(5))), TurnSign::Idle));
}

#[test]
fn a_stash_is_seen() {
    check(shared!("draft-stashed"), stashed(None, TurnSign::Idle));
    check(own!("running-stashed"), stashed(None, TurnSign::Running));
    check(own!("stashed-and-draft"), stashed(Some("second draft"), TurnSign::Running));
}

#[test]
fn dialogs_are_unsafe() {
    for screen in [
        PERMISSION,
        own!("named-permission"),
        shared!("ask-user-question"),
        shared!("model-picker"),
        shared!("config-panel"),
        shared!("history-search"),
        shared!("plan-approval"),
        shared!("plan-approval-full"),
        shared!("subagent-permission"),
        shared!("rewind-confirm"),
        shared!("rewind-first-marker"),
        shared!("rewind-list"),
        shared!("shortcuts-help"),
        shared!("trust-dialog"),
        own!("agents-list-focused"),
        own!("agent-chosen"),
    ] {
        check_unsafe(screen, UnsafeScreen::Dialog);
    }
}

#[test]
fn other_views_have_no_input() {
    check_unsafe(shared!("transcript-view"), UnsafeScreen::NoInputBox);
    check_unsafe(shared!("shell-after-exit"), UnsafeScreen::NoInputBox);
    check_unsafe("", UnsafeScreen::NoInputBox);
}

#[test]
fn shell_mode_is_unsafe_also_when_empty() {
    check_unsafe(shared!("bash-mode-draft"), UnsafeScreen::ShellMode);
    check_unsafe(shared!("shell-mode-empty"), UnsafeScreen::ShellMode);
}

#[test]
fn vim_takes_text_in_insert_mode_only() {
    check_vim(shared!("vim-normal-idle"), ScreenState::Unsafe(UnsafeScreen::VimNormal));
    check_vim(shared!("vim-normal-draft"), ScreenState::Unsafe(UnsafeScreen::VimNormal));
    check_vim(shared!("vim-insert-idle"), input(None, TurnSign::Idle));
    check_vim(shared!("vim-insert-draft"), input(Some("fix the parser and"), TurnSign::Idle));
    check_unsafe(&IDLE.replace("manual mode on", "-- NORMAL --"), UnsafeScreen::VimNormal);
}

#[test]
fn the_pane_is_asked_before_the_screen() {
    let idle = inspection(shared!("tmux-copy-mode"));
    for (inspection, expected) in [
        (Inspection { in_mode: true, ..idle.clone() }, UnsafeScreen::PaneInMode),
        (Inspection { dead: true, ..idle.clone() }, UnsafeScreen::PaneDead),
        (Inspection { synchronized: true, ..idle }, UnsafeScreen::PaneSynchronized),
    ] {
        assert_eq!(screen_state(&inspection, EditorMode::Normal), ScreenState::Unsafe(expected));
    }
}

#[test]
fn out_of_focus_the_terminals_cursor_counts() {
    for (screen, at, turn) in
        [(own!("unfocused-idle"), (2, 27), TurnSign::Idle), (own!("unfocused-queued"), (2, 21), TurnSign::Running)]
    {
        check_unsafe(screen, UnsafeScreen::NoCursor);
        let looks =
            |cursor| screen_state(&Inspection { cursor: Some(cursor), ..inspection(screen) }, EditorMode::Normal);
        assert_eq!(looks(at), input(None, turn));
        assert_eq!(looks((at.0, at.1 + 1)), ScreenState::Unsafe(UnsafeScreen::NoCursor));
        assert_eq!(looks((at.0, at.1 - 1)), ScreenState::Unsafe(UnsafeScreen::NoCursor));
    }
}

/// A screen with `inside` between two rules.
fn boxed(inside: &str, footer: &str) -> String {
    let rule = "─".repeat(40);
    format!("● done\n\n{rule}\n{inside}\n{rule}\n  {footer}\n")
}

#[test]
fn placeholders_and_suggestions_are_no_drafts() {
    for (inside, draft) in [
        ("❯\u{a0}\x1b[7mT\x1b[0;2mry \"fix lint errors\"\x1b[0m", None),
        ("❯\u{a0}\x1b[2;7mT\x1b[27mry it\x1b[0m", None),
        ("❯\u{a0}\x1b[7mA\x1b[0;2m b\x1b[0m", None),
        ("❯\u{a0}/cl\x1b[7me\x1b[0;2mar\x1b[0m", Some("/cl")),
        ("❯\u{a0}\x1b[7ma\x1b[0m", Some("a")),
        ("❯\u{a0}1. first\x1b[7m \x1b[0m", Some("1. first")),
        ("❯\u{a0}one\n\n  two\x1b[7m \x1b[0m", Some("one\n\ntwo")),
        ("❯ \x1b[7m \x1b[0m", None),
    ] {
        check(&boxed(inside, "? for shortcuts"), input(draft, TurnSign::Idle));
    }
}

#[test]
fn colours_are_separated_from_attributes() {
    for sgr in ["38;5;2", "38;2;7;2;7", "48;5;7", "58;2;2;2;2", "38:2::7:7:7", "1;22", "97"] {
        check(&boxed(&format!("❯\u{a0}\x1b[{sgr}mtext\x1b[0;7m"), ""), input(Some("text"), TurnSign::Idle));
        check_unsafe(&boxed(&format!("❯\u{a0}\x1b[{sgr}mtext"), ""), UnsafeScreen::NoCursor);
    }
}

#[test]
fn an_attribute_can_be_taken_back() {
    check(&boxed("❯\u{a0}\x1b[2mTry\x1b[22mtext\x1b[0;7m", ""), input(Some("text"), TurnSign::Idle));
    check_unsafe(&boxed("❯\u{a0}\x1b[7;27mtext", ""), UnsafeScreen::NoCursor);
}

#[test]
fn hyperlinks_and_other_sequences_are_left_out() {
    let link = "\x1b]8;;https://x/─\x1b\\te\x1b]8;;\x07xt\x1b(B\x1b[?25l\x1b[2K\u{7}\u{8}";
    check(&boxed(&format!("❯\u{a0}{link}\x1b[7m \x1b[0m"), ""), input(Some("text"), TurnSign::Idle));
}

#[test]
fn what_only_resembles_an_input_is_unsafe() {
    let empty = "❯\u{a0}\x1b[7m \x1b[0m";
    check_unsafe(&boxed("❯ 1. Yes\x1b[7m \x1b[0m\n  2. No", ""), UnsafeScreen::Dialog);
    check_unsafe(&boxed(" ❯\u{a0}\x1b[7m \x1b[0m", ""), UnsafeScreen::NoInputBox);
    check_unsafe(&boxed(&format!("{empty}\nunindented"), ""), UnsafeScreen::NoInputBox);
    check_unsafe(&boxed("", ""), UnsafeScreen::NoInputBox);
    check_unsafe(&boxed(empty, "Enter to confirm · Esc to exit"), UnsafeScreen::Dialog);
    check_unsafe(&boxed(empty, "❯ ● main"), UnsafeScreen::Dialog);
    check_unsafe(&format!(" Proceed?\n ❯ 1. Yes\n   2. No\n{}", boxed(empty, "")), UnsafeScreen::Dialog);
    // The same words in an earlier prompt, which has a background, are no dialog.
    for background in ["48;5;237", "48;5;237;1", "44", "103"] {
        let prompt = format!("\x1b[{background}m❯ 1. Yes\x1b[49m\n{}", boxed(empty, ""));
        check(&prompt, input(None, TurnSign::Idle));
    }
    let ended = format!("\x1b[48;5;237m \x1b[49m❯ 1. Yes\n{}", boxed(empty, ""));
    check_unsafe(&ended, UnsafeScreen::Dialog);
    // Nor is a number alone, or a point alone.
    for prompt in ["❯ 12 apples", "❯ .gitignore"] {
        check(&format!("{prompt}\n{}", boxed(empty, "")), input(None, TurnSign::Idle));
    }
}

#[test]
fn a_rule_is_long_and_may_hold_a_label_between_spaces() {
    let empty = "❯\u{a0}\x1b[7m \x1b[0m";
    let rule = "─".repeat(40);
    let below = |lower: &str| format!("● done\n\n{rule}\n{empty}\n{lower}\n");
    for lower in ["──────────", "────────── main ─", "─────────────  "]
    {
        check(&below(lower), input(None, TurnSign::Idle));
    }
    for lower in ["─────────", "─ main ─", "────────── main─", "──────────main ─", "x ────────── x"]
    {
        check_unsafe(&below(lower), UnsafeScreen::NoInputBox);
    }
}

#[test]
fn a_spinner_is_a_sign_a_space_and_what_it_does() {
    let empty = "❯\u{a0}\x1b[7m \x1b[0m";
    let above = |row: &str| boxed(empty, "").replace("● done", row);
    for row in ["✽ Pondering…", "✽ Pondering… (2s · ↓ 109 tokens)"] {
        check(&above(row), input(None, TurnSign::Running));
    }
    for row in ["● Reading the file…", "❯ go on…", "I wait…", "…", "✽Pondering…", "✽ Pondered for 2s"]
    {
        check(&above(row), input(None, TurnSign::Idle));
    }
}

#[test]
fn text_is_recognised_however_it_is_wrapped() {
    let with_draft = |draft: &str| input(Some(draft), TurnSign::Idle);
    for (draft, text, same) in [
        ("·", "·", true),
        ("· a\nnote", "· a note", true),
        ("longw\nord", "longword", true),
        ("word\n tail", "word tail", true),
        ("word\n tail", "wordtail", false),
        ("· a note", "· a", false),
        ("· a", "· a note", false),
        ("ab", "a b", false),
        ("a b", "ab", false),
        ("x·", "·", false),
    ] {
        assert_eq!(with_draft(draft).holds(text), same, "{draft:?} {text:?}");
    }
    assert!(with_draft("mine wo\n rd").ends_with("word"), "it is erased however it is wrapped");
    assert!(!with_draft("word mine").ends_with("word") && !input(None, TurnSign::Idle).ends_with("word"));
    assert!(!input(None, TurnSign::Idle).holds(""));
    assert!(with_draft("[Pasted text #2 +3 lines]").shows_pasted(&"x".repeat(900)));
    assert!(!with_draft("[Pasted text #2]").shows_pasted("short"));
    assert!(!with_draft("[Pasted text #2]").shows_pasted(&"x".repeat(500)));
    assert!(with_draft("[Pasted text #2]").shows_pasted(&"x".repeat(501)));
    assert!(!with_draft("[Pasted text #2] and more").shows_pasted(&"x".repeat(900)));
    assert!(!with_draft("[Pasted text #2]").holds(&"x".repeat(900)));
}

#[test]
fn tmux_output_is_parsed() {
    let facts = |dead, in_mode, synchronized| Inspection {
        dead,
        in_mode,
        synchronized,
        pid: Some(4242),
        tty: None,
        cursor: Some((2, 37)),
        screen: "one\ntwo\n".to_owned(),
    };
    for (line, expected) in [
        ("%3,0,0,0,4242,2,37", Some(facts(false, false, false))),
        ("%3,1,0,,4242,2,37", Some(facts(true, false, false))),
        ("%3,0,2,1,4242,2,37", Some(facts(false, true, true))),
        // tmux 3.3a, seen: what it prints for a pane that does not exist.
        (",,,,,,", None),
        ("", None),
        ("no server running", None),
    ] {
        assert_eq!(parse_inspection(&format!("{line}\none\ntwo\n")), expected, "{line}");
    }
    assert_eq!(parse_inspection(""), None);
}

#[test]
fn a_command_with_the_hint_of_its_arguments_is_that_command() {
    let input = |draft: &str| ScreenState::Input {
        draft: Some(draft.to_owned()),
        turn: TurnSign::Idle,
        stashed: false,
        agents: false,
    };
    assert!(input("/clear  [name]").holds("/clear"));
    assert!(input("/compact  <optional custom summarization instructions>").holds("/compact"));
    for draft in ["/clear now", "/clearing [name]", "/clear [name] x", "clear [name]"] {
        assert!(!input(draft).holds("/clear"), "{draft}");
    }
    assert!(!input("· [x]").holds("·"));
}
