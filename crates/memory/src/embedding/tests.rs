use std::sync::Arc;

use proptest::prelude::*;
use serde_json::Value;

use crate::embedding::{self, FormatError, Model, Question, Vector, Vocabulary, dot};

/// Lays out a model file with these tokens and vectors, each vector with the scale 1.
pub(crate) fn file(id: &str, tokens: &[(&str, &[i8])]) -> Vec<u8> {
    let mut tokens = tokens.to_vec();
    tokens.sort_by_key(|(token, _)| token.as_bytes());
    let dims = tokens[0].1.len();
    let text: String = tokens.iter().map(|(token, _)| *token).collect();
    let mut bytes = b"LHVEC\0\0\x01".to_vec();
    for number in [dims, tokens.len(), id.len(), text.len()] {
        bytes.extend((number as u32).to_le_bytes());
    }
    bytes.extend(id.as_bytes());
    let mut offset = 0_u32;
    bytes.extend(offset.to_le_bytes());
    for (token, _) in &tokens {
        offset += token.len() as u32;
        bytes.extend(offset.to_le_bytes());
    }
    bytes.extend(text.as_bytes());
    bytes.extend(tokens.iter().flat_map(|_| 1.0_f32.to_le_bytes()));
    bytes.extend(tokens.iter().flat_map(|(_, row)| row.iter().map(|value| *value as u8)));
    bytes
}

fn model() -> Vec<u8> {
    file("test-2", &[("login", &[127, 0]), ("broken", &[0, 127]), ("fails", &[0, 127])])
}

#[test]
fn a_text_is_the_mean_of_its_tokens() {
    let model = Model::parse(model()).unwrap();
    assert_eq!((model.id(), model.dims()), ("test-2", 2));
    let vector = model.embed("login broken").unwrap();
    assert_eq!(vector, model.embed("Fails: LOGIN").unwrap());
    assert!((vector.similarity(&model.embed("login").unwrap()) - 0.5_f32.sqrt()).abs() < 0.01);
    assert!((vector.similarity(&vector) - 1.0).abs() < 0.01);
    assert_eq!(model.embed("nothing known"), None);
}

#[test]
fn the_closest_sentences_of_a_long_text_count() {
    let model = Model::parse(model()).unwrap();
    let question = Question::new(Arc::new(Model::parse(self::model()).unwrap()), "login login broken").unwrap();
    let closest = |text: &str| question.compare(text).closest;
    let (far, close) = ("Broken broken fails. ".repeat(20), "Login, login, broken!");
    let whole = |text: &str| model.embed("login login broken").unwrap().similarity(&model.embed(text).unwrap());
    let hidden = format!("{far}\n{close}\n{far}");
    assert!(whole(&hidden) < 0.6, "{}", whole(&hidden));
    assert!((question.compare(&hidden).whole - whole(&hidden)).abs() < 0.02);
    assert!(closest(&hidden) > 0.95, "{}", closest(&hidden));
    assert!(closest(&far) < 0.6, "{}", closest(&far));
    // Too short to be a sentence of its own, and nothing known.
    assert!(closest("Login. Broken broken broken.") < 0.9);
    assert_eq!((closest("nothing"), closest("")), (0.0, 0.0));
    assert!(Question::new(Arc::new(model), "nothing known").is_none());
}

#[test]
fn the_head_alone_is_a_vocabulary() {
    let bytes = model();
    let head = Vocabulary::parse(bytes.clone()).unwrap().shape().head_bytes();
    assert_eq!(Vocabulary::parse(bytes[..head].to_vec()).unwrap().tokens("fails").len(), 1);
    assert!(Vocabulary::parse(bytes[..head - 1].to_vec()).is_err());
}

#[test]
fn what_is_no_model_is_refused() {
    assert_eq!(Model::parse(Vec::new()).unwrap_err(), FormatError::NotAModel);
    assert_eq!(Model::parse(b"SQLite format 3\0 and more bytes".to_vec()).unwrap_err(), FormatError::NotAModel);
    let mut longer = model();
    longer.push(0);
    assert!(matches!(Model::parse(longer), Err(FormatError::Damaged(_))));
    let mut huge = model();
    huge[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(Model::parse(huge), Err(FormatError::Damaged(_))));
}

