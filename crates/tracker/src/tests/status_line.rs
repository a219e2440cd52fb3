//! The status string.

use longhaul_core::Status::{self, Blocked, Completed, Idle, Working};
use proptest::prelude::*;

use super::{NOW, agent, options};
use crate::{Agent, Options, age, escape, render, reopen_offer};

fn six() -> Vec<Agent> {
    vec![agent("a", Working, 5), agent("b", Working, 500), agent("c", Completed, 1), agent("d", Blocked, 3 * 60 + 59)]
}

#[test]
fn it_is_the_one_of_the_spec() {
    assert_eq!(render(&six(), &Options::default(), NOW), "0. 2* 1+ #[fg=white,bg=red,bold]1!3m#[default]");
    assert_eq!(render(&[], &Options::default(), NOW), "0. 0* 0+ 0!");
}

#[test]
fn colours_and_icons_are_the_users() {
    let set = [
        ("color-idle", "green"),
        ("color-working", "colour208"),
        ("color-completed", "#ff0000"),
        ("color-blocked", "red,bold"),
        ("icon-idle", "○"),
        ("icon-working", "▶"),
        ("icon-completed", "✔"),
        ("icon-blocked", "‼"),
    ];
    assert_eq!(
        render(&six(), &options(&set), NOW),
        "#[fg=green]0○#[default] #[fg=colour208]2▶#[default] #[fg=#ff0000]1✔#[default] #[fg=red,bold]1‼3m#[default]"
    );
}

#[test]
fn blocked_stands_out_only_while_a_session_is_blocked() {
    let blocked = |agents: &[Agent], set: &[(&str, &str)]| {
        let text = render(agents, &options(set), NOW);
        text.rsplit_once(' ').map(|(_, blocked)| blocked.to_owned()).unwrap()
    };
    let one = [agent("a", Blocked, 0)];
    assert_eq!(blocked(&one, &[]), "#[fg=white,bg=red,bold]1!#[default]");
    assert_eq!(blocked(&[], &[]), "0!");
    assert_eq!(blocked(&[], &[("color-idle", "green")]), "#[fg=green]0!#[default]");
    assert_eq!(blocked(&[], &[("color-blocked", "red")]), "#[fg=red]0!#[default]", "the user's own is always used");
}

#[test]
fn ages_are_none_then_minutes_then_hours() {
    let hour = 60 * 60;
    let table = [
        (0, ""),
        (59, ""),
        (60, "1m"),
        (119, "1m"),
        (59 * 60, "59m"),
        (hour - 1, "59m"),
        (hour, "1h"),
        (3 * hour, "3h"),
        (100 * hour, "100h"),
    ];
    for (seconds, expected) in table {
        assert_eq!(age(seconds), expected, "{seconds} s");
        let text = render(&[agent("a", Blocked, seconds)], &Options::default(), NOW);
        assert!(text.ends_with(&format!("1!{expected}#[default]")), "{seconds} s: {text}");
    }
}

#[test]
fn the_age_is_that_of_the_oldest_blocked_session_only() {
    let agents = [agent("a", Blocked, 61), agent("b", Blocked, 7200), agent("c", Working, 90_000)];
    assert!(render(&agents, &Options::default(), NOW).ends_with("2!2h#[default]"));
    // A clock that was set back must not show an age of centuries.
    let agents = [Agent { updated_at: NOW + 100, ..agent("a", Blocked, 0) }];
    assert!(render(&agents, &Options::default(), NOW).ends_with("1!#[default]"));
}

#[test]
fn those_who_work_for_others_are_not_counted() {
    let of_type = |kind: &str| Agent { agent_type: Some(kind.to_owned()), ..agent(kind, Blocked, 600) };
    let agents = [of_type("teammate"), of_type("child of 12345678"), of_type(""), agent("own", Idle, 600)];
    assert_eq!(
        render(&agents, &options(&[("show-project", "1")]), NOW),
        "1. 0* 0+ #[fg=white,bg=red,bold]1!10m#[default] @"
    );
}

#[test]
fn a_session_in_a_worktree_of_the_client_counts() {
    let agents = [Agent { agent_type: Some("worktree fix".to_owned()), ..agent("app", Blocked, 60) }];
    assert!(render(&agents, &Options::default(), NOW).ends_with("1!1m#[default]"));
}

#[test]
fn the_project_is_that_of_the_longest_blocked_else_of_the_latest() {
    let check = |agents: &[(&str, Status, u64)], expected: &str| {
        let agents: Vec<Agent> = agents.iter().map(|(name, status, age)| agent(name, *status, *age)).collect();
        let text = render(&agents, &options(&[("show-project", "1")]), NOW);
        let counts = render(&agents, &Options::default(), NOW);
        assert_eq!(text.strip_prefix(counts.as_str()), Some(expected));
    };
    check(&[], "");
    check(&[("old", Idle, 50), ("new", Working, 5)], " @new");
    check(&[("new", Working, 5), ("old", Idle, 50)], " @new");
    check(&[("waits", Blocked, 50), ("new", Working, 5)], " @waits");
    check(&[("waits", Blocked, 50), ("lately", Blocked, 5), ("new", Idle, 0)], " @waits");
}

#[test]
fn what_tmux_would_expand_is_escaped() {
    let table = [
        ("#(touch pwned)", "##(touch pwned)"),
        ("#{pane_id}", "##{pane_id}"),
        ("#[fg=red]", "##[fg=red]"),
        ("##(x)", "####(x)"),
        ("#", "##"),
        ("a\n#\t(b)\u{1b}[31m\u{7f}\u{9b}c\0", "a##(b)[31mc"),
        ("%H:%M $(x) `y` ; ' \" é \u{1f980}", "%H:%M $(x) `y` ; ' \" é \u{1f980}"),
    ];
    for (text, expected) in table {
        assert_eq!(escape(text), expected);
        let agents = [Agent { project: text.to_owned(), ..agent("a", Idle, 0) }];
        let shown = render(&agents, &options(&[("show-project", "1")]), NOW);
        assert!(shown.ends_with(&format!(" 0! @{expected}")), "{shown}");
    }
}

proptest! {
    #[test]
    fn no_text_is_ever_expanded(text in "[#({\\[,a\\n]{0,12}|\\PC{0,20}") {
        let escaped = escape(&text);
        prop_assert!(!escaped.chars().any(char::is_control));
        // tmux takes hashes in pairs; an odd one would begin something.
        let odd = escaped.split(|c| c != '#').any(|run| run.len() % 2 == 1);
        prop_assert!(!odd, "{escaped:?}");
    }
}

#[test]
fn an_offer_to_reopen_names_their_number() {
    assert_eq!((reopen_offer(0), reopen_offer(3)), (String::new(), "3 to reopen".to_owned()));
}
