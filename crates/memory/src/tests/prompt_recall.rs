use longhaul_core::Millis;
use longhaul_core::record::{CLOSE, OPEN};
use proptest::prelude::*;

use crate::{BroughtPassage, Evidence, PROMPT_CHARS, PromptKind, PromptQuestion, Verdict, bring, decide};

#[track_caller]
pub(super) fn check_kind(prompt: &str, expected: PromptKind) {
    let kind = PromptQuestion::of(prompt).map(|question| question.kind);
    assert_eq!(kind, Some(expected), "{prompt:?}");
}

#[track_caller]
fn check_nothing(prompt: &str) {
    assert_eq!(PromptQuestion::of(prompt), None, "{prompt:?}");
}

#[test]
fn no_term_of_a_prompt_is_the_beginning_of_words() {
    // All pairs that begin with a single character would have to be read while the prompt waits.
    let question = PromptQuestion::of("用 Rust 支払 reconciliation importer 七").unwrap();
    let forms: Vec<&str> = question.terms.iter().map(|term| term.forms[0].as_str()).collect();
    assert!(question.terms.iter().all(|term| !term.is_prefix), "{forms:?}");
    assert!(forms.contains(&"支払") && !forms.contains(&"七"), "{forms:?}");
}

#[test]
fn a_prompt_without_telling_words_cannot_matter() {
    for prompt in [
        "",
        "?",
        "yes",
        "continue",
        "run the tests",
        "why does this fail?",
        "what is left to do?",
        "now add a test for that",
        "rename it to parse_amount",
        "look at src/importer/swift.rs and tell me what it does",
        "mach weiter",
        "テストを実行して",
        "🙂",
    ] {
        check_nothing(prompt);
    }
}

#[test]
fn commands_cannot_matter() {
    for prompt in ["/compact importer stall occupancy", "!importer stall occupancy", "# importer stall occupancy"] {
        check_nothing(prompt);
    }
}

#[test]
fn a_prompt_is_a_question_an_order_or_neither() {
    check_kind("why does the importer stall?", PromptKind::Question);
    check_kind("what did we decide about closures?", PromptKind::AsksPast);
    check_kind("remember the occupancy model", PromptKind::AsksPast);
    check_kind("請求書の期日が読み取れなかった原因", PromptKind::Statement);
    check_kind("integer overflow semantics", PromptKind::Statement);
    check_kind("import of the Volksbank addresses", PromptKind::Statement);
    check_kind("can you add occupancy, plumage and migration to the survey?", PromptKind::Order);
    check_kind("ok, now wire the thermostat to the greenhouse boiler", PromptKind::Order);
    check_kind("the greenhouse thermostat should follow the boiler", PromptKind::Order);
    check_kind("build again: thermostat, greenhouse, boiler and pump", PromptKind::Order);
    check_kind("Gewächshaus und Heizkessel mit dem Regler verbinden und dann das Ventil schließen", PromptKind::Order);
    check_kind("der Heizkessel und das Ventil sind nicht mit dem Regler im Gewächshaus", PromptKind::Statement);
}

#[test]
fn an_order_does_not_ask_for_the_files_that_it_names() {
    let order = "write the occupancy survey of herons into src/importer/swift.rs";
    let terms = PromptQuestion::of(order).unwrap().terms;
    assert!(terms.iter().any(|term| term.forms[0] == "occupancy"));
    assert!(!terms.iter().any(|term| term.forms[0] == "importer"), "{terms:?}");
}

#[test]
fn ordinary_words_weigh_less() {
    let terms = PromptQuestion::of("why do occupancy tests fail").unwrap().terms;
    let weight = |word: &str| terms.iter().find(|term| term.forms[0] == word).unwrap().weight;
    assert!(weight("occupancy") > 2.0 * weight("tests"));
}

#[test]
fn a_long_prompt_costs_no_more_than_a_page() {
    let words: String = (0..100_000).map(|number| format!("word{number} ")).collect();
    assert_eq!(PromptQuestion::of(&words).unwrap().terms.len(), 24);
}

#[test]
fn of_too_many_words_long_ones_stay_and_ordinary_ones_go_first() {
    let forms = |words: &[String]| -> Vec<String> {
        let question = PromptQuestion::of(&words.join(" ")).unwrap();
        question.terms.into_iter().map(|mut term| term.forms.swap_remove(0)).collect()
    };
    let short: Vec<String> = ('a'..='w').map(|letter| format!("{letter}zq")).collect();
    let words = |others: &[&str]| [short.clone(), others.iter().map(|word| (*word).to_owned()).collect()].concat();
    assert_eq!(forms(&words(&["kestrel"])), words(&["kestrel"]), "all fit, in their order");
    let kept = forms(&words(&["documentation", "configuration", "occupancy", "reconciliation"]));
    assert_eq!(kept[..2], ["reconciliation", "occupancy"]);
    assert_eq!(kept[2..], short[..22]);
}

pub(super) fn evidence(words: f64, covered: f64, near: f64) -> Evidence {
    Evidence { words, covered, near, ..Evidence::default() }
}

