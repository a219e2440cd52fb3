use crate::{
    BindingState, Chord, ChordResult, ChordTrial, Keybindings, KeybindingsError, KeybindingsFile, KittyWindow,
    MacTerminal, STASH_CHORDS, SUBMIT, SUBMIT_CHORDS, ScreenWindow, SubmitChord, Terminal, TmuxPane, text_for_chord,
};

const OURS: &str =
    r#"{"bindings":[{"context":"Chat","bindings":{"ctrl+x ctrl+q":"chat:submit","ctrl+x ctrl+x":"chat:stash"}}]}"#;

const WRITTEN: u64 = 1_000;

fn file(text: &str, age: u64) -> KeybindingsFile<'_> {
    KeybindingsFile { text, written: WRITTEN, age }
}

fn with(block: &str) -> String {
    OURS.replace("}]}", &format!("}},{block}]}}"))
}

fn bound(text: &str) -> BindingState {
    Keybindings::parse(text).unwrap().bound(SUBMIT, &SUBMIT_CHORDS)
}

#[track_caller]
fn is_shadowed(block: &str) {
    assert!(matches!(bound(&with(block)), BindingState::Shadowed { .. }), "{block}");
}

#[test]
fn a_chord_is_read_in_every_spelling_of_the_client() {
    let chord = Chord::parse("ctrl+x ctrl+q").unwrap();
    for text in ["Control+X  CTRL+q", " ctrl+x ctrl+q ", "CTRL+X Control+Q"] {
        assert_eq!(Chord::parse(text), Some(chord.clone()), "{text:?}");
    }
    assert_eq!(chord.to_string(), "ctrl+x ctrl+q");
    assert_eq!(chord.bytes(), [0x18, 0x11]);
    assert_eq!(Chord::parse("ctrl+x a+b"), None);
    assert_eq!(Chord::parse("ctrl+"), None);
    assert_eq!(Chord::parse("shift+tab").unwrap().control_letters(), None);
}

#[test]
fn our_chords_are_free_in_the_client_and_do_not_interfere_with_each_other() {
    for chords in [&SUBMIT_CHORDS[..], &STASH_CHORDS[..]] {
        for chord in chords {
            assert_eq!(Keybindings::default().free(&[*chord]), Some(*chord));
            assert!(Chord::parse(chord).unwrap().control_letters().is_some());
        }
    }
    // The client's own, for a task in the foreground.
    assert_eq!(Keybindings::default().free(&["ctrl+x ctrl+b", "ctrl+x"]), None);
}

