use crate::{Message, TerminalKind, terminal_sequence};

fn shown(kind: TerminalKind, bell: bool) -> String {
    let message = Message { title: "4;2;a (main) waits".to_owned(), text: "wants to run: a; b".to_owned() };
    String::from_utf8(terminal_sequence(&message, kind, bell)).unwrap()
}

#[test]
fn a_terminal_gets_the_sequence_that_it_knows() {
    assert_eq!(shown(TerminalKind::Osc9, false), "\u{1b}]9;4,2,a (main) waits: wants to run: a; b\u{7}");
    assert_eq!(shown(TerminalKind::Osc777, false), "\u{1b}]777;notify;4,2,a (main) waits;wants to run: a; b\u{7}");
    assert_eq!(
        shown(TerminalKind::InTmux, false),
        "\u{1b}Ptmux;\u{1b}\u{1b}]9;4,2,a (main) waits: wants to run: a; b\u{7}\u{1b}\\"
    );
    assert_eq!(
        shown(TerminalKind::InScreen, false),
        "\u{1b}P\u{1b}]9;4,2,a (main) waits: wants to run: a; b\u{7}\u{1b}\\"
    );
}

#[test]
fn the_bell_can_be_switched_off_except_where_it_is_all_there_is() {
    assert!(shown(TerminalKind::Osc9, true).ends_with("\u{7}\u{7}"));
    assert!(shown(TerminalKind::InTmux, true).ends_with("\u{1b}\\\u{7}"));
    assert_eq!(shown(TerminalKind::Bell, false), "\u{7}");
    assert_eq!(shown(TerminalKind::Bell, true), "\u{7}");
}

#[test]
fn terminals_are_known_by_what_they_report_or_by_their_term() {
    for (term, program, kind) in [
        ("xterm-256color", "WezTerm 20240203", TerminalKind::Osc9),
        ("xterm-256color", "iTerm2 3.5.0", TerminalKind::Osc9),
        ("xterm-kitty", "", TerminalKind::Osc9),
        ("xterm-ghostty", "ghostty 1.0", TerminalKind::Osc9),
        ("foot", "foot(1.16)", TerminalKind::Osc777),
        ("rxvt-unicode-256color", "", TerminalKind::Osc777),
        ("xterm-256color", "VTE(7600)", TerminalKind::Osc777),
        ("tmux-256color", "tmux 3.4", TerminalKind::InTmux),
        ("screen-256color", "tmux 3.3a", TerminalKind::InTmux),
        ("screen", "", TerminalKind::InScreen),
        ("linux", "", TerminalKind::Bell),
        ("dumb", "", TerminalKind::Bell),
        ("", "", TerminalKind::Bell),
        ("xterm-256color", "", TerminalKind::Osc9),
        ("alacritty", "", TerminalKind::Osc9),
    ] {
        assert_eq!(TerminalKind::of(term, program), kind, "{term} {program}");
    }
}
