use proptest::prelude::*;

use super::prompt_recall::evidence;
use crate::{
    ChosenPassage, Evidence, FoundBy, PROMPT_PASSAGES, PromptCandidate, PromptQuestion, PromptRank, THRESHOLDS, choose,
};

const QUESTION: &str = "why does the importer stall?";

/// A long text: it brings only what is certain.
fn long_question() -> String {
    format!("{QUESTION} {}", "It was fine on Tuesday. ".repeat(8))
}

fn rank(score: f64, evidence: Evidence) -> PromptRank {
    PromptRank { evidence, own: evidence, ..PromptRank::new(0, score) }
}

/// Returns evidence of few words and a similar meaning.
fn similar(similarity: f32, stands_out: f32) -> Evidence {
    Evidence { similarity: Some(similarity), stands_out, ..evidence(0.05, 0.05, 0.05) }
}

fn at(place: usize, rank: PromptRank) -> PromptRank {
    PromptRank { place, ..rank }
}

/// Returns passages in this order by words alone.
fn by_words(ranks: &[PromptRank]) -> Vec<PromptCandidate> {
    let candidate =
        |(place, rank): (usize, &PromptRank)| PromptCandidate { by_words: Some(at(place, *rank)), with_meaning: None };
    ranks.iter().enumerate().map(candidate).collect()
}

/// Returns passages in this order by words and meaning, which words alone do not find.
fn with_meaning(ranks: &[PromptRank]) -> Vec<PromptCandidate> {
    let candidate =
        |(place, rank): (usize, &PromptRank)| PromptCandidate { by_words: None, with_meaning: Some(at(place, *rank)) };
    ranks.iter().enumerate().map(candidate).collect()
}

fn chosen(prompt: &str, passages: &[PromptCandidate]) -> Vec<ChosenPassage> {
    choose(&PromptQuestion::of(prompt).unwrap(), passages, |_| false)
}

#[track_caller]
fn check_chosen(prompt: &str, passages: &[PromptCandidate], expected: &[usize]) {
    let indexes: Vec<usize> = chosen(prompt, passages).iter().map(|one| one.index).collect();
    assert_eq!(indexes, expected, "{prompt:?}");
}

#[test]
fn where_words_decide_those_that_score_about_as_well_are_shown() {
    let strong = evidence(2.0, 1.0, 1.0);
    let ranks = [rank(9.0, strong), rank(8.0, evidence(0.1, 0.1, 0.1)), rank(0.5, strong)];
    check_chosen(QUESTION, &by_words(&ranks), &[0, 1]);
    check_chosen(QUESTION, &with_meaning(&ranks), &[0, 1]);
    check_chosen(QUESTION, &[], &[]);
}

#[test]
fn a_newer_decision_is_shown_with_what_it_amends() {
    // The newer one was put before what it amends, and has few of the words itself.
    let strong = evidence(2.0, 1.0, 1.0);
    let ranks = [rank(9.0, strong), rank(1.0, evidence(0.2, 0.1, 0.1)), rank(8.0, strong)];
    check_chosen(QUESTION, &by_words(&ranks), &[0, 1, 2]);
    check_chosen(QUESTION, &by_words(&ranks[..2]), &[0]);
    check_chosen(QUESTION, &by_words(&ranks[1..]), &[0, 1]);
}

#[test]
fn what_is_only_similar_does_not_push_out_what_has_the_words() {
    let strong = rank(5.0, evidence(2.0, 1.0, 1.0));
    let only_similar = rank(8.0, similar(0.6, 0.3));
    check_chosen(QUESTION, &with_meaning(&[only_similar, only_similar, only_similar, strong]), &[0, 1, 3]);
    // The words of the passages beside it are not its own.
    let beside = PromptRank { own: Evidence::default(), ..strong };
    check_chosen(QUESTION, &with_meaning(&[only_similar, only_similar, only_similar, beside]), &[0, 1, 2]);
}

