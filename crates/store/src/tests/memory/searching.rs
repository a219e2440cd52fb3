use longhaul_core::Millis;
use longhaul_memory::{Kind, MadeBy, Query, Summary};

use super::{Shelf, call, observation};
use crate::{NewObservation, Order, RecordId, SearchQuery, What};

const DAY: u64 = 86_400_000;

/// Two projects, three sessions.
fn library() -> Shelf {
    let shelf = Shelf::new();
    shelf.session("s2", "/p", 1);
    shelf.session("s3", "/q", 1);
    let of = |id: &'static str, kind, title: &str, file: &str, day: u64| NewObservation {
        observation: observation(kind, title, file),
        ..call(id, kind, title, day * DAY)
    };
    shelf.store.remember_prompt("s1", None, "make the Parser faster\nwith details", Millis(10 * DAY)).unwrap();
    shelf.take(
        "s1",
        &[
            of("a", Kind::Change, "Edited src/parser.rs", "src/parser.rs", 11),
            of("b", Kind::Problem, "cargo test failed", "", 12),
        ],
    );
    let summary = Summary::new("faster parser");
    shelf.store.write_summary("s1", 1, &summary, MadeBy::Rule, Millis(13 * DAY)).unwrap();
    shelf.take(
        "s2",
        &[
            of("c", Kind::Discovery, "Read docs/read_config.md", "docs/read_config.md", 100),
            of("d", Kind::Fix, "cargo test succeeds", r"C:\work\Überprüfung.rs", 101),
        ],
    );
    shelf.take("s3", &[of("e", Kind::Change, "Edited src/parser.rs", "src/parser.rs", 102)]);
    shelf
}

#[track_caller]
fn check(query: SearchQuery<'_>, expected: &[&str]) {
    let shelf = library();
    let hits = shelf.store.search(&SearchQuery { limit: 20, ..query }).unwrap();
    let titles: Vec<&str> = hits.iter().map(|hit| hit.title.as_str()).collect();
    assert_eq!(titles, expected);
}

#[track_caller]
fn check_words(typed: &str, query: SearchQuery<'_>, expected: &[&str]) {
    check(SearchQuery { query: Some(&Query::parse(typed)), ..query }, expected);
}

const WORDS: SearchQuery<'_> = SearchQuery {
    query: None,
    project_key: None,
    session: None,
    without_session: None,
    from_host: None,
    kinds: &[],
    file: None,
    from: None,
    to: None,
    what: &[],
    order: Order::Relevance,
    limit: 20,
    offset: 0,
};

#[test]
fn words_are_found_everywhere_and_what_was_asked_comes_first() {
    check_words(
        "parser",
        WORDS,
        &["make the Parser faster", "Edited src/parser.rs", "Edited src/parser.rs", "faster parser"],
    );
    check_words("test", WORDS, &["cargo test succeeds", "cargo test failed"]);
}

#[test]
fn words_are_wanted_and_not_required() {
    check_words("cargo succeed nonsense", WORDS, &["cargo test succeeds", "cargo test failed"]);
    check_words(
        "why did the parsers get faster?",
        SearchQuery { what: &[What::Prompt], ..WORDS },
        &["make the Parser faster"],
    );
    // A part of a name, an inflection, accents, a typing error, the beginning of a word.
    check_words("read_config.md", WORDS, &["Read docs/read_config.md"]);
    check_words("config", WORDS, &["Read docs/read_config.md"]);
    check_words("reading configs", WORDS, &["Read docs/read_config.md"]);
    check_words("uberprufung", WORDS, &["cargo test succeeds"]);
    check_words("praser", SearchQuery { what: &[What::Prompt], ..WORDS }, &["make the Parser faster"]);
    check_words("succ", WORDS, &["cargo test succeeds"]);
    // Nothing but punctuation, and what the index has for itself.
    for nothing in ["--", "😀", "p1", "=k", "kfix", "=kfix", "=wp"] {
        check_words(nothing, WORDS, &[]);
    }
}

