//! zellij, WezTerm and kitty: what is run, and what their answers say.

use crate::{Inspection, KittyWindow, Pane, Terminal, TerminalCommand, WeztermPane, ZellijPane};

fn zellij() -> ZellijPane {
    ZellijPane { session: "s; rm".to_owned(), pane: "7".to_owned() }
}

fn wezterm() -> WeztermPane {
    WeztermPane { pane: "7".to_owned() }
}

fn kitty() -> KittyWindow {
    KittyWindow { socket: "unix:/k".to_owned(), window: "7".to_owned() }
}

#[track_caller]
fn check(step: TerminalCommand, argv: &[&str], stdin: Option<&str>) {
    assert_eq!(
        (step.argv.iter().map(String::as_str).collect::<Vec<_>>().as_slice(), step.stdin.as_deref()),
        (argv, stdin)
    );
}

#[test]
fn text_is_one_argument_or_standard_input_and_never_a_key() {
    let id = "terminal_7";
    let text = "-x\u{1b}\r·";
    check(
        zellij().type_text(text),
        &["zellij", "--session", "s; rm", "action", "write-chars", "--pane-id", id, "--", "-x·"],
        None,
    );
    let long = "-".repeat(40);
    check(
        zellij().type_text(&long),
        &["zellij", "--session", "s; rm", "action", "paste", "--pane-id", id, "--", &long],
        None,
    );
    check(wezterm().type_text(text), &["wezterm", "cli", "send-text", "--pane-id", "7", "--no-paste"], Some("-x·"));
    check(wezterm().type_text(&long), &["wezterm", "cli", "send-text", "--pane-id", "7"], Some(&long));
    let kitten = ["kitten", "@", "--to", "unix:/k", "send-text", "--match", "id:7", "--stdin"];
    check(kitty().type_text(text), &kitten, Some("-x·"));
    check(kitty().type_text(&long), &[&kitten[..], &["--bracketed-paste", "auto"]].concat(), Some(&long));
}

#[test]
fn keys_are_the_bytes_that_a_keyboard_sends() {
    let write = ["zellij", "--session", "s; rm", "action", "write", "--pane-id", "terminal_7"];
    check(zellij().press_enter(), &[&write[..], &["13"]].concat(), None);
    check(zellij().erase(2), &[&write[..], &["127", "127"]].concat(), None);
    assert_eq!(wezterm().press_enter().stdin.as_deref(), Some("\r"));
    assert_eq!(wezterm().stash_draft().stdin.as_deref(), Some("\u{13}"));
    assert_eq!(kitty().erase(3).stdin.as_deref(), Some("\u{7f}\u{7f}\u{7f}"));
    assert_eq!(kitty().erase(usize::MAX).stdin.map(|keys| keys.len()), Some(2000));
}

fn outputs(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn a_look_tells_screen_cursor_and_whose_pane_it_is() {
    let screen = "one\ntwo\n".to_owned();
    let seen = Inspection { screen: screen.clone(), ..Inspection::default() };
    assert_eq!(zellij().parse(&outputs(&[&screen])), Some(seen.clone()));
    assert_eq!(zellij().parse(&outputs(&[" \n"])), None);
    let list = r#"[{"pane_id":3},{"pane_id":7,"tty_name":"/dev/pts/3","cursor_x":2,"cursor_y":105,"top_row":100}]"#;
    let pane = Inspection { tty: Some("/dev/pts/3".to_owned()), cursor: Some((2, 5)), ..seen.clone() };
    assert_eq!(wezterm().parse(&outputs(&[list, &screen])), Some(pane));
    let bare = r#"[{"pane_id":7,"cursor_x":2,"cursor_y":105}]"#;
    assert_eq!(wezterm().parse(&outputs(&[bare, &screen])), Some(seen.clone()), "nobody knows where its rows begin");
    assert_eq!(wezterm().parse(&outputs(&["[]", &screen])), None);
    let list = r#"[{"tabs":[{"windows":[{"id":1,"pid":5},{"id":7,"pid":42}]}]}]"#;
    let text = format!("{screen}\u{1b}[?25h\u{1b}[6;3H\u{1b}[2 q");
    let window = Inspection { pid: Some(42), cursor: Some((2, 5)), ..seen.clone() };
    assert_eq!(kitty().parse(&outputs(&[list, &text])), Some(window.clone()));
    assert_eq!(kitty().parse(&outputs(&[list, &screen])), Some(Inspection { cursor: None, ..window }));
    assert_eq!(kitty().parse(&outputs(&["[]", &text])), None);
}

#[test]
fn each_pane_has_a_lock_and_a_record_of_its_own() {
    let panes = [
        Terminal::Zellij(zellij()),
        Terminal::Zellij(ZellijPane { pane: "8".to_owned(), ..zellij() }),
        Terminal::Wezterm(wezterm()),
        Terminal::Kitty(kitty()),
    ];
    let names: std::collections::BTreeSet<String> = panes.iter().map(Terminal::lock_name).collect();
    assert_eq!(names.len(), panes.len());
    for pane in panes {
        let json = serde_json::to_string(&pane).unwrap();
        assert_eq!(serde_json::from_str::<Terminal>(&json).unwrap(), pane, "{json}");
        assert!(pane.pane().is_some() && pane.may_be_blind());
    }
}