/// By words and meaning, three similar passages come before those that words alone bring.
#[test]
fn what_words_bring_comes_first_and_meaning_adds_to_it() {
    let strong = rank(5.0, evidence(2.0, 1.0, 1.0));
    let only_similar = rank(8.0, similar(0.6, 0.3));
    let mut passages = with_meaning(&[only_similar; 3]);
    passages.push(PromptCandidate { by_words: Some(strong), with_meaning: Some(at(3, strong)) });
    check_chosen(QUESTION, &passages, &[3, 0, 1]);
    let found: Vec<FoundBy> = chosen(QUESTION, &passages).iter().map(|one| one.found_by).collect();
    assert_eq!(found, [FoundBy::Words, FoundBy::Meaning, FoundBy::Meaning]);
    // Three that words bring leave no place.
    let all: Vec<PromptCandidate> = by_words(&[strong; 3]).into_iter().chain(passages).collect();
    check_chosen(QUESTION, &all[..6], &[0, 1, 2]);
    // A guess by words stays as well.
    let guess = rank(1.0, evidence(0.3, 0.3, 0.1));
    let mut passages = with_meaning(&[only_similar; 3]);
    passages.push(PromptCandidate { by_words: Some(guess), with_meaning: Some(at(3, guess)) });
    check_chosen(QUESTION, &passages, &[3, 0, 1]);
}

#[test]
fn a_passage_is_uncertain_unless_words_or_meaning_are_certain() {
    let strong = rank(5.0, evidence(2.0, 1.0, 1.0));
    let guess = rank(1.0, evidence(0.3, 0.3, 0.1));
    let very_similar = rank(1.0, Evidence { words: 0.3, covered: 0.3, ..similar(0.6, 0.3) });
    let is_weak = |by_words, with_meaning| {
        let chosen = chosen(QUESTION, &[PromptCandidate { by_words, with_meaning }]);
        chosen.iter().map(|one| one.is_weak).collect::<Vec<_>>()
    };
    assert_eq!(is_weak(Some(strong), None), [false]);
    assert_eq!(is_weak(Some(guess), None), [true]);
    assert_eq!(is_weak(Some(guess), Some(guess)), [true]);
    assert_eq!(is_weak(Some(guess), Some(very_similar)), [false]);
    assert_eq!(is_weak(None, Some(very_similar)), [false]);
}

#[test]
fn a_short_question_brings_the_best_also_where_they_are_uncertain() {
    let ranks = [rank(4.0, evidence(0.1, 0.1, 0.1)), rank(3.0, similar(0.31, 0.05)), rank(2.0, similar(0.4, 0.25))];
    // The first by words and meaning together, then the most similar.
    for prompt in [QUESTION, "what did we decide about closures?", "rounding of exchange rates"] {
        check_chosen(prompt, &with_meaning(&ranks), &[0, 2, 1]);
    }
    for prompt in ["is this importer thread safe?", "connect the boiler, the thermostat and the pump", &long_question()]
    {
        let question = PromptQuestion::of(prompt);
        let brings = |question| !choose(&question, &with_meaning(&ranks), |_| false).is_empty();
        assert!(question.is_none_or(|question| !brings(question)), "{prompt:?}");
    }
    // A few words are as good, for one guess; nothing at all is not.
    let few = rank(1.0, evidence(0.2, 0.2, 0.1));
    check_chosen(QUESTION, &by_words(&[few, few, few]), &[0]);
    check_chosen(QUESTION, &by_words(&[rank(1.0, evidence(0.2, 0.05, 0.05))]), &[]);
    check_chosen(QUESTION, &with_meaning(&[rank(1.0, similar(0.4, 0.1)), rank(1.0, similar(0.3, 0.3))]), &[]);
}

#[test]
fn a_guess_needs_exactly_what_the_table_says() {
    let weak = THRESHOLDS.weak;
    let brings = |evidence: Evidence| !chosen(QUESTION, &with_meaning(&[rank(1.0, evidence)])).is_empty();
    assert!(brings(evidence(weak.words, weak.covered, 0.0)));
    assert!(!brings(evidence(weak.words - 0.01, weak.covered, 0.0)));
    assert!(!brings(evidence(weak.words, weak.covered - 0.01, 0.0)));
    assert!(brings(similar(weak.similarity, weak.stands_out)));
    assert!(!brings(similar(weak.similarity - 0.01, weak.stands_out)));
    assert!(!brings(similar(weak.similarity, weak.stands_out - 0.01)));
}

