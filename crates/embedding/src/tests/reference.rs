//! A tiny model, and the vectors that model2vec computes with it. Both are made by reference/make.py.

use serde_json::Value;

use crate::{Model, Vector};

#[test]
fn vectors_are_those_that_model2vec_computes() {
    let model = Model::parse(include_bytes!("reference/tiny.lhvec").to_vec()).unwrap();
    let expected: Vec<Value> = serde_json::from_str(include_str!("reference/vectors.json")).unwrap();
    assert!(expected.len() >= 8);
    for one in expected {
        let text = one["text"].as_str().unwrap();
        let values: Vec<f32> =
            one["vector"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap() as f32).collect();
        let (ours, theirs) = (model.embed(text).unwrap(), Vector::new(&values).unwrap());
        let differ = ours.to_bytes().iter().zip(theirs.to_bytes()).any(|(a, b)| (*a as i8).abs_diff(b as i8) > 1);
        assert!(!differ, "{text}: {ours:?} {theirs:?}");
    }
}
