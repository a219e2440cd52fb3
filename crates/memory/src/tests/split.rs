use crate::{Form, split};

/// Returns the pieces of a text: text, position and range, and a `+` before a whole.
fn pieces(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    split(text, |piece| {
        let mark = if piece.form == Form::Whole { "+" } else { "" };
        all.push(format!("{mark}{}@{} {}..{}", piece.text, piece.position, piece.start, piece.end));
    });
    all
}

#[test]
fn a_whole_has_the_position_of_its_first_part() {
    assert_eq!(
        pieces("See parseHttpUrl now"),
        ["see@0 0..3", "parse@1 4..9", "http@2 9..13", "url@3 13..16", "+parsehttpurl@1 4..16", "now@4 17..20"]
    );
    assert_eq!(pieces("a_b-c"), ["a@0 0..1", "b@1 2..3", "c@2 4..5", "+abc@0 0..5"]);
    assert_eq!(pieces("_a_ -b- c"), ["a@0 1..2", "b@1 5..6", "c@2 8..9"]);
    assert_eq!(pieces("HTTPServer2"), ["http@0 0..4", "server2@1 4..11", "+httpserver2@0 0..11"]);
}

#[test]
fn signs_join_words_only_between_them() {
    assert_eq!(pieces("std::fmt"), ["std@0 0..3", "fmt@1 5..8", "+stdfmt@0 0..8"]);
    assert_eq!(pieces("a->b"), ["a@0 0..1", "b@1 3..4", "+ab@0 0..4"]);
    assert_eq!(pieces("a.rs"), ["a@0 0..1", "rs@1 2..4", "+ars@0 0..4"]);
    assert_eq!(pieces("x/url.rs"), ["x@0 0..1", "url@1 2..5", "rs@2 6..8", "+urlrs@1 2..8", "+xurlrs@0 0..8"]);
    assert_eq!(pieces("a. b: c/ d"), ["a@0 0..1", "b@1 3..4", "c@2 6..7", "d@3 9..10"]);
    assert_eq!(pieces("v1.20.3"), ["v1@0 0..2", "20@1 3..5", "3@2 6..7", "+1.20.3@0 0..7"]);
}

#[test]
fn characters_without_spaces_come_in_pairs() {
    assert_eq!(pieces("日本語 x"), ["日本@0 0..6", "本語@1 3..9", "x@2 10..11"]);
    assert_eq!(pieces("日x本"), ["日@0 0..3", "x@1 3..4", "本@2 4..7"]);
    for first in
        ['\u{e00}', '\u{eff}', '\u{3005}', '\u{3040}', '\u{31f0}', '\u{3400}', '\u{9fff}', '\u{ac00}', '\u{d7a3}']
    {
        let text = format!("{first}日");
        assert_eq!(pieces(&text).len(), 1, "{text} is a pair");
    }
    assert_eq!(pieces("日・本").len(), 2, "a dot separates them");
}

#[test]
fn a_word_of_more_than_64_bytes_is_data() {
    let word = |length: usize| "ab1".repeat(30)[..length].to_owned();
    assert_eq!(pieces(&word(64)).len(), 1);
    assert_eq!(pieces(&word(65)), [""; 0]);
    assert_eq!(pieces(&format!("{} x", word(65))), ["x@1 66..67"], "it still has a position");
    let parts = |length: usize| pieces(&format!("{}_{}", word(32), word(length))).len();
    assert_eq!((parts(32), parts(33)), (3, 2), "a whole has the same limit");
    let path = |length: usize| pieces(&format!("{}/{}", word(32), word(length))).len();
    assert_eq!((path(32), path(33)), (3, 2));
}

#[test]
fn khmer_and_myanmar_come_in_pairs_with_their_signs() {
    let texts = |text: &str| {
        let mut all = Vec::new();
        split(text, |piece| all.push(piece.text.to_owned()));
        all
    };
    assert_eq!(texts("បញ្ហា"), ["បញ", "ញ\u{17d2}", "\u{17d2}ហ", "ហា"]);
    assert_eq!(texts("ပြ။ နာ"), ["ပ\u{103c}", "နာ"], "a full stop separates them");
    assert_eq!(texts("Rustបញ"), ["rust", "បញ"]);
    assert_eq!(texts(&"ប".repeat(100)).len(), 99, "a long run is no data");
}
