use longhaul_core::Millis;

use crate::baton::TTL_MS;
use crate::{Baton, BatonTrigger, baton_command};

#[track_caller]
fn check(prompt: &str, expected: Option<BatonTrigger>) {
    assert_eq!(baton_command(prompt), expected, "{prompt:?}");
}

#[test]
fn commands_stand_alone_or_before_a_blank() {
    for command in ["/tl", "/longhaul:tl", "/longhaul-handoff:tl", "$longhaul handoff", "$longhaul-handoff"] {
        check(command, Some(BatonTrigger::Tl));
        check(&format!("{command} and go on"), Some(BatonTrigger::Tl));
        check(&format!("{command}\ngo on"), Some(BatonTrigger::Tl));
        check(&format!("  {command}\n"), Some(BatonTrigger::Tl));
    }
    check("/clear", Some(BatonTrigger::Clear));
    check("/clear now", Some(BatonTrigger::Clear));
    check("\n/clear\r\n", Some(BatonTrigger::Clear));
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
        "$longhaul",
        "$longhaul memory",
        "$longhaul-handoffs",
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
    let baton = |at| Baton { session: "a".into(), client_pid: 1, trigger: BatonTrigger::Tl, at: Millis(at) };
    assert!(!baton(1000).is_expired(Millis(1000)));
    assert!(!baton(1000).is_expired(Millis(1000 + TTL_MS)));
    assert!(baton(1000).is_expired(Millis(1001 + TTL_MS)));
    assert!(!baton(1000).is_expired(Millis(0)));
}

#[test]
fn triggers_are_read_as_they_are_stored() {
    for trigger in BatonTrigger::ALL {
        assert_eq!(BatonTrigger::from_stored(trigger.as_str()), Some(trigger));
    }
    assert_eq!(BatonTrigger::from_stored("TL"), None);
    assert_eq!(BatonTrigger::ALL.map(BatonTrigger::as_str), ["tl", "clear", "session_end", "continuation"]);
}

#[test]
fn a_trigger_is_shown_as_it_is_stored() {
    for trigger in BatonTrigger::ALL {
        assert_eq!(BatonTrigger::from_stored(&trigger.to_string()), Some(trigger));
    }
}
