use proptest::prelude::*;

use super::file;
use crate::{FormatError, Model, Vector, Vocabulary};

fn model() -> Vec<u8> {
    file("test-2", &[("login", &[127, 0]), ("broken", &[0, 127]), ("fails", &[0, 127])])
}

#[test]
fn a_text_is_the_mean_of_its_tokens() {
    let model = Model::parse(model()).unwrap();
    assert_eq!((model.id(), model.dims()), ("test-2", 2));
    let one = model.embed("login broken").unwrap();
    assert_eq!(one, model.embed("Fails: LOGIN").unwrap());
    assert!((one.similarity(&model.embed("login").unwrap()) - 0.5_f32.sqrt()).abs() < 0.01);
    assert!((one.similarity(&one) - 1.0).abs() < 0.01);
    assert_eq!(model.embed("nothing known"), None);
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