#[test]
fn strict_parts_are_required() {
    check_words("+cargo +succeeds", WORDS, &["cargo test succeeds"]);
    check_words("\"test failed\"", WORDS, &["cargo test failed"]);
    check_words("\"failed test\"", WORDS, &[]);
    check_words("cargo +failed", WORDS, &["cargo test failed"]);
    check_words("test -failed", WORDS, &["cargo test succeeds"]);
    check_words("test -\"test failed\"", WORDS, &["cargo test succeeds"]);
    check_words("+read_config", WORDS, &["Read docs/read_config.md"]);
}

#[test]
fn parts_of_words_help_out() {
    let observations = SearchQuery { what: &[What::Observation], ..WORDS };
    check_words("arser", observations, &["Edited src/parser.rs", "Edited src/parser.rs"]);
    check_words("arser", SearchQuery { what: &[What::Prompt], ..WORDS }, &["make the Parser faster"]);
    check_words("arse", SearchQuery { project_key: Some("/q"), ..WORDS }, &["Edited src/parser.rs"]);
    check_words("go", WORDS, &[]);
}

#[test]
fn filters_narrow() {
    let typed = Query::parse("parser");
    let words = SearchQuery { query: Some(&typed), ..WORDS };
    check(SearchQuery { project_key: Some("/q"), ..words.clone() }, &["Edited src/parser.rs"]);
    check(SearchQuery { project_key: Some("/nowhere"), ..words.clone() }, &[]);
    check(SearchQuery { session: Some("s2"), ..words.clone() }, &[]);
    check(
        SearchQuery { without_session: Some("s1"), project_key: Some("/q"), ..words.clone() },
        &["Edited src/parser.rs"],
    );
    check(SearchQuery { without_session: Some("s3"), project_key: Some("/q"), ..words.clone() }, &[]);
    check(SearchQuery { session: Some("s3"), project_key: Some("/p"), ..words.clone() }, &[]);
    check(
        SearchQuery { what: &[What::Prompt, What::Summary], ..words.clone() },
        &["make the Parser faster", "faster parser"],
    );
    check(SearchQuery { kinds: &[Kind::Change], project_key: Some("/p"), ..words.clone() }, &["Edited src/parser.rs"]);
    check(SearchQuery { from: Some(Millis(102 * DAY)), ..words.clone() }, &["Edited src/parser.rs"]);
    check(SearchQuery { to: Some(Millis(10 * DAY)), ..words.clone() }, &["make the Parser faster"]);
    check(
        SearchQuery { offset: 2, limit: 20, order: Order::Newest, ..words },
        &["Edited src/parser.rs", "make the Parser faster"],
    );
}

#[test]
fn filters_alone_list_the_newest() {
    check(SearchQuery { session: Some("s2"), ..WORDS }, &["cargo test succeeds", "Read docs/read_config.md"]);
    check(SearchQuery { kinds: &[Kind::Fix, Kind::Problem], ..WORDS }, &["cargo test succeeds", "cargo test failed"]);
    check(SearchQuery { from: Some(Millis(5)), to: Some(Millis(4)), ..WORDS }, &[]);
    check_words("-parser -config", WORDS, &["cargo test succeeds", "cargo test failed"]);
    check(SearchQuery { what: &[What::Summary], ..WORDS }, &["faster parser"]);
    check(
        SearchQuery { from: Some(Millis(12 * DAY)), to: Some(Millis(100 * DAY)), order: Order::Oldest, ..WORDS },
        &["cargo test failed", "faster parser", "Read docs/read_config.md"],
    );
}

#[test]
fn files_are_found_by_a_part_of_their_path() {
    check(SearchQuery { file: Some("src/pars"), ..WORDS }, &["Edited src/parser.rs", "Edited src/parser.rs"]);
    check(SearchQuery { file: Some("src/pars"), project_key: Some("/q"), ..WORDS }, &["Edited src/parser.rs"]);
    check(SearchQuery { file: Some(r"work\übe"), ..WORDS }, &["cargo test succeeds"]);
    check_words("test", SearchQuery { file: Some("rs"), ..WORDS }, &["cargo test succeeds"]);
    check_words(
        "edited",
        SearchQuery { file: Some("parser.rs"), session: Some("s1"), ..WORDS },
        &["Edited src/parser.rs"],
    );
    // In the title only.
    check(SearchQuery { file: Some("cargo"), ..WORDS }, &[]);
}

