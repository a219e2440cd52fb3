use longhaul_core::{Env, Millis, Platform};
use proptest::prelude::*;

use crate::{
    KittyWindow, MacTerminal, NoTerminal, ScreenWindow, Terminal, TmuxPane, WeztermPane, ZellijPane, printable,
    shell_single_quote,
};

fn env(vars: &[(&str, &str)]) -> Env {
    let var = |name: &str| vars.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    let platform = if var("OSTYPE").is_some() { Platform::MacOs } else { Platform::Unix };
    Env::new(Millis(0), platform, var)
}

fn tmux(socket: &str, pane: &str) -> Terminal {
    Terminal::Tmux(TmuxPane { socket: socket.to_owned(), pane: pane.to_owned() })
}

fn screen(session: &str, window: &str) -> Terminal {
    Terminal::Screen(ScreenWindow { session: session.to_owned(), window: window.to_owned() })
}

fn mac(app: &str) -> Terminal {
    Terminal::Osascript(MacTerminal { app: app.to_owned() })
}

#[track_caller]
fn check(vars: &[(&str, &str)], expected: Result<Terminal, NoTerminal>) {
    assert_eq!(Terminal::detect(&env(vars)), expected, "{vars:?}");
}

fn malformed(problem: &str) -> Result<Terminal, NoTerminal> {
    Err(NoTerminal::Malformed(problem.to_owned()))
}

#[test]
fn tmux_comes_before_screen_and_osascript() {
    check(
        &[
            ("OSTYPE", "darwin"),
            ("TMUX", "/tmp/tmux-0/default,11,0"),
            ("TMUX_PANE", "%3"),
            ("STY", "1.pts-0.host"),
            ("WINDOW", "2"),
            ("TERM_PROGRAM", "tmux"),
        ],
        Ok(tmux("/tmp/tmux-0/default", "%3")),
    );
    check(
        &[("OSTYPE", "darwin"), ("STY", "1.pts-0.host"), ("WINDOW", "2"), ("TERM_PROGRAM", "kitty")],
        Ok(screen("1.pts-0.host", "2")),
    );
}

#[test]
fn a_socket_may_hold_commas() {
    check(&[("TMUX", "/tmp/a,b,c/s,11,0"), ("TMUX_PANE", "%0")], Ok(tmux("/tmp/a,b,c/s", "%0")));
}

#[test]
fn a_broken_tmux_is_an_error_even_inside_screen() {
    for value in ["/tmp/s", "/tmp/s,1", ",1,2"] {
        check(
            &[("TMUX", value), ("TMUX_PANE", "%0"), ("STY", "1.x"), ("WINDOW", "0")],
            malformed(&format!("$TMUX is not \"socket,pid,session\": {value:?}")),
        );
    }
    check(&[("TMUX", "/s,1,0")], malformed("$TMUX is set, but $TMUX_PANE is not"));
    for value in ["3", "%", "%3x", "%3;", "%-1", "% 3", "@3"] {
        check(
            &[("TMUX", "/s,1,0"), ("TMUX_PANE", value)],
            malformed(&format!("$TMUX_PANE is not % and a number: {value:?}")),
        );
    }
}

#[test]
fn screen_needs_its_window() {
    check(&[("STY", "1.x")], malformed("$STY is set, but $WINDOW is not a number"));
    check(&[("STY", "1.x"), ("WINDOW", "-")], malformed("$STY is set, but $WINDOW is not a number"));
}

#[test]
fn osascript_is_for_known_terminals_on_macos() {
    for (program, app) in [
        ("WarpTerminal", "Warp"),
        ("iTerm.app", "iTerm2"),
        ("Apple_Terminal", "Terminal"),
        ("ghostty", "Ghostty"),
        ("vscode", "Code"),
        ("Hyper", "Hyper"),
        ("Alacritty", "Alacritty"),
        ("alacritty", "Alacritty"),
        ("kitty", "kitty"),
    ] {
        check(&[("OSTYPE", "darwin"), ("TERM_PROGRAM", program)], Ok(mac(app)));
        check(&[("TERM_PROGRAM", program)], Err(NoTerminal::NoMultiplexer));
    }
    for value in ["", "Emacs"] {
        let expected = Err(NoTerminal::UnknownMacTerminal { value: value.to_owned() });
        check(&[("OSTYPE", "darwin"), ("TERM_PROGRAM", value)], expected);
    }
}

#[test]
fn every_reason_is_said_in_plain_words() {
    let said = |vars: &[(&str, &str)]| Terminal::detect(&env(vars)).unwrap_err().to_string();
    assert_eq!(
        said(&[]),
        "no terminal that can be typed into: run Claude Code in tmux, GNU screen, zellij, WezTerm or kitty"
    );
    assert_eq!(said(&[("TMUX", "/s,1,0"), ("TMUX_PANE", "x")]), "$TMUX_PANE is not % and a number: \"x\"");
    assert!(said(&[("KITTY_WINDOW_ID", "1")]).contains("allow_remote_control socket-only"));
}

