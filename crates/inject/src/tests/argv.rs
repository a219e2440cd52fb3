use crate::{
    KittyWindow, MacTerminal, Pane, ScreenWindow, Terminal, TerminalCommand, TmuxPane, WeztermPane, ZellijPane,
};

fn pane() -> TmuxPane {
    TmuxPane { socket: "/tmp/s".to_owned(), pane: "%7".to_owned() }
}

fn window() -> ScreenWindow {
    ScreenWindow { session: "1.x".to_owned(), window: "2".to_owned() }
}

#[track_caller]
fn check(step: &TerminalCommand, argv: &[&str], stdin: Option<&str>) {
    assert_eq!(step.argv, argv);
    assert_eq!(step.stdin.as_deref(), stdin);
}

#[test]
fn tmux_types_a_few_characters_as_keys() {
    for (text, argument) in [
        ("·", "·"),
        ("-l", "-l"),
        ("a\x1bb\n", "ab"),
        // tmux 3.3a, seen: an argument's last `;` ends the command, even after `--`; `\;` is the character.
        (";", "\\;"),
        ("a;", "a\\;"),
        ("a\\;", "a\\\\;"),
        ("a;b", "a;b"),
        (";;", ";\\;"),
        ("#{x}$y", "#{x}$y"),
    ] {
        check(&pane().type_text(text), &["tmux", "-S", "/tmp/s", "send-keys", "-t", "%7", "-l", "--", argument], None);
    }
}

#[test]
fn tmux_pastes_what_is_longer() {
    let argv = [
        "tmux",
        "-S",
        "/tmp/s",
        "load-buffer",
        "-b",
        "longhaul-7",
        "-",
        ";",
        "if-shell",
        "-F",
        "-t",
        "%7",
        "#{pane_dead}",
        "delete-buffer -b longhaul-7",
        "paste-buffer -p -d -r -b longhaul-7 -t %7",
    ];
    check(&pane().type_text("· a note;\x1b[201~\n"), &argv, Some("· a note;[201~"));
}

#[test]
fn an_id_that_is_none_becomes_no_command_of_tmux() {
    let pane = TmuxPane { socket: "/tmp/s".to_owned(), pane: "%7 ; kill-server".to_owned() };
    let argv = pane.type_text("a longer text").argv;
    assert_eq!(argv.iter().filter(|argument| argument.contains("kill-server")).count(), 1, "{argv:?}");
    assert_eq!(argv[argv.len() - 2..], ["delete-buffer -b longhaul-", "paste-buffer -p -d -r -b longhaul- -t %"]);
}

#[test]
fn tmux_keys_and_inspection() {
    check(&pane().press_enter(), &["tmux", "-S", "/tmp/s", "send-keys", "-t", "%7", "Enter"], None);
    check(&pane().stash_draft(), &["tmux", "-S", "/tmp/s", "send-keys", "-t", "%7", "C-s"], None);
    check(&pane().erase(2), &["tmux", "-S", "/tmp/s", "send-keys", "-t", "%7", "BSpace", "BSpace"], None);
    let inspect = pane().inspect();
    assert_eq!(inspect.argv[..7], ["tmux", "-S", "/tmp/s", "display-message", "-p", "-t", "%7"]);
    assert_eq!(inspect.argv[8..], [";", "capture-pane", "-p", "-e", "-t", "%7"]);
}

#[test]
fn screen_gets_its_special_characters_escaped() {
    let stuff = |text| ["screen", "-S", "1.x", "-p", "2", "-X", "stuff", text];
    for (text, argument) in [
        ("·", "·"),
        ("a^Mb", "a\\^Mb"),
        ("a\\015", "a\\\\015"),
        ("$HOME", "\\$HOME"),
        ("-X #\"' ;", "-X #\"' ;"),
        ("a\r\n", "a"),
    ] {
        let steps = window().type_text(text);
        assert_eq!(steps.len(), 1);
        check(&steps[0], &stuff(argument), None);
    }
    check(&window().press(b"\r"), &stuff("^M"), None);
    assert_eq!(window().type_text("\n"), []);
}

#[test]
fn screen_gets_long_text_in_parts_that_it_does_not_drop() {
    let text = "$é".repeat(1000);
    let steps = window().type_text(&text);
    let parts: Vec<_> = steps.iter().map(|step| step.argv.last().unwrap().as_str()).collect();
    assert!(parts.iter().all(|part| part.len() <= 500 && part.starts_with(['\\', 'é'])));
    assert_eq!(parts.concat(), "\\$é".repeat(1000));
}

#[test]
fn osascript_gets_the_text_as_an_argument() {
    let text = "\" & (do shell script \"id\") & \"";
    let step = MacTerminal { app: "Warp".to_owned() }.submit(text, None);
    assert_eq!(step.argv[..2], ["osascript", "-e"]);
    assert!(!step.argv[2].contains("do shell script"));
    assert_eq!(step.argv[3..], ["Warp", text, "", ""]);
}

#[test]
fn a_blind_submit_ends_in_enter() {
    let steps = Terminal::Screen(window()).submit_unseen("·", None);
    assert_eq!(steps, [window().type_text("·"), vec![window().press(b"\r")]].concat());
    assert_eq!(Terminal::Tmux(pane()).submit_unseen("·", None), [pane().type_text("·"), pane().press_enter()]);
}

#[test]
fn every_pane_is_submitted_to_by_enter() {
    let zellij = ZellijPane { session: "s".to_owned(), pane: "1".to_owned() };
    let wezterm = WeztermPane { pane: "1".to_owned() };
    let kitty = KittyWindow { socket: "unix:/k".to_owned(), window: "1".to_owned() };
    let mac = MacTerminal { app: "Warp".to_owned() };
    let submit = |terminal: Terminal| terminal.submit_unseen("·", None);
    assert_eq!(submit(Terminal::Zellij(zellij.clone())), [zellij.type_text("·"), zellij.press_enter()]);
    assert_eq!(submit(Terminal::Wezterm(wezterm.clone())), [wezterm.type_text("·"), wezterm.press_enter()]);
    assert_eq!(submit(Terminal::Kitty(kitty.clone())), [kitty.type_text("·"), kitty.press_enter()]);
    assert_eq!(submit(Terminal::Osascript(mac.clone())), [mac.submit("·", None)]);
}

#[test]
fn screen_fills_each_part() {
    for (length, parts) in [(500, 1), (501, 2), (1000, 2), (1001, 3)] {
        assert_eq!(window().type_text(&"a".repeat(length)).len(), parts, "{length}");
    }
}
