use longhaul_core::clock::Date;
use proptest::prelude::*;

use crate::query::Term;
use crate::{Kind, Query};

/// Returns terms as they may be typed.
fn typed(terms: &[Term]) -> Vec<String> {
    let quote = |term: &Term| if term.is_phrase { "\"" } else { "" };
    let star = |term: &Term| if term.is_prefix { "*" } else { "" };
    terms.iter().map(|term| format!("{0}{1}{0}{2}", quote(term), term.text, star(term))).collect()
}

#[track_caller]
fn check(text: &str, terms: &[&str], excluded: &[&str]) {
    let query = Query::parse(text);
    assert_eq!((typed(&query.terms), typed(&query.excluded)), (owned(terms), owned(excluded)), "{text:?}");
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn words_and_phrases_are_terms() {
    check("login", &["login"], &[]);
    check("fix  login", &["fix", "login"], &[]);
    check("\"exact words\"", &["\"exact words\""], &[]);
    check("a \"b c\" -old", &["a", "\"b c\""], &["old"]);
    check("x -\"two words\" -y", &["x"], &["\"two words\"", "y"]);
    check("“curly quotes” x", &["\"curly quotes\"", "x"], &[]);
    check("src/auth.rs", &["src/auth.rs"], &[]);
    check("日", &["日"], &[]);
}

#[test]
fn no_word_is_an_operator() {
    check("a AND b OR c", &["a", "AND", "b", "OR", "c"], &[]);
    check("NEAR(a b)", &["NEAR(a", "b)"], &[]);
    check("title:x*", &["title:x*"], &[]);
    check("a\"b", &["a", "\"b\""], &[]);
    check("^x {y} (z", &["^x", "{y}", "(z"], &[]);
    check("a\0b", &["a b"], &[]);
    check("a -NOT", &["a"], &["NOT"]);
}

#[test]
fn nothing_to_look_for_has_no_terms() {
    for text in ["", "  ", "\"", "\"\"", "file:x"] {
        check(text, &[], &[]);
    }
    for text in ["-", "--", "😀", "* ( )", "-😀", "-- *** 🎉🎉🎉"] {
        assert_eq!(Query::parse(text).wanted_terms(), [], "{text}");
    }
    check("-only", &[], &["only"]);
    check("-\"not this\"", &[], &["\"not this\""]);
}

#[test]
fn filters_are_taken_out() {
    let query = Query::parse(
        "login file:src/auth.rs kind:Fix project:\"my app\" since:2026-01-31 before:2026-02-01 from:laptop page",
    );
    assert_eq!(query.from.as_deref(), Some("laptop"));
    assert_eq!(query.file.as_deref(), Some("src/auth.rs"));
    assert_eq!(query.kind, Some(Kind::Fix));
    assert_eq!(query.project.as_deref(), Some("my app"));
    assert_eq!((query.since, query.before), (Date::parse("2026-01-31"), Date::parse("2026-02-01")));
    assert_eq!(typed(&query.terms), ["login", "page"]);
}

#[test]
fn a_filter_that_cannot_be_is_a_word() {
    let query = Query::parse("kind:odd since: file: -kind:fix");
    assert_eq!((query.kind, query.since, query.file.as_deref()), (None, None, None));
    assert_eq!(typed(&query.terms), ["kind:odd", "since:", "file:"]);
    assert_eq!(typed(&query.excluded), ["kind:fix"]);
}

#[test]
fn plain_words_are_wanted_and_marked_ones_required() {
    let query = Query::parse("why +stall \"two words\" -parser importer --flag");
    assert_eq!(query.wanted(), "why importer --flag");
    let required: Vec<&str> = query.required().map(|term| term.text.as_str()).collect();
    assert_eq!(required, ["stall", "two words"]);
    assert_eq!(query.excluded[0].text, "parser");
}

#[test]
fn nothing_in_a_quotation_is_an_operator() {
    let query = Query::parse("error: cannot open \"x.db\"\n  -parser file:src/a.rs +b");
    assert_eq!(query.wanted(), "error: cannot open x.db -parser file:src/a.rs +b");
    assert_eq!((query.excluded.len(), query.file), (0, None));
    assert_eq!(Query::parse(&format!("-x {}", "word ".repeat(80))).excluded.len(), 0);
}

#[test]
fn long_text_is_cut() {
    let query = Query::parse(&"word ".repeat(2_000));
    assert_eq!(query.terms.len(), 1_024);
    let long = Query::parse(&"x".repeat(10_000));
    assert_eq!(long.terms[0].text.len(), 200);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_brings_a_control_character(
        text in any::<String>(),
        mixed in "(\"|-|\\*|\\(|\\)|AND |OR |NOT |NEAR\\(|file:|kind:|since:|x|é|😀| |\0|:|\\^|\\{|\\+){0,60}",
    ) {
        for text in [text, mixed] {
            let query = Query::parse(&text);
            for term in query.terms.iter().chain(&query.excluded) {
                prop_assert!(!term.text.is_empty() && !term.text.contains(char::is_control), "{text:?} → {term:?}");
            }
        }
    }
}

#[test]
fn a_star_stands_for_every_word_that_begins_so() {
    check("Pars* error", &["Pars*", "error"], &[]);
    assert!(Query::parse("Pars*").terms[0].is_prefix && !Query::parse("\"Pars*\"").terms[0].is_prefix);
    assert!(!Query::parse("*").terms[0].is_prefix && Query::parse("-Pars*").excluded[0].is_prefix);
    let wanted = Query::parse("importing Pars*").wanted_terms();
    assert_eq!(wanted.iter().map(|term| term.is_prefix).collect::<Vec<_>>(), [false, true]);
    assert_eq!(wanted[1].forms, ["pars"], "no other form of the word");
}

#[test]
fn a_day_that_is_none_is_noted() {
    let query = Query::parse("parser since:nonsense before:2026-01-31");
    assert_eq!(query.misread, [("since", "nonsense".to_owned())]);
    assert_eq!(query.terms.len(), 1);
    for text in ["since:2026-01-31", "since: nonsense", "\"since:nonsense\"", "-since:nonsense", "kind:Pod"] {
        assert_eq!(Query::parse(text).misread, [], "{text}");
    }
}
