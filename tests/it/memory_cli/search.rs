//! `longhaul memory search`: what may be typed, and which records it filters.

use super::{memory, remembering};

#[test]
fn nothing_that_is_typed_is_a_syntax_error() {
    let sandbox = remembering();
    // Whatever is typed becomes an expression in the crate; here, that it arrives there.
    let long = "parser quotes ".repeat(750);
    let queries =
        ["\"", "parser AND quotes", "NEAR(parser quotes, 3)", "'; DROP TABLE observations; --", "-", "--", "\\", &long];
    for query in queries {
        let outcome = memory(&sandbox, &["search", "--", query]);
        let is_fine = match outcome.status {
            Some(0) => !outcome.stdout.is_empty() && !outcome.stderr.contains("longhaul:"),
            Some(1) => outcome.stdout.is_empty() && outcome.stderr.starts_with("nothing found"),
            _ => false,
        };
        assert!(is_fine, "{query:.40}: {outcome:?}");
    }
    assert_eq!(memory(&sandbox, &["search", "lexer", "--json"]).status, Some(0), "a summary has it");
    assert_eq!(memory(&sandbox, &["search", "zebra", "--json"]).stdout, "[]\n");
    let unknown = memory(&sandbox, &["search", "x", "--kind", "nonsense"]);
    assert_eq!(unknown.status, Some(2));
    assert!(unknown.stderr.contains("[possible values: change, discovery, "), "{unknown:?}");
    let wrong_day = memory(&sandbox, &["search", "x", "--since", "monday"]);
    assert!(wrong_day.stderr.contains("write it as 2026-01-31"), "{wrong_day:?}");
}

/// Filters are named as a reason wherever they were given, and a search that can have no result is refused.
#[test]
fn a_search_without_a_result_names_the_reason() {
    let sandbox = remembering();
    let why = |args: &[&str]| {
        let outcome = memory(&sandbox, args);
        assert_ne!(outcome.status, Some(0), "{args:?}: {outcome:?}");
        outcome.stderr
    };
    let filtered = "nothing found: no record that passes the filters has any of parser";
    for filter in [["--since", "2026-11-02"], ["--file", "nowhere.rs"], ["--kind", "note"]] {
        let said = why(&["search", "parser", filter[0], filter[1]]);
        assert!(said.starts_with(filtered), "{filter:?}: {said}");
    }
    assert!(why(&["recall", "parser", "--since", "2026-11-02"]).starts_with(filtered));
    assert_eq!(why(&["search", "--kind", "note"]), "nothing found: no record passes the filters\n");
    assert_eq!(why(&["search", "parser", "--offset", "500"]), "nothing found: there are at most 500 results\n");
    for command in ["search", "similar"] {
        assert!(why(&[command, "parser", "--limit", "0"]).contains("0 is not in 1.."), "{command}");
    }
}

#[test]
fn days_bound_a_search() {
    let sandbox = remembering();
    let hits = |args: &[&str]| {
        let found = memory(&sandbox, &[&["search", "cargo", "--json"], args].concat()).json();
        found.as_array().unwrap().len()
    };
    assert!(hits(&[]) >= 2);
    assert_eq!(hits(&["--since", "2026-11-01"]), hits(&[]));
    assert_eq!(hits(&["--since", "2026-11-02"]), 0);
    assert_eq!(hits(&["--before", "2026-11-01"]), 0);
    assert_eq!(hits(&["--before", "2026-11-02"]), hits(&[]));
    // Days that no clock reaches are days like others.
    for (typed, expected) in [
        ("since:9999-12-31", 0),
        ("before:0000-01-01", 0),
        ("before:9999-12-31", hits(&[])),
        ("since:0000-01-01", hits(&[])),
    ] {
        assert_eq!(hits(&[typed]), expected, "{typed}");
    }
    assert_eq!(hits(&["--limit", "1"]), 1);
    assert_eq!(hits(&["--offset", "1"]), hits(&[]) - 1);
}
