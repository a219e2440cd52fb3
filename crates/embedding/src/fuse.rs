//! Joins what words found with what meaning found.

use std::collections::HashMap;
use std::hash::Hash;

/// How many of the first results an exact match keeps its place among.
const FIRST: usize = 10;

/// Below this similarity two texts have nothing to do with each other.
const UNRELATED: f32 = 0.25;

/// A result that words found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WordHit<K> {
    /// Which record.
    pub key: K,
    /// How well it matches; more is better, of any scale.
    pub score: f64,
    /// Whether it has everything that was asked for, word for word.
    pub is_exact: bool,
}

/// A result of both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fused<K> {
    /// Which record.
    pub key: K,
    /// What it is ordered by: the share of the best word score, plus the part that meaning adds.
    pub score: f64,
    /// The part of `score` that meaning adds, from 0 to the weight.
    pub meaning: f64,
}

/// Joins both lists, the best first.
///
/// `words` stands in its own order, the best first. `near` holds records and their similarity. `weight` says how much a
/// similarity of 1 adds, where the best word match has 1; with 0 the order of `words` stays as it is and nothing is
/// added. Every record of `words` is in the result. One that is exact and among the first ten of `words` is among the
/// first ten of the result.
pub fn fuse<K: Copy + Eq + Hash>(words: &[WordHit<K>], near: &[(K, f32)], weight: f64) -> Vec<Fused<K>> {
    let best = words.iter().map(|hit| hit.score).fold(0.0, f64::max);
    let mut meaning: HashMap<K, f64> = HashMap::new();
    for (key, similarity) in near {
        let part = f64::from((similarity - UNRELATED) / (1.0 - UNRELATED)).clamp(0.0, 1.0) * weight;
        let known = meaning.entry(*key).or_insert(part);
        *known = known.max(part);
    }
    let mut share = 1.0_f64;
    let mut fused: Vec<Fused<K>> = words
        .iter()
        .map(|hit| {
            let meaning = meaning.remove(&hit.key).unwrap_or_default();
            // Whoever ordered the words may have had more reasons than the score: their order stands.
            share = share.min(if best > 0.0 { (hit.score / best).max(0.0) } else { 0.0 });
            Fused { key: hit.key, score: share + meaning, meaning }
        })
        .collect();
    for (key, _) in near {
        if let Some(meaning) = meaning.remove(key).filter(|meaning| *meaning > 0.0) {
            fused.push(Fused { key: *key, score: meaning, meaning });
        }
    }
    // Stable: equal scores keep the order of words.
    fused.sort_by(|a, b| b.score.total_cmp(&a.score));
    let protected: Vec<K> = words.iter().take(FIRST).filter(|hit| hit.is_exact).map(|hit| hit.key).collect();
    keep_among_first(fused, &protected)
}

/// Moves what is protected and has fallen out of the first results back to their end.
fn keep_among_first<K: Copy + Eq>(fused: Vec<Fused<K>>, protected: &[K]) -> Vec<Fused<K>> {
    let is_protected = |hit: &Fused<K>| protected.contains(&hit.key);
    let mut room = FIRST.saturating_sub(protected.len());
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for hit in fused {
        if is_protected(&hit) {
            first.push(hit);
        } else if room > 0 {
            room -= 1;
            first.push(hit);
        } else {
            rest.push(hit);
        }
    }
    first.extend(rest);
    first
}