#[test]
fn terminals_are_stored_by_kind() {
    for (terminal, json) in [
        (tmux("/s", "%1"), r#"{"kind":"tmux","socket":"/s","pane":"%1"}"#),
        (screen("1.x", "0"), r#"{"kind":"screen","session":"1.x","window":"0"}"#),
        (mac("Warp"), r#"{"kind":"osascript","app":"Warp"}"#),
    ] {
        assert_eq!(serde_json::to_string(&terminal).unwrap(), json);
        assert_eq!(serde_json::from_str::<Terminal>(json).unwrap(), terminal);
    }
}

#[test]
fn lock_names_are_file_names_and_differ() {
    let terminals = [
        tmux("/s", "%1"),
        tmux("/s", "%11"),
        tmux("/t", "%1"),
        screen("1.x", "0"),
        screen("1.x", "1"),
        screen("1.x1", ""),
        mac("Warp"),
        mac("Code"),
    ];
    let names: Vec<_> = terminals.iter().map(Terminal::lock_name).collect();
    for (at, name) in names.iter().enumerate() {
        assert!(name.chars().all(|ch| ch.is_ascii_alphanumeric() || matches!(ch, '_' | '-')), "{name}");
        assert!(!names[..at].contains(name), "{name} twice");
    }
    // Kept across releases: an old and a new hook must take the same lock.
    assert_eq!(names[0], "tmux-eded1317e6510e95-1");
}

#[test]
fn zellij_wezterm_and_kitty_are_known_by_their_variables() {
    let zellij = Terminal::Zellij(ZellijPane { session: "s".to_owned(), pane: "0".to_owned() });
    let kitty = Terminal::Kitty(KittyWindow { socket: "unix:/k".to_owned(), window: "1".to_owned() });
    let outside = [("WEZTERM_PANE", "4"), ("KITTY_WINDOW_ID", "1"), ("KITTY_LISTEN_ON", "unix:/k")];
    let inside = [&outside[..], &[("ZELLIJ_SESSION_NAME", "s"), ("ZELLIJ_PANE_ID", "0")]].concat();
    check(&inside, Ok(zellij));
    check(&outside, Ok(Terminal::Wezterm(WeztermPane { pane: "4".to_owned() })));
    check(&outside[1..], Ok(kitty));
    check(&[&inside[..], &[("STY", "1.a"), ("WINDOW", "2")]].concat(), Ok(screen("1.a", "2")));
    check(
        &[("ZELLIJ_SESSION_NAME", "s")],
        malformed("$ZELLIJ_SESSION_NAME is set, but $ZELLIJ_PANE_ID is not a number"),
    );
    check(
        &[("ZELLIJ_SESSION_NAME", "s"), ("ZELLIJ_PANE_ID", "-1")],
        malformed("$ZELLIJ_SESSION_NAME is set, but $ZELLIJ_PANE_ID is not a number"),
    );
    check(&[("WEZTERM_PANE", "x")], malformed("$WEZTERM_PANE is not a number: \"x\""));
    check(&[("KITTY_WINDOW_ID", "1")], Err(NoTerminal::NoKittySocket));
    check(&[("OSTYPE", "darwin"), ("KITTY_WINDOW_ID", "1"), ("TERM_PROGRAM", "kitty")], Ok(mac("kitty")));
}

/// What a POSIX shell makes of `source`, if it is one word in which nothing is left for the shell to interpret.
fn shell_word(source: &str) -> Option<String> {
    let mut word = String::new();
    let mut chars = source.chars();
    let mut quoted = false;
    while let Some(ch) = chars.next() {
        match (quoted, ch) {
            (_, '\'') => quoted = !quoted,
            (true, inside) => word.push(inside),
            (false, '\\') => word.push(chars.next().filter(|escaped| *escaped != '\n')?),
            (false, _) => return None,
        }
    }
    (!quoted).then_some(word)
}

/// Any text, with more than its share of what quoting is about.
fn text() -> impl Strategy<Value = String> {
    let special = prop::sample::select(vec!['\'', '"', '\\', '$', '`', '\n', '\r', '\t', ';', '&', 'n', ' ']);
    prop::collection::vec(prop_oneof![special, any::<char>()], 0..40).prop_map(String::from_iter)
}

proptest! {
    #[test]
    fn a_shell_gets_the_text_back(text in text()) {
        prop_assert_eq!(shell_word(&shell_single_quote(&text)), Some(text.replace('\0', "")));
    }

    #[test]
    fn printable_text_has_no_keys_in_it(text in text()) {
        let kept = printable(&text);
        prop_assert!(!kept.chars().any(char::is_control));
        prop_assert_eq!(printable(&kept), kept);
    }
}

#[test]
fn quoting_looks_as_people_write_it() {
    assert_eq!(shell_single_quote("it's"), r"'it'\''s'");
    assert_eq!(shell_single_quote(""), "''");
    assert_eq!(printable("a\u{202e}b\u{2066}c\u{2028}d\u{200d}e"), "abcd\u{200d}e");
    assert_eq!(printable("a\x1b[31m\u{9b}b\x7f\r\n\u{a0}é"), "a[31mb\u{a0}é");
}
