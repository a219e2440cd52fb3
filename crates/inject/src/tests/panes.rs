//! zellij, WezTerm and kitty: what is run, and what their answers say.

use crate::{Chord, Inspection, KittyWindow, Pane, Terminal, TerminalCommand, TmuxPane, WeztermPane, ZellijPane};

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

#[test]
fn a_pane_is_inspected_by_commands_of_its_terminal() {
    let argv = |commands: Vec<TerminalCommand>| -> Vec<String> {
        commands.into_iter().map(|command| command.argv.join(" ")).collect()
    };
    assert_eq!(argv(zellij().inspect()), ["zellij --session s; rm action dump-screen --pane-id terminal_7 --ansi"]);
    assert_eq!(
        argv(wezterm().inspect()),
        ["wezterm cli list --format json", "wezterm cli get-text --escapes --pane-id 7"]
    );
    let kitten = "kitten @ --to unix:/k";
    assert_eq!(
        argv(kitty().inspect()),
        [format!("{kitten} ls --match id:7"), format!("{kitten} get-text --match id:7 --ansi --add-cursor")]
    );
}

fn outputs(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn an_inspection_has_screen_cursor_and_process() {
    let screen = "one\ntwo\n".to_owned();
    let seen = Inspection { screen: screen.clone(), ..Inspection::default() };
    assert_eq!(zellij().parse(&outputs(&[&screen])), Some(seen.clone()));
    assert_eq!(zellij().parse(&outputs(&[" \n"])), None);
    let list = r#"[{"pane_id":3},{"pane_id":7,"tty_name":"/dev/pts/3","cursor_x":2,"cursor_y":105,"top_row":100}]"#;
    let pane = Inspection { tty: Some("/dev/pts/3".to_owned()), cursor: Some((2, 5)), ..seen.clone() };
    assert_eq!(wezterm().parse(&outputs(&[list, &screen])), Some(pane));
    let bare = r#"[{"pane_id":7,"cursor_x":2,"cursor_y":105}]"#;
    assert_eq!(wezterm().parse(&outputs(&[bare, &screen])), Some(seen.clone()), "the first row is unknown");
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

#[test]
fn panes_and_terminals_are_named_for_messages() {
    let tmux = TmuxPane { socket: "/s".to_owned(), pane: "%7".to_owned() };
    let panes: [&dyn Pane; 4] = [&tmux, &zellij(), &wezterm(), &kitty()];
    let names = panes.map(|pane| pane.name());
    assert_eq!(names, ["pane %7", "zellij's pane 7", "WezTerm's pane 7", "kitty's window 7"]);
    assert!(!Terminal::Tmux(tmux).may_be_blind());
}

#[test]
fn a_text_of_eight_characters_is_typed_and_a_longer_one_pasted() {
    for (text, is_pasted) in [("12345678", false), ("123456789", true)] {
        assert_eq!(zellij().type_text(text).argv.contains(&"paste".to_owned()), is_pasted);
        assert_eq!(!wezterm().type_text(text).argv.contains(&"--no-paste".to_owned()), is_pasted);
        assert_eq!(kitty().type_text(text).argv.contains(&"--bracketed-paste".to_owned()), is_pasted);
        let tmux = TmuxPane { socket: "/s".to_owned(), pane: "%7".to_owned() };
        assert_eq!(tmux.type_text(text).argv.contains(&"load-buffer".to_owned()), is_pasted);
    }
}

#[test]
fn a_pane_of_tmux_does_what_any_pane_does() {
    let pane = TmuxPane { socket: "/s".to_owned(), pane: "%7".to_owned() };
    let any: &dyn Pane = &pane;
    assert_eq!(any.inspect(), [pane.inspect()]);
    assert_eq!(any.erase(usize::MAX).argv.iter().filter(|argument| *argument == "BSpace").count(), 2000);
    assert_eq!(any.parse(&outputs(&["%7,0,1,0,42,3,4\nscreen"])).map(|seen| seen.in_mode), Some(true));
    assert_eq!(any.parse(&[]), None);
}

#[test]
fn chords_are_their_bytes() {
    let chord = Chord::parse("ctrl+x ctrl+q").unwrap();
    let write = ["zellij", "--session", "s; rm", "action", "write", "--pane-id", "terminal_7", "24", "17"];
    check(zellij().press_chord(&chord), &write, None);
    assert_eq!(wezterm().press_chord(&chord).stdin.as_deref(), Some("\u{18}\u{11}"));
    assert_eq!(kitty().press_chord(&chord).stdin.as_deref(), Some("\u{18}\u{11}"));
}

#[test]
fn a_cursor_outside_of_the_screen_is_none() {
    let list = r#"[{"tabs":[{"windows":[{"id":7,"pid":42}]}]}]"#;
    let cursor = |text: &str| kitty().parse(&outputs(&[list, text])).unwrap().cursor;
    assert_eq!(cursor("x\u{1b}[1;1H"), Some((0, 0)));
    assert_eq!(cursor("x\u{1b}[0;1H"), None);
    assert_eq!(cursor("x\u{1b}[1;0H"), None);
    assert_eq!(kitty().parse(&outputs(&[list, "x\u{1b}[?25l\u{1b}[2;3H"])).unwrap().screen, "x");
    let above = r#"[{"pane_id":7,"cursor_x":2,"cursor_y":5,"top_row":100}]"#;
    assert_eq!(wezterm().parse(&outputs(&[above, "x"])).unwrap().cursor, None);
}
