use longhaul_core::clock::Date;
use proptest::prelude::*;

use crate::{Kind, Query};

#[track_caller]
fn check(text: &str, fts: Option<&str>, without: Option<&str>) {
    let query = Query::parse(text);
    assert_eq!((query.fts().as_deref(), query.without().as_deref()), (fts, without), "{text:?}");
}

#[test]
fn words_and_phrases_become_strings() {
    check("login", Some("\"login\"*"), None);
    check("fix  login", Some("\"fix\" \"login\"*"), None);
    check("\"exact words\"", Some("\"exact words\""), None);
    check("a \"b c\" -old", Some("\"a\" \"b c\""), Some("\"old\""));
    check("x -\"two words\" -y", Some("\"x\""), Some("\"two words\" OR \"y\""));
    check("“curly quotes” x", Some("\"curly quotes\" \"x\""), None);
    check("src/auth.rs", Some("\"src/auth.rs\"*"), None);
    check("日", Some("\"日\"*"), None);
}

#[test]
fn no_word_is_an_operator() {
    check("a AND b OR c", Some("\"a\" \"AND\" \"b\" \"OR\" \"c\""), None);
    check("NEAR(a b)", Some("\"NEAR(a\" \"b)\""), None);
    check("title:x*", Some("\"title:x\"*"), None);
    check("a\"b", Some("\"a\" \"b\""), None);
    check("^x {y} (z", Some("\"^x\" \"{y}\" \"(z\"*"), None);
    check("a\0b", Some("\"a b\"*"), None);
    check("a -NOT", Some("\"a\""), Some("\"NOT\""));
}

#[test]
fn nothing_to_look_for_is_none() {
    for text in ["", "  ", "\"", "\"\"", "-", "--", "😀", "* ( )", "-😀", "file:x", "-- *** 🎉🎉🎉"] {
        check(text, None, None);
    }
    check("-only", None, Some("\"only\""));
    check("-\"not this\"", None, Some("\"not this\""));
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
    assert_eq!(query.fts().as_deref(), Some("\"login\" \"page\"*"));
}

#[test]
fn a_filter_that_cannot_be_is_a_word() {
    let query = Query::parse("kind:odd since: file: -kind:fix");
    assert_eq!((query.kind, query.since, query.file.as_deref()), (None, None, None));
    assert_eq!(query.fts().as_deref(), Some("\"kind:odd\" \"since:\" \"file:\""));
    assert_eq!(query.without().as_deref(), Some("\"kind:fix\""));
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
    assert_eq!(query.fts().unwrap().matches("word").count(), 32);
    let long = Query::parse(&"x".repeat(10_000)).fts().unwrap();
    assert_eq!(long.len(), 203);
}

/// Reads an expression the way FTS5 does: strings, with a star behind the last one, and OR between them or nothing.
fn is_safe(expression: &str) -> bool {
    let mut rest = expression;
    let mut strings = 0;
    loop {
        rest = rest.strip_prefix(if strings == 0 { "" } else { " " }).unwrap_or("!");
        rest = if strings == 0 { rest } else { rest.strip_prefix("OR ").unwrap_or(rest) };
        let Some(mut body) = rest.strip_prefix('"') else { return false };
        loop {
            let Some(quote) = body.find('"') else { return false };
            body = &body[quote + 1..];
            match body.strip_prefix('"') {
                Some(more) => body = more,
                None => break,
            }
        }
        strings += 1;
        rest = body.strip_prefix('*').unwrap_or(body);
        if rest.is_empty() {
            return strings <= 32 && !expression.contains('\0');
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_text_becomes_a_safe_expression(
        text in any::<String>(),
        mixed in "(\"|-|\\*|\\(|\\)|AND |OR |NOT |NEAR\\(|file:|kind:|since:|x|é|😀| |\0|:|\\^|\\{|\\+){0,60}",
    ) {
        for text in [text, mixed] {
            let query = Query::parse(&text);
            for expression in [query.fts(), query.without()].into_iter().flatten() {
                prop_assert!(is_safe(&expression), "{text:?} → {expression}");
            }
        }
    }
}

#[test]
fn a_star_stands_for_every_word_that_begins_so() {
    let fts = |text: &str| Query::parse(text).fts();
    assert_eq!(fts("Pars*").as_deref(), Some("\"Pars\"*"));
    assert_eq!(fts("Pars* error").as_deref(), Some("\"Pars\"* \"error\"*"));
    assert_eq!(fts("\"Pars*\"").as_deref(), Some("\"Pars*\""));
    assert_eq!(fts("*"), None);
    assert_eq!(Query::parse("-Pars*").without().as_deref(), Some("\"Pars\"*"));
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