#[test]
fn the_file_is_read_as_the_client_reads_it() {
    assert_eq!(bound(OURS), BindingState::To(Chord::parse("ctrl+x ctrl+q").unwrap()));
    assert_eq!(bound(r#"{"bindings":[]}"#), BindingState::Missing);
    for (text, why) in [
        ("", KeybindingsError::NotJson),
        ("// mine\n{\"bindings\":[]}", KeybindingsError::NotJson),
        (r#"{"bindings":[],}"#, KeybindingsError::NotJson),
        ("\u{feff}{\"bindings\":[]}", KeybindingsError::NotJson),
        ("[]", KeybindingsError::NoList),
        ("{}", KeybindingsError::NoList),
        (r#"{"bindings":[{"context":"Chat"}]}"#, KeybindingsError::BadBlock),
        (r#"{"bindings":[{"context":"Chat","bindings":{"a":1}}]}"#, KeybindingsError::BadBlock),
    ] {
        assert_eq!(Keybindings::parse(text), Err(why), "{text}");
    }
}

#[test]
fn a_line_that_takes_the_chord_away_is_seen() {
    is_shadowed(r#"{"context":"Chat","bindings":{"ctrl+x ctrl+q":null}}"#);
    is_shadowed(r#"{"context":"Global","bindings":{"ctrl+x ctrl+q":"app:toggleTodos"}}"#);
    is_shadowed(r#"{"context":"Chat","bindings":{"ctrl+x ctrl+q ctrl+x":"chat:cancel"}}"#);
    is_shadowed(r#"{"context":"Chat","bindings":{"ctrl+x ctrl+q":"chat:undo"}}"#);
    is_shadowed(r#"{"context":"Chat","bindings":{"ctrl+x":"chat:submit"}}"#);
    let other = with(r#"{"context":"Chat","bindings":{"ctrl+x ctrl+y":"chat:undo","ctrl+k":null}}"#);
    assert!(matches!(bound(&other), BindingState::To(_)));
}

#[test]
fn a_line_that_lets_one_of_our_keys_answer_a_dialog_is_seen() {
    is_shadowed(r#"{"context":"Confirmation","bindings":{"ctrl+q":"confirm:yes"}}"#);
    is_shadowed(r#"{"context":"Select","bindings":{"control+x":"select:accept"}}"#);
    is_shadowed(r#"{"context":"Confirmation","bindings":{"ctrl+x ctrl+q":"confirm:yes"}}"#);
}

#[test]
fn another_chord_is_chosen_where_one_is_taken() {
    for (block, expected) in [
        (r#"{}"#, Some("ctrl+x ctrl+q")),
        (r#"{"ctrl+x ctrl+q":"chat:undo"}"#, Some("ctrl+q ctrl+x")),
        (r#"{"ctrl+x":"chat:undo"}"#, Some("ctrl+q ctrl+q")),
        (r#"{"ctrl+x ctrl+q":null,"ctrl+q ctrl+x a":"chat:undo"}"#, Some("ctrl+q ctrl+q")),
        (r#"{"ctrl+q":"chat:undo"}"#, None),
    ] {
        let text = format!(r#"{{"bindings":[{{"context":"Chat","bindings":{block}}}]}}"#);
        assert_eq!(Keybindings::parse(&text).unwrap().free(&SUBMIT_CHORDS), expected, "{block}");
    }
}

#[test]
fn a_chord_is_believed_after_it_was_received_and_not_after_it_was_ignored() {
    let choose = |seen: Option<&ChordTrial>| SubmitChord::choose(file(OURS, 60_000), seen);
    let seen = |proof, file_written| ChordTrial { chord: "ctrl+x ctrl+q".to_owned(), file_written, proof };
    let proven = |chord: Option<SubmitChord>| chord.map(|chord| chord.proven);
    assert_eq!(proven(choose(None)), Some(false));
    assert_eq!(SubmitChord::choose(file(OURS, 2_000), None), None, "the client has not read the file yet");
    assert_eq!(proven(choose(Some(&seen(ChordResult::Received, WRITTEN)))), Some(true));
    assert_eq!(proven(choose(Some(&seen(ChordResult::Received, 1)))), Some(true));
    assert_eq!(choose(Some(&seen(ChordResult::Ignored, WRITTEN))), None);
    assert_eq!(proven(choose(Some(&seen(ChordResult::Ignored, 1)))), Some(false), "the file has changed since");
    let other = ChordTrial { chord: "ctrl+q ctrl+q".to_owned(), ..seen(ChordResult::Received, WRITTEN) };
    assert_eq!(proven(choose(Some(&other))), Some(false));
    assert_eq!(SubmitChord::choose(file("{", 60_000), None), None);
    let stash = choose(None).and_then(|chord| chord.stash);
    assert_eq!(stash, Chord::parse("ctrl+x ctrl+x"));
}

#[test]
fn each_terminal_gets_the_keys_of_the_chord() {
    let chord = SubmitChord::choose(file(OURS, 60_000), None);
    let argv = |terminal: Terminal, text: &str| {
        let steps = terminal.submit_unseen(text, chord.as_ref());
        steps.into_iter().map(|step| step.argv[1..].join(" ")).collect::<Vec<_>>()
    };
    let tmux = Terminal::Tmux(TmuxPane { socket: "/s".to_owned(), pane: "%1".to_owned() });
    assert_eq!(
        argv(tmux, "/clear"),
        ["-S /s send-keys -t %1 C-x C-x", "-S /s send-keys -t %1 -l -- /clear ", "-S /s send-keys -t %1 C-x C-q"]
    );
    let screen = Terminal::Screen(ScreenWindow { session: "1.x".to_owned(), window: "2".to_owned() });
    assert_eq!(argv(screen, "·"), ["-S 1.x -p 2 -X stuff ^X^X", "-S 1.x -p 2 -X stuff ·", "-S 1.x -p 2 -X stuff ^X^Q"]);
    let kitty = Terminal::Kitty(KittyWindow { socket: "unix:/k".to_owned(), window: "7".to_owned() });
    let stdin = kitty.submit_unseen("·", chord.as_ref()).into_iter().map(|step| step.stdin).collect::<Vec<_>>();
    assert_eq!(stdin, ["\u{18}\u{18}", "·", "\u{18}\u{11}"].map(|text| Some(text.to_owned())));
    let mac = |app: &str| Terminal::Osascript(MacTerminal { app: app.to_owned() });
    let [script] = &argv(mac("iTerm2"), "·")[..] else { panic!("one script") };
    assert!(script.ends_with("iTerm2 · xx xq"), "{script}");
    let chord = &chord.unwrap();
    assert!(mac("iTerm2").passes(chord) && !mac("Code").passes(chord));
}

#[test]
fn a_slash_command_is_typed_with_a_blank_that_closes_its_menu() {
    for (text, typed) in
        [("/clear", "/clear "), ("/compact keep this", "/compact keep this"), ("·", "·"), ("· n", "· n")]
    {
        assert_eq!(text_for_chord(text), typed);
    }
}

#[test]
fn a_stroke_is_written_with_its_modifiers() {
    for (text, written) in [
        ("Opt+Shift+cmd+esc", "alt+shift+cmd+escape"),
        ("meta+return", "alt+enter"),
        ("alt+del", "alt+delete"),
        ("option+↑ super+↓", "alt+up cmd+down"),
        ("win+← command+→", "cmd+left cmd+right"),
        ("control+A", "ctrl+a"),
    ] {
        assert_eq!(Chord::parse(text).map(|chord| chord.to_string()).as_deref(), Some(written), "{text}");
    }
    assert_eq!(Chord::parse(""), None);
}

#[test]
fn only_ctrl_and_a_letter_is_the_same_everywhere() {
    for text in ["ctrl+alt+x", "ctrl+shift+x", "ctrl+cmd+x", "x", "ctrl+1", "ctrl+up", "ctrl+é", "ctrl+x y"] {
        assert_eq!(Chord::parse(text).unwrap().control_letters(), None, "{text}");
        assert!(Chord::parse(text).unwrap().bytes().is_empty(), "{text}");
    }
    assert_eq!(Chord::parse("ctrl+a ctrl+z").unwrap().bytes(), [1, 26]);
}

#[test]
fn chords_interfere_by_a_common_beginning_or_a_single_key() {
    let chord = Chord::parse("ctrl+x ctrl+q").unwrap();
    let interferes = |other: &str| chord.interferes(&Chord::parse(other).unwrap());
    for other in ["ctrl+x ctrl+q", "ctrl+x", "ctrl+q", "ctrl+x ctrl+q a"] {
        assert!(interferes(other), "{other}");
    }
    for other in ["ctrl+y", "ctrl+x ctrl+y", "ctrl+q ctrl+x", "x", "ctrl+q ctrl+q"] {
        assert!(!interferes(other), "{other}");
    }
}

#[test]
fn a_binding_that_only_repeats_ours_takes_nothing_away() {
    let again = with(r#"{"context":"Chat","bindings":{"ctrl+x ctrl+q":"chat:submit"}}"#);
    assert!(matches!(bound(&again), BindingState::To(_)));
    // Removed before it is bound, and removed in another place, is not removed.
    let before = format!(r#"{{"bindings":[{{"context":"Chat","bindings":{{"ctrl+x ctrl+q":null}}}},{}"#, &OURS[13..]);
    assert!(matches!(bound(&before), BindingState::To(_)), "{before}");
    let elsewhere = with(r#"{"context":"Chat","bindings":{"ctrl+x ctrl+y":null}}"#);
    assert!(matches!(bound(&elsewhere), BindingState::To(_)));
    let by = bound(&with(r#"{"context":"Global","bindings":{"ctrl+q":"app:exit"}}"#));
    let BindingState::Shadowed { chord, by } = by else { panic!("not shadowed") };
    assert_eq!((chord.to_string().as_str(), by.as_str()), ("ctrl+x ctrl+q", r#""ctrl+q": "app:exit" (Global)"#));
    // Of several chords that are taken, the first is named.
    let both = r#"{"context":"Chat","bindings":{"ctrl+q ctrl+x":"chat:submit","ctrl+q":"chat:undo"}}"#;
    let BindingState::Shadowed { chord, .. } = bound(&with(both)) else { panic!("not shadowed") };
    assert_eq!(chord.to_string(), "ctrl+x ctrl+q");
}

#[test]
fn a_changed_file_is_used_after_ten_seconds() {
    assert_eq!(SubmitChord::choose(file(OURS, 9_999), None), None);
    assert!(SubmitChord::choose(file(OURS, 10_000), None).is_some());
}

#[test]
fn an_application_that_handles_none_of_the_keys_passes_them() {
    let other = OURS.replace("ctrl+x ctrl+q", "ctrl+q ctrl+q").replace("ctrl+x ctrl+x", "ctrl+q ctrl+w");
    let chord = SubmitChord::choose(file(&other, 60_000), None).unwrap();
    let without_q = crate::SubmitChord { submit: Chord::parse("ctrl+x ctrl+y").unwrap(), ..chord.clone() };
    let code = Terminal::Osascript(MacTerminal { app: "Code".to_owned() });
    assert!(!code.passes(&chord) && code.passes(&without_q));
    let tmux = Terminal::Tmux(TmuxPane { socket: "/s".to_owned(), pane: "%1".to_owned() });
    assert!(tmux.passes(&chord));
}
