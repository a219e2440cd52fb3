//! What tmux shows: the options, the status line, the menu.

use longhaul_core::Status::{self, Blocked, Completed, Idle, Working};
use proptest::prelude::*;

use crate::tests::{NOW, agent, options, pane};
use crate::{
    Agent, MenuItem, OPTIONS, Options, age, agent_type, attention, escape, free_orphans, menu, project_and_worktree,
    render, reopen_offer,
};

#[test]
fn the_defaults_are_those_that_are_documented() {
    let defaults: Vec<(&str, &str)> = OPTIONS.iter().map(|option| (option.name, option.default)).collect();
    let expected = [
        ("key", "a"),
        ("items-per-page", "10"),
        ("key-next", "i"),
        ("key-prev", "o"),
        ("key-quit", "q"),
        ("color-idle", ""),
        ("color-working", ""),
        ("color-completed", ""),
        ("color-blocked", "white,bg=red,bold"),
        ("icon-idle", "."),
        ("icon-working", "*"),
        ("icon-completed", "+"),
        ("icon-blocked", "!"),
        ("show-project", "0"),
        ("status-interval", "5"),
        ("offer-reopen", "0"),
        ("on-working", ""),
        ("on-completed", ""),
        ("on-blocked", ""),
        ("on-idle", ""),
        ("on-transition", ""),
    ];
    assert_eq!(defaults, expected);
    let options = Options::default();
    assert!(expected.iter().all(|(name, default)| options.get(name) == *default));
    assert_eq!((options.items_per_page(), options.status_interval(), options.shows_project()), (10, 5, false));
    assert_eq!(options.get("no-such-option"), "");
}

#[test]
fn the_older_names_are_ours_but_for_the_key() {
    for option in &OPTIONS {
        let expected = if option.name == "key" { "keybinding" } else { option.name };
        assert_eq!(option.older, expected);
    }
}

#[test]
fn an_empty_value_is_none() {
    let all_empty = Options::from_values(|_| Some(String::new()));
    assert_eq!(all_empty, Options::default());
}

#[test]
fn values_go_round() {
    let set = options(&[("key", "C-a"), ("on-blocked", "a 'b' \"c\"\n#{d}; $(e)"), ("show-project", "1")]);
    assert_eq!(Options::from_values(|at| set.values().get(at).cloned()), set);
}

#[test]
fn nonsense_is_the_default() {
    for (value, expected) in [("3", 3), ("50", 50), ("1", 1), ("0", 10), ("51", 10), ("-1", 10), ("x", 10), ("2.5", 10)]
    {
        assert_eq!(options(&[("items-per-page", value)]).items_per_page(), expected, "{value}");
    }
    for (value, expected) in [("1", 1), ("30", 30), ("0", 5), ("-3", 5), ("soon", 5), ("99999999999999999999999", 5)] {
        assert_eq!(options(&[("status-interval", value)]).status_interval(), expected, "{value}");
    }
    for (value, expected) in [("1", true), ("on", true), ("true", true), ("yes", true), ("0", false), ("maybe", false)]
    {
        assert_eq!(options(&[("show-project", value)]).shows_project(), expected, "{value}");
    }
}

#[test]
fn a_change_runs_its_own_script_and_the_one_for_all() {
    let set = options(&[("on-blocked", "beep"), ("on-idle", " \n"), ("on-transition", "log")]);
    let check = |status: Status, expected: &[&str]| assert_eq!(set.scripts(status).collect::<Vec<_>>(), expected);
    check(Status::Blocked, &["beep", "log"]);
    check(Status::Idle, &["log"]);
    check(Status::Working, &["log"]);
    check(Status::Completed, &["log"]);
    assert_eq!(Options::default().scripts(Status::Blocked).count(), 0);
    let each = [("on-idle", "i"), ("on-working", "w"), ("on-completed", "c"), ("on-blocked", "b")];
    let statuses = [Status::Idle, Status::Working, Status::Completed, Status::Blocked];
    for (status, (_, script)) in statuses.into_iter().zip(each) {
        assert_eq!(options(&each).scripts(status).collect::<Vec<_>>(), [script]);
    }
}

// The status string.

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
    let single = [agent("a", Blocked, 0)];
    assert_eq!(blocked(&single, &[]), "#[fg=white,bg=red,bold]1!#[default]");
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

// The menu: who comes first, what is written, which keys.