#[test]
fn a_long_prompt_brings_what_is_very_similar_most_similar_first() {
    let very = |similarity: f32| Evidence { similarity: Some(similarity), stands_out: 0.3, ..evidence(0.6, 0.1, 0.1) };
    let ranks = [rank(9.0, evidence(0.6, 0.1, 0.1)), rank(3.0, very(0.5)), rank(2.0, very(0.7))];
    check_chosen(&long_question(), &with_meaning(&ranks), &[2, 1]);
}

#[test]
fn a_session_that_knows_the_best_one_gets_only_what_is_strong_alone() {
    let strong = rank(9.0, evidence(2.0, 1.0, 1.0));
    let beside = PromptRank { own: Evidence::default(), ..strong };
    let passages = by_words(&[strong, beside, strong]);
    let question = PromptQuestion::of(QUESTION).unwrap();
    let new = |is_known: fn(usize) -> bool| -> Vec<usize> {
        choose(&question, &passages, is_known).iter().map(|one| one.index).collect()
    };
    assert_eq!(new(|_| false), [0, 1, 2]);
    assert_eq!(new(|index| index == 0), [2]);
    assert_eq!(new(|index| index == 2), [0, 1]);
    assert_eq!(new(|_| true), [0_usize; 0]);
}

fn any_evidence() -> impl Strategy<Value = Evidence> {
    let similarity = prop::option::of((0.0_f32..0.8, 0.0_f32..0.4));
    (0.0_f64..3.0, 0.0_f64..1.0, 0.0_f64..1.0, similarity).prop_map(|(words, covered, near, similar)| Evidence {
        similarity: similar.map(|(similarity, _)| similarity),
        stands_out: similar.map_or(0.0, |(_, stands_out)| stands_out),
        ..evidence(words, covered, near)
    })
}

fn any_rank() -> impl Strategy<Value = PromptRank> {
    (0_usize..10, 0.1_f64..10.0, any_evidence(), any_evidence()).prop_map(|(place, score, evidence, own)| PromptRank {
        evidence,
        own,
        ..PromptRank::new(place, score)
    })
}

/// Without a model there is no similarity.
fn rank_by_words() -> impl Strategy<Value = PromptRank> {
    any_rank().prop_map(|mut rank| {
        for evidence in [&mut rank.evidence, &mut rank.own] {
            (evidence.similarity, evidence.stands_out) = (None, 0.0);
        }
        rank
    })
}

proptest! {
    #[test]
    fn a_model_only_adds_to_what_words_bring(
        ranks in prop::collection::vec((prop::option::of(rank_by_words()), prop::option::of(any_rank())), 0..12),
        known in prop::collection::vec(any::<bool>(), 12),
        is_long in any::<bool>(),
    ) {
        let question = PromptQuestion::of(&if is_long { long_question() } else { QUESTION.to_owned() }).unwrap();
        let passages: Vec<PromptCandidate> =
            ranks.iter().map(|(by_words, with_meaning)| PromptCandidate { by_words: *by_words, with_meaning: *with_meaning }).collect();
        let without: Vec<PromptCandidate> =
            ranks.iter().map(|(by_words, _)| PromptCandidate { by_words: *by_words, with_meaning: None }).collect();
        let indexes = |passages: &[PromptCandidate]| -> Vec<usize> {
            choose(&question, passages, |index| known[index] && index % 3 == 0).iter().map(|one| one.index).collect()
        };
        let (with, without) = (indexes(&passages), indexes(&without));
        prop_assert!(with.starts_with(&without), "{with:?} {without:?}");
        prop_assert!(with.len() <= PROMPT_PASSAGES);
        let mut once = with.clone();
        once.sort_unstable();
        once.dedup();
        prop_assert_eq!(once.len(), with.len());
    }
}
