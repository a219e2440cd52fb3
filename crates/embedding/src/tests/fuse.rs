use proptest::prelude::*;

use crate::{WordHit, fuse};

fn hit(key: u32, score: f64, is_exact: bool) -> WordHit<u32> {
    WordHit { key, score, is_exact }
}

fn keys(words: &[WordHit<u32>], near: &[(u32, f32)], weight: f64) -> Vec<u32> {
    fuse(words, near, weight).into_iter().map(|fused| fused.key).collect()
}

#[test]
fn meaning_adds_what_words_have_not_found() {
    assert_eq!(keys(&[hit(1, 9.0, false)], &[(2, 0.8)], 0.5), [1, 2]);
    assert_eq!(keys(&[], &[(2, 0.5), (3, 0.9), (4, 0.1)], 0.5), [3, 2]);
}

#[test]
fn meaning_orders_what_words_cannot_tell_apart() {
    let words = [hit(1, 4.0, false), hit(2, 4.0, false), hit(3, 3.9, false)];
    assert_eq!(keys(&words, &[(3, 0.9), (2, 0.5)], 0.4), [3, 2, 1]);
}

#[test]
fn without_weight_words_alone_decide() {
    let words = [hit(5, 2.0, false), hit(6, 7.0, true), hit(7, 1.0, false)];
    assert_eq!(keys(&words, &[(7, 1.0), (8, 1.0)], 0.0), [5, 6, 7]);
}

#[test]
fn an_exact_match_stays_among_the_first_ten() {
    let words = [hit(1, 1.0, true)];
    let near: Vec<(u32, f32)> = (100..140).map(|key| (key, 0.99)).collect();
    let order = keys(&words, &near, 50.0);
    assert_eq!(order.iter().position(|key| *key == 1), Some(9));
    assert_eq!(order.len(), 41);
}

proptest! {
    #[test]
    fn nothing_is_lost_and_exact_matches_stay(
        scores in prop::collection::vec((0.0_f64..10.0, any::<bool>()), 0..40),
        near in prop::collection::vec((0_u32..80, -1.0_f32..1.0), 0..60),
        weight in 0.0_f64..20.0,
    ) {
        let words: Vec<_> = scores.iter().enumerate().map(|(key, (score, exact))| hit(key as u32, *score, *exact)).collect();
        let order = keys(&words, &near, weight);
        let mut once = order.clone();
        once.sort_unstable();
        once.dedup();
        prop_assert_eq!(once.len(), order.len());
        for (rank, word) in words.iter().enumerate() {
            let place = order.iter().position(|key| *key == word.key);
            prop_assert!(place.is_some());
            prop_assert!(rank >= 10 || !word.is_exact || place < Some(10));
        }
    }
}
