//! The options, and what is made of nonsense.

use longhaul_core::Status;

use super::options;
use crate::{OPTIONS, Options};

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
    assert_eq!((options.items_per_page(), options.status_interval(), options.show_project), (10, 5, false));
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
        assert_eq!(options(&[("show-project", value)]).show_project, expected, "{value}");
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
