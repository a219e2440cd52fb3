use longhaul_core::Millis;

use crate::baton::TTL_MS;
use crate::{Baton, BatonOffer, BatonTaker, BatonTrigger, ClientProcess, NoBaton, baton_command, choose};

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
        assert_eq!(BatonTrigger::from_name(trigger.as_str()), Some(trigger));
    }
    assert_eq!(BatonTrigger::from_name("TL"), None);
    assert_eq!(BatonTrigger::ALL.map(BatonTrigger::as_str), ["tl", "clear", "session_end", "continuation", "limit"]);
}

#[test]
fn a_trigger_is_shown_as_it_is_stored() {
    for trigger in BatonTrigger::ALL {
        assert_eq!(BatonTrigger::from_name(&trigger.to_string()), Some(trigger));
    }
}

const NOW: u64 = 10 * TTL_MS;

fn offer(session: &str, client_pid: u32, client: ClientProcess, trigger: BatonTrigger, age: u64) -> BatonOffer {
    let baton = Baton { session: session.to_owned(), client_pid, trigger, at: Millis(NOW - age) };
    BatonOffer { baton, client }
}

#[track_caller]
fn check_choice(offers: &[BatonOffer], client_pid: u32, taken: Result<usize, NoBaton>, expired: &[usize]) {
    let taker = BatonTaker { session: "new", client_pid, now: Millis(NOW), only_on_purpose: false };
    let pick = choose(offers, taker);
    let first = pick.taken.map(|order| order[0]);
    assert_eq!((first, pick.expired), (taken, expired.to_vec()));
}

#[test]
fn the_own_client_comes_first() {
    let offers = [
        offer("a", 1, ClientProcess::Alive, BatonTrigger::SessionEnd, 500),
        offer("b", 2, ClientProcess::Alive, BatonTrigger::SessionEnd, 10),
        offer("c", 3, ClientProcess::Gone, BatonTrigger::Tl, 1),
    ];
    check_choice(&offers, 1, Ok(0), &[]);
    check_choice(&offers, 2, Ok(1), &[]);
    check_choice(&offers, 9, Ok(2), &[]);
}

#[test]
fn the_others_are_tried_in_order_where_the_first_is_refused() {
    let offers = [
        offer("old", 0, ClientProcess::Unknown, BatonTrigger::SessionEnd, 500),
        offer("own", 1, ClientProcess::Alive, BatonTrigger::SessionEnd, 900),
        offer("new", 3, ClientProcess::Gone, BatonTrigger::Tl, 1),
    ];
    let taker = BatonTaker { session: "heir", client_pid: 1, now: Millis(NOW), only_on_purpose: false };
    assert_eq!(choose(&offers, taker).taken, Ok(vec![1, 2, 0]));
}

#[test]
fn a_baton_of_a_running_client_is_left_to_it() {
    let single = |client, trigger| [offer("a", 1, client, trigger, 5)];
    for trigger in BatonTrigger::ALL {
        check_choice(&single(ClientProcess::Gone, trigger), 9, Ok(0), &[]);
        check_choice(&single(ClientProcess::Unknown, trigger), 9, Ok(0), &[]);
        let taken = if trigger.is_on_purpose() { Ok(0) } else { Err(NoBaton::None) };
        check_choice(&single(ClientProcess::Alive, trigger), 9, taken, &[]);
    }
    // A session that does not know its client owns no baton.
    let unknown = [
        offer("a", 0, ClientProcess::Unknown, BatonTrigger::Clear, 5),
        offer("b", 0, ClientProcess::Unknown, BatonTrigger::Clear, 1),
    ];
    check_choice(&unknown, 0, Ok(1), &[]);
    check_choice(&[], 1, Err(NoBaton::None), &[]);
}

#[test]
fn what_is_too_old_is_discarded_and_the_next_one_taken() {
    let offers = [
        offer("a", 1, ClientProcess::Alive, BatonTrigger::SessionEnd, TTL_MS + 1),
        offer("b", 2, ClientProcess::Gone, BatonTrigger::SessionEnd, 10),
        offer("c", 3, ClientProcess::Alive, BatonTrigger::SessionEnd, TTL_MS + 1),
    ];
    check_choice(&offers, 1, Ok(1), &[0]);
    check_choice(&offers[..1], 1, Err(NoBaton::Expired), &[0]);
    check_choice(&offers[2..], 1, Err(NoBaton::None), &[]);
}

#[test]
fn a_session_leaves_its_own_baton_alone() {
    check_choice(&[offer("new", 1, ClientProcess::Alive, BatonTrigger::Tl, 5)], 1, Err(NoBaton::SelfHandoff), &[]);
    let offers = [
        offer("new", 1, ClientProcess::Alive, BatonTrigger::Tl, 1),
        offer("b", 2, ClientProcess::Gone, BatonTrigger::Clear, 5),
    ];
    check_choice(&offers, 1, Ok(1), &[]);
    assert_eq!(NoBaton::SelfHandoff.to_string(), "self_handoff");
}

#[test]
fn two_windows_cleared_together_never_swap() {
    for first in 0..100_u32 {
        let offers = [
            offer("a", 1, ClientProcess::Alive, BatonTrigger::SessionEnd, u64::from(first)),
            offer("b", 2, ClientProcess::Alive, BatonTrigger::SessionEnd, u64::from(99 - first)),
        ];
        check_choice(&offers, 1, Ok(0), &[]);
        check_choice(&offers, 2, Ok(1), &[]);
        check_choice(&offers[1..], 1, Err(NoBaton::None), &[]);
    }
}

#[test]
fn another_agent_takes_only_what_was_passed_on_purpose() {
    for (left, taker) in [("claude-session", "codex:new"), ("codex:old", "new"), ("codex:old", "gemini:new")] {
        for trigger in BatonTrigger::ALL {
            for client in [ClientProcess::Alive, ClientProcess::Gone, ClientProcess::Unknown] {
                let offers = [offer(left, 7, client, trigger, 5)];
                // Even the same process id is that of another program.
                let taken = choose(
                    &offers,
                    BatonTaker { session: taker, client_pid: 7, now: Millis(NOW), only_on_purpose: false },
                )
                .taken;
                let expected = if trigger.is_on_purpose() { Ok(vec![0]) } else { Err(NoBaton::None) };
                assert_eq!(taken, expected, "{left} {trigger} {client:?}");
            }
        }
    }
    let offers = [offer("codex:old", 7, ClientProcess::Alive, BatonTrigger::Continuation, 5)];
    let mut taker = BatonTaker::new("codex:new", Millis(NOW));
    taker.client_pid = 7;
    assert_eq!(choose(&offers, taker).taken, Ok(vec![0]));
    // Without automatic handoff, what the user did not ask for is not there.
    taker.only_on_purpose = true;
    assert_eq!(choose(&offers, taker).taken, Err(NoBaton::None));
}
