use proptest::prelude::*;

use crate::{MarkedText, Query, WordMarker};

#[track_caller]
fn check(typed: &str, text: &str, expected: &[&str]) {
    let marks = WordMarker::new(&Query::parse(typed), [text]).marks(text);
    let found: Vec<&str> = marks.into_iter().map(|mark| &text[mark]).collect();
    assert_eq!(found, expected, "{typed:?} in {text:?}");
}

#[test]
fn words_are_marked_in_every_form_in_which_they_are_found() {
    check("why did the importer stall", "Importers stalled: why?", &["Importers", "stalled"]);
    check("Heizmatte", "Die Heizmatten glühen.", &["Heizmatten"]);
    check("http url", "see parseHttpUrl()", &["HttpUrl"]);
    check("parseHttpUrl", "parse_http_url, parseHttpUrl", &["parse_http_url", "parseHttpUrl"]);
    check("src/http/url.rs", "in src/http/url.rs now", &["src/http/url.rs"]);
    check("\"exchange rates\" +cache -parser", "exchange rates, cache, parser", &["exchange", "rates", "cache"]);
    check("impor*", "the importer imports", &["importer", "imports"]);
    check("zeppelin", "nothing of it", &[]);
    check("", "nothing", &[]);
}

#[test]
fn pairs_of_characters_become_words() {
    check("支払期日", "新しい支払期日です", &["支払期日"]);
}

#[test]
fn a_typing_error_marks_what_was_meant() {
    check("improter", "the importer", &["importer"]);
    check("improter", "the improter and the importer", &["improter"]);
}

#[test]
fn a_word_that_is_only_the_beginning_of_others_marks_those() {
    check("zepp", "the zeppelin", &["zeppelin"]);
    check("zep", "the zeppelin", &[]);
    check("zeppeling", "the zeppelins", &["zeppelins"]);
    check("confederating", "their confederations", &["confederations"]);
}

#[test]
fn the_words_of_a_query_are_reported_as_they_were_typed() {
    let marker = WordMarker::new(&Query::parse("improter Stalls +Cache"), ["the importer stalls"]);
    assert_eq!(marker.typed().collect::<Vec<_>>(), ["improter", "stalls", "cache"]);
}

#[test]
fn among_many_words_nothing_is_corrected() {
    let others =
        ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliett", "kilo", "lima"];
    let text = format!("importer {}", others.join(" "));
    let is_marked = |count: usize| {
        let query = Query::parse(&format!("improter {}", others[..count].join(" ")));
        WordMarker::new(&query, [text.as_str()]).marks(&text).first().is_some_and(|mark| mark.start == 0)
    };
    assert!(is_marked(11) && !is_marked(12));
}

#[test]
fn places_are_right_in_texts_that_are_not_normalised() {
    check("importer", "½ of … it: ﬁrst the importer™ waits", &["importer"]);
    check("cafe", "le cafe\u{301} noir", &["cafe\u{301}"]);
    check("first", "the ﬁrst one", &["ﬁrst"]);
    check("full width", "\u{301}Ｆｕｌｌ　ｗｉｄｔｈ", &["Ｆｕｌｌ", "ｗｉｄｔｈ"]);
}

#[test]
fn words_are_marked_to_the_end_of_a_long_text_until_every_word_is_there() {
    let filler = "lorem ipsum ".repeat(20_000);
    check("importer stall", &format!("importer {filler}stalled, {filler}importer"), &["importer", "stalled"]);
    check("importer", &format!("importer {filler}importer"), &["importer"]);
    check("期日", &format!("{}支払期日です", "対、".repeat(30_000)), &["期日"]);
    check("improter", &format!("{filler}importer"), &["importer"]);
}

#[test]
fn marks_are_counted_in_characters_for_other_languages() {
    let text = MarkedText { text: "é日x importer, lock".to_owned(), marks: vec![7..15, 17..21] };
    assert_eq!(text.marks_in_chars(), [[4, 12], [14, 18]]);
    assert_eq!(text.pieces(), [("é日x ", false), ("importer", true), (", ", false), ("lock", true)]);
}

proptest! {
    #[test]
    fn marks_are_apart_and_on_characters(typed in "\\PC{0,30}", text in ".{0,80}") {
        let mut last = 0;
        for mark in WordMarker::new(&Query::parse(&typed), [text.as_str()]).marks(&text) {
            prop_assert!(mark.start >= last && mark.start <= mark.end);
            prop_assert!(text.get(mark.clone()).is_some());
            last = mark.end;
        }
    }
}