fn in_pane(agent: Agent, id: &str) -> Agent {
    Agent { pane: Some(pane("/s", id)), ..agent }
}

fn labels(items: &[MenuItem]) -> Vec<&str> {
    items
        .iter()
        .filter_map(|item| match item {
            MenuItem::Goto { label, .. } | MenuItem::Elsewhere { label } => Some(label.as_str()),
            MenuItem::Separator | MenuItem::Page { .. } | MenuItem::Quit { .. } => None,
        })
        .collect()
}

/// Returns what comes behind the sessions, as `label key page`.
fn commands(items: &[MenuItem]) -> Vec<String> {
    items
        .iter()
        .filter_map(|item| match item {
            MenuItem::Goto { .. } | MenuItem::Elsewhere { .. } => None,
            MenuItem::Separator => Some("-".to_owned()),
            MenuItem::Page { label, key, page } => Some(format!("{label} {key} {page}")),
            MenuItem::Quit { label, key } => Some(format!("{label} {key}")),
        })
        .collect()
}

#[track_caller]
fn check_label(agent: Agent, set: &[(&str, &str)], expected: &str) {
    let menu = menu(&[agent], |_| None, 1, &options(set), NOW).unwrap();
    assert_eq!(labels(&menu.items), [expected]);
}

#[test]
fn without_sessions_there_is_none() {
    assert_eq!(menu(&[], |_| None, 1, &Options::default(), NOW), None);
}

#[test]
fn whoever_waits_for_a_person_comes_first_the_oldest_before_the_newest() {
    let agents = [
        agent("idle-old", Idle, 300),
        agent("idle-new", Idle, 3),
        agent("working", Working, 1),
        agent("blocked-old", Blocked, 200),
        agent("completed", Completed, 100),
        agent("blocked-new", Blocked, 20),
    ];
    let menu = menu(&agents, |_| None, 1, &Options::default(), NOW).unwrap();
    assert_eq!(menu.title, "AI Agents (1/1)");
    let order = ["! blocked-old  3m", "! blocked-new", "+ completed  1m", "* working", ". idle-new", ". idle-old  5m"];
    assert_eq!(labels(&menu.items), order);
    assert_eq!(commands(&menu.items), ["-", "Quit q"]);
}

#[test]
fn a_label_is_icon_project_branch_age_and_summary() {
    let full = Agent {
        project: "longhaul".to_owned(),
        branch: Some("feature/x".to_owned()),
        prompt_summary: Some("fix the bug".to_owned()),
        reason: Some("rate_limit".to_owned()),
        ..agent("s", Working, 125)
    };
    check_label(full.clone(), &[], "* longhaul/feature/x  2m  fix the bug");
    check_label(Agent { status: Blocked, ..full.clone() }, &[], "! longhaul/feature/x  2m  rate_limit");
    check_label(Agent { branch: None, ..full.clone() }, &[], "* longhaul  2m  fix the bug");
    let long = "é".repeat(50);
    check_label(
        Agent { prompt_summary: Some(long), ..full },
        &[],
        &format!("* longhaul/feature/x  2m  {}", "é".repeat(40)),
    );
}

#[test]
fn text_in_a_label_is_shown_and_never_expanded() {
    let hostile = Agent {
        project: "#(touch pwned)\n".to_owned(),
        branch: Some("#{pane_id}".to_owned()),
        prompt_summary: Some("#[fg=red]x; $(touch y) '\u{1b}[0m#".to_owned()),
        ..agent("s", Idle, 60)
    };
    let label = ". ##(touch pwned)/##{pane_id}  1m  ##[fg=red]x; $(touch y) '[0m##";
    check_label(hostile.clone(), &[], label);
    check_label(hostile, &[("icon-idle", "#(id)")], &label.replacen('.', "##(id)", 1));
}

#[test]
fn a_label_is_never_empty_and_never_greyed_out() {
    let named = |project: &str| Agent { project: project.to_owned(), ..agent("s", Idle, 0) };
    check_label(named("-p"), &[], ". -p");
    check_label(named("p"), &[("icon-idle", "-")], "p");
    check_label(named("-p"), &[("icon-idle", "-")], "p");
    check_label(named("- -p"), &[("icon-idle", " --")], "p");
    check_label(named("\n"), &[("icon-idle", "-")], "?");
    check_label(named(""), &[], ". ");
}

