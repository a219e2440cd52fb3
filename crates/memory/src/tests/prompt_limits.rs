use super::prompt_recall::{check_kind, evidence};
use crate::{Evidence, Needed, NeededMeaning, PromptKind, THRESHOLDS, Verdict, decide};

#[test]
fn exactly_what_is_needed_is_enough() {
    for (kind, needed) in [
        (PromptKind::AsksPast, THRESHOLDS.asks_past),
        (PromptKind::Question, THRESHOLDS.question),
        (PromptKind::Statement, THRESHOLDS.statement),
        (PromptKind::Order, THRESHOLDS.order),
        (PromptKind::AtHand, THRESHOLDS.order),
    ] {
        let Needed { words, covered, near, enough } = needed;
        assert_eq!(decide(kind, &evidence(words, covered, near)), Verdict::Bring, "{kind:?}");
        assert_eq!(decide(kind, &evidence(words - 0.01, covered, near)), Verdict::FewWords, "{kind:?}");
        assert_eq!(decide(kind, &evidence(words, covered - 0.01, near)), Verdict::LittleCovered, "{kind:?}");
        assert_eq!(decide(kind, &evidence(words, covered, near - 0.01)), Verdict::Scattered, "{kind:?}");
        assert_eq!(decide(kind, &evidence(enough, 0.0, 0.0)), Verdict::Bring, "{kind:?}");
    }
    for needed in [THRESHOLDS.meaning, THRESHOLDS.meaning_alone] {
        let found = |words: f64, stands_out: f32, similarity: f32| {
            let evidence = Evidence { similarity: Some(similarity), stands_out, ..evidence(words, 0.0, 0.0) };
            decide(PromptKind::Question, &evidence) == Verdict::BringByMeaning
        };
        let NeededMeaning { similarity, stands_out, words } = needed;
        assert!(found(words, stands_out, similarity), "{needed:?}");
        assert!(!found(words, stands_out, similarity - 0.01), "{needed:?}");
        assert!(!found(words, stands_out - 0.02, similarity), "{needed:?}");
    }
}

#[test]
fn the_first_words_and_the_signs_say_what_a_prompt_is() {
    check_kind("how do closures capture values", PromptKind::Question);
    check_kind("closures capture by value?", PromptKind::Question);
    check_kind("we decided on herons", PromptKind::AsksPast);
    check_kind("is this greenhouse boiler safe?", PromptKind::AtHand);
    check_kind("which greenhouse boiler does this control?", PromptKind::Question);
    check_kind("thanks for the occupancy survey", PromptKind::AtHand);
    check_kind("perfect, the occupancy survey", PromptKind::AtHand);
    check_kind("perfect occupancy survey", PromptKind::Statement);
    check_kind("don't touch the greenhouse boiler valve", PromptKind::Order);
    check_kind("the greenhouse boiler valve needs occupancy", PromptKind::Order);
    check_kind("the greenhouse boiler valve is flaky, run it again", PromptKind::Order);
    check_kind("is the greenhouse boiler valve flaky? run it again", PromptKind::Order);
    check_kind("the greenhouse boiler valve is flaky:\n  E42 at night\nrun it again", PromptKind::Statement);
    check_kind("greenhouse boiler, this valve:\n  E42 at night", PromptKind::Statement);
    check_kind("which greenhouse boiler valve is used, set the value or not", PromptKind::Question);
    check_kind("connect the greenhouse boiler to the valve", PromptKind::Order);
    check_kind("connecting the greenhouse boiler to the valve", PromptKind::Statement);
}
