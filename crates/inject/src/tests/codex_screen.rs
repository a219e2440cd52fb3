//! Screens of Codex 0.166, as tmux captures them.

use crate::{
    Inspection, ScreenState, TurnSign, UnsafeScreen, codex_has_prompts, codex_screen_state, codex_shows_prompt,
};

const CONVERSATION: &str = "\x1b[48;5;8m\n\x1b[1;2m› \x1b[0m\x1b[39m\x1b[48;5;8mSAY:two\n\n\x1b[49m\n\x1b[2m• \x1b[0m\x1b[39m\x1b[49mtwo\n\n\
    \x1b[2m  Worked for <1s • 17:32\n\x1b[0m\x1b[39m\x1b[49m\n";
const EMPTY: &str = "\x1b[1m›\x1b[0m\x1b[39m\x1b[49m \x1b[2mAsk Codex to do anything\x1b[0m\x1b[39m\x1b[49m\n";
const FOOTER: &str = "\n  \x1b[38;5;223mgpt-5-codex default\x1b[39m · \x1b[38;5;151m~/project\n\x1b[39m  \x1b[1m←\x1b[0m for agents · ? for shortcuts\n";

/// A screen whose cursor is in the row that begins with `input`.
fn screen(above: &str, input: &str, below: &str) -> Inspection {
    let row = above.lines().count();
    Inspection { cursor: Some((2, row)), screen: format!("{above}{input}{below}"), ..Inspection::default() }
}

#[track_caller]
fn check(inspection: &Inspection, draft: Option<&str>, turn: TurnSign) {
    let draft = draft.map(str::to_owned);
    assert_eq!(codex_screen_state(inspection), ScreenState::Input { draft, turn, stashed: false, agents: false });
}

#[track_caller]
fn refused(inspection: &Inspection, why: UnsafeScreen) {
    assert_eq!(codex_screen_state(inspection), ScreenState::Unsafe(why));
}

#[test]
fn a_placeholder_is_no_draft() {
    check(&screen(CONVERSATION, EMPTY, FOOTER), None, TurnSign::Idle);
    check(
        &screen(CONVERSATION, "\x1b[1m›\x1b[0m\x1b[39m\x1b[49m a draft\n  of two rows\n", FOOTER),
        Some("a draft\nof two rows"),
        TurnSign::Idle,
    );
}

#[test]
fn a_running_turn_offers_to_interrupt() {
    let working = "• \x1b[2mWorking\x1b[0m \x1b[2m(2s • \x1b[0;1mesc\x1b[0;2m to interrupt)\x1b[0m\n\n\n";
    check(&screen(&format!("{CONVERSATION}{working}"), EMPTY, FOOTER), None, TurnSign::Running);
}

#[test]
fn the_list_of_commands_is_harmless_only_where_it_has_chosen_the_typed_one() {
    let list = "\x1b[0;1;7m› /clear  \x1b[0;7mclear the terminal and start a new chat\x1b[1m\n\x1b[0m\n";
    let typed = |text: &str| format!("\x1b[1m›\x1b[0m\x1b[39m\x1b[49m {text}\n");
    check(&screen(list, &typed("/clear"), FOOTER), Some("/clear"), TurnSign::Idle);
    refused(&screen(list, &typed("/cl"), FOOTER), UnsafeScreen::Dialog);
}

#[test]
fn a_dialog_has_no_composer() {
    let dialog = "  \x1b[1mWould you like to run the following command?\n\x1b[0m\n  $ touch zz\n\n\
                  \x1b[1;7m› 1. Yes, proceed (y)\n\x1b[0m  2. No (\x1b[1mesc\x1b[0m)\n";
    refused(&screen(CONVERSATION, dialog, ""), UnsafeScreen::Dialog);
    refused(&screen(CONVERSATION, "", ""), UnsafeScreen::NoInputBox);
}

#[test]
fn other_uses_of_the_keys_are_refused() {
    for (hint, why) in [
        ("Browsing transcript · ↑↓/jk scroll · ↵ rewind · esc back", UnsafeScreen::Dialog),
        ("esc again to edit previous message", UnsafeScreen::Dialog),
        ("ctrl + c again to quit", UnsafeScreen::Exiting),
    ] {
        refused(&screen(CONVERSATION, EMPTY, &format!("\n  gpt-5\n  {hint}\n")), why);
    }
    let elsewhere = Inspection { cursor: Some((0, 0)), ..screen(CONVERSATION, EMPTY, FOOTER) };
    refused(&elsewhere, UnsafeScreen::NoCursor);
    let copying = Inspection { in_mode: true, ..screen(CONVERSATION, EMPTY, FOOTER) };
    refused(&copying, UnsafeScreen::PaneInMode);
}

#[test]
fn the_newest_prompt_is_the_last_faint_one() {
    let later = CONVERSATION.replace("SAY:two", "SAY:three");
    let both = format!("{CONVERSATION}{later}{EMPTY}{FOOTER}");
    assert!(codex_shows_prompt(&both, "SAY:three") && !codex_shows_prompt(&both, "SAY:two"));
    assert!(codex_has_prompts(&both) && !codex_has_prompts(&format!("{EMPTY}{FOOTER}")));
    assert!(!codex_shows_prompt(&format!("{EMPTY}{FOOTER}"), "Ask Codex to do anything"));
    let long = "Count every bean in the jar, one after the other, and say how many there are.";
    let (first, second) = long.split_at(61);
    let wrapped = CONVERSATION.replace("SAY:two", &format!("{first}\n  {second}"));
    assert!(codex_shows_prompt(&wrapped, long));
    let part = CONVERSATION.replace("SAY:two", first);
    assert!(codex_shows_prompt(&part, long) && !codex_shows_prompt(&part, "Count every"));
}
