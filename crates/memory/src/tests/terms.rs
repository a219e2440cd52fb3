use std::collections::HashSet;

use proptest::prelude::*;

use crate::{Form, Language, Terms, are_names, common_terms, forms, is_stop_word, split, wanted_terms};

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(Terms::default().index([text]), expected, "{text:?}");
}

#[test]
fn words_give_themselves_and_their_stems() {
    check("The parsers stalled.", "parser parsers stall stalled the");
    check("Ｆｕｌｌ　ｗｉｄｔｈ", "full width");
    check("", "");
    check("--- *** 😀", "");
    assert!(!Terms::default().index(["¯:𘠀"]).starts_with(' '), "a character may fold to nothing");
}

#[test]
fn identifiers_are_kept_whole_and_split() {
    check("parseHttpUrl", "http pars parse parsehttpurl url");
    check("parse_http_url", "http pars parse parsehttpurl url");
    check("HTTPServer", "http httpserver server");
    check("std::fmt", "fmt std stdfmt");
    check("src/http/url.rs", "http rs src srchttpurlrs url urlrs");
    check("E0382 utf8", "e0382 utf8");
}

#[test]
fn versions_and_numbers_are_kept() {
    check("v1.2.3", "1.2.3 2 3 v1");
    check("10.0", "0 10 10.0");
    check("swift.rs:212:34", "212 34 rs swift swiftrs swiftrs21234");
}

#[test]
fn scripts_without_spaces_give_pairs() {
    check("支払期日", "払期 支払 期日");
    check("日", "日");
    check("Rust言語です", "rust です 言語 語で");
}

#[test]
fn all_of_a_long_text_is_indexed() {
    let filler = "lorem ipsum ".repeat(200);
    let text: String = (0..400).map(|n| format!("{filler}word{n} ")).collect();
    assert!(text.len() > 900_000);
    let terms = Terms::default().index([text.as_str()]);
    assert_eq!(terms.split(' ').filter(|term| term.starts_with("word")).count(), 400);
    let chinese = format!("{}期日", "対、".repeat(160_000));
    assert!(Terms::default().index([chinese.as_str()]).split(' ').any(|term| term == "期日"));
    let wide: String = (0..60_000).map(|n| format!("word{n}\u{3000}")).collect();
    let terms = Terms::default().index([wide.as_str()]);
    let terms: HashSet<&str> = terms.split(' ').collect();
    assert!((0..60_000).all(|n| terms.contains(format!("word{n}").as_str())), "none is missing at a border");
}

#[test]
fn the_language_of_a_text_decides_its_stems() {
    assert_eq!(Language::of("Warum wird die Heizmatte zu heiß, und was ist da los?"), Language::German);
    assert_eq!(Language::of("why does it stall when the lock is held"), Language::English);
    assert_eq!(Language::of("pourquoi est-ce que le serveur ne répond pas"), Language::French);
    assert_eq!(Language::of("parse_http_url"), Language::English);
    check("Die Messungen sind nicht genau", "die genau messung messungen nicht sind");
    assert!(forms("messung").iter().any(|form| form == "messung"));
}

#[test]
fn accents_do_not_matter() {
    check("Überprüfung", "uberprufung");
    check("Àÿ", "ay");
    assert_eq!(wanted_terms("Ở")[0].forms[0], "o");
}

#[test]
fn identifiers_and_paths_are_names_and_words_beside_them_are_not() {
    for names in ["parseHttpUrl", "src/http/url.rs", "RateTable load_for", "std::fmt", "the chunk_rows"] {
        assert!(are_names(&wanted_terms(names)), "{names:?}");
    }
    for others in ["importer", "why does chunk_rows matter", "支払期日", "importer stall lock", ""] {
        assert!(!are_names(&wanted_terms(others)), "{others:?}");
    }
}

#[test]
fn words_that_ask_say_nothing() {
    for word in ["why", "the", "please", "warum", "what", "the", "x", "です"] {
        assert!(is_stop_word(word), "{word}");
    }
    for word in ["importer", "stall", "期日", "12", "reminder"] {
        assert!(!is_stop_word(word), "{word}");
    }
    let wanted =
        |text: &str| wanted_terms(text).into_iter().map(|mut term| term.forms.swap_remove(0)).collect::<Vec<_>>();
    assert_eq!(wanted("could you tell me why did the importer stall, please?"), ["importer", "stall"]);
    assert_eq!(wanted("who was it"), ["who", "was", "it"]);
    let common: Vec<String> =
        common_terms("why did the importer stall").into_iter().map(|mut term| term.forms.swap_remove(0)).collect();
    assert_eq!(common, ["why", "did", "the"]);
    assert_eq!(wanted("parser and parsers"), ["parser"]);
    assert_eq!(wanted_terms(&"a lot of different words 1 2 3 ".repeat(200)).len(), 6);
}

#[test]
fn irregular_forms_are_found_once() {
    assert!(forms("bought").contains(&"buy".to_owned()), "{:?}", forms("bought"));
    for word in ["beaten", "broken", "messungen", "running"] {
        let forms = forms(word);
        let distinct: std::collections::BTreeSet<&String> = forms.iter().collect();
        assert_eq!(distinct.len(), forms.len(), "{forms:?}");
    }
}

proptest! {
    #[test]
    fn every_text_gives_terms_that_the_index_takes(text in any::<String>()) {
        let terms = Terms::default().index([text.as_str()]);
        for term in terms.split(' ').filter(|_| !terms.is_empty()) {
            prop_assert!(!term.is_empty());
            let is_plain = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || c == '.';
            prop_assert!(term.chars().all(is_plain), "{text:?} gives {term:?}");
            prop_assert!(!term.chars().any(char::is_whitespace), "{text:?} gives {term:?}");
        }
        let mut positions = Vec::new();
        split(&text, |piece| if piece.form != Form::Whole { positions.push(piece.position) });
        prop_assert!(positions.is_sorted());
        let _ = wanted_terms(&text);
    }
}
