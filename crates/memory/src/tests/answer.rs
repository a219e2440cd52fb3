use longhaul_core::Millis;
use proptest::prelude::*;

use crate::{Answer, AnswerLimits, FoundPassage, PassageKind, Query};

const LIMITS: AnswerLimits = AnswerLimits { chars: 6_000, passages: 12 };

fn exchange(id: &str, session: &str, day: u64, asked: &str, answered: &str) -> FoundPassage {
    FoundPassage {
        id: id.to_owned(),
        session: Some(session.to_owned()),
        project: "shop".to_owned(),
        prompt_number: 1,
        at: Millis(day * 86_400_000),
        date: format!("2026-11-{day:02}"),
        time: "14:03".to_owned(),
        asked: asked.to_owned(),
        answered: answered.to_owned(),
        score: 1.0,
        ..FoundPassage::default()
    }
}

fn compose(question: &str, found: Vec<FoundPassage>, limits: AnswerLimits) -> Answer {
    Answer::compose(&Query::parse(question), found, limits)
}

fn ids(answer: &Answer) -> Vec<&str> {
    answer.passages().map(|passage| passage.found.id.as_str()).collect()
}

#[test]
fn passages_are_grouped_by_session_and_the_newest_decision_comes_first() {
    let found = vec![
        FoundPassage { is_older: true, ..exchange("P1", "aaaaaaaa-1", 1, "which broker?", "We decided on RabbitMQ.") },
        FoundPassage { prompt_number: 4, ..exchange("P9", "bbbbbbbb-2", 9, "broker again?", "Decided: Mosquitto.") },
        FoundPassage { prompt_number: 2, ..exchange("P2", "aaaaaaaa-1", 1, "broker port?", "5672.") },
    ];
    let answer = compose("which broker do we take", found, LIMITS);
    insta::assert_snapshot!(answer.text(), @r"
    2026-11-09, session bbbbbbbb:
    P9  14:03  asked: broker again?
      answered: Decided: Mosquitto.
    2026-11-01, session aaaaaaaa:
    P1  14:03 (older: a newer one answers the same question)  asked: which broker?
      answered: We decided on RabbitMQ.
    P2  14:03  asked: broker port?
      answered: 5672.
    ");
}

#[test]
fn a_passage_of_another_host_is_shown_with_its_name() {
    let far = FoundPassage { host: Some("laptop".to_owned()), ..exchange("P1", "a", 1, "which broker?", "RabbitMQ.") };
    let text = compose("broker", vec![far], LIMITS).text();
    assert!(text.contains("P1  14:03 @laptop  asked: which broker?"), "{text}");
}

#[test]
fn a_better_answer_without_a_decision_stays_first() {
    let found = vec![
        exchange("P1", "a", 1, "how does the broker work?", "It forwards messages."),
        FoundPassage { score: 0.9, ..exchange("P2", "b", 2, "broker?", "We decided on RabbitMQ.") },
        FoundPassage { score: 0.8, ..exchange("P3", "c", 3, "broker?", "We decided on Mosquitto.") },
        FoundPassage { score: 0.3, ..exchange("P4", "d", 4, "broker?", "We decided on nothing.") },
    ];
    assert_eq!(ids(&compose("broker", found, LIMITS)), ["P1", "P3", "P2", "P4"]);
}

#[test]
fn a_long_reply_is_cut_around_the_words() {
    let filler = "Nothing here is of any interest to whoever asks. ".repeat(60);
    let reply = format!("{filler}The importer stalled on a lock. It was held by the exchange rates. {filler}");
    let found = vec![exchange("P1", "a", 1, "why?", &reply)];
    let answer = compose("why do importers stall", found, AnswerLimits { chars: 600, passages: 3 });
    let passage = answer.passages().next().unwrap();
    let text = &passage.answered.text;
    assert!(text.contains("The importer stalled on a lock. It was held by the exchange rates."), "{text}");
    assert!(text.starts_with("… ") && text.ends_with('…'), "{text}");
    let words: Vec<&str> = passage.answered.marks.iter().map(|mark| &text[mark.clone()]).collect();
    assert_eq!(words, ["importer", "stalled"]);
    assert!(answer.text().chars().count() <= 600, "{}", answer.text());
}

#[test]
fn a_passage_without_the_words_is_shown_from_its_beginning() {
    let reply = "First this. ".to_owned() + &"And so on. ".repeat(100);
    let found = vec![exchange("P1", "a", 1, "?", &reply)];
    let answer = compose("zeppelin", found, AnswerLimits { chars: 400, passages: 3 });
    assert!(answer.passages().next().unwrap().answered.text.starts_with("First this."), "{answer:?}");
}

#[test]
fn what_a_reply_decides_is_kept_where_only_the_question_has_the_words() {
    let reply = "Let me look. ".repeat(60) + "So we decided on Mosquitto. " + &"It goes on. ".repeat(60);
    let found = vec![exchange("P1", "a", 1, "which broker?", &reply)];
    let answer = compose("broker", found, AnswerLimits { chars: 400, passages: 3 });
    let text = &answer.passages().next().unwrap().answered.text;
    assert!(text.starts_with("Let me look.") && text.contains("So we decided on Mosquitto."), "{text}");
}

#[test]
fn weak_answers_are_said_to_be_weak_and_few() {
    let weak = |id: &str| FoundPassage { is_weak: true, ..exchange(id, id, 1, "importer?", "Not now.") };
    let answer = compose("zeppelin importer uniforms", ["P1", "P2", "P3", "P4"].map(weak).into(), LIMITS);
    assert!(answer.is_weak);
    assert_eq!(ids(&answer).len(), 3);
    assert!(answer.text().starts_with("No passage has most of these words"), "{}", answer.text());
    assert!(answer.text().ends_with("(1 more result not shown)"), "{}", answer.text());
}

#[test]
fn what_stands_beside_an_answer_is_not_called_weak() {
    let beside = FoundPassage {
        is_weak: true,
        prompt_number: 2,
        score: 0.3,
        ..exchange("P2", "a", 1, "and then?", "Take the other one.")
    };
    let elsewhere = FoundPassage { is_weak: true, score: 0.3, ..exchange("P7", "b", 1, "lunch?", "Later.") };
    let answer =
        compose("importer stalls", vec![exchange("P1", "a", 1, "importer stalls", "Yes."), beside, elsewhere], LIMITS);
    let weak: Vec<bool> = answer.passages().map(|passage| passage.found.is_weak).collect();
    assert_eq!((ids(&answer), weak), (vec!["P1", "P2", "P7"], vec![false, false, true]));
    assert!(answer.text().contains("P7  14:03 (weak)  asked: lunch?"), "{}", answer.text());
}

#[test]
fn an_older_answer_is_marked_as_older() {
    let older = FoundPassage { is_older: true, ..exchange("P1", "a", 1, "which broker?", "We use RabbitMQ.") };
    let answer =
        compose("broker", vec![exchange("P9", "b", 9, "which broker?", "We use Mosquitto now."), older], LIMITS);
    assert!(answer.text().contains("P1  14:03 (older: a newer one answers the same question)"), "{}", answer.text());
}

#[test]
fn work_and_summaries_are_left_out_where_the_passage_says_it() {
    let work = |id: &str, number: i64| FoundPassage {
        kind: PassageKind::Work,
        prompt_number: number,
        ..exchange(id, "a", 1, "Edited importer.rs", "")
    };
    let summary = FoundPassage { kind: PassageKind::Summary, ..exchange("S1", "a", 1, "importer", "done: all") };
    let found = vec![exchange("P1", "a", 1, "importer?", "Yes."), work("O1", 1), work("O2", 7), summary];
    assert_eq!(ids(&compose("importer", found, LIMITS)), ["P1", "O2"]);
}

#[test]
fn a_passage_takes_the_place_of_its_summary() {
    let summary = FoundPassage { kind: PassageKind::Summary, ..exchange("S1", "a", 1, "importer", "done: all") };
    let found = vec![summary, exchange("P7", "b", 1, "importer", "No."), exchange("P1", "a", 1, "importer?", "Yes.")];
    assert_eq!(ids(&compose("importer", found, AnswerLimits { chars: 400, passages: 1 })), ["P1"]);
}

#[test]
fn a_question_without_an_answer_comes_last() {
    let found =
        vec![exchange("P9", "b", 9, "why does the importer stall?", ""), exchange("P1", "a", 1, "stall", "Lock.")];
    assert_eq!(ids(&compose("importer stall", found, LIMITS)), ["P1", "P9"]);
}

#[test]
fn a_corrected_word_is_marked() {
    let answer = compose("improter", vec![exchange("P1", "a", 1, "the importer, the importer", "works")], LIMITS);
    let passage = answer.passages().next().unwrap();
    assert_eq!(passage.asked.marks, [4..12, 18..26]);
}

#[test]
fn control_characters_are_left_out() {
    let answer = compose("importer", vec![exchange("P1", "a", 1, "the \u{1b}[31mimporter\u{7}", "a\r\n\n\nb")], LIMITS);
    let passage = answer.passages().next().unwrap();
    assert_eq!((passage.asked.text.as_str(), passage.answered.text.as_str()), ("the importer", "a\nb"));
}

#[test]
fn passages_are_left_out_before_they_become_too_short() {
    let reply = "The importer stalls on a lock of the rates. ".repeat(40);
    let long: Vec<FoundPassage> =
        (1..10).map(|n| exchange(&format!("P{n}"), &format!("s{n}"), n, "why?", &reply)).collect();
    for (chars, shown) in [(400, 1), (800, 2), (1_200, 3), (2_000, 5), (3_000, 8)] {
        let answer = compose("importer stall", long.clone(), AnswerLimits { chars, passages: 9 });
        assert_eq!(ids(&answer).len(), shown, "in {chars} characters");
        assert!(answer.text().chars().count() * 4 >= chars * 3, "the space is used: {}", answer.text());
    }
    let short: Vec<FoundPassage> =
        (1..10).map(|n| exchange(&format!("P{n}"), &format!("s{n}"), n, "why?", "A lock.")).collect();
    assert_eq!(ids(&compose("lock", short, AnswerLimits { chars: 1_050, passages: 9 })).len(), 3);
}

#[test]
fn long_headings_leave_fewer_passages_and_a_single_one_is_cut() {
    let reply = "The importer stalls on a lock of the rates. ".repeat(40);
    let long = |n: u64| exchange(&"P".repeat(250), &format!("s{n}"), n, "why?", &reply);
    let three = || (1..4).map(long).collect::<Vec<_>>();
    let answer = compose("importer stall", three(), AnswerLimits { chars: 1_100, passages: 9 });
    assert_eq!((ids(&answer).len(), answer.left_out), (2, 1), "{}", answer.text());
    assert!((900..=1_100).contains(&answer.text().chars().count()), "{}", answer.text().chars().count());
    let answer = compose("importer stall", three(), AnswerLimits { chars: 400, passages: 9 });
    assert_eq!(ids(&answer).len(), 1);
    assert!((320..=400).contains(&answer.text().chars().count()), "{}", answer.text());
    let answer = compose("importer stall", three(), AnswerLimits { chars: 100, passages: 9 });
    assert_eq!(ids(&answer).len(), 1, "one passage is shown even if there is no space");
}

#[test]
fn without_scores_no_session_changes_places() {
    let unscored =
        |id: &str, day: u64| FoundPassage { score: 0.0, ..exchange(id, id, day, "broker?", "Decided: RabbitMQ.") };
    assert_eq!(ids(&compose("broker", vec![unscored("P1", 1), unscored("P2", 2)], LIMITS)), ["P1", "P2"]);
}

#[test]
fn an_answer_holds_each_text_once() {
    let answer = compose("importer", vec![exchange("P1", "a", 1, "importer?", "It stalls.")], LIMITS);
    assert!(!answer.is_empty());
    let passage = answer.passages().next().unwrap();
    assert_eq!((passage.found.asked.as_str(), passage.found.answered.as_str()), ("", ""));
    assert!(compose("importer", Vec::new(), LIMITS).is_empty());
}

#[test]
fn only_the_second_prompt_away_is_beside_an_answer() {
    let weak = |id: &str, number: i64| FoundPassage {
        is_weak: true,
        prompt_number: number,
        score: 0.5,
        ..exchange(id, "a", 1, "and then?", "Take the other one.")
    };
    let strong = FoundPassage { prompt_number: 5, ..exchange("P5", "a", 1, "importer stalls", "Yes.") };
    let answer = compose("importer stalls", vec![strong, weak("P7", 7), weak("P8", 8), weak("P2", 2)], LIMITS);
    let weak: Vec<(&str, bool)> =
        answer.passages().map(|passage| (passage.found.id.as_str(), passage.found.is_weak)).collect();
    assert_eq!(weak, [("P2", true), ("P5", false), ("P7", false), ("P8", true)]);
}

#[test]
fn kinds_have_names() {
    use PassageKind::{Decision, Exchange, Note, Summary, Work};
    let names = [Exchange, Note, Decision, Work, Summary].map(PassageKind::as_str);
    assert_eq!(names, ["exchange", "note", "decision", "work", "summary"]);
}

#[test]
fn lines_of_a_text_stay_lines() {
    let answer =
        compose("importer", vec![exchange("P1", "a", 1, "the importer\nstalls?", "Yes:\nthe importer")], LIMITS);
    let text = answer.text();
    assert!(text.contains("asked: the importer\n    stalls?\n  answered: Yes:\n    the importer"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn an_answer_keeps_to_its_limit(
        texts in proptest::collection::vec(("\\PC{0,80}", "(\\PC{0,60}[ .\n]){0,40}"), 1..14),
        question in "\\PC{0,40}",
        chars in 400_usize..4_000,
    ) {
        let found = texts.iter().enumerate();
        let found = found.map(|(n, (asked, answered))| exchange(&format!("P{n}"), &format!("s{}", n % 5), 3, asked, answered));
        let answer = compose(&question, found.collect(), AnswerLimits { chars, passages: 9 });
        prop_assert!(answer.text().chars().count() <= chars);
        prop_assert!(!answer.is_empty());
        for text in answer.passages().flat_map(|passage| [&passage.asked, &passage.answered]) {
            let whole: String = text.pieces().iter().map(|piece| piece.0).collect();
            prop_assert_eq!(&whole, &text.text);
        }
    }
}

#[test]
fn an_answer_shows_the_words_at_the_end_of_a_long_reply() {
    let reply = "It reads another file and says so. ".repeat(5_000) + "The zeppelin is grounded.";
    let found = vec![exchange("P1", "a", 1, "read it", &reply)];
    let answer = compose("zeppelins", found, AnswerLimits { chars: 400, passages: 3 });
    let text = &answer.passages().next().unwrap().answered.text;
    assert!(text.contains("The zeppelin is grounded."), "{text}");
}

#[test]
fn a_result_with_none_of_the_words_is_left_out_beside_others() {
    let unread = FoundPassage { score: 0.0, ..exchange("P2", "b", 1, "?", "Later.") };
    let answer = compose("importer", vec![exchange("P1", "a", 1, "importer?", "Yes."), unread.clone()], LIMITS);
    assert_eq!(ids(&answer), ["P1"]);
    assert_eq!(ids(&compose("importer", vec![unread], LIMITS)), ["P2"]);
}