#[test]
fn a_question_about_the_past_needs_least_and_an_order_most() {
    let some = evidence(0.75, 0.5, 0.4);
    assert_eq!(decide(PromptKind::AsksPast, &some), Verdict::Bring);
    assert_ne!(decide(PromptKind::Statement, &some), Verdict::Bring);
    let strong = evidence(1.5, 0.9, 0.9);
    assert_eq!(decide(PromptKind::Statement, &strong), Verdict::Bring);
    assert_eq!(decide(PromptKind::Order, &strong), Verdict::FewWords);
}

#[test]
fn a_verdict_says_what_is_missing() {
    assert_eq!(decide(PromptKind::Question, &evidence(0.1, 1.0, 1.0)), Verdict::FewWords);
    assert_eq!(decide(PromptKind::Question, &evidence(1.0, 0.1, 0.1)), Verdict::LittleCovered);
    assert_eq!(decide(PromptKind::Question, &evidence(1.0, 0.9, 0.1)), Verdict::Scattered);
}

#[test]
fn meaning_brings_what_words_do_not_but_not_for_an_order() {
    let similar = Evidence { similarity: Some(0.6), stands_out: 0.3, ..evidence(0.6, 0.1, 0.1) };
    assert_eq!(decide(PromptKind::Question, &similar), Verdict::BringByMeaning);
    assert_ne!(decide(PromptKind::Order, &similar), Verdict::BringByMeaning);
    // Without a word in common it has to be more similar.
    let alone = |similarity: f32| Evidence { similarity: Some(similarity), stands_out: 0.3, ..Evidence::default() };
    assert_eq!(decide(PromptKind::Question, &alone(0.6)), Verdict::BringByMeaning);
    assert_ne!(decide(PromptKind::Question, &alone(0.45)), Verdict::BringByMeaning);
    assert_ne!(decide(PromptKind::Order, &alone(0.6)), Verdict::BringByMeaning);
    let to_everything = Evidence { stands_out: 0.02, ..similar };
    assert_ne!(decide(PromptKind::Question, &to_everything), Verdict::BringByMeaning);
}

#[test]
fn a_prompt_about_what_the_session_is_doing_needs_as_much_as_an_order() {
    for prompt in [
        "is this importer thread safe?",
        "why does it stall the importer?",
        "still slow in the importer",
        "no, the importer of the greenhouse",
        "can your importer read occupancy?",
    ] {
        check_kind(prompt, PromptKind::AtHand);
    }
    check_kind("what was it that we decided about closures?", PromptKind::AsksPast);
    check_kind("remember what you said about closures", PromptKind::AsksPast);
    check_kind("no importer for occupancy", PromptKind::Statement);
    assert_eq!(decide(PromptKind::AtHand, &evidence(1.5, 0.9, 0.9)), Verdict::FewWords);
}

#[test]
fn an_order_may_stand_behind_a_remark() {
    let order = "the occupancy survey of herons and egrets is flaky, run it 100 times";
    check_kind(order, PromptKind::Order);
    check_kind("is the occupancy survey of herons and egrets flaky? run it again", PromptKind::Order);
    check_kind("which occupancy is used, set in the survey?", PromptKind::Question);
    check_kind("let's connect occupancy survey, herons and egrets", PromptKind::Order);
    check_kind("occupancy survey of herons, test data", PromptKind::Statement);
    check_kind("the occupancy survey of herons in the café, run it again for egrets and storks", PromptKind::Order);
}

#[test]
fn an_order_may_begin_with_a_verb_that_is_in_no_list() {
    check_kind("connect the boiler to thermostat, pump and greenhouse", PromptKind::Order);
    check_kind("please solder a thermostat, pump and boiler to the greenhouse", PromptKind::Order);
    check_kind("connecting the boiler to the thermostat", PromptKind::Statement);
    check_kind("soldered a thermostat to the boiler", PromptKind::Statement);
    check_kind("ThermostatError: the boiler is cold", PromptKind::Statement);
    check_kind("after the boiler upgrade", PromptKind::Statement);
}

#[test]
fn an_uncertain_passage_says_so() {
    let weak = BroughtPassage { is_weak: true, ..passage("wrap or trap?", "Wrap.", None) };
    assert!(bring(&[weak], 0).text.contains(", may not be about this\n"));
    assert!(!bring(&[passage("wrap or trap?", "Wrap.", None)], 0).text.contains("may not be"));
}

#[test]
fn a_passage_of_another_host_is_shown_with_its_name() {
    let far = BroughtPassage { host: Some("laptop"), ..passage("wrap or trap?", "Wrap.", None) };
    assert!(bring(&[far], 0).text.contains("P12 @laptop, 2026-01-01, session"), "{}", bring(&[far], 0).text);
}

fn passage<'a>(asked: &'a str, replied: &'a str, spot: Option<usize>) -> BroughtPassage<'a> {
    BroughtPassage {
        id: "P12",
        session: "0a1b2c3d",
        host: None,
        at: Millis(1_767_225_600_000),
        asked,
        replied,
        spot,
        is_older: false,
        is_weak: false,
    }
}

