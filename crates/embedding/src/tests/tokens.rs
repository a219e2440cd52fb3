use super::file;
use crate::Vocabulary;

const TOKENS: &[&str] = &[
    "un", "##aff", "##able", "login", "broken", "cafe", "!", "→", "東", "京", "naive", "##s", "http", "##2", "a", "b",
];

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let mut sorted = TOKENS.to_vec();
    sorted.sort_by_key(|token| token.as_bytes());
    let rows: Vec<(&str, &[i8])> = TOKENS.iter().map(|token| (*token, &[1_i8, 0][..])).collect();
    let vocabulary = Vocabulary::parse(file("test", &rows)).unwrap();
    let found: Vec<&str> = vocabulary.tokens(text).into_iter().map(|token| sorted[token]).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn a_word_is_split_into_the_longest_pieces() {
    check("unaffable logins", &["un", "##aff", "##able", "login", "##s"]);
    check("HTTP2", &["http", "##2"]);
}

#[test]
fn case_and_accents_do_not_count() {
    check("Café NAÏVE cafe\u{301}", &["cafe", "naive", "cafe"]);
}

#[test]
fn punctuation_and_chinese_characters_stand_alone() {
    check("login!broken", &["login", "!", "broken"]);
    check("東京", &["東", "京"]);
    check("a→b", &["a", "→", "b"]);
}

#[test]
fn a_word_with_an_unknown_piece_is_left_out_as_a_whole() {
    check("unxaffable broken", &["broken"]);
    check(&format!("{} login", "a".repeat(101)), &["login"]);
}

#[test]
fn pieces_signs_and_single_letters_are_no_known_words() {
    let rows: Vec<(&str, &[i8])> = TOKENS.iter().map(|token| (*token, &[1_i8, 0][..])).collect();
    let vocabulary = Vocabulary::parse(file("test", &rows)).unwrap();
    for text in ["unaffable logins", "a b !", "→", ""] {
        assert!(!vocabulary.knows_any_word(text), "{text:?}");
    }
    for text in ["unaffable Login", "東", "Café?"] {
        assert!(vocabulary.knows_any_word(text), "{text:?}");
    }
}

#[test]
fn invisible_characters_are_no_part_of_a_word() {
    check("lo\u{200b}gin\0 bro\u{ad}ken \u{fffd}", &["login", "broken"]);
    check("", &[]);
}

#[test]
fn a_long_text_is_read_up_to_a_limit() {
    let rows: Vec<(&str, &[i8])> = vec![("a", &[1, 0])];
    let vocabulary = Vocabulary::parse(file("test", &rows)).unwrap();
    assert_eq!(vocabulary.tokens(&"a ".repeat(10_000)).len(), crate::MAX_TOKENS);
    assert_eq!(vocabulary.tokens(&"-".repeat(1_000_000)).len(), 0);
}
