use longhaul_core::Millis;

use crate::baton::TTL_MS;
use crate::{Baton, Trigger, baton_command};

#[track_caller]
fn check(prompt: &str, expected: Option<Trigger>) {
    assert_eq!(baton_command(prompt), expected, "{prompt:?}");
}

#[test]
fn commands_stand_alone_or_before_a_blank() {
    for command in ["/tl", "/longhaul:tl", "/longhaul-handoff:tl"] {
        check(command, Some(Trigger::Tl));
        check(&format!("{command} and go on"), Some(Trigger::Tl));
        check(&format!("{command}\ngo on"), Some(Trigger::Tl));
        check(&format!("  {command}\n"), Some(Trigger::Tl));
    }
    check("/clear", Some(Trigger::Clear));
    check("/clear now", Some(Trigger::Clear));
    check("\n/clear\r\n", Some(Trigger::Clear));
}

#[test]
fn other_words_are_other_commands() {
    for prompt in [
        "",
        " ",
        "/",
        "tl",
        "clear",
        "/tldr",
        "/cleared",
        "/clearcache",
        "/clear-all",
        "/TL",
        "/Clear",
        "/tl:x",
        "/tl/",
        "//tl",
        "say /tl",
        "/longhaul:tldr",
        "/longhaul",
        "/longhaul: tl",
        "/other:tl",
        "/new",
        "/tl\u{a0}x",
    ] {
        check(prompt, None);
    }
}

#[test]
fn a_baton_waits_an_hour() {
    let baton = |at| Baton { session: "a".into(), client_pid: 1, trigger: Trigger::Tl, at: Millis(at) };
    assert!(!baton(1000).is_expired(Millis(1000)));
    assert!(!baton(1000).is_expired(Millis(1000 + TTL_MS)));
    assert!(baton(1000).is_expired(Millis(1001 + TTL_MS)));
    assert!(!baton(1000).is_expired(Millis(0)));
}

#[test]
fn triggers_are_read_as_they_are_stored() {
    for trigger in Trigger::ALL {
        assert_eq!(Trigger::from_stored(trigger.as_str()), Some(trigger));
    }
    assert_eq!(Trigger::from_stored("TL"), None);
    assert_eq!(Trigger::ALL.map(Trigger::as_str), ["tl", "clear", "session_end", "continuation"]);
}
