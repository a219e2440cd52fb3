//! Chooses the passages of an answer, and marks those that a newer one has replaced.

use super::amends::amends;
use super::answer::{AS_GOOD, FoundPassage, LEAST_CHARS, PassageKind};
use super::answer_limits::{AnswerLimits, WEAK_ANSWER_PASSAGES};
use super::matched_words::WordMatch;
use super::weights::WEIGHTS;

/// Passages with a lower share of the best score are left out.
const LEAST_SCORE: f64 = 0.12;

/// Maximum distance in prompts at which a passage belongs to a good answer.
const BESIDE: i64 = 2;

/// Returns the passages that are worth showing.
pub(super) fn choose(mut found: Vec<FoundPassage>, limits: AnswerLimits) -> Vec<FoundPassage> {
    let is_weak = found.first().is_some_and(|best| best.is_weak);
    let room = (limits.chars / LEAST_CHARS).clamp(1, limits.passages.max(1));
    let most = if is_weak { room.min(WEAK_ANSWER_PASSAGES) } else { room };
    let best = found.iter().map(|one| one.score).fold(0.0, f64::max);
    // Where no score is known, all are 0.
    found.retain(|one| one.score >= best * LEAST_SCORE);
    // A prompt without a reply is the least useful.
    found.sort_by_key(|one| one.kind == PassageKind::Exchange && one.answered.trim().is_empty());
    let mut order: Vec<usize> = Vec::new();
    for (index, one) in found.iter().enumerate() {
        // A passage is more useful than a tool call for it or a summary of it.
        let says_it = |other: &FoundPassage| {
            let is_covered = match one.kind {
                PassageKind::Work => other.prompt_number == one.prompt_number,
                PassageKind::Summary => true,
                PassageKind::Exchange | PassageKind::Note | PassageKind::Decision => false,
            };
            is_covered && other.session == one.session && other.kind == PassageKind::Exchange
        };
        let index = found.iter().position(says_it).unwrap_or(index);
        if !order.contains(&index) && order.len() < most {
            order.push(index);
        }
    }
    let mut found: Vec<Option<FoundPassage>> = found.into_iter().map(Some).collect();
    let mut chosen: Vec<FoundPassage> = order.into_iter().filter_map(|index| found[index].take()).collect();
    let strong: Vec<(Option<String>, i64)> =
        chosen.iter().filter(|one| !one.is_weak).map(|one| (one.session.clone(), one.prompt_number)).collect();
    for one in &mut chosen {
        // An answer is next to the words of its question, and need not have them itself.
        let is_beside = |(session, number): &(Option<String>, i64)| {
            *session == one.session && (number - one.prompt_number).abs() <= BESIDE
        };
        one.is_weak &= !strong.iter().any(is_beside);
    }
    chosen
}

/// Marks decisions that a newer session has replaced.
pub(super) fn mark_older(chosen: &mut [FoundPassage], matches: &[[Vec<WordMatch>; 2]], weights: &[f64]) {
    let has = |words: &[Vec<WordMatch>; 2], term: usize| words.iter().flatten().any(|found| found.term == term);
    let share = |a: usize, b: usize| {
        let sum = |counts: &dyn Fn(bool, bool) -> bool| -> f64 {
            let terms = weights.iter().enumerate();
            terms.filter(|(term, _)| counts(has(&matches[a], *term), has(&matches[b], *term))).map(|(_, one)| one).sum()
        };
        let any = sum(&|a, b| a || b);
        if any > 0.0 { sum(&|a, b| a && b) / any } else { 0.0 }
    };
    let is_overtaken = |older: usize| {
        let one = &chosen[older];
        (0..chosen.len()).any(|newer| {
            let other = &chosen[newer];
            let needed = if amends(&other.answered) { WEIGHTS.same_question } else { WEIGHTS.decided_again };
            other.at > one.at
                && other.session != one.session
                && !other.is_weak
                && other.score >= one.score * AS_GOOD
                && one.decides()
                && other.decides()
                && share(older, newer) >= needed
        })
    };
    let overtaken: Vec<usize> = (0..chosen.len()).filter(|older| is_overtaken(*older)).collect();
    overtaken.into_iter().for_each(|older| chosen[older].is_older = true);
}
