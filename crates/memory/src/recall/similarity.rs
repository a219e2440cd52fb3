//! The part of the score that comes from similar meaning.

use super::weights::WEIGHTS;

/// A record with every word of the query that is among this many first results by words stays among them.
pub const FIRST_RESULTS: usize = 10;

/// A record with most of the query ([`Weights::most`](super::Weights::most)) that is among this many first results by
/// words stays among them.
pub const BEST_RESULTS: usize = 5;

/// Converts a similarity to a part of a record's score, in one search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeaningScale {
    /// The part for a similarity of 1.
    full: f64,
    /// The similarity up to which the part is 0.
    floor: f64,
}

impl MeaningScale {
    /// Returns the scale for a search in which the best record has `best_score` by words, and the share `covered` of
    /// the query.
    ///
    /// `least` is the smallest similarity of the nearest records, if more records than these were compared. It is the
    /// similarity of something unrelated, which differs between models and queries. Many records may have the same
    /// subject, so a similarity that is high for every model always counts. `by_sentences` says what was compared: the closest
    /// sentences or whole texts.
    pub fn new(best_score: f64, covered: f64, least: Option<f32>, by_sentences: bool) -> Self {
        let left = 1.0 - (1.0 - WEIGHTS.meaning_when_covered) * covered.clamp(0.0, 1.0);
        // Without any word there is no score to compare with, and similarity alone decides the order.
        let best = if best_score > 0.0 { best_score } else { 1.0 };
        let floor = least.map_or(0.0, f64::from).clamp(WEIGHTS.unrelated, WEIGHTS.related);
        let weight = if by_sentences { WEIGHTS.closest_sentences } else { WEIGHTS.meaning };
        Self { full: weight * left * best, floor }
    }

    /// Returns how far a similarity is above that of something unrelated: 1 is the same.
    pub fn above(self, similarity: f32) -> f64 {
        let above = (f64::from(similarity) - self.floor) / (1.0 - self.floor).max(f64::MIN_POSITIVE);
        above.clamp(0.0, 1.0)
    }

    /// Returns the part of the score for a similarity.
    pub fn part(self, similarity: f32) -> f64 {
        self.full * self.above(similarity)
    }
}

/// Moves protected items that are behind the first `results` to the end of those. The order is otherwise kept.
pub fn keep_among_first<T>(order: Vec<T>, results: usize, is_protected: impl Fn(&T) -> bool) -> Vec<T> {
    let protected = order.iter().filter(|one| is_protected(one)).count();
    let mut room = results.saturating_sub(protected);
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for one in order {
        let is_first = is_protected(&one) || room > 0;
        if is_first && !is_protected(&one) {
            room -= 1;
        }
        if is_first { first.push(one) } else { rest.push(one) }
    }
    first.extend(rest);
    first
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{FIRST_RESULTS, MeaningScale, WEIGHTS, keep_among_first};

    #[test]
    fn meaning_adds_most_where_words_cover_least() {
        let part = |covered: f64| MeaningScale::new(4.0, covered, None, false).part(0.8);
        assert!(part(0.0) > part(0.5) && part(0.5) > part(1.0) && part(1.0) > 0.0);
    }

    #[test]
    fn what_is_unrelated_adds_nothing() {
        assert_eq!(MeaningScale::new(4.0, 0.0, None, false).part(0.05), 0.0);
        // With a model for which everything is similar, only what is more similar than the rest counts.
        let scale = MeaningScale::new(4.0, 0.0, Some(0.5), false);
        assert_eq!(scale.part(0.5), 0.0);
        assert!(scale.part(0.6) > 0.0);
        // Of many records with the same meaning, each counts.
        assert!(MeaningScale::new(4.0, 0.0, Some(1.0), false).part(1.0) > 0.0);
    }

    #[test]
    fn the_part_grows_from_the_floor_to_the_whole() {
        let about = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-6, "{value} is not {expected}");
        let full = WEIGHTS.meaning * 4.0;
        about(MeaningScale::new(4.0, 0.0, Some(0.5), false).part(1.0), full);
        about(MeaningScale::new(4.0, 0.0, Some(0.5), false).part(0.75), full / 2.0);
        about(MeaningScale::new(4.0, 1.0, Some(0.5), false).part(1.0), full * WEIGHTS.meaning_when_covered);
        about(
            MeaningScale::new(4.0, 0.5, Some(0.5), false).part(1.0),
            full * (1.0 + WEIGHTS.meaning_when_covered) / 2.0,
        );
        about(MeaningScale::new(0.0, 0.0, Some(0.5), false).part(1.0), WEIGHTS.meaning);
    }

    #[test]
    fn without_words_similarity_orders() {
        let scale = MeaningScale::new(0.0, 0.0, None, false);
        assert!(scale.part(0.9) > scale.part(0.6) && scale.part(0.6) > 0.0);
    }

    #[test]
    fn what_is_protected_moves_to_the_end_of_the_first() {
        let order: Vec<u32> = (0..20).collect();
        let kept = keep_among_first(order, FIRST_RESULTS, |one| *one == 15);
        assert_eq!(kept[..11], [0, 1, 2, 3, 4, 5, 6, 7, 8, 15, 9]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_what_is_protected_is_among_the_first(
            order in prop::collection::btree_set(0_u32..60, 0..40),
            protected in prop::collection::btree_set(0_u32..60, 0..FIRST_RESULTS),
        ) {
            let order: Vec<u32> = order.into_iter().collect();
            let kept = keep_among_first(order.clone(), FIRST_RESULTS, |one| protected.contains(one));
            for one in &protected {
                let place = kept.iter().position(|other| other == one);
                prop_assert!(place.is_none_or(|place| place < FIRST_RESULTS));
            }
            let mut sorted = kept;
            sorted.sort_unstable();
            prop_assert_eq!(sorted, order);
        }
    }
}
