use longhaul_core::Millis;

use crate::{Attention, Focus, TmuxClient, attention, attention_by_draft};

const AT: Millis = Millis(1_000_500);
const NOW: Millis = Millis(1_002_500);

fn client(pane: &str, focus: Focus, active_at: u64) -> TmuxClient {
    TmuxClient { pane: pane.to_owned(), focus, active_at }
}

#[track_caller]
fn check(clients: &[TmuxClient], expected: Attention) {
    assert_eq!(attention("%1", clients, AT, NOW, 120_000), expected, "{clients:?}");
}

#[test]
fn a_focused_client_that_shows_the_pane_is_looked_at() {
    check(&[], Attention::Elsewhere);
    check(&[client("%1", Focus::Focused, 10)], Attention::Looking);
    check(&[client("%1", Focus::Unfocused, 1_000)], Attention::Elsewhere);
    check(&[client("%2", Focus::Focused, 1_000)], Attention::Elsewhere);
    check(&[client("%2", Focus::Focused, 1_000), client("%1", Focus::Focused, 10)], Attention::Looking);
}

#[test]
fn without_reports_of_the_focus_a_person_goes_away_after_a_while() {
    check(&[client("%1", Focus::NotReported, 1_000)], Attention::Looking);
    check(&[client("%1", Focus::NotReported, 883)], Attention::Looking);
    check(&[client("%1", Focus::NotReported, 882)], Attention::Elsewhere);
}

#[test]
fn only_a_key_after_the_change_and_in_that_pane_counts_as_typed() {
    check(&[client("%1", Focus::Unfocused, 1_001)], Attention::Typed);
    check(&[client("%1", Focus::Focused, 1_001)], Attention::Typed);
    check(&[client("%2", Focus::Focused, 1_001)], Attention::Elsewhere);
    // The second of the change itself.
    check(&[client("%1", Focus::Unfocused, 1_000)], Attention::Elsewhere);
}

#[test]
fn a_draft_of_the_last_minute_counts_as_typed() {
    let now = Millis(1_000_000);
    let with = |draft: Option<u64>| attention_by_draft(draft.map(Millis), now, Attention::Elsewhere);
    assert_eq!(with(None), Attention::Elsewhere);
    assert_eq!((with(Some(1_000_000)), with(Some(940_000))), (Attention::Typed, Attention::Typed));
    assert_eq!(with(Some(939_999)), Attention::Elsewhere);
    assert_eq!(attention_by_draft(None, now, Attention::Looking), Attention::Looking);
}