#[test]
fn only_a_session_with_a_pane_can_be_chosen() {
    let agents = [in_pane(agent("here", Blocked, 0), "%7"), agent("there", Idle, 0)];
    let number = |agent: &Agent| Some(if agent.session == "here" { 3 } else { 12 });
    let menu = menu(&agents, number, 1, &Options::default(), NOW).unwrap();
    let expected = [
        MenuItem::Goto { label: "! here".to_owned(), key: "3".to_owned(), pane: pane("/s", "%7") },
        MenuItem::Elsewhere { label: "12 . there".to_owned() },
    ];
    assert_eq!(menu.items[..2], expected);
}

#[test]
fn pages_are_as_long_as_the_option_says_and_those_beyond_are_the_nearest() {
    let agents: Vec<Agent> = (0..23).map(|n| in_pane(agent(&format!("s{n:02}"), Idle, n), "%1")).collect();
    let page = |number: usize| menu(&agents, |_| None, number, &Options::default(), NOW).unwrap();
    assert_eq!(page(1).title, "AI Agents (1/3)");
    assert_eq!(labels(&page(1).items)[..2], [". s00", ". s01"]);
    assert_eq!(labels(&page(2).items)[0], ". s10");
    assert_eq!(labels(&page(3).items), [". s20", ". s21", ". s22"]);
    assert_eq!(commands(&page(1).items), ["-", "Next i 2", "Quit q"]);
    assert_eq!(commands(&page(2).items), ["-", "Previous o 1", "Next i 3", "Quit q"]);
    assert_eq!(commands(&page(3).items), ["-", "Previous o 2", "Quit q"]);
    assert_eq!(page(0), page(1));
    assert_eq!(page(usize::MAX), page(3));
    let keys = [("items-per-page", "23"), ("key-quit", "x")];
    let number =
        |agent: &Agent| agents.iter().zip(1..).find(|(known, _)| known.session == agent.session).map(|(_, n)| n);
    let whole = menu(&agents, number, 1, &options(&keys), NOW).unwrap();
    assert_eq!(commands(&whole.items), ["-", "Quit x"]);
    let key = |item: &MenuItem| match item {
        MenuItem::Goto { key, .. } => Some(key.clone()),
        MenuItem::Elsewhere { .. } | MenuItem::Separator | MenuItem::Page { .. } | MenuItem::Quit { .. } => None,
    };
    let keys: Vec<String> = whole.items.iter().filter_map(key).collect();
    assert_eq!(keys[..11], ["1", "2", "3", "4", "5", "6", "7", "8", "9", "", ""]);
}

#[test]
fn a_client_other_than_claude_code_and_a_helper_are_marked() {
    let codex = Agent { client: "codex".to_owned(), branch: Some("main".to_owned()), ..agent("p", Idle, 0) };
    check_label(codex.clone(), &[], ". p/main (codex)");
    check_label(Agent { agent_type: Some("teammate".to_owned()), ..codex }, &[], ". p/main (teammate) (codex)");
    check_label(Agent { client: String::new(), ..agent("p", Idle, 0) }, &[], ". p");
    let kind = |cwd: &str, launched_by| {
        let (project, worktree) = project_and_worktree(cwd);
        let agent_type = agent_type("me", worktree, launched_by);
        Agent { agent_type, ..agent(project, Idle, 0) }
    };
    check_label(kind("/home/u/app/.claude/worktrees/fix/src", None), &[], ". app (worktree fix)");
    check_label(kind("/home/u/app/.claude/worktrees/", Some("me")), &[], ". worktrees");
    check_label(kind("/home/u/app", Some(" me,1234567890")), &[], ". app (child of 12345678)");
    check_label(kind("/", Some(",")), &[], ". /");
}

#[test]
fn a_child_is_one_as_long_as_its_parent_is_listed_and_never_waits_for_the_user() {
    let child = Agent { agent_type: agent_type("c", None, Some("parent-session")), ..agent("child", Blocked, 9000) };
    let parent = Agent { session: "parent-session".to_owned(), ..agent("parent", Idle, 0) };
    let mut agents = [child.clone(), parent];
    free_orphans(&mut agents);
    assert!(!agents[0].is_counted() && agents[1].is_counted());
    assert!(attention(&agents[0]) > attention(&agents[1]));
    let mut agents = [child];
    free_orphans(&mut agents);
    assert!(agents[0].is_counted());
}