#[test]
fn a_scale_that_is_not_a_finite_number_is_refused() {
    let whole = model();
    let shape = Vocabulary::parse(whole.clone()).unwrap().shape();
    for scale in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
        for token in 0..shape.tokens {
            let mut bytes = whole.clone();
            bytes[shape.scale_offset(token)..][..4].copy_from_slice(&scale.to_le_bytes());
            assert!(matches!(Model::parse(bytes), Err(FormatError::Damaged(_))), "{scale} of token {token}");
        }
    }
    // The largest one that is taken gives vectors.
    let mut bytes = whole;
    bytes[shape.scale_offset(0)..][..4].copy_from_slice(&1e30_f32.to_le_bytes());
    assert!(Model::parse(bytes).unwrap().embed(&"broken ".repeat(1_000)).is_some());
}

proptest! {
    #[test]
    fn a_damaged_file_is_refused_or_used_and_never_panics(at in 0_usize..120, byte: u8, cut in 0_usize..200) {
        let mut bytes = model();
        let length = bytes.len();
        bytes[at % length] = byte;
        bytes.truncate(cut.max(1));
        if let Ok(model) = Model::parse(bytes) {
            let _ = model.embed("login broken fails somewhere");
        }
    }

    #[test]
    fn rounding_keeps_the_similarity(values in prop::collection::vec(-1.0_f32..1.0, 256)) {
        let (a, b) = values.split_at(128);
        let length = |v: &[f32]| v.iter().map(|x| x * x).sum::<f32>().sqrt();
        prop_assume!(length(a) > 0.1 && length(b) > 0.1);
        let exact = a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>() / (length(a) * length(b));
        let rounded = Vector::new(a).unwrap().similarity(&Vector::new(b).unwrap());
        prop_assert!((exact - rounded).abs() < 0.01, "{exact} {rounded}");
    }
}

#[test]
fn vectors_are_those_that_model2vec_computes() {
    let model = Model::parse(include_bytes!("tests/reference/tiny.lhvec").to_vec()).unwrap();
    let expected: Vec<Value> = serde_json::from_str(include_str!("tests/reference/vectors.json")).unwrap();
    assert!(expected.len() >= 8);
    for case in expected {
        let text = case["text"].as_str().unwrap();
        let values: Vec<f32> =
            case["vector"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap() as f32).collect();
        let (ours, theirs) = (model.embed(text).unwrap(), Vector::new(&values).unwrap());
        let differ = ours.to_bytes().iter().zip(theirs.to_bytes()).any(|(a, b)| (*a as i8).abs_diff(b as i8) > 1);
        assert!(!differ, "{text}: {ours:?} {theirs:?}");
    }
}

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
    assert_eq!(vocabulary.tokens(&"a ".repeat(10_000)).len(), embedding::MAX_TOKENS);
    assert_eq!(vocabulary.tokens(&"-".repeat(1_000_000)).len(), 0);
}

/// Returns bytes that contain the extreme values of a signed byte.
fn bytes(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|at| [128, 127, 255, 0, 1, 77][(at * seed + seed) % 6]).collect()
}

#[test]
fn the_dot_product_has_every_dimension() {
    for length in [0, 1, 15, 16, 17, 31, 32, 100, 128, 384] {
        let (a, b) = (bytes(length, 5), bytes(length, 7));
        let expected: i32 = a.iter().zip(&b).map(|(a, b)| i32::from(*a as i8) * i32::from(*b as i8)).sum();
        assert_eq!(dot(&Vector::from_bytes(&a), &b), expected, "{length}");
    }
}

#[test]
fn dimensions_that_only_one_vector_has_do_not_count() {
    let (long, short) = (bytes(40, 5), bytes(20, 7));
    let expected = dot(&Vector::from_bytes(&long[..20]), &short);
    assert_eq!(dot(&Vector::from_bytes(&long), &short), expected);
    assert_eq!(dot(&Vector::from_bytes(&short), &long), expected);
}
