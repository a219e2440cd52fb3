use proptest::prelude::*;

use super::prompt_recall::evidence;
use crate::{
    ChosenPassage, Evidence, PROMPT_PASSAGES, PromptQuestion, PromptRank, REPORT_PASSAGES, THRESHOLDS, choose,
};

const QUESTION: &str = "why does the importer stall?";

/// A long text.
fn report() -> String {
    format!("{QUESTION} {}", "It was fine on Tuesday. ".repeat(8))
}

fn rank(score: f64, evidence: Evidence) -> PromptRank {
    PromptRank { evidence, own: evidence, ..PromptRank::new(score) }
}

/// Returns evidence of few words and a similar meaning.
fn similar(similarity: f32, stands_out: f32) -> Evidence {
    Evidence { similarity: Some(similarity), stands_out, ..evidence(0.05, 0.05, 0.05) }
}

fn chosen(prompt: &str, passages: &[PromptRank]) -> Vec<ChosenPassage> {
    choose(&PromptQuestion::of(prompt).unwrap(), passages, |_| false)
}

#[track_caller]
fn check_chosen(prompt: &str, passages: &[PromptRank], expected: &[usize]) {
    let indexes: Vec<usize> = chosen(prompt, passages).iter().map(|passage| passage.index).collect();
    assert_eq!(indexes, expected, "{prompt:?}");
}

#[test]
fn where_words_decide_those_that_score_about_as_well_are_shown() {
    let strong = evidence(2.0, 1.0, 1.0);
    let ranks = [rank(9.0, strong), rank(8.0, evidence(0.1, 0.1, 0.1)), rank(0.5, strong)];
    check_chosen(QUESTION, &ranks, &[0, 1]);
    check_chosen(QUESTION, &[], &[]);
}

#[test]
fn a_newer_decision_is_shown_with_what_it_amends() {
    // The newer one was put before what it amends, and has few of the words itself.
    let strong = evidence(2.0, 1.0, 1.0);
    let ranks = [rank(9.0, strong), rank(1.0, evidence(0.2, 0.1, 0.1)), rank(8.0, strong)];
    check_chosen(QUESTION, &ranks, &[0, 1, 2]);
    check_chosen(QUESTION, &ranks[..2], &[0]);
    check_chosen(QUESTION, &ranks[1..], &[0, 1]);
}

#[test]
fn what_is_only_similar_does_not_push_out_what_has_the_words() {
    let strong = rank(5.0, evidence(2.0, 1.0, 1.0));
    let only_similar = rank(8.0, similar(0.6, 0.3));
    check_chosen(QUESTION, &[only_similar, only_similar, only_similar, strong], &[0, 1, 3]);
    // The words of the passages beside it are not its own.
    let beside = PromptRank { own: Evidence::default(), ..strong };
    check_chosen(QUESTION, &[only_similar, only_similar, only_similar, beside], &[0, 1, 2]);
}

#[test]
fn a_passage_is_uncertain_unless_words_or_meaning_are_certain() {
    let strong = rank(5.0, evidence(2.0, 1.0, 1.0));
    let guess = rank(1.0, evidence(0.3, 0.3, 0.1));
    let very_similar = rank(1.0, Evidence { words: 0.3, covered: 0.3, ..similar(0.6, 0.3) });
    let is_weak =
        |rank: PromptRank| chosen(QUESTION, &[rank]).iter().map(|passage| passage.is_weak).collect::<Vec<_>>();
    assert_eq!(is_weak(strong), [false]);
    assert_eq!(is_weak(guess), [true]);
    assert_eq!(is_weak(very_similar), [false]);
}

#[test]
fn a_short_question_brings_the_best_also_where_they_are_uncertain() {
    let ranks = [rank(4.0, evidence(0.1, 0.1, 0.1)), rank(3.0, similar(0.31, 0.05)), rank(2.0, similar(0.4, 0.25))];
    // The first by words and meaning together, then the most similar.
    for prompt in [QUESTION, "what did we decide about closures?", "rounding of exchange rates"] {
        check_chosen(prompt, &ranks, &[0, 2, 1]);
    }
    for prompt in ["is this importer thread safe?", "connect the boiler, the thermostat and the pump", &report()] {
        let question = PromptQuestion::of(prompt);
        let brings = |question| !choose(&question, &ranks, |_| false).is_empty();
        assert!(question.is_none_or(|question| !brings(question)), "{prompt:?}");
    }
    // A few words are as good, for one guess; nothing at all is not.
    let few = rank(1.0, evidence(0.2, 0.2, 0.1));
    check_chosen(QUESTION, &[few, few, few], &[0]);
    check_chosen(QUESTION, &[rank(1.0, evidence(0.2, 0.05, 0.05))], &[]);
    check_chosen(QUESTION, &[rank(1.0, similar(0.4, 0.1)), rank(1.0, similar(0.3, 0.3))], &[]);
}

