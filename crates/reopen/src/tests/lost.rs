use std::time::Duration;

use longhaul_core::Millis;

use super::place;
use crate::{LISTED_MS, RunningClient, SessionPlace, Wanted, chosen, is_lost, last_server, newest_first};

#[test]
fn a_session_is_lost_if_neither_its_process_nor_another_client_shows_it() {
    let one = place("a", 1, "main", 0, 1);
    let other = RunningClient { pid: 7, session: "b" };
    let same = RunningClient { pid: 7, session: "a" };
    for (process_runs, running, lost) in [
        (false, &[][..], true),
        (false, &[other], true),
        // It was resumed elsewhere.
        (false, &[same], false),
        (true, &[same], false),
        // Its process has gone on to another session.
        (true, &[other], false),
    ] {
        assert_eq!(is_lost(&one, process_runs, running), lost, "{process_runs} {running:?}");
    }
}

#[track_caller]
fn check(lost: &[SessionPlace], wanted: Wanted<'_>, expected: &[&str]) {
    let ids: Vec<&str> = chosen(lost, wanted).into_iter().map(|place| place.session.as_str()).collect();
    assert_eq!(ids, expected, "{wanted:?}");
}

#[test]
fn the_last_server_is_that_of_the_newest_session() {
    let mut lost = vec![place("a", 1, "m", 0, 10), place("b", 2, "m", 0, 30), place("c", 2, "m", 1, 5)];
    lost.push(SessionPlace::new("outside", "claude", 40));
    newest_first(&mut lost);
    let ids: Vec<&str> = lost.iter().map(|place| place.session.as_str()).collect();
    assert_eq!(ids, ["outside", "b", "a", "c"]);
    assert_eq!(last_server(&lost).and_then(|server| server.pid), Some(2));
    check(&lost, Wanted::LastServer, &["b", "c"]);
    check(&lost, Wanted::Since(Millis(10)), &["outside", "b", "a"]);
    check(&lost, Wanted::Sessions(&["a".to_owned(), "x".to_owned()]), &["a"]);
    check(&lost[..1], Wanted::LastServer, &["outside"]);
    check(&[], Wanted::LastServer, &[]);
}

#[test]
fn a_session_that_is_not_reopened_is_listed_for_thirty_days() {
    assert_eq!(Duration::from_millis(LISTED_MS), Duration::from_hours(30 * 24));
}

#[test]
fn sessions_of_the_same_time_have_a_fixed_order() {
    let mut lost = vec![place("b", 1, "m", 0, 10), place("a", 1, "m", 1, 10)];
    newest_first(&mut lost);
    assert_eq!(lost[0].session, "a");
}