#[test]
fn a_hit_says_what_it_costs() {
    let shelf = library();
    let typed = Query::parse("failed");
    let query = SearchQuery { query: Some(&typed), ..WORDS };
    let hits = shelf.store.search(&query).unwrap();
    assert_eq!(hits[0].session.as_deref(), Some("s1"));
    assert_eq!((hits[0].kind, hits[0].at), (Some(Kind::Problem), Millis(12 * DAY)));
    assert!(hits[0].chars > "cargo test failed".len() as u64 * 2 + 19, "{hits:?}");
}

#[test]
fn of_many_the_newest_come_month_by_month() {
    let shelf = Shelf::new();
    let ids: Vec<String> = (0..2_500).map(|n| format!("t{n}")).collect();
    // The newest first: an import that goes backwards.
    let calls: Vec<_> = ids
        .iter()
        .zip(0_u64..)
        .map(|(id, n)| call(id, Kind::Change, &format!("Edited {n}.rs"), (3_000 - n) * DAY / 10))
        .collect();
    shelf.take("s1", &calls);
    let typed = Query::parse("edited");
    let newest = SearchQuery { query: Some(&typed), order: Order::Newest, limit: 3, ..WORDS };
    let titles = |query: &SearchQuery<'_>| {
        shelf.store.search(query).unwrap().into_iter().map(|hit| hit.title).collect::<Vec<_>>()
    };
    assert_eq!(titles(&newest), ["Edited 0.rs", "Edited 1.rs", "Edited 2.rs"]);
    assert_eq!(titles(&SearchQuery { query: None, ..newest.clone() }), ["Edited 0.rs", "Edited 1.rs", "Edited 2.rs"]);
    let oldest = SearchQuery { order: Order::Oldest, offset: 400, limit: 1, ..newest };
    assert_eq!(titles(&oldest), ["Edited 2099.rs"]);
}

#[test]
fn a_timeline_crosses_into_the_sessions_beside_it() {
    let shelf = library();
    let titles = |what, id, before, after| {
        let hits = shelf.store.timeline(RecordId { what, id }, before, after, &[]).unwrap();
        hits.into_iter().map(|hit| hit.title).collect::<Vec<_>>()
    };
    let around = titles(What::Observation, 2, 3, 3);
    assert_eq!(
        around,
        [
            "make the Parser faster",
            "Edited src/parser.rs",
            "cargo test failed",
            "faster parser",
            "Read docs/read_config.md",
            "cargo test succeeds",
        ]
    );
    assert_eq!(titles(What::Observation, 3, 1, 0), ["faster parser", "Read docs/read_config.md"]);
    assert_eq!(titles(What::Prompt, 1, 3, 1), ["make the Parser faster", "Edited src/parser.rs"]);
    assert_eq!(titles(What::Observation, 99, 3, 3), [""; 0]);
}

#[test]
fn a_file_is_found_however_many_other_records_have_the_word() {
    let shelf = library();
    let ids: Vec<String> = (0..3_100).map(|n| format!("later-{n}")).collect();
    let later: Vec<NewObservation<'_>> =
        ids.iter().map(|id| call(id, Kind::Change, "Edited src/other.rs", 200 * DAY)).collect();
    shelf.take("s2", &later);
    let query = Query::parse("edited");
    let hits = shelf
        .store
        .search(&SearchQuery { query: Some(&query), file: Some("parser.rs"), limit: 20, ..SearchQuery::default() })
        .unwrap();
    let titles: Vec<&str> = hits.iter().map(|hit| hit.title.as_str()).collect();
    assert_eq!(titles, ["Edited src/parser.rs", "Edited src/parser.rs"]);
}