#[test]
fn a_guess_needs_exactly_what_the_table_says() {
    let weak = THRESHOLDS.weak;
    let brings = |evidence: Evidence| !chosen(QUESTION, &[rank(1.0, evidence)]).is_empty();
    assert!(brings(evidence(weak.words, weak.covered, 0.0)));
    assert!(!brings(evidence(weak.words - 0.01, weak.covered, 0.0)));
    assert!(!brings(evidence(weak.words, weak.covered - 0.01, 0.0)));
    assert!(brings(similar(weak.similarity, weak.stands_out)));
    assert!(!brings(similar(weak.similarity - 0.01, weak.stands_out)));
    assert!(!brings(similar(weak.similarity, weak.stands_out - 0.01)));
}

#[test]
fn a_report_brings_what_is_first_by_words_or_by_meaning() {
    let rank = |by_words: f64, words: f64, similarity: Option<f32>| {
        let evidence = Evidence { similarity, stands_out: 0.2, ..evidence(words, 0.1, 0.1) };
        PromptRank { by_words, ..rank(by_words, evidence) }
    };
    let ranks = [rank(0.0, 0.0, Some(0.5)), rank(2.0, 0.6, None), rank(9.0, 2.0, None), rank(1.0, 0.3, Some(0.4))];
    check_chosen(&report(), &ranks, &[2, 3, 0, 1]);
    assert!(chosen(&report(), &ranks).iter().all(|passage| !passage.is_weak));
    check_chosen(&report(), &[ranks; 2].concat(), &[2, 0, 6, 3]);
}

#[test]
fn a_report_needs_exactly_what_the_table_says() {
    let needed = THRESHOLDS.report;
    let brings = |prompt: &str, words: f64, stands_out: f32| {
        let own = Evidence { stands_out, similarity: Some(0.5), ..evidence(words, 0.0, 0.0) };
        !chosen(prompt, &[rank(1.0, own)]).is_empty()
    };
    assert!(brings(&report(), needed.words, 0.0) && !brings(&report(), needed.words - 0.01, 0.0));
    assert!(brings(&report(), needed.words_of_similar, needed.stands_out));
    assert!(!brings(&report(), needed.words_of_similar - 0.01, needed.stands_out));
    assert!(!brings(&report(), needed.words_of_similar, needed.stands_out - 0.01));
    let order = format!("add the importer to the page:\n{}", report());
    assert!(brings(&order, needed.words_in_order, 0.0) && !brings(&order, needed.words_in_order - 0.01, 0.3));
}

#[test]
fn a_session_that_knows_the_best_one_gets_only_what_is_strong_alone() {
    let strong = rank(9.0, evidence(2.0, 1.0, 1.0));
    let beside = PromptRank { own: Evidence::default(), ..strong };
    let passages = [strong, beside, strong];
    let question = PromptQuestion::of(QUESTION).unwrap();
    let new = |is_known: fn(usize) -> bool| -> Vec<usize> {
        choose(&question, &passages, is_known).iter().map(|passage| passage.index).collect()
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
    (0.1_f64..10.0, 0.0_f64..10.0, any_evidence(), any_evidence())
        .prop_map(|(score, by_words, evidence, own)| PromptRank { by_words, evidence, own, ..PromptRank::new(score) })
}

proptest! {
    #[test]
    fn no_passage_is_chosen_twice_and_none_that_is_known(
        ranks in prop::collection::vec(any_rank(), 0..12),
        known in prop::collection::vec(any::<bool>(), 12),
        is_long in any::<bool>(),
    ) {
        let question = PromptQuestion::of(&if is_long { report() } else { QUESTION.to_owned() }).unwrap();
        let mut chosen: Vec<usize> = choose(&question, &ranks, |index| known[index]).iter().map(|passage| passage.index).collect();
        let most = if is_long { REPORT_PASSAGES } else { PROMPT_PASSAGES };
        prop_assert!(chosen.len() <= most);
        prop_assert!(chosen.iter().all(|index| !known[*index] && *index < ranks.len()));
        let all = chosen.len();
        chosen.sort_unstable();
        chosen.dedup();
        prop_assert_eq!(chosen.len(), all);
    }
}