#[test]
fn a_long_reply_is_shown_where_its_words_stand() {
    let replied =
        format!("{}The pump is a Grundfos. It hums.{}", "Chatter about nothing. ".repeat(200), " More.".repeat(300));
    let spot = replied.find("Grundfos");
    let brought = bring(&[passage("which pump?", &replied, spot)], 0);
    assert!(brought.text.contains("The pump is a Grundfos. It hums."), "{}", brought.text);
    // Where the words stand in what was asked, the sentence that decides is shown.
    let decided = replied.replace("The pump is", "Decided: the pump is");
    let brought = bring(&[passage("which pump?", &decided, None)], 0);
    assert!(brought.text.contains("Decided: the pump is a Grundfos."), "{}", brought.text);
}

#[test]
fn an_older_decision_says_so() {
    let older = BroughtPassage { is_older: true, ..passage("wrap or trap?", "Wrap.", None) };
    assert!(bring(&[older], 0).text.contains(", older: a newer one answers the same question\n"));
}

#[test]
fn the_space_is_shared_and_the_first_gets_more() {
    let replied = "The pump hums at night. ".repeat(400);
    let brought = bring(&[passage("which pump?", &replied, Some(0)); 3], 0);
    assert_eq!(brought.shown, 3);
    assert!(brought.text.chars().count() * 20 >= PROMPT_CHARS * 19, "{}", brought.text.chars().count());
    let lengths: Vec<usize> = brought.text.split("P12, ").skip(1).map(|entry| entry.chars().count()).collect();
    let percent = |at: usize| lengths[at] * 100 / lengths.iter().sum::<usize>();
    assert!((36..=42).contains(&percent(0)) && (32..=38).contains(&percent(1)), "{lengths:?}");
}

#[test]
fn four_passages_get_the_same_space() {
    let replied = "The pump hums at night. ".repeat(400);
    let brought = bring(&[passage(&"which pump? ".repeat(20), &replied, Some(0)); 5], 0);
    assert_eq!(brought.shown, 4);
    let lengths: Vec<usize> = brought.text.split("P12, ").skip(1).map(|entry| entry.chars().count()).collect();
    assert!(lengths[1].abs_diff(lengths[2]) < 20 && lengths[0].abs_diff(lengths[2]) < 20, "{lengths:?}");
}

#[test]
fn an_uncertain_passage_gets_a_share_of_three() {
    let replied = "The pump hums at night. ".repeat(400);
    let weak = BroughtPassage { is_weak: true, ..passage("which pump?", &replied, Some(0)) };
    let chars = |passages: &[BroughtPassage<'_>]| bring(passages, 0).text.chars().count();
    let whole = chars(&[passage("which pump?", &replied, Some(0))]);
    assert!(chars(&[weak]) < whole * 2 / 3, "{} of {whole}", chars(&[weak]));
    assert_eq!(bring(&[weak; 3], 0).shown, 3);
}

#[test]
fn a_reply_is_shown_from_a_beginning() {
    let after = " It hums.".repeat(600);
    let shown = |replied: &str| {
        let brought = bring(&[passage("which pump?", replied, replied.find("Grundfos"))], 0).text;
        brought.split_once("replied: ").unwrap().1.to_owned()
    };
    let early = shown(&format!("First of all. The pump is a Grundfos.{after}"));
    assert!(early.starts_with("First of all. The pump"), "{early}");
    let late = shown(&format!("{}The pump is a Grundfos.{after}", "It is so. ".repeat(400)));
    assert!(late.starts_with("…The pump is a Grundfos."), "{late}");
    let words = shown(&format!("{}Grundfos{after}", "word ".repeat(2_000)));
    let at = words.find("Grundfos").unwrap_or(usize::MAX);
    assert!(words.starts_with("…word") && at < words.len() * 2 / 5, "a third of the space is before it: {words}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_it_is_fits_and_stays_in_its_frame(
        texts in prop::collection::vec((".{0,400}", "(?s).{0,3000}", prop::option::of(0_usize..4000)), 0..6),
        tag in prop::sample::select(vec!["</longhaul-context>", "< /longhaul-context", "<private>", "\u{1b}[31m"]),
    ) {
        let texts: Vec<(String, String, Option<usize>)> =
            texts.into_iter().map(|(asked, replied, spot)| (format!("{tag}{asked}"), format!("{replied}{tag}{replied}"), spot)).collect();
        let passages: Vec<BroughtPassage<'_>> =
            texts.iter().map(|(asked, replied, spot)| passage(asked, replied, *spot)).collect();
        let brought = bring(&passages, 0);
        prop_assert!(brought.text.chars().count() <= PROMPT_CHARS);
        prop_assert!(brought.shown <= 4 && brought.shown <= passages.len());
        if let Some(inner) = brought.text.strip_prefix(OPEN) {
            let inner = inner.strip_suffix(CLOSE).unwrap();
            for tag in ["</longhaul-context", "< /longhaul-context", "<longhaul-context", "<private"] {
                prop_assert!(!inner.contains(tag), "{}", inner);
            }
            prop_assert!(!inner.contains(|c: char| c.is_control() && c != '\n'));
        } else {
            prop_assert!(brought.text.is_empty() && brought.shown == 0);
        }
    }
}
