use longhaul_core::Millis;

use crate::baton::TTL_MS;
use crate::{Baton, Client, NoBaton, Offer, Taker, Trigger, choose};

const NOW: u64 = 10 * TTL_MS;

fn offer(session: &str, client_pid: u32, client: Client, trigger: Trigger, age: u64) -> Offer {
    let baton = Baton { session: session.to_owned(), client_pid, trigger, at: Millis(NOW - age) };
    Offer { baton, client }
}

#[track_caller]
fn check(offers: &[Offer], client_pid: u32, taken: Result<usize, NoBaton>, expired: &[usize]) {
    let taker = Taker { session: "new", client_pid, now: Millis(NOW) };
    let pick = choose(offers, taker);
    let first = pick.taken.map(|order| order[0]);
    assert_eq!((first, pick.expired), (taken, expired.to_vec()));
}

#[test]
fn the_own_client_comes_first() {
    let offers = [
        offer("a", 1, Client::Alive, Trigger::SessionEnd, 500),
        offer("b", 2, Client::Alive, Trigger::SessionEnd, 10),
        offer("c", 3, Client::Gone, Trigger::Tl, 1),
    ];
    check(&offers, 1, Ok(0), &[]);
    check(&offers, 2, Ok(1), &[]);
    check(&offers, 9, Ok(2), &[]);
}

#[test]
fn the_others_are_tried_in_order_where_the_first_is_refused() {
    let offers = [
        offer("old", 0, Client::Unknown, Trigger::SessionEnd, 500),
        offer("own", 1, Client::Alive, Trigger::SessionEnd, 900),
        offer("new", 3, Client::Gone, Trigger::Tl, 1),
    ];
    let taker = Taker { session: "heir", client_pid: 1, now: Millis(NOW) };
    assert_eq!(choose(&offers, taker).taken, Ok(vec![1, 2, 0]));
}

#[test]
fn others_are_taken_only_where_nobody_waits_for_them() {
    let one = |client, trigger| [offer("a", 1, client, trigger, 5)];
    for trigger in Trigger::ALL {
        check(&one(Client::Gone, trigger), 9, Ok(0), &[]);
        check(&one(Client::Unknown, trigger), 9, Ok(0), &[]);
        let taken = if trigger == Trigger::Tl { Ok(0) } else { Err(NoBaton::None) };
        check(&one(Client::Alive, trigger), 9, taken, &[]);
    }
    // A session that does not know its client owns no baton.
    let unknown =
        [offer("a", 0, Client::Unknown, Trigger::Clear, 5), offer("b", 0, Client::Unknown, Trigger::Clear, 1)];
    check(&unknown, 0, Ok(1), &[]);
    check(&[], 1, Err(NoBaton::None), &[]);
}

#[test]
fn what_is_too_old_is_discarded_and_the_next_one_taken() {
    let offers = [
        offer("a", 1, Client::Alive, Trigger::SessionEnd, TTL_MS + 1),
        offer("b", 2, Client::Gone, Trigger::SessionEnd, 10),
        offer("c", 3, Client::Alive, Trigger::SessionEnd, TTL_MS + 1),
    ];
    check(&offers, 1, Ok(1), &[0]);
    check(&offers[..1], 1, Err(NoBaton::Expired), &[0]);
    check(&offers[2..], 1, Err(NoBaton::None), &[]);
}

#[test]
fn a_session_leaves_its_own_baton_alone() {
    check(&[offer("new", 1, Client::Alive, Trigger::Tl, 5)], 1, Err(NoBaton::SelfHandoff), &[]);
    let offers = [offer("new", 1, Client::Alive, Trigger::Tl, 1), offer("b", 2, Client::Gone, Trigger::Clear, 5)];
    check(&offers, 1, Ok(1), &[]);
    assert_eq!(NoBaton::SelfHandoff.to_string(), "self_handoff");
}

#[test]
fn two_windows_cleared_together_never_swap() {
    for first in 0..100_u32 {
        let offers = [
            offer("a", 1, Client::Alive, Trigger::SessionEnd, u64::from(first)),
            offer("b", 2, Client::Alive, Trigger::SessionEnd, u64::from(99 - first)),
        ];
        check(&offers, 1, Ok(0), &[]);
        check(&offers, 2, Ok(1), &[]);
        check(&offers[1..], 1, Err(NoBaton::None), &[]);
    }
}
