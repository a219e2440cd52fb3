//! The menu: who comes first, what is written, which keys.

use longhaul_core::Status::{Blocked, Completed, Idle, Working};

use super::{NOW, agent, options, pane};
use crate::{Agent, MenuItem, Options, agent_type, attention, free_orphans, menu, project_and_worktree};

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
    let number = |agent: &Agent| agents.iter().zip(1..).find(|(one, _)| one.session == agent.session).map(|(_, n)| n);
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
